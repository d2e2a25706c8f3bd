"""`backtest_commitments`: the policy of buying over time, its rivals and the optimum on one demand."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.recommendations.management.verb import Verb, decimal
from apps.recommendations.services.commitments_backtest import backtest_commitments
from finops.providers.files.archives import UnreadableError
from finops.verbs import error_document

EXIT_REFUSED = 3


class Command(Verb):
    """One kind of commitment against on-demand; the policy knows the past only."""

    help = "Back-test buying commitments over time."

    def add_arguments(self, parser: CommandParser) -> None:
        """The demand, the commitment, the horizon."""
        super().add_arguments(parser)
        parser.add_argument("--demand", required=True, metavar="PATH", help=_("hourly values or a job trace"))
        parser.add_argument("--term-hours", required=True, type=int)
        parser.add_argument("--upfront", required=True, type=decimal, help=_("paid once per instance"))
        parser.add_argument("--on-demand", required=True, type=decimal, help=_("price of an instance-hour"))
        parser.add_argument("--hourly", default="0", type=decimal, help=_("paid for every hour of the term"))
        parser.add_argument(
            "--horizon-hours", type=int, help=_("default: two years; shorter demand is repeated")
        )
        parser.add_argument("--currency", default="USD")

    def answer(self, options: dict[str, Any]) -> dict[str, Any]:
        """The document; a file that cannot be read is refused with exit code 3."""
        wanted = ("demand", "term_hours", "upfront", "on_demand", "hourly", "horizon_hours", "currency", "at")
        try:
            return backtest_commitments(**{name: options[name] for name in wanted})
        except UnreadableError as error:
            if options["json"]:
                self.document(error_document(str(error), "demand"))
            self.stderr.write(f"--demand: {error}")
            sys.exit(EXIT_REFUSED)

    def show(self, document: dict[str, Any]) -> None:
        """A row a policy."""
        self.table(
            [_("policy"), _("cost"), _("of all on demand"), _("times the optimum")],
            [
                [name, one["cost"], one["cost_share"], one["ratio_to_optimum"]]
                for name, one in document["policies"].items()
            ],
        )
