"""`profile`: prices by hour of the week, with a verdict."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.recommendations.management.verb import Verb
from apps.recommendations.services import price_profile

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


class Command(Verb):
    """Mean price in each hour of the local week over the mean of its week, with 90 % intervals."""

    help = "Show how prices depend on the hour of the week."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which series, in which time zone, over how many days."""
        super().add_arguments(parser)
        parser.add_argument("--region", required=True)
        parser.add_argument("--type", required=True)
        parser.add_argument("--zone", default="", help=_("zone name or zone id; default: the whole region"))
        parser.add_argument("--product", required=True)
        parser.add_argument("--timezone", default="UTC", help=_("for example Europe/Berlin"))
        parser.add_argument("--days", type=int, default=28)

    def answer(self, options: dict[str, Any]) -> dict[str, Any]:
        """The document of `price_profile`."""
        wanted = ("provider", "region", "type", "zone", "product", "timezone", "days", "at")
        return price_profile(**{name: options[name] for name in wanted})

    def show(self, document: dict[str, Any]) -> None:
        """The sentence and a row an hour."""
        self.stdout.write(document["sentence"])
        rows = [
            [
                f"{DAYS[hour['hour_of_week'] // 24]} {hour['hour_of_week'] % 24:02d}:00",
                *("-" if hour[k] is None else f"{hour[k]:.4f}" for k in ("relative", "low", "high")),
            ]
            for hour in document["hours"]
        ]
        self.table([document["timezone"], _("relative"), _("low"), _("high")], rows)
