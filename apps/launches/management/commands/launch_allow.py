"""`launch_allow`: what of the installation an organisation's launches may use. The operator says it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.launches.management.launch_verb import LaunchVerb
from apps.launches.models import GrantKind
from apps.launches.selectors.limits import grants_document
from apps.launches.services.grants import grant_remove, grant_save


class Command(LaunchVerb):
    """What is allowed afterwards; without options it is shown."""

    help = "Let an organisation launch on a cluster of this server, or with the server's own credentials."

    def add_arguments(self, parser: CommandParser) -> None:
        """What, and whether it is taken back."""
        super().add_arguments(parser)
        parser.add_argument("--cluster", help=_("name of a folder below KUBERNETES_CREDENTIALS"))
        parser.add_argument("--own-credentials", action="store_true", help=_("AWS targets that name no role"))
        parser.add_argument("--remove", action="store_true", help=_("take it back"))

    def answer(self, organisation: Organisation, now: datetime, options: dict[str, Any]) -> dict[str, Any]:
        """`{"organisation", "grants"}`."""
        wanted = []
        if options["cluster"] is not None:
            wanted.append((GrantKind.CLUSTER, options["cluster"]))
        if options["own_credentials"]:
            wanted.append((GrantKind.OWN_CREDENTIALS, ""))
        if options["remove"] and not wanted:
            raise ValidationError({"remove": _("Say what: --cluster or --own-credentials.")})
        change = grant_remove if options["remove"] else grant_save
        for kind, name in wanted:
            change(organisation=organisation, actor=Actor.system("command line"), kind=kind, name=name)
        return {"organisation": organisation.slug, "grants": grants_document(organisation)}

    def show(self, document: dict[str, Any]) -> None:
        """A line each."""
        for one in document["grants"]:
            self.stdout.write(f"{one['kind']}  {one['name'] or ''}".rstrip())
