"""A trace of jobs on a hybrid pool: our policy beside plain ones, on the same jobs, prices and chances."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np

from finops.engine.calendar import ClockWindow
from finops.engine.launches.pool_policies import Advice, AdviceRules, InOrder, cost_floor
from finops.engine.launches.pool_replay import Policy, Replay, ReplayJob, ReplayResult, ReplayRules, Stretches
from finops.frames.pools import PoolKind, PoolOffer

HOUR = timedelta(hours=1)
ADVICE, FIRST_COME, AT_ONCE, CHEAPEST_FREE = (
    "advice", "first_come_first_served", "on_demand_at_once", "cheapest_free",
)  # fmt: skip


@dataclass(frozen=True)
class Terms:
    """What is laid on every job of a trace: it has `slack_share` of its hours and `slack_hours` to spare.

    `estimate_error`: standard deviation of the logarithm of estimate over truth, seeded; 0: told exactly.
    `on_demand_limit`: units that first come, first served may have on demand.
    """

    slack_share: float = 0.5
    slack_hours: float = 1.0
    estimate_error: float = 0.0
    on_demand_limit: int = 512

    def __post_init__(self) -> None:
        values = (self.slack_share, self.slack_hours, self.estimate_error)
        if not all(math.isfinite(value) and value >= 0 for value in values) or self.on_demand_limit < 1:
            raise ValueError("slack and errors are finite and not below 0, a limit is at least 1")


@dataclass(frozen=True)
class Strategy:
    """One policy: money, hours of wait from arrival to first start, deadlines."""

    result: ReplayResult
    cost_share: float
    wait_mean: float
    wait_median: float
    wait_p95: float


@dataclass(frozen=True)
class PoolComparison:
    """`floor`: what no policy can be below; `work`: unit-hours; `base`: cost of all at once on demand."""

    strategies: Mapping[str, Strategy]
    work: float
    base: float
    floor: float


def jobs_with_terms(
    jobs: Sequence[tuple[float, float, int]], terms: Terms, *, start_hours: float, seed: int
) -> list[ReplayJob]:
    """Each job with its deadline: a start of a machine is allowed for, then its hours, then its slack."""
    errors = random.Random(f"{seed}:estimates")  # noqa: S311 - a simulation
    found = []
    for arrival, hours, units in jobs:
        error = math.exp(errors.gauss(0.0, terms.estimate_error)) if terms.estimate_error else 1.0
        deadline = arrival + start_hours + hours * (1 + terms.slack_share) + terms.slack_hours
        found.append(ReplayJob(arrival, hours, units, deadline, hours * error))
    return found


def openings(offers: Sequence[PoolOffer], *, began: datetime, hours: float) -> dict[str, Stretches]:
    """When pools with windows are open, in hours from `began`, by pool."""
    found: dict[str, Stretches] = {}
    for one in offers:
        if one.window:
            window = ClockWindow.of(one.window, one.zone, one.days)
            periods = window.openings(began, began + hours * HOUR)
            found[one.name] = [((p.start - began) / HOUR, (p.end - began) / HOUR) for p in periods]
    return found


def compare_pools(
    jobs: Sequence[tuple[float, float, int]],
    offers: Sequence[PoolOffer],
    *,
    began: datetime,
    terms: Terms,
    rules: ReplayRules,
    advice: AdviceRules,
    opens: Mapping[str, Stretches] | None = None,
) -> PoolComparison:
    """Play every policy. `opens`: openings of Spot pools from a trace; when one closes, all there is lost.

    Raises ValueError where there is no on-demand pool (the rivals need it) or a job fits nowhere.
    """
    on_demand = [one for one in offers if one.kind is PoolKind.ON_DEMAND and not one.window]
    if not on_demand:
        raise ValueError("a pool on demand, without a window, is needed")
    cheapest = min(on_demand, key=lambda one: (one.hourly / one.speed, one.name))
    largest = max(units for _, _, units in jobs)
    if largest > terms.on_demand_limit:
        raise ValueError(f"a job of {largest} units does not fit into {terms.on_demand_limit} on demand")
    told = jobs_with_terms(jobs, terms, start_hours=cheapest.start_hours, seed=rules.seed)
    # Windows are needed for as long as any policy runs: the queue of the slowest ends at the latest then.
    horizon = max(job.deadline for job in told) + sum(job.hours * job.units for job in told) / largest
    seen = {**openings(offers, began=began, hours=min(horizon, 20 * 8766.0)), **(opens or {})}
    unlimited = replace(cheapest, units=None, largest=None)
    plays: dict[str, tuple[Sequence[PoolOffer], Policy]] = {
        ADVICE: (offers, Advice(advice)),
        FIRST_COME: ([replace(unlimited, units=terms.on_demand_limit)], InOrder()),
        AT_ONCE: ([unlimited], InOrder()),
        CHEAPEST_FREE: (offers, InOrder()),
    }
    results = {name: Replay(told, pools, rules, seen).play(policy) for name, (pools, policy) in plays.items()}
    base = results[AT_ONCE].cost
    work = sum(job.hours * job.units for job in told)
    last = max(one.last_hour for one in results.values())
    hours = {name: _open_hours(stretches, last) for name, stretches in seen.items()}
    return PoolComparison(
        {name: _strategy(one, base) for name, one in results.items()},
        work,
        base,
        cost_floor(work, list(offers), hours, last),
    )


def _open_hours(stretches: Stretches, last: float) -> float:
    return sum(max(0.0, min(end, last) - max(0.0, start)) for start, end in stretches)


def _strategy(result: ReplayResult, base: float) -> Strategy:
    waits = np.array(result.waits)
    return Strategy(
        result,
        result.cost / base if base else 0.0,
        float(waits.mean()),
        float(np.median(waits)),
        float(np.quantile(waits, 0.95)),
    )


def repeated_openings(flags: Sequence[bool], gap_hours: float, hours: float) -> Stretches:
    """The stretches in which a trace says that there is Spot, repeated to `hours`."""
    found: list[tuple[float, float]] = []
    turns = math.ceil(hours / (len(flags) * gap_hours))
    for place, there in enumerate(list(flags) * turns):
        start = place * gap_hours
        if not there or start >= hours:
            continue
        if found and abs(found[-1][1] - start) < 1e-9:
            found[-1] = (found[-1][0], start + gap_hours)
        else:
            found.append((start, start + gap_hours))
    return found
