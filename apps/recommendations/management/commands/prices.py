"""`prices`: the change points of one series, its opening price and its time-weighted mean."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.recommendations.management.verb import Verb, moment
from apps.recommendations.services import price_history


class Command(Verb):
    """Prices per instance-hour; the row before the window is the opening price."""

    help = "Show the Spot prices of one type in one zone."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which series and which window."""
        super().add_arguments(parser)
        parser.add_argument("--region", required=True)
        parser.add_argument("--type", required=True)
        parser.add_argument("--zone", required=True, help=_("zone name or zone id"))
        parser.add_argument("--product", required=True)
        parser.add_argument("--from", dest="start", type=moment)
        parser.add_argument("--to", dest="end", type=moment)

    def answer(self, options: dict[str, Any]) -> dict[str, Any]:
        """The document of `price_history`."""
        wanted = ("provider", "region", "type", "zone", "product", "start", "end", "at")
        return price_history(**{name: options[name] for name in wanted})

    def show(self, document: dict[str, Any]) -> None:
        """A line of figures and the changes."""
        currency = document["currency"] or ""
        self.stdout.write(
            _("Opening price %(opening)s, mean %(mean)s %(currency)s per instance-hour")
            % {
                "opening": document["opening_price"] or _("unknown"),
                "mean": document["time_weighted_mean"] or _("unknown"),
                "currency": currency,
            }
        )
        if document["reason"]:
            self.stdout.write(document["reason"])
        self.table([_("at"), _("price")], [[row["at"], row["price"]] for row in document["changes"]])
