"""`import_list_prices PATH…`: on-demand prices from offer files and tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.ingest.management.reference_command import ReferenceCommand, iso_date
from apps.ingest.models import IngestRun
from apps.ingest.offers import reserved_terms_import
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
        """One run per path. Terms of reservations that stand in the same tables are stored as well, as
        runs of their own that are not reported here.
        """
        runs = []
        for path in options["paths"]:
            runs.append(list_prices_import(path=path, listed_on=options["date"], progress=progress))
            if any("term" in kind for kind in runs[-1].options["ignored"]):
                terms = reserved_terms_import(path=path, listed_on=options["date"])
                progress(
                    _("%(path)s: %(n)d terms of reservations stored, %(same)d already there")
                    % {"path": path, "n": terms.stored, "same": terms.duplicates}
                )
        return runs
