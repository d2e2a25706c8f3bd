"""`backtest_launch`: the launch rule, its rivals and the optimum on loaded history."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.recommendations.management.verb import Verb, moment, names, numbers
from apps.recommendations.services import backtest_launch
from finops.engine.backtest import Cell


class Command(Verb):
    """Every series takes its turn as home; savings are means over series, each weighing the same."""

    help = "Back-test the launch rule, walking forward."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which series, which window, which jobs."""
        super().add_arguments(parser)
        parser.add_argument("--regions", required=True, type=names)
        parser.add_argument("--product", required=True)
        parser.add_argument("--types", type=names)
        parser.add_argument("--from", dest="start", required=True, type=moment)
        parser.add_argument("--to", dest="end", required=True, type=moment)
        parser.add_argument("--hours", type=numbers, default=[1.0, 4.0, 8.0, 24.0])
        parser.add_argument("--slack-hours", type=numbers, default=[4.0, 24.0, 72.0])
        parser.add_argument(
            "--every-hours",
            type=int,
            help=_("hours between decisions; default: 1 for few series, to 6 for many"),
        )

    def answer(self, options: dict[str, Any]) -> dict[str, Any]:
        """The document of `backtest_launch`."""
        wanted = (
            "provider", "regions", "product", "types", "start", "end", "hours", "slack_hours",
            "every_hours", "at",
        )  # fmt: skip
        return backtest_launch(**{name: options[name] for name in wanted}, tell=self._tell)

    def _tell(self, cell: Cell) -> None:
        """Progress on standard error: a region takes a minute and more."""
        told = _("%(region)s, %(hours)g h, slack %(slack)g h: %(n)d decisions on %(series)d series")
        self.stderr.write(
            told
            % {
                "region": cell.region,
                "hours": cell.hours,
                "slack": cell.slack_hours,
                "n": cell.decisions,
                "series": cell.series,
            }
        )

    def show(self, document: dict[str, Any]) -> None:
        """A row a cell and strategy, and what had to be left out."""
        rows = [
            [
                cell["region"],
                f"{cell['hours']:g}",
                f"{cell['slack_hours']:g}",
                cell["series"],
                name,
                *(
                    None if result[k] is None else f"{result[k]:.3f}"
                    for k in ("saving_vs_home_pct", "capture")
                ),
                None if result["lost_share"] is None else f"{result['lost_share'] * 100:.1f}",
            ]
            for cell in document["cells"]
            for name, result in cell["strategies"].items()
        ]
        self.table(
            [
                _("region"),
                _("h"),
                _("slack"),
                _("series"),
                _("strategy"),
                _("saving %"),
                _("capture"),
                _("lost %"),
            ],
            rows,
        )
        for one in document["left_out"]:
            named = ", ".join(one["types"])
            self.stdout.write(f"{one['reason']} {named}".rstrip())
