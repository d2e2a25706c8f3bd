"""`import_offers PATH…`: Reserved Instances on offer, second-hand and new."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.ingest.management.reference_command import ReferenceCommand, iso_date, iso_instant
from apps.ingest.models import IngestRun
from apps.ingest.offers import offers_import


class Command(ReferenceCommand):
    """Answers of DescribeReservedInstancesOfferings (JSON) and tables of terms (CSV)."""

    help = "Import commitments on offer."

    def add_arguments(self, parser: CommandParser) -> None:
        """When it was seen, where, and whether it is all there was."""
        super().add_arguments(parser)
        parser.add_argument(
            "--seen-at", type=iso_instant, help=_("when the answers were given; default: now")
        )
        parser.add_argument("--region", default="", help=_("region of answers whose offers name no zone"))
        parser.add_argument(
            "--complete", action="store_true", help=_("all offers of these regions: others are gone")
        )
        parser.add_argument(
            "--date",
            type=iso_date,
            help=_("date of the list where neither a column nor the file's name has it"),
        )

    def runs(self, options: dict[str, Any], progress: Callable[[str], None]) -> list[IngestRun]:
        """One run per path; all of one call were seen at one time."""
        seen_at = options["seen_at"] or timezone.now()
        return [
            offers_import(
                path=path,
                seen_at=seen_at,
                region=options["region"],
                listed_on=options["date"],
                complete=options["complete"],
                progress=progress,
            )
            for path in options["paths"]
        ]
