"""Approving plans, by people or by a rule; cancelling plans and launches. Each with a line of the audit."""

from __future__ import annotations

from datetime import datetime
from decimal import ROUND_UP, Decimal, InvalidOperation
from functools import partial
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Membership
from apps.accounts.roles import Action
from apps.accounts.services import audit_record
from apps.launches.models import (
    OVER,
    Launch,
    LaunchPlan,
    LaunchRule,
    LaunchState,
    PlanApproval,
    PlanState,
)
from apps.launches.selectors.money import budgets_of, standing_of
from apps.launches.selectors.plans import standing_approvals
from apps.launches.selectors.values import decimal_text
from apps.launches.services.guards import organisation_lock
from apps.launches.services.outcomes import launch_over
from apps.launches.services.timeline import plan_event
from apps.launches.services.turns import plan_turns
from apps.launches.wording import amount_text
from apps.recommendations.services.approvals import may_approve, still_needed
from apps.recommendations.services.stated import only_from, reason_of, state_move

State = PlanState
RULES = Actor.system("launch rule")
# Sentences have four decimals at most; what is needed is rounded up to them.
_SHOWN = Decimal("0.0001")


def approvals_needed(high: Decimal | None, currency: str) -> int:
    """One up to the limit; two above it, in another currency, or where the worst case is not known."""
    amount, _space, of = settings.LAUNCH_SECOND_APPROVAL_ABOVE.strip().partition(" ")
    try:
        limit = Decimal(amount)
    except InvalidOperation:
        limit = Decimal("NaN")
    if not limit.is_finite() or limit < 0 or not of.strip():
        raise ImproperlyConfigured(
            "LAUNCH_SECOND_APPROVAL_ABOVE is '<amount> <currency>', such as '1000 USD', not "
            f"{settings.LAUNCH_SECOND_APPROVAL_ABOVE!r}."
        )
    return 1 if high is not None and currency == of.strip() and high <= limit else 2


def plan_approve(*, plan: LaunchPlan, membership: Membership, now: datetime) -> LaunchPlan:
    """One person's yes; with the last one that is needed its launches are made. Raises ValidationError.

    The same person again changes nothing.
    """
    may_approve(plan, membership, Action.APPROVE_SPEND, _("Your role may not approve launches."))
    actor = Actor.of_user(membership.user)
    with transaction.atomic():
        organisation_lock(plan.organisation_id)
        row = _locked(plan)
        if not still_needed(row, membership, requested=State.REQUESTED, now=now, other_role=True):
            return row
        _within_budgets(row)
        PlanApproval.objects.create(plan=row, user=membership.user, role=membership.role, at=now)
        plan_event(row, "approved", by=actor.label, role=membership.role)
        if len(standing_approvals(row)) >= row.approvals_needed:
            plan_state(row, State.APPROVED, now, actor, "approve", role=membership.role)
            plan_turns(plan_id=row.pk, now=now)
        else:
            plan_audit(row, actor, "approve", before=row.state, role=membership.role)
    return row


def own_budget_fault(row: LaunchPlan) -> str:
    """Why the plan's own budget lets no launch of it start, as the guards count; "" where it holds."""
    if row.budget is None:
        return ""
    if row.cost_high is None:
        return _("What it costs in the worst case is not known: no budget can be held. Leave it out.")
    if row.cost_high <= row.budget:
        return ""
    return _(
        "The worst case of one turn is %(high)s, the budget of this plan %(budget)s: it would never start. "
        "Give a higher budget, or none."
    ) % {
        "high": amount_text(row.cost_high.quantize(_SHOWN, ROUND_UP), row.currency),
        "budget": amount_text(row.budget, row.currency),
    }


def plan_by_rule(row: LaunchPlan, *, now: datetime) -> bool:
    """Approve a plan by the first rule that holds it; False where none does. Call it in a transaction."""
    organisation_lock(row.organisation_id)
    rule = _rule_for(row)
    if rule is None:
        return False
    try:
        _within_budgets(row)
    except ValidationError:
        return False
    limit = decimal_text(rule.limit)
    plan_event(row, "approved_by_rule", rule=rule.pk, limit=limit, currency=rule.currency)
    changed = plan_state(
        row, State.APPROVED, now, RULES, "approve", fields={"approved_by_rule": rule}, rule=rule.pk
    )
    plan_turns(plan_id=row.pk, now=now)
    return changed


