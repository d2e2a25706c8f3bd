"""`launch_target`: name a place to launch on, or change it; without options it is shown."""

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
from apps.launches.models import Executor
from apps.launches.selectors.limits import target_document
from apps.launches.services.switches import target_save
from finops.providers.aws.launching import launching_policy


class Command(LaunchVerb):
    """The place as it is kept, and for AWS the policy that its role needs."""

    help = "Name a place to launch on, or change it."

    def add_arguments(self, parser: CommandParser) -> None:
        """What it is made of; what is left out stays."""
        super().add_arguments(parser)
        parser.add_argument("name")
        parser.add_argument("--executor", choices=Executor.values)
        parser.add_argument("--provider")
        parser.add_argument("--account")
        parser.add_argument("--role", dest="credentials")
        parser.add_argument("--external-id")
        parser.add_argument(
            "--executor-settings", dest="place", metavar="JSON", help=_("what its executor needs")
        )
        parser.add_argument("--max-instances", type=int)
        parser.add_argument("--notices", help=_("address of the queue of interruption notices"))
        parser.add_argument("--active", choices=["yes", "no"])

    def answer(self, organisation: Organisation, now: datetime, options: dict[str, Any]) -> dict[str, Any]:
        """`{"target", "policy"}`."""
        names = ("executor", "provider", "account", "credentials", "external_id", "max_instances", "notices")
        values = {name: options[name] for name in names if options[name] is not None}
        if options["active"] is not None:
            values["active"] = options["active"] == "yes"
        if options["place"] is not None:
            try:
                values["settings"] = json.loads(options["place"])
            except ValueError as error:
                raise ValidationError({"settings": _("No JSON: %(error)s") % {"error": error}}) from error
        row = target_save(
            organisation=organisation, actor=Actor.system("command line"), name=options["name"], values=values
        )
        policy = launching_policy(row.owner) if row.executor == Executor.AWS else None
        return {"target": target_document(row), "policy": policy}

    def show(self, document: dict[str, Any]) -> None:
        """As JSON: it is to be copied."""
        self.stdout.write(json.dumps(document, indent=2))
