"""`price_deal`: when a second-hand deal pays, "30 % of the list price with 8 months left" or any other."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.recommendations.management.verb import Verb, decimal
from apps.recommendations.services.deal_claim import MONTH_HOURS, Claim, deal_claim

NAMES = (
    "share_pct", "price", "used_pct", "list_fixed", "list_hourly", "on_demand", "spot",
)  # fmt: skip


class Command(Verb):
    """Both readings of the claim, or one price, beside every rival."""

    help = "Say when a second-hand deal pays."

    def add_arguments(self, parser: CommandParser) -> None:
        """What is offered, and what is known of its list."""
        super().add_arguments(parser)
        parser.add_argument("--type", default="", help=_("instance type"))
        parser.add_argument("--region", default="")
        parser.add_argument("--platform", default="Linux/UNIX")
        parser.add_argument("--share-pct", type=decimal, help=_("percent of the list price (default: 30)"))
        parser.add_argument("--price", type=decimal, help=_("price of one, in place of a share"))
        parser.add_argument("--hours-left", type=decimal)
        parser.add_argument("--months-left", type=decimal, help=_("730 hours each (default: 8)"))
        parser.add_argument("--used-pct", type=decimal, help=_("percent of the hours used (default: 100)"))
        parser.add_argument("--term-months", type=int, choices=(12, 36), default=12)
        parser.add_argument(
            "--class", dest="offering_class", choices=("standard", "convertible"), default="standard"
        )
        parser.add_argument("--payment", choices=("all-upfront", "partial-upfront"), default="all-upfront")
        parser.add_argument("--list-fixed", type=decimal, help=_("list price of the term, paid once"))
        parser.add_argument("--list-hourly", type=decimal, help=_("hourly charge of the term"))
        parser.add_argument("--on-demand", type=decimal, help=_("on-demand price of an hour"))
        parser.add_argument("--spot", type=decimal, help=_("Spot price of an hour"))

    def answer(self, options: dict[str, Any]) -> dict[str, Any]:
        """The document."""
        given = {name: options[name] for name in NAMES if options[name] is not None}
        if options["months_left"] is not None:
            given["hours_left"] = options["months_left"] * Decimal(MONTH_HOURS)
        if options["hours_left"] is not None:
            given["hours_left"] = options["hours_left"]
        claim = Claim(
            instance_type=options["type"], region=options["region"], platform=options["platform"],
            provider=options["provider"], term_months=options["term_months"],
            offering_class=options["offering_class"], payment=options["payment"], **given,
        )  # fmt: skip
        return deal_claim(claim, at=options["at"])

    def show(self, document: dict[str, Any]) -> None:
        """A table a reading."""
        for deal in document["deals"]:
            self.stdout.write(f"{deal['reading']}: {deal['price']} {document['currency']}")
            self.table(
                [_("against"), _("an hour"), _("saving"), _("pays from use, %"), _("up to list price, %")],
                [
                    [one["name"], one["hourly"], one["saving"], one["from_use_pct"], one["up_to_list_pct"]]
                    for one in deal["against"]
                ],
            )
