"""`launches`: plans and launches with their states, why they wait and what they cost."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from apps.accounts.models import Organisation
from apps.launches.management.launch_verb import LaunchVerb, launch_line, plan_line
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
        """A line each."""
        for one in document["plans"]:
            self.stdout.write(plan_line(one))
        self.stdout.write("")
        for one in document["launches"]:
            self.stdout.write(launch_line(one))
