"""What stops a launch before money is spent. Read again by the worker, just before each call."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import connection

from apps.launches.models import Launch, LaunchGuard, LaunchPlan, LaunchTarget, PlanState
from apps.launches.selectors.money import budgets_of, machines_of, standing_of
from apps.launches.selectors.plans import standing_approvals
from apps.launches.selectors.values import decimal_text
from apps.launches.services.executors import Offer
from apps.launches.services.fresh_prices import FRESH, offers_now
from apps.launches.services.sums import affordable, ceiling_of, highest_price, promise_of, spent_of
from apps.launches.wording import ALL_OF_IT


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


SCALE = Decimal("1E-10")
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


def allowed_offers(row: Launch, now: datetime) -> tuple[list[Offer], Stop | None]:
    """The plan's offers at the prices of now, those within what was approved, the regions and the price cap;
    with none left, why. Each Spot offer says the highest price of its call.
    """
    offers, old = offers_now(row, now)
    if old and not offers:
        return [], Stop("price_old", {"hours": int(FRESH.total_seconds() // 3600)})
    fitting, needs = affordable(row, offers, now)
    if needs is not None:
        return [], Stop(
            "above_plan",
            {"cost": decimal_text(needs), "high": decimal_text(ceiling_of(row)),
             "spent": decimal_text(spent_of(row, now).quantize(SCALE)), "currency": row.plan.currency},
        )  # fmt: skip
    guard = LaunchGuard.objects.filter(organisation=row.organisation_id).first()
    under, stop = _guarded(guard, fitting)
    return [_capped(row, one, offers, guard, now) for one in under], stop


def _guarded(guard: LaunchGuard | None, offers: list[Offer]) -> tuple[list[Offer], Stop | None]:
    """Offers in the allowed regions and under the price cap."""
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


def _capped(
    row: Launch, offer: Offer, offers: list[Offer], guard: LaunchGuard | None, now: datetime
) -> Offer:
    """The offer with the highest price that its Spot call may name."""
    caps = [Decimal(str(row.plan.job["max_price"]))] if row.plan.job.get("max_price") else []
    if guard is not None and guard.max_price is not None:
        caps.append(guard.max_price)
    highest = highest_price(row, offer, offers, caps, now)
    return offer if highest is None else {**offer, "max_price": highest}


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
    high = promise_of(row)
    for budget in budgets_of(plan.organisation, plan.team):
        whose = budget.team.name if budget.team else ALL_OF_IT
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
    own = plan.budget / plan.parts
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
    size = plan.count // plan.parts
    if target.max_instances is not None:
        here = machines_of(plan.organisation, target.pk)
        if here + size > target.max_instances:
            return Stop("quota", {"running": here, "most": target.max_instances, "target": target.name})
    if guard is not None and guard.max_instances is not None:
        running = machines_of(plan.organisation)
        if running + size > guard.max_instances:
            return Stop("instances", {"running": running, "most": guard.max_instances})
    return None
