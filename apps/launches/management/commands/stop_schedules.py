"""`stop_schedules`: schedules in force with their due times, or the preview of a rule."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.launches.management.launch_verb import LaunchVerb
from apps.launches.selectors.pools import preview_document, schedule_document, schedule_list, turn_document
from apps.launches.services.schedules import checked_plan, switch_plan
from apps.recommendations.management.verb import moment

MOST = 100


class Command(LaunchVerb):
    """What is on when."""

    help = "Show stop schedules, or with --zone what a rule says at --at."

    def add_arguments(self, parser: CommandParser) -> None:
        """A rule to preview."""
        super().add_arguments(parser)
        parser.add_argument("--start", default="", help=_("on from, such as 08:00"))
        parser.add_argument("--stop", default="", help=_("off from, such as 19:00"))
        parser.add_argument("--days", default="mon-fri")
        parser.add_argument("--at", type=moment, help=_("the time that is asked about; default: now"))
        parser.add_argument("--zone", help=_("such as Europe/Rome; with it a rule is previewed"))

    def answer(self, organisation: Organisation, now: datetime, options: dict[str, Any]) -> dict[str, Any]:
        """`{"schedules"}`, or `{"on", "hours_a_week", "next"}` of a rule."""
        now = options["at"] or now
        if options["zone"]:
            rule = {name: options[name] for name in ("start", "stop", "days", "zone")}
            return preview_document(checked_plan(**rule), now)
        return {
            "schedules": [
                {
                    **schedule_document(row, switch_plan(row), now),
                    "turns": [turn_document(one) for one in row.turns.all()[:MOST]],
                }
                for row in schedule_list(organisation)
            ]
        }

    def show(self, document: dict[str, Any]) -> None:
        """A line each."""
        for one in document.get("schedules", [document]):
            coming = one["next"][0] if one["next"] else None
            words = [
                one.get("name") or "-",
                one.get("state") or "-",
                str(one["on"]),
                str(one["hours_a_week"]),
            ]
            told = f"{coming['action']} {coming['at']}" if coming else "-"
            self.stdout.write("  ".join([*words, told]))
