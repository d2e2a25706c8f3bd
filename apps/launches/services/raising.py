"""A launch that would pass what was approved waits and asks; people raise it, as they approve plans."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Membership
from apps.accounts.roles import Action, Role
from apps.accounts.services import audit_record
from apps.launches.models import WAITING, Launch, LaunchYes
from apps.launches.selectors.values import decimal_text
from apps.launches.services.approving import approvals_needed
from apps.launches.services.guards import organisation_lock
from apps.launches.services.timeline import launch_event
from apps.launches.wording import amount_text
from apps.recommendations.selectors.approvals import standing
from apps.recommendations.services.approvals import may_approve
from apps.recommendations.services.stated import only_from


def launch_raise(*, launch: Launch, membership: Membership, high: Decimal, now: datetime) -> Launch:
    """One person's yes to what a launch asks for; with the last one that is needed it goes on.

    `high` is the amount that was read: another one than is asked for by now is refused. The same person again
    changes nothing. Raises ValidationError by field.
    """
    may_approve(launch, membership, Action.APPROVE_SPEND, _("Your role may not approve launches."))
    actor = Actor.of_user(membership.user)
    with transaction.atomic():
        organisation_lock(launch.organisation_id)
        row = (
            Launch.objects.select_for_update(of=("self",))
            .select_related("plan", "organisation")
            .get(pk=launch.pk)
        )
        if row.approved_high is not None and row.approved_high >= high:
            return row
        only_from(row, *WAITING)
        if row.asked_high is None or row.asked_high != high:
            raise ValidationError({"state": _("It asks for another amount by now: look again.")})
        _within_own_budget(row, high)
        if row.yeses.filter(user=membership.user, high=high).exists():
            return row
        if row.yeses.filter(role=membership.role, high=high).exists():
            raise ValidationError(
                {
                    "approval": _("The role %(role)s has approved: the second yes comes from another role.")
                    % {"role": Role(membership.role).label.lower()}
                }
            )
        LaunchYes.objects.create(launch=row, user=membership.user, role=membership.role, at=now, high=high)
        given, needed = raise_standing(row)
        if given >= needed:
            row.approved_high, row.asked_high, row.next_at = high, None, now
            row.save(update_fields=["approved_high", "asked_high", "next_at"])
        launch_event(
            row, "raised", by=actor.label, role=membership.role, high=decimal_text(high),
            currency=row.plan.currency,
        )  # fmt: skip
        audit_record(
            organisation=row.organisation, actor=actor, action="launch.raise", target=row,
            before={"approved_high": decimal_text(launch.approved_high)},
            after={"high": decimal_text(high), "approved_high": decimal_text(row.approved_high),
                   "currency": row.plan.currency, "plan": row.plan_id, "role": membership.role},
        )  # fmt: skip
    return row


def _within_own_budget(row: Launch, high: Decimal) -> None:
    """Raises ValidationError where the plan's own budget, which no yes changes, would still stop it."""
    plan = row.plan
    if plan.budget is None or high <= plan.budget / plan.parts:
        return
    raise ValidationError(
        {
            "budget": _(
                "The plan's own budget is %(budget)s, and it needs up to %(high)s: a yes would not start it. "
                "Cancel it and make a plan with a higher budget."
            )
            % {
                "budget": amount_text(plan.budget / plan.parts, plan.currency),
                "high": amount_text(high, plan.currency),
            }
        }
    )


def raise_standing(row: Launch) -> tuple[int, int]:
    """(yeses that stand for what a launch asks for, yeses needed)."""
    if row.asked_high is None:
        return 0, 0
    yeses = standing(
        row.yeses.filter(high=row.asked_high).select_related("user"),
        organisation_id=row.organisation_id, action=Action.APPROVE_SPEND, in_role=True,
    )  # fmt: skip
    needed = approvals_needed(row.asked_high * row.plan.parts, row.plan.currency)
    return min(len({one.role for one in yeses}), len({one.user_id for one in yeses})), needed
