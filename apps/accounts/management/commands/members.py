"""`./manage.py members [--organisation SLUG] [--json]`: who belongs to an organisation and in which role."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from apps.accounts.management.people import add_organisation, member_facts, organisation_or_refusal
from apps.accounts.selectors import member_list
from finops.verbs import JsonCommand


class Command(JsonCommand):
    """Reads only; `invite_member` and `change_member` write."""

    help = "List the members of an organisation."

    def add_arguments(self, parser: CommandParser) -> None:
        """Whose, and the form of the answer."""
        add_organisation(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Print {"organisation", "members": [{id, email, name, role, active, password_set, created_at}]}."""
        organisation = organisation_or_refusal(options["organisation"])
        found = [member_facts(member) for member in member_list(organisation)]
        if options["json"]:
            self.document({"organisation": organisation.slug, "members": found})
            return
        for member in found:
            state = "" if member["active"] else "  disabled"
            self.stdout.write(f"{member['email']}  {member['role']}{state}")
