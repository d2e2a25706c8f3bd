"""`import_list_prices PATH…`: on-demand prices from offer files and tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.ingest.management.reference_command import ReferenceCommand, iso_date
from apps.ingest.models import IngestRun
from apps.ingest.reference import list_prices_import


class Command(ReferenceCommand):
    """AWS offer files (JSON, CSV) and CSV tables whose columns are found by name."""

    help = "Import on-demand list prices."

    def add_arguments(self, parser: CommandParser) -> None:
        """A date for tables without one."""
        super().add_arguments(parser)
        parser.add_argument(
            "--date",
            type=iso_date,
            help=_("date of the list where neither a column nor the file's name has it"),
        )

    def runs(self, options: dict[str, Any], progress: Callable[[str], None]) -> list[IngestRun]:
        """One run per path."""
        return [
            list_prices_import(path=path, listed_on=options["date"], progress=progress)
            for path in options["paths"]
        ]
