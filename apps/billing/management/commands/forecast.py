"""`forecast`: what a period of the bills will cost."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.billing.management.bill_verb import BillVerb
from apps.billing.selectors.forecast import forecast, forecast_document, period_day
from apps.billing.selectors.spend_question import condition_of
from finops.engine.budget import Period


class Command(BillVerb):
    """Expected cost of a month, quarter or year with a 90 % interval."""

    help = "Forecast what a billing period will cost."

    def add_arguments(self, parser: CommandParser) -> None:
        """The period, the basis, what of the bills."""
        super().add_arguments(parser)
        parser.add_argument(
            "--period", help=_("2018-11, 2018-Q4 or 2018; default: the newest month with bills")
        )
        parser.add_argument("--basis", default="amortised", help=_("billed, amortised, net or list"))
        parser.add_argument(
            "--where", action="append", default=[], help=_("dimension=value; may be given again")
        )
        parser.add_argument("--currency", help=_("convert to it by the dated exchange rates"))

    def answer(self, organisation: Organisation, at: datetime, options: dict[str, Any]) -> dict[str, Any]:
        """The document of `forecast_document`."""
        day, period = period_day(options["period"]) if options["period"] else (None, Period.MONTH)
        return forecast_document(
            forecast(
                organisation=organisation, at=at, day=day, period=period, basis=options["basis"],
                where=tuple(condition_of(text) for text in options["where"]), currency=options["currency"],
            )
        )  # fmt: skip

    def show(self, document: dict[str, Any]) -> None:
        """A line a currency."""
        for one in document["currencies"]:
            if one["verdict"] == "cannot judge":
                told = one["reason"]
            else:
                told = f"{one['expected']} ({one['low']} - {one['high']})"
            spent = _("%(amount)s spent") % {"amount": one["spent"]}
            self.stdout.write(f"{document['period']}  {one['currency']}  {told}  {spent}")
        if not document["currencies"]:
            self.stdout.write(document["reason"])
        for gap in document["incomplete"]:
            self.stderr.write(gap["sentence"])
