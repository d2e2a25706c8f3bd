"""`launch_bursts`: rules that buy help for queues of own machines; named or changed with a name."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.launches.management.launch_verb import LaunchVerb
from apps.launches.models import LaunchBurst
from apps.launches.selectors.bursts import burst_document, burst_list
from apps.launches.selectors.pools import pool_list
from apps.launches.services.bursts import burst_save
from apps.launches.services.wishes import target_named


class Command(LaunchVerb):
    """All rules with the backlog of each."""

    help = "Show rules that buy help for queues; with a name, make or change one."

    def add_arguments(self, parser: CommandParser) -> None:
        """What it is made of; what is left out stays."""
        super().add_arguments(parser)
        parser.add_argument("name", nargs="?", default="")
        parser.add_argument("--pool")
        parser.add_argument("--target")
        parser.add_argument("--team")
        parser.add_argument("--start", type=float, help=_("help above, hours"))
        parser.add_argument("--stop", type=float, help=_("ends at, hours"))
        parser.add_argument("--most", type=int, help=_("machines at most"))
        parser.add_argument("--hours", type=float, help=_("hours of a machine"))
        parser.add_argument(
            "--job", metavar="JSON", help="types, regions, product, user_data, image, command"
        )
        parser.add_argument("--active", choices=["yes", "no"])

    def answer(self, organisation: Organisation, now: datetime, options: dict[str, Any]) -> dict[str, Any]:
        """`{"bursts"}`."""
        if options["name"]:
            self._save(organisation, options)
        return {"bursts": [burst_document(one, now) for one in burst_list(organisation)]}

    def _save(self, organisation: Organisation, options: dict[str, Any]) -> None:
        former = burst_list(organisation).filter(name=options["name"]).first()
        given = {
            name: options[name] for name in ("start", "stop", "most", "hours") if options[name] is not None
        }
        if options["job"] is not None:
            try:
                given["job"] = dict(json.loads(options["job"]))
            except (ValueError, TypeError) as error:
                raise ValidationError({"job": _("No JSON: %(error)s") % {"error": error}}) from error
        if options["pool"] is not None:
            given["pool"] = pool_list(organisation).filter(name=options["pool"]).first()
        if options["target"] is not None:
            given["target"] = target_named(organisation, options["target"])
        if options["team"] is not None:
            given["team"] = self.team(organisation, options["team"])
        if options["active"] is not None:
            given["active"] = options["active"] == "yes"
        values = {"team": None, "active": True} | _former(former) | given
        for name in ("pool", "target", "start", "stop", "most", "hours", "job"):
            if values.get(name) is None:
                raise ValidationError({name: _("Give this.")})
        burst_save(
            organisation=organisation, actor=Actor.system("command line"), name=options["name"], **values
        )

    def show(self, document: dict[str, Any]) -> None:
        """A line each."""
        for one in document["bursts"]:
            self.stdout.write(
                f"{one['name']}  {one['pool']}  {one['machines']}/{one['most']}  "
                f"{one['waits_for'] or one['reason']}"
            )


def _former(row: LaunchBurst | None) -> dict[str, Any]:
    names = ("pool", "target", "team", "start", "stop", "most", "hours", "job", "active")
    return {} if row is None else {name: getattr(row, name) for name in names}
