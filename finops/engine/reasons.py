"""Why each plan stands where it does: the code and the values of its sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from finops.engine.flexibility import Result
from finops.engine.plans import ON_DEMAND, SPOT, Plan, Reason
from finops.engine.workload import Workload


def explain(
    plans: Sequence[Plan], workload: Workload, home: Plan | None, calendar: Result
) -> tuple[Plan, ...]:
    """The plans with their reasons; `home`: what they are compared with, `calendar`: the back-test of the
    rule behind the wait that is shown without a rank.
    """
    best = next((plan for plan in plans if plan.rank == 1), None)
    return tuple(replace(plan, reason=_reason(plan, workload, home, best, calendar)) for plan in plans)


def _reason(plan: Plan, workload: Workload, home: Plan | None, best: Plan | None, calendar: Result) -> Reason:
    """Why a plan stands where it does; `calendar`: the back-test of the rule behind the unranked wait."""
    dearer = 0.0 if best is None else (plan.cost / best.cost - 1) * 100
    at_home = home is not None and plan.series == home.series
    if plan.pieces:
        return Reason("pieces", (("pieces", str(len(plan.pieces))),))
    if plan.start_us > workload.earliest_us:
        if plan.rank is not None:
            return Reason("wait")
        return Reason(
            "no window", (("saving_pct", calendar.saving_pct),) if calendar.saving_pct is not None else ()
        )
    if plan.market == SPOT and not workload.interruptible:
        return Reason("may be interrupted")
    if workload.data_gib is not None and plan.transfer is None:
        return Reason("moving unknown", (("region", plan.region),))
    if plan.market == ON_DEMAND:
        return Reason("on demand cheapest" if plan.rank == 1 else "on demand", (("dearer_pct", dearer),))
    if at_home:
        return Reason("home cheapest" if plan.rank == 1 else "home", (("dearer_pct", dearer),))
    if plan.rank == 1:
        moved = _moved(plan)
        return Reason("cheapest", (("moved_pct", moved),) if moved is not None else ())
    if plan.transfer:
        return Reason("dearer and moving", (("dearer_pct", dearer),))
    return Reason("next" if plan.rank == 2 else "dearer", (("dearer_pct", dearer),))


def _moved(plan: Plan) -> float | None:
    """How far the price has moved from its forecast within the run: the wider side of the interval,
    percent.
    """
    if plan.low is None or plan.high is None or plan.cost <= 0:
        return None
    return max(plan.high - plan.cost, plan.cost - plan.low) / plan.cost * 100
