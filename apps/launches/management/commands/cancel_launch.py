"""`cancel_launch`: a launch, or with --plan a plan and all of its launches, will not run."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.launches.management.launch_text import launch_line, plan_line
from apps.launches.management.launch_verb import LaunchVerb
from apps.launches.selectors.launches import launch_detail
from apps.launches.selectors.plans import plan_detail
from apps.launches.services.approving import launch_cancel, plan_cancel


class Command(LaunchVerb):
    """What it is afterwards."""

    help = "Cancel a launch, or a plan with its launches; a machine of it is ended by the next look."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which, and why."""
        super().add_arguments(parser)
        parser.add_argument("number", type=int)
        parser.add_argument("--plan", action="store_true", help=_("the number is a plan's"))
        parser.add_argument("--reason", default="command line")

    def answer(self, organisation: Organisation, now: datetime, options: dict[str, Any]) -> dict[str, Any]:
        """`{"launch"}` or `{"plan"}`."""
        actor, reason, number = Actor.system("command line"), options["reason"], options["number"]
        if options["plan"]:
            plan_cancel(plan=self.plan(organisation, number), actor=actor, now=now, reason=reason)
            return {"plan": plan_detail(self.plan(organisation, number))}
        launch_cancel(launch=self.launch(organisation, number), actor=actor, now=now, reason=reason)
        return {"launch": launch_detail(self.launch(organisation, number), now)}

    def show(self, document: dict[str, Any]) -> None:
        """A line."""
        one = document.get("plan")
        self.stdout.write(plan_line(one) if one else launch_line(document["launch"]))
