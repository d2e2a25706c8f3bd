"""The questions that every yes answers before it counts: role, organisation, state, age, four eyes."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from apps.accounts.models import Membership
from apps.accounts.roles import Action, Role, allowed
from apps.recommendations.services.stated import only_from


def may_approve(row: Any, membership: Membership, action: Action, refusal: str) -> None:
    """Raises ValidationError with `refusal` where the member may not approve what `row` asks for."""
    if not allowed(membership, action) or membership.organisation_id != row.organisation_id:
        raise ValidationError({"approval": refusal})


def still_needed(
    row: Any, membership: Membership, *, requested: str, now: datetime, other_role: bool
) -> bool:
    """Whether the member's yes is new; False: they said it before. Call it with `row` locked.

    `other_role`: a second yes comes from another role too, not only from another person. Raises
    ValidationError where the row does not wait for approval any more.
    """
    if row.approvals.filter(user=membership.user).exists():
        return False
    only_from(row, requested)
    if row.valid_until <= now:
        raise ValidationError({"state": _("It is too old to be approved: ask again.")})
    if other_role and row.approvals.filter(role=membership.role).exists():
        raise ValidationError(
            {
                "approval": _("The role %(role)s has approved: the second yes comes from another role.")
                % {"role": Role(membership.role).label.lower()}
            }
        )
    return True
