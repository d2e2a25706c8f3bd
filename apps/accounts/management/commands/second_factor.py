"""`./manage.py second_factor [--require on|off] [--reset EMAIL] [--json]`: second factors."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser

from apps.accounts.actors import Actor
from apps.accounts.selectors import member_list, organisation_of
from apps.accounts.services import operator_second_factor_reset, second_factor_require
from finops.verbs import JsonCommand


class Command(JsonCommand):
    """For the operator: the rule of an organisation, and a lost device of the last admin."""

    help = "Say who signs in with a second factor; ask everybody for one; take one away."

    def add_arguments(self, parser: CommandParser) -> None:
        """What to change, and the form of the answer."""
        parser.add_argument("--organisation", default="", help="slug; default: the default organisation")
        parser.add_argument("--require", choices=["on", "off"], help="ask every member for one, or no longer")
        parser.add_argument("--reset", metavar="EMAIL", help="take this person's second factor away")
        parser.add_argument("--json", action="store_true", help="one JSON document on standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print {"required", "reset", "members": [{"email", "second_factor"}]}; exit code 2 for names that
        nobody has.
        """
        actor, taken = Actor.system("second_factor"), None
        organisation = organisation_of(options["organisation"])
        if organisation is None:
            raise CommandError("There is no such organisation.", returncode=2)
        try:
            if options["reset"]:
                taken = operator_second_factor_reset(email=options["reset"], actor=actor)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages), returncode=2) from None
        if options["require"]:
            organisation = second_factor_require(
                organisation=organisation, required=options["require"] == "on", actor=actor
            )
        members = [
            {"email": row.user.email, "second_factor": hasattr(row.user, "second_factor")}
            for row in member_list(organisation)
        ]
        found = {"required": organisation.second_factor_required, "reset": taken, "members": members}
        if options["json"]:
            self.document(found)
            return
        self.stdout.write("asked of everybody" if found["required"] else "everybody's own choice")
        for one in members:
            self.stdout.write(f"{one['email']}  {'on' if one['second_factor'] else 'off'}")
