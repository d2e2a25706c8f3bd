"""`pools`: where work can run and what an hour of it costs; with `--hours`, which pool takes it and why."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.launches.management.launch_verb import LaunchVerb
from apps.launches.selectors.pools import (
    choice_document,
    device_document,
    device_list,
    pool_document,
    pool_list,
)
from apps.launches.services.pools import pool_choices
from apps.recommendations.management.verb import names
from finops.engine.launches.pool import PoolWork
from finops.frames.pools import PoolKind


class Command(LaunchVerb):
    """Pools, devices and the comparison."""

    help = "Show pools and devices, and which pool a piece of work takes."

    def add_arguments(self, parser: CommandParser) -> None:
        """The work to compare for."""
        super().add_arguments(parser)
        parser.add_argument("--hours", type=float, help=_("hours of work; without it pools are only listed"))
        parser.add_argument("--units", type=int, default=1)
        parser.add_argument("--deadline-hours", type=float)
        parser.add_argument("--checkpoint-minutes", type=float)
        parser.add_argument("--restart-minutes", type=float, default=0.0)
        parser.add_argument("--kinds", type=names, default=[])
        parser.add_argument("--regions", type=names, default=[])
        parser.add_argument("--most-cost", type=float)
        parser.add_argument("--currency")

    def answer(self, organisation: Organisation, now: datetime, options: dict[str, Any]) -> dict[str, Any]:
        """`{"pools", "devices", "choices"}`; choices null without `--hours`."""
        return {
            "pools": [pool_document(row) for row in pool_list(organisation)],
            "devices": [device_document(row, now) for row in device_list(organisation)],
            "choices": None if options["hours"] is None else self._choices(organisation, now, options),
        }

    def _choices(self, organisation: Organisation, now: datetime, options: dict[str, Any]) -> list[Any]:
        try:
            hours, minutes = options["deadline_hours"], options["checkpoint_minutes"]
            work = PoolWork(
                hours=options["hours"],
                units=options["units"],
                deadline=None if hours is None else now + timedelta(hours=hours),
                checkpoint_hours=None if minutes is None else minutes / 60,
                restart_hours=options["restart_minutes"] / 60,
                kinds=frozenset(PoolKind(one) for one in options["kinds"]) or None,
                regions=frozenset(options["regions"]) or None,
                most_cost=options["most_cost"],
                currency=options["currency"],
            )
            found = pool_choices(organisation=organisation, work=work, now=now)
        except (ValueError, OverflowError) as error:
            raise ValidationError({"hours": str(error)}) from error
        return [choice_document(one) for one in found]

    def show(self, document: dict[str, Any]) -> None:
        """A line each."""
        for one in document["pools"] if document["choices"] is None else document["choices"]:
            words = [
                one.get("name") or one["pool"],
                one["kind"],
                one["cost_per_work"] or "-",
                one["currency"],
            ]
            self.stdout.write("  ".join([*words, one.get("reason") or ""]).rstrip())
