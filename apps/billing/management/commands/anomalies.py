"""`anomalies`: days on which a part of the bill cost far more or less than usual."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.billing.management.bill_verb import BillVerb, day
from apps.billing.selectors.anomalies import STATES, anomalies_asked, anomalies_document
from apps.billing.services.watch import bills_judge


class Command(BillVerb):
    """What was found and is kept, newest first; new bills are judged first."""

    help = "Show anomalies of daily cost with their drivers."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which of them."""
        super().add_arguments(parser)
        parser.add_argument("--from", dest="start", type=day, help=_("first day, 2018-11-01"))
        parser.add_argument("--to", dest="end", type=day, help=_("day after the last one"))
        parser.add_argument("--state", choices=STATES)

    def answer(self, organisation: Organisation, at: datetime, options: dict[str, Any]) -> dict[str, Any]:
        """The document of `anomalies_document`."""
        if options["at"] is None:
            bills_judge(organisation=organisation, now=at)
        rows = anomalies_asked(
            organisation, start=options["start"], end=options["end"], state=options["state"], at=at
        )
        return anomalies_document(rows, organisation, at=at)

    def show(self, document: dict[str, Any]) -> None:
        """A line an anomaly."""
        for one in document["anomalies"]:
            where = " ".join(one["slice"].values()) or _("the whole bill")
            self.stdout.write(
                f"{one['first_day']}  {one['last_day']}  {one['amount']} {one['currency']}  {where}  "
                f"{one['course']}  {one['state']}"
            )
