"""What stops a launch before money is spent. Read again by the worker, just before each call."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import connection
from django.utils.translation import gettext as _

from apps.launches.models import Launch, LaunchGuard, LaunchPlan, LaunchTarget, PlanState
from apps.launches.selectors.money import budgets_of, machines_of, standing_of
from apps.launches.selectors.plans import standing_approvals
from apps.launches.selectors.values import decimal_text
from apps.launches.services.executors import Offer


class StoppedError(Exception):
    """Nothing may be called now."""

    def __init__(self, stop: Stop) -> None:
        super().__init__(stop.code)
        self.stop = stop


@dataclass(frozen=True)
class Stop:
    """Why nothing is called: a code of `apps.launches.wording` and its values."""

    code: str
    values: dict[str, Any] = field(default_factory=dict)


_LOCKS = 0x6C61756E
# Stops that the end of a launch with a lower priority can lift.
FULL = frozenset({"quota", "instances"})


def stop_of(row: Launch, *, now: datetime, sent: bool = False) -> Stop | None:
    """The first thing that forbids to launch now, None for nothing. Reads every row anew.

    Call it under `organisation_lock`, in the transaction that stores the attempt: what two workers check at
    once would not count the other's machine. `sent`: a call that is open already counts in room and budgets,
    so only what a person switched off is looked at.
    """
    plan = LaunchPlan.objects.select_related("team", "organisation", "approved_by_rule").get(pk=row.plan_id)
    target = LaunchTarget.objects.get(pk=plan.target_id)
    guard = LaunchGuard.objects.filter(organisation=plan.organisation_id).first()
    if guard is not None and guard.frozen:
        return Stop("frozen", {"reason": guard.frozen_reason or "–"})
    if not target.active:
        return Stop("target_off", {"target": target.name})
    if sent:
        return _approval(plan)
    return (
        _approval(plan)
        or _budgets(row, plan, now)
        or _room(plan, target, guard)
        or (Stop("dry_run") if guard is not None and guard.dry_run else None)
    )


def organisation_lock(organisation_id: int) -> None:
    """One worker at a time checks room and budgets of an organisation, until its transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_LOCKS, organisation_id % 2**31])


def allowed_offers(row: Launch, offers: list[Offer]) -> tuple[list[Offer], Stop | None]:
    """The offers within what was approved, the regions and the price cap; with none left, why."""
    offers, stop = _approved_offers(row, offers)
    if stop is not None:
        return [], stop
    guard = LaunchGuard.objects.filter(organisation=row.organisation_id).first()
    if guard is None or not offers:
        return offers, None
    here = [one for one in offers if not guard.regions or one.get("region") in guard.regions]
    if not here:
        return [], Stop("region", {"regions": ", ".join(guard.regions)})
    if guard.max_price is None:
        return here, None
    cap = {"cap": decimal_text(guard.max_price), "currency": guard.currency}
    priced = [one for one in here if one.get("price") is not None and one.get("currency") == guard.currency]
    if not priced:
        return [], Stop("price_unknown", cap)
    under = [one for one in priced if Decimal(str(one["price"])) <= guard.max_price]
    if not under:
        cheapest = min(Decimal(str(one["price"])) for one in priced)
        return [], Stop("price_cap", {**cap, "price": decimal_text(cheapest)})
    return under, None


def _approved_offers(row: Launch, offers: list[Offer]) -> tuple[list[Offer], Stop | None]:
    """The offers whose own cost of the work left is within the worst case that was approved."""
    plan = row.plan
    if plan.cost_high is None or not offers:
        return offers, None
    high = plan.cost_high / plan.count
    left = Decimal(repr(max(0.0, row.hours - row.done_hours)))
    costs = [_cost(one, plan, left) for one in offers]
    kept = [one for one, cost in zip(offers, costs, strict=True) if cost is None or cost <= high]
    if kept:
        return kept, None
    cheapest = min(one for one in costs if one is not None)
    told = {"cost": decimal_text(cheapest), "high": decimal_text(high), "currency": plan.currency}
    return [], Stop("above_plan", told)


def _cost(offer: Offer, plan: LaunchPlan, left: Decimal) -> Decimal | None:
    """What `left` hours on a machine of an offer cost; None where it has no price."""
    if offer.get("cost") is not None:
        return Decimal(str(offer["cost"])) / plan.count * left / Decimal(repr(plan.hours))
    return None if offer.get("price") is None else Decimal(str(offer["price"])) * left


def approval_stands(plan: LaunchPlan) -> tuple[int, int]:
    """(approvals that stand, approvals needed); a rule that is still on and still holds it counts for all."""
    rule = plan.approved_by_rule
    if rule is not None and rule.active and plan.cost_high is not None:
        holds = plan.currency == rule.currency and plan.cost_high <= rule.limit
        mine = (rule.team_id in {None, plan.team_id}) and (rule.workload_id in {None, plan.workload_id})
        if holds and mine:
            return plan.approvals_needed, plan.approvals_needed
    standing = standing_approvals(plan)
    return min(len({one.role for one in standing}), len({one.user_id for one in standing})), (
        plan.approvals_needed
    )


def _approval(plan: LaunchPlan) -> Stop | None:
    given, needed = approval_stands(plan)
    if plan.state not in {PlanState.APPROVED, PlanState.DONE} or given < needed:
        return Stop("not_approved", {"given": given, "needed": needed})
    return None


def _budgets(row: Launch, plan: LaunchPlan, now: datetime) -> Stop | None:
    """Budgets of the month in which it is due, then the plan's own. One that has a machine counts as
    promised already.
    """
    high = None if plan.cost_high is None else plan.cost_high / plan.count
    for budget in budgets_of(plan.organisation, plan.team):
        whose = budget.team.name if budget.team else _("the organisation")
        if high is None or plan.currency != budget.currency:
            return Stop("budget_unknown", {"whose": whose})
        standing = standing_of(
            plan.organisation, budget.team, at=row.due_at, currency=budget.currency, before=row
        )
        used = standing.spent + standing.promised
        if used + max(high, row.paid or Decimal(0)) > budget.monthly:
            return Stop(
                "budget",
                {
                    "whose": whose,
                    "month": f"{row.due_at:%Y-%m}",
                    "spent": decimal_text(used),
                    "high": decimal_text(high),
                    "monthly": decimal_text(budget.monthly),
                    "currency": budget.currency,
                },
            )
    return _own_budget(row, plan, high)


def _own_budget(row: Launch, plan: LaunchPlan, high: Decimal | None) -> Stop | None:
    if plan.budget is None:
        return None
    own = plan.budget / plan.count
    spent = row.paid or Decimal(0)
    if high is None or max(high, spent) > own:
        return Stop(
            "plan_budget",
            {
                "budget": decimal_text(own),
                "spent": decimal_text(spent),
                "high": decimal_text(high),
                "currency": plan.currency,
            },
        )
    return None


def _room(plan: LaunchPlan, target: LaunchTarget, guard: LaunchGuard | None) -> Stop | None:
    if target.max_instances is not None:
        here = machines_of(plan.organisation, target.pk)
        if here >= target.max_instances:
            return Stop("quota", {"running": here, "most": target.max_instances, "target": target.name})
    if guard is not None and guard.max_instances is not None:
        running = machines_of(plan.organisation)
        if running >= guard.max_instances:
            return Stop("instances", {"running": running, "most": guard.max_instances})
    return None
