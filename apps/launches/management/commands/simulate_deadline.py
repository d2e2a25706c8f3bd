"""`simulate_deadline`: Spot or on-demand under a deadline, played on a trace by every strategy."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.launches.services.deadline_simulation import ON_DEMAND_RATIO, STARTS, simulate_deadline
from apps.recommendations.management.verb import Verb
from finops.providers.files.archives import UnreadableError
from finops.verbs import error_document

EXIT_REFUSED = 3


class Command(Verb):
    """The policy knows what was seen so far, the optimum everything."""

    help = "Play the deadline strategies on a trace of Spot availability."

    def add_arguments(self, parser: CommandParser) -> None:
        """The trace and the job."""
        super().add_arguments(parser)
        parser.add_argument("--trace", required=True, metavar="PATH")
        parser.add_argument("--work-hours", required=True, type=float)
        parser.add_argument("--deadline-hours", required=True, type=float)
        parser.add_argument("--overhead-hours", required=True, type=float)
        parser.add_argument("--on-demand-ratio", default=ON_DEMAND_RATIO, type=float)
        parser.add_argument("--starts", default=STARTS, type=int)
        parser.add_argument("--count", default=1, type=int)

    def answer(self, options: dict[str, Any]) -> dict[str, Any]:
        """The document; a file that cannot be read is refused with exit code 3."""
        wanted = (
            "trace", "work_hours", "deadline_hours", "overhead_hours", "on_demand_ratio", "starts",
            "count", "at",
        )  # fmt: skip
        try:
            return simulate_deadline(**{name: options[name] for name in wanted})
        except UnreadableError as error:
            if options["json"]:
                self.document(error_document(str(error), "trace"))
            self.stderr.write(f"--trace: {error}")
            sys.exit(EXIT_REFUSED)

    def show(self, document: dict[str, Any]) -> None:
        """A row a strategy."""
        self.table(
            [_("policy"), _("of all on demand"), _("missed")],
            [[name, one["cost_share"], one["missed"]] for name, one in document["strategies"].items()],
        )
