"""`launch`: one launch with its attempts, checkpoints and timeline."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from apps.accounts.models import Organisation
from apps.launches.management.launch_verb import LaunchVerb, launch_line
from apps.launches.selectors.launches import launch_detail


class Command(LaunchVerb):
    """Everything that happened to it."""

    help = "Show one launch with its timeline, plan against actual."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which."""
        super().add_arguments(parser)
        parser.add_argument("launch", type=int)

    def answer(self, organisation: Organisation, now: datetime, options: dict[str, Any]) -> dict[str, Any]:
        """`{"launch"}`."""
        return {"launch": launch_detail(self.launch(organisation, options["launch"]), now)}

    def show(self, document: dict[str, Any]) -> None:
        """A line, then its timeline."""
        self.stdout.write(launch_line(document["launch"]))
        for line in document["launch"]["timeline"]:
            self.stdout.write(f"        {line['at']}  {line['text']}")
