"""`launches`: plans and launches with their states, why they wait and what they cost."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.launches.management.launch_text import INDENT, launch_line, plan_line
from apps.launches.management.launch_verb import LaunchVerb
from apps.launches.models import LaunchState
from apps.launches.selectors.launches import launch_document, launch_rows
from apps.launches.selectors.limits import limits_document
from apps.launches.selectors.plans import plan_document, plan_list
from apps.recommendations.management.verb import moment

MOST = 1000


class Command(LaunchVerb):
    """The queue and the limits."""

    help = "Show plans, launches, limits and machines that nobody asked for."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which of them."""
        super().add_arguments(parser)
        parser.add_argument("--state", default="", choices=LaunchState.values)
        parser.add_argument("--team", default="")
        parser.add_argument("--plan", type=int)
        parser.add_argument("--from", dest="due_from", type=moment)
        parser.add_argument("--to", dest="due_to", type=moment)

    def answer(self, organisation: Organisation, now: datetime, options: dict[str, Any]) -> dict[str, Any]:
        """`{"plans", "launches", "launches_left_out", "limits"}`."""
        filters = {name: options[name] for name in ("state", "team", "plan", "due_from", "due_to")}
        rows = launch_rows(organisation, filters)
        return {
            "plans": [plan_document(one) for one in plan_list(organisation)[:MOST]],
            "launches": [launch_document(one, now) for one in rows[:MOST]],
            "launches_left_out": max(0, rows.count() - MOST),
            "limits": limits_document(organisation, now),
        }

    def show(self, document: dict[str, Any]) -> None:
        """A line each, plans first."""
        for name, rows, line in (
            (_("Plans"), document["plans"], plan_line),
            (_("Launches"), document["launches"], launch_line),
        ):
            self.stdout.write(name)
            for one in rows:
                self.stdout.write(line(one))
            if not rows:
                self.stdout.write(INDENT + _("none"))
        if document["launches_left_out"]:
            left = _("%(n)d older ones are left out: ask with --state, --plan, --from or --to.")
            self.stdout.write(INDENT + left % {"n": document["launches_left_out"]})
