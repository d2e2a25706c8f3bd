"""`budgets`: where each budget stands."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.billing.management.bill_verb import BillVerb, day
from apps.billing.selectors.budget_standing import budget_answers, budgets_document
from apps.billing.services.watch import bills_judge


class Command(BillVerb):
    """Each budget by itself: they may overlap, so there is no sum. Alerts that are due are raised first."""

    help = "Show where budgets stand, by actual and by forecast cost."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which periods."""
        super().add_arguments(parser)
        parser.add_argument("--day", type=day, help=_("a day of the period; default: the newest with bills"))
        parser.add_argument("--all", action="store_true", help=_("also budgets that are not in force"))

    def answer(self, organisation: Organisation, at: datetime, options: dict[str, Any]) -> dict[str, Any]:
        """The document of `budgets_document`; a question about the past raises no alert."""
        if options["at"] is None:
            bills_judge(organisation=organisation, now=at)
        answers = budget_answers(organisation, at=at, day=options["day"], all_of_them=options["all"])
        return budgets_document(answers, at=at)

    def show(self, document: dict[str, Any]) -> None:
        """A line a budget."""
        for one in document["budgets"]:
            self.stdout.write(
                f"{one['name']}  {one['in_period']}  {one['spent'] or '-'} / {one['amount']} "
                f"{one['currency']}  {one['forecast'] or '-'}  {one['state']}"
            )
