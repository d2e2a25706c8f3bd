"""`import_interruption PATH…`: interruption bands from the Spot Advisor's file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.ingest.management.reference_command import ReferenceCommand, iso_date
from apps.ingest.models import IngestRun
from apps.ingest.reference import interruption_import


class Command(ReferenceCommand):
    """The JSON that the Spot Instance Advisor page reads."""

    help = "Import Spot interruption bands."

    def add_arguments(self, parser: CommandParser) -> None:
        """A date for files that do not carry one in their name."""
        super().add_arguments(parser)
        parser.add_argument(
            "--as-of", type=iso_date, help=_("date of publication where the file's name has none")
        )

    def runs(self, options: dict[str, Any], progress: Callable[[str], None]) -> list[IngestRun]:
        """One run per path."""
        return [
            interruption_import(path=path, as_of=options["as_of"], progress=progress)
            for path in options["paths"]
        ]
