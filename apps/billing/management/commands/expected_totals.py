"""`expected_totals`: the invoice totals that deliveries are compared with, and how they compare."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.billing.management.bill_verb import BillVerb
from apps.billing.selectors.expected import expected_document, expected_totals_of
from apps.billing.selectors.spend import SpendError
from apps.billing.services.expected import month_cell


class Command(BillVerb):
    """Newest month first; `import_expected_totals` and REST enter them."""

    help = "Show the totals of invoices and which deliveries agree with them."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which of them."""
        super().add_arguments(parser)
        parser.add_argument("--billing-period", default="", help=_("month of the bill, 2018-10"))

    def answer(self, organisation: Organisation, at: datetime, options: dict[str, Any]) -> dict[str, Any]:
        """`{"expected_totals": […]}`; entered after `--at` they are left out."""
        rows = expected_totals_of(organisation).filter(set_at__lte=at)
        if options["billing_period"]:
            try:
                rows = rows.filter(billing_period=month_cell(options["billing_period"]))
            except ValueError as error:
                raise SpendError("billing-period", str(error)) from error
        return {"expected_totals": [expected_document(row) for row in rows]}

    def show(self, document: dict[str, Any]) -> None:
        """A line a total."""
        for one in document["expected_totals"]:
            states = ", ".join(f"#{d['id']} {d['difference'] or '-'}" for d in one["deliveries"]) or "-"
            self.stdout.write(
                f"{one['billing_period']}  {one['payer']} {one['report']}  {one['total']} {one['currency']}  "
                f"{states}"
            )
