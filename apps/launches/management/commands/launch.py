"""`launch`: one launch with its attempts, checkpoints and timeline."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from apps.accounts.models import Organisation
from apps.launches.management.launch_text import launch_lines
from apps.launches.management.launch_verb import LaunchVerb
from apps.launches.selectors.launches import launch_detail
from apps.launches.selectors.plans import places_of


class Command(LaunchVerb):
    """Everything that happened to it."""

    help = "Show one launch with its timeline, plan against actual."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which."""
        super().add_arguments(parser)
        parser.add_argument("launch", type=int)

    def answer(self, organisation: Organisation, now: datetime, options: dict[str, Any]) -> dict[str, Any]:
        """`{"launch"}`."""
        row = self.launch(organisation, options["launch"])
        self._places, self._now = places_of(row.plan), now
        return {"launch": launch_detail(row, now)}

    def show(self, document: dict[str, Any]) -> None:
        """What it cost, its deadline, its attempts, its timeline."""
        for line in launch_lines(document["launch"], self._places, self._now):
            self.stdout.write(line)
