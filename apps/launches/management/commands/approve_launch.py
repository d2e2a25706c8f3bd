"""`approve_launch`: a member's yes to a plan."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.launches.management.launch_text import launch_line, plan_line
from apps.launches.management.launch_verb import LaunchVerb
from apps.launches.selectors.launches import launch_detail
from apps.launches.selectors.plans import plan_detail
from apps.launches.services.approving import plan_approve
from apps.launches.services.raising import launch_raise


class Command(LaunchVerb):
    """The plan afterwards."""

    help = "Approve a plan of launches as a member who may."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which, and who says it."""
        super().add_arguments(parser)
        parser.add_argument("plan", type=int)
        parser.add_argument(
            "--launch", action="store_true",
            help=_("the number is a launch's that asks for more: approve what it asks for"),
        )  # fmt: skip
        parser.add_argument(
            "--as", dest="email", default="", help=_("who approves; default: the only one who may")
        )

    def answer(self, organisation: Organisation, now: datetime, options: dict[str, Any]) -> dict[str, Any]:
        """`{"plan"}`, with --launch `{"launch"}`."""
        if options["launch"]:
            row = self.launch(organisation, options["plan"])
            if row.asked_high is None:
                raise ValidationError({"state": _("It asks for nothing.")})
            launch_raise(
                launch=row, membership=self.approver(organisation, options["email"]), high=row.asked_high,
                now=now,
            )  # fmt: skip
            return {"launch": launch_detail(self.launch(organisation, row.pk), now)}
        plan = self.plan(organisation, options["plan"])
        member = self.approver(organisation, options["email"])
        plan_approve(plan=plan, membership=member, now=now)
        return {"plan": plan_detail(self.plan(organisation, plan.pk))}

    def show(self, document: dict[str, Any]) -> None:
        """A line."""
        one = document.get("plan")
        self.stdout.write(plan_line(one) if one else launch_line(document["launch"]))
