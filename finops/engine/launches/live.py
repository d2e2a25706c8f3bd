"""What a live launch does next: `plan_ahead` asked with what was seen of its pools.

Nobody shows a live launch the availability of a market tick by tick. It is seen where machines ran, were
taken back, or were refused for lack of capacity; the time between is unknown. These sightings, on ticks of
`GRID` seconds, are the past that the plan learns from; the rest leans on a prior: a run with or without Spot
lasts about as long again as it has lasted, half an hour at least; Spot that was there before anybody looked
has been there for an hour.

The plan proposes, `last_moment` disposes: nothing is started or waited for that could miss the deadline. What
`last_moment` keeps in reserve the plan does not plan with. A lost machine costs half of the work between two
checkpoints, as that much is lost on average. Jobs without checkpoints lose everything, which the plan does
not know: they keep to the last moment.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np

from finops.engine.launches.deadline import Job, Market, Standing
from finops.engine.launches.last_moment import Pace, may_start_spot, may_wait
from finops.engine.launches.plan_ahead import AGES, PRIOR_SECONDS, Floats, Past, PlanAhead

# Between two looks at a market that had no machine, seconds.
LOOK = 300
# Looks thin out to this share of the time without Spot that was seen, up to the longest one.
THIN = 6
LONGEST_LOOK = 1800
# Machines on demand are looked at so often.
MOVES_LOOK = 60
GRID = 600
# Ticks without a look that are taken to be as the one before: so long a look may be away, and be late.
BRIDGED = LONGEST_LOOK // GRID
MET = (0, 3600)
# Middles of the bands of age, by ratio; of the first one half an hour, of the last one as if it ended too.
AS_LONG_AGAIN = np.array([1800.0, *np.sqrt(AGES[1:] * np.append(AGES[2:], 3 * AGES[-1]))])
# A plan has at most so many steps: a longer job is planned in longer ones.
STEPS = 300
# Waiting has to save so much of what is ahead: work that is done sooner for the same money is better.
WAIT_EARNS = 0.001


@dataclass(frozen=True, order=True)
class Sighting:
    """Spot of a pool was `there` from `begins` until `ends`, or was away at `begins`; epoch seconds."""

    begins: float
    ends: float
    there: bool


@dataclass(frozen=True)
class Hour:
    """Price of an hour of the work on each market, in one currency, above 0."""

    spot: float
    on_demand: float

    def __post_init__(self) -> None:
        if not (self.spot > 0 and self.on_demand > 0):
            raise ValueError("both prices must be above 0")


def past_of(
    pools: Iterable[Iterable[Sighting]], *, now: float, gap: int = GRID, hazard_per_hour: float | None = None
) -> Past:
    """What was seen before the tick of `now` of a market of these pools: it is there where one of them is.

    In a tick with several sightings of one pool the last one counts. `hazard_per_hour`: of interruptions, as
    given for the job.
    """
    lasts: float | Floats = AS_LONG_AGAIN if not hazard_per_hour else 3600 / hazard_per_hour
    past = Past(gap, (AS_LONG_AGAIN, lasts), MET)
    this = int(now // gap)
    ticks: dict[int, bool] = {}
    for sightings in pools:
        for tick, there in _ticks(sightings, this, gap).items():
            ticks[tick] = there or ticks.get(tick, False)
    before: int | None = None
    for tick, there in sorted(ticks.items()):
        if before is not None:
            _between(past, tick - before - 1)
        past.see(there)
        before = tick
    if before is not None:
        _between(past, this - before - 1)
    return past


def _ticks(sightings: Iterable[Sighting], this: int, gap: int) -> dict[int, bool]:
    found: dict[int, bool] = {}
    for one in sorted(sightings):
        first = int(one.begins // gap)
        last = first if not one.there else max(first, math.ceil(one.ends / gap) - 1)
        found.update((tick, one.there) for tick in range(first, min(last, this - 1) + 1))
    return found


def _between(past: Past, ticks: int) -> None:
    if ticks <= 0:
        return
    if ticks <= BRIDGED and past.there is not None:
        for _tick in range(ticks):
            past.see(past.there)
    else:
        past.unseen(ticks)


def next_market(pace: Pace, hour: Hour, past: Past, *, there: bool) -> Market:
    """What to do while nothing runs, with Spot there or not: `Market.NONE` is to wait until the next look.

    For jobs with a deadline and checkpoints. On demand where nothing else is safe.
    """
    allowed = [Market.ON_DEMAND]
    if may_wait(pace, wait=LOOK):
        allowed.append(Market.NONE)
    if there and may_start_spot(pace):
        allowed.append(Market.SPOT)
    plan = _plan(pace, hour, past, there=there) if len(allowed) > 1 else None
    if plan is None:
        return Market.SPOT if Market.SPOT in allowed else Market.ON_DEMAND
    costs = plan.costs(_standing(pace))
    costs[Market.NONE] *= 1 + WAIT_EARNS
    return min(allowed, key=lambda market: costs[market])


def wait_of(past: Past) -> float:
    """Seconds until the next look at a market that has no machine: longer, the longer it has had none.

    >>> wait_of(past_of([[Sighting(600.0 * n, 600.0 * n, False) for n in range(12)]], now=7200))
    1200.0
    """
    gone = past.age if past.there is False else 0
    return float(min(LONGEST_LOOK, max(LOOK, gone / THIN)))


def worth_moving(pace: Pace, hour: Hour, past: Past, *, done_since: float) -> bool:
    """Whether a machine on demand should give way to Spot that is there: `pace` is that of its checkpoints,
    `done_since` the seconds of work since the last one, which a move does again.

    The other choice is to stay until the next checkpoint, and for a minute at least.
    """
    if not may_start_spot(pace):
        return False
    stays = replace(pace, work=max(0.0, pace.work - done_since))
    plan = _plan(stays, hour, past, there=True)
    if plan is None:
        return False
    # Planned from the most slack on; what has less of it, or comes later, is read from the same plan.
    plan.costs(_standing(stays))
    moved = plan.costs(_standing(pace))[Market.SPOT]
    return moved < _stayed(plan, stays, max(MOVES_LOOK, _until_checkpoint(pace, done_since)))


def _until_checkpoint(pace: Pace, done_since: float) -> float:
    """Seconds until the next one; one that is late takes as long again as it is late."""
    return abs((pace.unsaved if pace.between is None else pace.between) - done_since)


def _stayed(plan: PlanAhead, stays: Pace, seconds: float) -> float:
    """Cost on demand for so long, or to the end of the work, and the cheapest way on from there, in seconds
    of Spot price; Spot is taken to be there then, as it is now.
    """
    price = plan.job.price(Market.ON_DEMAND)
    if seconds >= stays.work:
        return stays.work * price
    at = _standing(stays, Market.ON_DEMAND)

    def onward(steps: int) -> float:
        gone = steps * plan.step
        later = Standing(0, at.left - gone, at.work - gone, Market.ON_DEMAND)
        return min(plan.costs(later).values()) if later.work > 0 else 0.0

    # A plan knows whole steps only.
    steps, part = divmod(seconds / plan.step, 1)
    before = onward(int(steps))
    return seconds * price + before + part * (onward(int(steps) + 1) - before)


def cost_of_pool(hour: Hour, past: Past, pace: Pace, *, hazard_per_hour: float | None = None) -> float:
    """Of an hour on Spot in a pool that is there, with what its losses cost on demand."""
    lasts = PRIOR_SECONDS if not hazard_per_hour else 3600 / hazard_per_hour
    ends = (past.ended[1].sum() + 1) / (past.seconds[1].sum() + lasts)
    return float(hour.spot + ends * (pace.overhead + pace.unsaved / 2) * hour.on_demand)


def _standing(pace: Pace, market: Market = Market.NONE) -> Standing:
    """As the plan sees it: without the reserve for work that an interruption loses and for a late look."""
    left = (pace.left or 0.0) - pace.unsaved - pace.tick
    return Standing(0, math.floor(left), math.ceil(pace.work), market)


def _plan(pace: Pace, hour: Hour, past: Past, *, there: bool) -> PlanAhead | None:
    """None where the work is done, or where only on-demand is in time."""
    at, start = _standing(pace), round(pace.overhead)
    if at.work <= 0 or at.left < at.work + start:
        return None
    job = Job(at.work, at.left, start, hour.on_demand / hour.spot)
    seen = deepcopy(past)
    seen.see(there)
    step = seen.gap * max(1, math.ceil(at.left / seen.gap / STEPS))
    return PlanAhead(job, step, seen, unsaved=pace.unsaved / 2)
