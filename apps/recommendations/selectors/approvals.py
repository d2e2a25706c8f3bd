"""Whose yes counts now, for anything that people approve."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from apps.accounts.models import Membership
from apps.accounts.roles import Action, allowed
from apps.recommendations.models.approval import Approval

One = TypeVar("One", bound=Approval)


def standing(approvals: Iterable[One], *, organisation_id: int, action: Action, in_role: bool) -> list[One]:
    """The approvals of active members who still may; `in_role`: who still hold the role they approved in."""
    found = []
    for one in approvals:
        members = Membership.objects.select_related("user").filter(
            user=one.user, organisation=organisation_id
        )
        member = (members.filter(role=one.role) if in_role else members).first()
        if allowed(member, action):
            found.append(one)
    return found
