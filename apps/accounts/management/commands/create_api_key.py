"""`./manage.py create_api_key --name N --scopes A,B [--expires-days 90] [--team SLUG] [--json]`."""

from __future__ import annotations

import json
from datetime import UTC
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.accounts.roles import Scope
from apps.accounts.selectors import team_list
from apps.accounts.services import api_key_create
from apps.accounts.services.keys import DEFAULT_LIFE_DAYS, MAX_LIFE_DAYS
from finops.verbs import JsonCommand


class Command(JsonCommand):
    """Makes a key of the default organisation and shows its token this once."""

    help = "Make an API key; its token is printed once and kept nowhere."

    def add_arguments(self, parser: CommandParser) -> None:
        """Options."""
        known = ", ".join(Scope)
        parser.add_argument("--name", required=True, help="what uses the key")
        parser.add_argument("--scopes", required=True, help=f"comma-separated: {known}")
        parser.add_argument(
            "--expires-days",
            type=int,
            default=DEFAULT_LIFE_DAYS,
            help=f"1 to {MAX_LIFE_DAYS}, default {DEFAULT_LIFE_DAYS}",
        )
        parser.add_argument("--team", default="", help="slug of the team it belongs to")
        parser.add_argument("--json", action="store_true", help="one JSON document on standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print {"id", "name", "prefix", "scopes", "team", "expires_at", "token"}; 2 for wrong options."""
        organisation = Organisation.default()
        team = None
        if options["team"]:
            team = team_list(organisation).filter(slug=options["team"]).first()
            if team is None:
                raise CommandError(f"no team with the slug {options['team']}", returncode=2)
        try:
            key, token = api_key_create(
                organisation=organisation,
                actor=Actor.system("create_api_key"),
                name=options["name"],
                scopes=[scope.strip() for scope in options["scopes"].split(",") if scope.strip()],
                expires_days=options["expires_days"],
                team=team,
                now=timezone.now(),
            )
        except ValidationError as error:
            text = "; ".join(f"--{n.replace('_', '-')}: {' '.join(m)}" for n, m in error.message_dict.items())
            raise CommandError(text, returncode=2) from None
        expires = key.expires_at.astimezone(UTC).isoformat().replace("+00:00", "Z")
        if options["json"]:
            found = {
                "id": key.pk,
                "name": key.name,
                "prefix": key.prefix,
                "scopes": key.scopes,
                "team": team.slug if team else None,
                "expires_at": expires,
                "token": token,
            }
            self.stdout.write(json.dumps(found, ensure_ascii=False))
            return
        self.stderr.write(f"{key.name}: {', '.join(key.scopes)}; until {expires}. Shown this once:")
        self.stdout.write(token)