def plan_cancel(*, plan: LaunchPlan, actor: Actor, now: datetime, reason: str) -> LaunchPlan:
    """No further launch is made of it, and those that are not over are cancelled. Raises ValidationError."""
    text = reason_of(reason, needed=True)
    with transaction.atomic():
        row = _locked(plan)
        if row.state == State.CANCELLED:
            return row
        only_from(row, State.DRAFT, State.REQUESTED, State.APPROVED)
        plan_state(row, State.CANCELLED, now, actor, "cancel", message=text)
        plan_event(row, "cancelled", by=actor.label, reason=text)
        for one in Launch.objects.select_for_update().filter(plan=row).exclude(state__in=OVER):
            _cancel(one, actor, now, text)
    return row


def launch_cancel(*, launch: Launch, actor: Actor, now: datetime, reason: str) -> Launch:
    """It will not start, or its machine is ended by the next look at it. Raises ValidationError by field."""
    text = reason_of(reason, needed=True)
    with transaction.atomic():
        row = (
            Launch.objects.select_for_update(of=("self",))
            .select_related("plan", "organisation")
            .get(pk=launch.pk)
        )
        if row.state == LaunchState.CANCELLED:
            return row
        only_from(row, *[state for state in LaunchState if state not in OVER])
        before = row.state
        _cancel(row, actor, now, text)
        audit_record(
            organisation=row.organisation,
            actor=actor,
            action="launch.cancel",
            target=row,
            before={"state": before},
            after={"state": row.state, "reason": text, "plan": row.plan_id},
        )
    return row


def plan_audit(row: LaunchPlan, actor: Actor, verb: str, *, before: str | None, **facts: Any) -> None:
    """A line of the audit trail about a plan."""
    audit_record(
        organisation=row.organisation,
        actor=actor,
        action=f"launch_plan.{verb}",
        target=row,
        before=None if before is None else {"state": before},
        after={
            "state": row.state,
            "name": row.name,
            "target": row.target.name,
            "count": row.count,
            "cost_high": decimal_text(row.cost_high),
            "currency": row.currency,
            "message": row.message,
            **facts,
        },
    )


# Changes with a line of the audit trail each.
plan_state = partial(state_move, audit=plan_audit)


def _cancel(row: Launch, actor: Actor, now: datetime, reason: str) -> None:
    launch_over(row, LaunchState.CANCELLED, now, "cancelled", {"by": actor.label, "reason": reason})
    row.claims += 1
    row.save()


def _rule_for(row: LaunchPlan) -> LaunchRule | None:
    if row.cost_high is None:
        return None
    for rule in LaunchRule.objects.filter(
        organisation=row.organisation, active=True, currency=row.currency, limit__gte=row.cost_high
    ):
        if rule.team_id in {None, row.team_id} and rule.workload_id in {None, row.workload_id}:
            return rule
    return None


def _within_budgets(row: LaunchPlan) -> None:
    """Raises ValidationError where a turn of the plan does not fit into its own or into a month's budget."""
    if fault := own_budget_fault(row):
        raise ValidationError({"budget": fault})
    for budget in budgets_of(row.organisation, row.team):
        whose = budget.team.name if budget.team else _("the organisation")
        if row.cost_high is None or row.currency != budget.currency:
            raise ValidationError(
                {
                    "budget": _("What it costs in the worst case is not known in %(currency)s: the budget of "
                                "%(whose)s cannot be held.") % {"currency": budget.currency, "whose": whose}
                }
            )  # fmt: skip
        standing = standing_of(row.organisation, budget.team, at=row.due_at, currency=budget.currency)
        if standing.spent + standing.promised + row.cost_high > budget.monthly:
            raise ValidationError(
                {
                    "budget": _(
                        "The budget of %(whose)s does not hold it: %(used)s of %(monthly)s are spent or "
                        "promised, this needs up to %(high)s."
                    )
                    % {
                        "whose": whose,
                        "used": amount_text(standing.spent + standing.promised, budget.currency),
                        "monthly": amount_text(budget.monthly, budget.currency),
                        "high": amount_text(row.cost_high, budget.currency),
                    }
                }
            )


def _locked(plan: LaunchPlan) -> LaunchPlan:
    return (
        LaunchPlan.objects.select_for_update(of=("self",))
        .select_related("organisation", "target", "team", "workload")
        .get(pk=plan.pk)
    )
