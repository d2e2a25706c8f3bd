"""Which plan is first: the order of plans, how many are kept, and the verdict that follows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from finops.engine.desk import Desk
from finops.engine.places import Excluded
from finops.engine.plans import ON_DEMAND, SPOT, Plan, Reason, hazard_of, rework_factors
from finops.engine.series import US_PER_HOUR

Verdict = Literal["now", "wait", "cannot judge"]
MAX_PLANS = 40


def finishing(plans: Sequence[Plan]) -> tuple[list[Plan], tuple[Excluded, ...]]:
    """Plans without those whose pieces are interrupted so often that they never end."""
    ends = [plan for plan in plans if np.isfinite(plan.cost)]
    never = tuple(
        Excluded(p.region, p.zone, p.instance_type, "never finishes")
        for p in plans
        if not np.isfinite(p.cost)
    )
    return ends, never


def rank(desk: Desk, plans: Iterable[Plan]) -> list[Plan]:
    """Plans in order of recommendation from 1; Spot for work that may not be interrupted: last, unranked."""
    w, market = desk.workload, desk.market
    plans = list(plans)
    known = [
        f[1]
        for p in plans
        if p.market == SPOT
        if (f := rework_factors(w, hazard_of(w, market, p.region, p.instance_type))) is not None
    ]
    worst = max(known, default=0.0)

    def order(plan: Plan) -> tuple[bool, bool, float, bool, bool, int, str, str]:
        unknown = worst * plan.compute if plan.rework is None else 0.0
        moving_unknown = w.data_gib is not None and plan.transfer is None
        return (
            plan.market == SPOT and not w.interruptible,
            moving_unknown,
            round(plan.cost + unknown, 9),
            not plan.pieces,
            plan.series is None or plan.series != desk.places.home,
            plan.start_us,
            plan.zone,
            plan.instance_type,
        )

    ranked: list[Plan] = []
    for plan in sorted(plans, key=order):
        recommended = w.interruptible or plan.market == ON_DEMAND
        ranked.append(replace(plan, rank=len(ranked) + 1 if recommended else None))
    return ranked


def keep(plans: list[Plan]) -> list[Plan]:
    """The first `MAX_PLANS`, and after them the best on-demand plan and what is shown without a rank."""
    kept = plans[:MAX_PLANS]
    later = plans[MAX_PLANS:]
    if not any(p.market == ON_DEMAND for p in kept):
        kept += [p for p in later if p.market == ON_DEMAND][:1]
    return kept + [p for p in later if p.rank is None and p.market == SPOT][-1:]


def verdict(desk: Desk, plans: Sequence[Plan]) -> tuple[Verdict, Reason]:
    best = next((plan for plan in plans if plan.rank == 1), None)
    w = desk.workload
    if best is None:
        return "cannot judge", Reason("no plan" if w.interruptible else "no list price")
    if w.interruptible and not len(desk.places.usable):
        return "cannot judge", Reason("no spot price")
    if best.pieces:
        return ("wait" if best.start_us > w.earliest_us else "now"), Reason("pieces")
    if best.start_us > w.earliest_us:
        return "wait", Reason("window")
    return "now", Reason("no window" if w.slack_us >= US_PER_HOUR else "no slack")
