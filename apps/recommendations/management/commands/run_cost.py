"""`run_cost`: what a run costs, exactly, or that it is not known."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.recommendations.management.verb import Verb, decimal, moment
from apps.recommendations.services import run_cost


class Command(Verb):
    """The integral of the price over the run, times the number of instances."""

    help = "Compute the exact Spot cost of one run."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which series, from when, how long, how many."""
        super().add_arguments(parser)
        parser.add_argument("--region", required=True)
        parser.add_argument("--type", required=True)
        parser.add_argument("--zone", required=True, help=_("zone name or zone id"))
        parser.add_argument("--product", required=True)
        parser.add_argument("--start", required=True, type=moment)
        parser.add_argument("--hours", required=True, type=decimal)
        parser.add_argument("--count", type=int, default=1)

    def answer(self, options: dict[str, Any]) -> dict[str, Any]:
        """The document of `run_cost`."""
        wanted = ("provider", "region", "type", "zone", "product", "start", "hours", "count", "at")
        return run_cost(**{name: options[name] for name in wanted})

    def show(self, document: dict[str, Any]) -> None:
        """One line."""
        if document["known"]:
            self.stdout.write(f"{document['cost']} {document['currency']}")
        else:
            self.stdout.write(_("Unknown: %(reason)s") % {"reason": document["reason"]})
