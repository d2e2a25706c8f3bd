"""`storage_prices`: what storage costs in a region, and which prices are missing."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.billing.management.bill_verb import BillVerb
from apps.storage.selectors.prices import STORAGE_PRICE_COLUMNS, prices_document
from finops.text.csv_cells import csv_lines


class Command(BillVerb):
    """Without --json a CSV in the columns of `import_storage_prices`: fill in what is empty, and load it."""

    help = "Show prices of storage classes of a region; empty prices are not known."

    def add_arguments(self, parser: CommandParser) -> None:
        """The place."""
        super().add_arguments(parser)
        parser.add_argument("--provider", default="aws", help=_("aws, alibaba or tencent"))
        parser.add_argument("--region", required=True)

    def answer(self, organisation: Organisation, at: datetime, options: dict[str, Any]) -> dict[str, Any]:
        """The document of `prices_document`."""
        return prices_document(options["provider"], options["region"], at.date(), organisation=organisation)

    def show(self, document: dict[str, Any]) -> None:
        """The CSV."""
        for line in csv_lines(STORAGE_PRICE_COLUMNS, document["prices"]):
            self.stdout.write(line, ending="")
