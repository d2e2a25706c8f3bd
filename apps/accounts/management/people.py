"""What the verbs about members have in common."""

from __future__ import annotations

from datetime import UTC
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser

from apps.accounts.models import Membership, Organisation
from apps.accounts.selectors import organisation_of


def add_organisation(parser: CommandParser) -> None:
    """`--organisation` and `--json`."""
    parser.add_argument("--organisation", default="", help="its slug; default: the first one")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")


def organisation_or_refusal(slug: str) -> Organisation:
    """The organisation. Raises CommandError, exit code 2, for an unknown slug."""
    found = organisation_of(slug)
    if found is None:
        raise CommandError(f"no organisation with the slug {slug}", returncode=2)
    return found


def member_facts(member: Membership) -> dict[str, Any]:
    """The member as the REST endpoint shows it, without the teams."""
    return {
        "id": member.pk,
        "email": member.user.email,
        "name": member.user.name,
        "role": member.role,
        "active": member.user.is_active,
        "password_set": member.user.has_usable_password(),
        "created_at": member.created_at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
    }


def wrong_input(error: ValidationError) -> CommandError:
    """A refusal of a service as wrong usage."""
    return CommandError(" ".join(error.messages), returncode=2)
