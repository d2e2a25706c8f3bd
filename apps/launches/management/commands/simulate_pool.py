"""`simulate_pool`: jobs of a trace on own machines, idle devices, spare hours, Spot and on-demand."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.launches.services.pool_simulation import DEFAULTS, InputFileError, simulate_pool
from apps.recommendations.management.verb import Verb
from finops.providers.files.archives import UnreadableError
from finops.verbs import error_document

EXIT_REFUSED = 3


class Command(Verb):
    """Every policy sees arrivals and estimates only."""

    help = "Play a trace of jobs on a hybrid pool, beside first come, first served on demand."

    def add_arguments(self, parser: CommandParser) -> None:
        """The jobs, the pools, and what is laid on every job."""
        super().add_arguments(parser)
        parser.add_argument("--jobs", required=True, metavar="PATH")
        parser.add_argument("--pools", metavar="PATH", help=_("CSV of pools; without it the example"))
        parser.add_argument("--spot-trace", metavar="PATH", help=_("availability of Spot, repeated"))
        for name, value in DEFAULTS.items():
            parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)

    def answer(self, options: dict[str, Any]) -> dict[str, Any]:
        """The document; a file that cannot be read is refused with exit code 3."""
        wanted = ("jobs", "pools", "spot_trace", "at", *DEFAULTS)
        try:
            return simulate_pool(**{name: options[name] for name in wanted})
        except UnreadableError as error:
            field = error.field if isinstance(error, InputFileError) else "jobs"
            if options["json"]:
                self.document(error_document(str(error), field))
            self.stderr.write(f"--{field.replace('_', '-')}: {error}")
            sys.exit(EXIT_REFUSED)

    def show(self, document: dict[str, Any]) -> None:
        """A row a policy."""
        rows = [
            [name, one["cost"], one["cost_share"], one["wait_hours"]["mean"], one["missed_deadlines"]]
            for name, one in document["strategies"].items()
        ]
        heads = [_("policy"), _("cost"), _("of all on demand"), _("mean wait, hours"), _("missed")]
        self.table(heads, rows)
