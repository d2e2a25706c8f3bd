"""`approve_launch`: a member's yes to a plan."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.launches.management.launch_verb import LaunchVerb, plan_line
from apps.launches.selectors.plans import plan_detail
from apps.launches.services.approving import plan_approve


class Command(LaunchVerb):
    """The plan afterwards."""

    help = "Approve a plan of launches as a member who may."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which, and who says it."""
        super().add_arguments(parser)
        parser.add_argument("plan", type=int)
        parser.add_argument(
            "--as", dest="email", default="", help=_("who approves; default: the only one who may")
        )

    def answer(self, organisation: Organisation, now: datetime, options: dict[str, Any]) -> dict[str, Any]:
        """`{"plan"}`."""
        plan = self.plan(organisation, options["plan"])
        member = self.approver(organisation, options["email"])
        plan_approve(plan=plan, membership=member, now=now)
        return {"plan": plan_detail(self.plan(organisation, plan.pk))}

    def show(self, document: dict[str, Any]) -> None:
        """A line."""
        self.stdout.write(plan_line(document["plan"]))
