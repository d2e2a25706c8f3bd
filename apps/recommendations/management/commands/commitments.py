"""`commitments`: what is owned, how far it is used, what stands idle, what is covered, when it ends."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from datetime import date
from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.recommendations.management.verb import Verb, organisation_named
from apps.recommendations.services.commitments_hours import commitment_series
from apps.recommendations.services.commitments_owned import commitments


def billing_period(text: str) -> date:
    """`2018-10`."""
    found = re.fullmatch(r"(\d{4})-(0[1-9]|1[0-2])", text.strip())
    if found is None or int(found[1]) < 1:
        raise ArgumentTypeError(_("not a billing period like 2018-10: %(text)s") % {"text": text})
    return date(int(found[1]), int(found[2]), 1)


class Command(Verb):
    """The billing month of `--at`, else the newest one before it that has a bill."""

    help = "Show owned commitments, their use and what they cover."

    def add_arguments(self, parser: CommandParser) -> None:
        """Another month, another organisation, the hours."""
        super().add_arguments(parser)
        parser.add_argument("--billing-period", type=billing_period, help="2018-10")
        parser.add_argument("--organisation", default="", help=_("slug of the organisation"))
        parser.add_argument("--hours", action="store_true", help=_("the hours of the period too"))

    def answer(self, options: dict[str, Any]) -> dict[str, Any]:
        """The document."""
        organisation = organisation_named(options["organisation"])
        document = commitments(
            at=options["at"], organisation=organisation, billing_period=options["billing_period"]
        )
        if options["hours"]:
            document["hours"] = commitment_series(at=options["at"], organisation=organisation)
        return document

    def show(self, document: dict[str, Any]) -> None:
        """A row a commitment."""
        self.table(
            [
                _("commitment"), _("platform"), _("quantity"), _("ends"), _("used %"), _("idle hours"),
                _("idle cost"), _("an hour"), _("on demand"),
            ],
            [
                [
                    one["type"] or one["plan"] or one["id"],
                    one["platform"],
                    one["count"],
                    (one["end"] or "")[:10] or None,
                    one["utilisation_pct"],
                    one["idle_hours"],
                    one["idle_cost"],
                    one["effective_hourly"],
                    one["on_demand_hourly"],
                ]
                for one in document["commitments"]
            ],
        )  # fmt: skip
