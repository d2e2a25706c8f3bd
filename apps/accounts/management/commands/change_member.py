"""`./manage.py change_member EMAIL (--role ROLE | --remove) [--organisation SLUG] [--json]`."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser

from apps.accounts.actors import Actor
from apps.accounts.management.people import (
    add_organisation,
    member_facts,
    organisation_or_refusal,
    wrong_input,
)
from apps.accounts.roles import Role
from apps.accounts.selectors import member_list
from apps.accounts.services import member_remove, member_role_change
from finops.verbs import JsonCommand


class Command(JsonCommand):
    """For the operator of an installation whose admins are out of reach; the last admin stays."""

    help = "Give a member another role, or end the membership."

    def add_arguments(self, parser: CommandParser) -> None:
        """Whom, and what is to change."""
        parser.add_argument("email", help="the address the person signs in with")
        change = parser.add_mutually_exclusive_group(required=True)
        change.add_argument("--role", choices=Role.values)
        change.add_argument("--remove", action="store_true", help="end the membership")
        add_organisation(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Print {"member"}, null after --remove; exit code 2 for nobody and for the last admin."""
        organisation = organisation_or_refusal(options["organisation"])
        email = options["email"].strip()
        member = member_list(organisation).filter(user__email=email).first()
        if member is None:
            raise CommandError(f"nobody of {organisation.slug} has the address {email}", returncode=2)
        actor = Actor.system("change_member")
        try:
            if options["remove"]:
                member_remove(membership=member, actor=actor)
                left = None
            else:
                left = member_role_change(membership=member, role=options["role"], actor=actor)
        except ValidationError as error:
            raise wrong_input(error) from None
        if options["json"]:
            self.document({"member": member_facts(left) if left else None})
        else:
            self.stderr.write(f"{email}: {left.role if left else 'no member any more'}")
