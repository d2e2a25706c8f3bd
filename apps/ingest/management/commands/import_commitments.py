"""`import_commitments PATH…`: own Reserved Instances and savings plans."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.ingest.management.reference_command import ReferenceCommand, iso_instant
from apps.ingest.models import IngestRun
from apps.ingest.owned import commitments_import


class Command(ReferenceCommand):
    """Answers of DescribeReservedInstances and DescribeSavingsPlans (JSON)."""

    help = "Import own commitments."

    def add_arguments(self, parser: CommandParser) -> None:
        """When they were seen, and what the answers do not say."""
        super().add_arguments(parser)
        parser.add_argument(
            "--seen-at", type=iso_instant, help=_("when the answers were given; default: now")
        )
        parser.add_argument("--region", default="", help=_("region of the reservations"))
        parser.add_argument("--account", default="", help=_("account that owns the reservations"))

    def runs(self, options: dict[str, Any], progress: Callable[[str], None]) -> list[IngestRun]:
        """One run per path; all of one call were seen at one time."""
        seen_at = (options["seen_at"] or timezone.now()).replace(microsecond=0)
        return [
            commitments_import(
                path=path,
                seen_at=seen_at,
                region=options["region"],
                account=options["account"],
                progress=progress,
            )
            for path in options["paths"]
        ]
