"""`./manage.py password_link EMAIL [--json]`: a link by which a person sets a new password."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser

from apps.accounts.actors import Actor
from apps.accounts.services import operator_link
from finops.verbs import JsonCommand


class Command(JsonCommand):
    """For the operator of an installation that sends no mail; links made before stop working."""

    help = "Make a link by which a person sets a new password."

    def add_arguments(self, parser: CommandParser) -> None:
        """Whose, and the form of the answer."""
        parser.add_argument("email", help="the address the person signs in with")
        parser.add_argument("--json", action="store_true", help="one JSON document on standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print {"email", "path", "valid_hours"}; exit code 2 for an address nobody has."""
        try:
            path = operator_link(email=options["email"], actor=Actor.system("password_link"))
        except ValidationError as error:
            raise CommandError(" ".join(error.messages), returncode=2) from None
        hours = settings.PASSWORD_RESET_TIMEOUT // 3600
        if options["json"]:
            self.document({"email": options["email"], "path": path, "valid_hours": hours})
            return
        self.stderr.write(f"Below the address of this installation; works once, within {hours} h:")
        self.stdout.write(path)
