"""`./manage.py invite_member EMAIL --role ROLE [--name N] [--organisation SLUG] [--json]`."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management.base import CommandParser

from apps.accounts.actors import Actor
from apps.accounts.management.people import (
    add_organisation,
    member_facts,
    organisation_or_refusal,
    wrong_input,
)
from apps.accounts.roles import Role
from apps.accounts.services import member_invite
from finops.verbs import JsonCommand


class Command(JsonCommand):
    """Adds a person; a new account's link to set a password is printed this once."""

    help = "Invite a person into an organisation."

    def add_arguments(self, parser: CommandParser) -> None:
        """Whom, as what, where to."""
        parser.add_argument("email", help="the address the person signs in with")
        parser.add_argument("--role", required=True, choices=Role.values)
        parser.add_argument("--name", default="", help="how the person is called")
        add_organisation(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Print {"member", "path", "valid_hours"}; both null for somebody who has a password already."""
        organisation = organisation_or_refusal(options["organisation"])
        try:
            made = member_invite(
                organisation=organisation,
                actor=Actor.system("invite_member"),
                email=options["email"],
                role=options["role"],
                name=options["name"],
            )
        except ValidationError as error:
            raise wrong_input(error) from None
        hours = settings.PASSWORD_RESET_TIMEOUT // 3600 if made.path else None
        if options["json"]:
            member = member_facts(made.membership)
            self.document({"member": member, "path": made.path, "valid_hours": hours})
            return
        if made.path is None:
            self.stderr.write(f"{options['email']} may sign in with the password of before.")
            return
        self.stderr.write(f"Below the address of this installation; works once, within {hours} h:")
        self.stdout.write(made.path)
