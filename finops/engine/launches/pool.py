"""Which pool a piece of work takes: the cheapest by cost per unit of work that meets every condition.

An hour of work is an hour of one unit at speed 1. In a pool of speed v the work takes `hours / v` of running
time, longer where it is interrupted: `stretch` (checkpoints.py) with the pool's rate for all its machines,
with checkpoints at Daly's interval where it keeps any, else from the start each time. A start takes
`start_hours`, paid like the rest. Work in a window stops at its end and goes on in the next one, with a new
start; work that keeps no checkpoints has to fit in one window.

    cost          = units x hourly x (start_hours x starts + hours / v x stretch)
    cost per work = cost / (units x hours)

Ties go to the earlier finish, then to the name. Nothing is hidden: every pool comes back with what it would
cost and the reason why it was not taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from finops.engine.calendar import ClockWindow
from finops.engine.launches.checkpoints import checkpoint_interval, stretch
from finops.frames.pools import PoolKind, PoolOffer

HOUR = timedelta(hours=1)
# A window is looked for this far ahead: work that is not done in 60 days of windows has no finish.
LOOK_AHEAD = timedelta(days=60)


class Why(StrEnum):
    """Why a pool was taken or not; the words are made from these codes."""

    TAKEN = "taken"
    DEARER = "dearer"
    KIND = "kind"  # this kind of pool is not allowed for the work
    REGION = "region"
    SIZE = "size"  # never enough units at once
    FULL = "full"  # enough units, not free now
    CURRENCY = "currency"
    NEVER_DONE = "never_done"  # interrupted so often, or no window long enough
    DEADLINE = "deadline"
    FALLBACK = "fallback"  # in time as a rule, but no time left to repeat it on safe ground
    BUDGET = "budget"


@dataclass(frozen=True)
class PoolWork:
    """`hours` of work on `units` units at speed 1; None means not asked for.

    `checkpoint_hours`: time to write a checkpoint, None: it keeps none. `restart_hours`: time to be back.
    """

    hours: float
    units: int = 1
    deadline: datetime | None = None
    checkpoint_hours: float | None = None
    restart_hours: float = 0.0
    kinds: frozenset[PoolKind] | None = None
    regions: frozenset[str] | None = None
    most_cost: float | None = None
    currency: str | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.hours) and self.hours > 0) or self.units < 1:
            raise ValueError("work has hours above 0 and at least one unit")
        if not (math.isfinite(self.restart_hours) and self.restart_hours >= 0):
            raise ValueError("hours are finite and not below 0")
        if self.checkpoint_hours is not None and not (
            math.isfinite(self.checkpoint_hours) and self.checkpoint_hours > 0
        ):
            raise ValueError("writing a checkpoint takes time: above 0 hours")


@dataclass(frozen=True)
class PoolChoice:
    """One pool for this work; None where it cannot be said. `slack_hours`: from finish to deadline."""

    offer: PoolOffer
    why: Why
    hours: float | None = None
    finish: datetime | None = None
    cost: float | None = None
    cost_per_work: float | None = None
    slack_hours: float | None = None

    @property
    def fits(self) -> bool:
        return self.why in (Why.TAKEN, Why.DEARER)


def running_hours(work: PoolWork, offer: PoolOffer) -> float:
    """Expected running time without the first start; infinite where it would never be done."""
    plain = work.hours / offer.speed
    rate = offer.interruptions_per_hour * offer.machines(work.units)
    if rate <= 0:
        return plain
    restart = work.restart_hours + offer.start_hours
    if work.checkpoint_hours is not None:
        best = checkpoint_interval(
            write_hours=work.checkpoint_hours, interruptions_per_hour=rate, restart_hours=restart
        )
        if best.hours < plain:
            return plain * best.stretch
    return plain * stretch(plain, write=0.0, mean=1 / rate, restart=restart)


def choose_pool(
    work: PoolWork,
    offers: Iterable[PoolOffer],
    *,
    now: datetime,
    free: dict[str, int] | None = None,
) -> list[PoolChoice]:
    """Every pool, the taken one first, then those that would do by cost, then the others by name.

    `free`: units free now by pool name; a pool without an entry has all of its units.
    """
    rows = list(offers)
    fallback = _fallback_hours(work, rows)
    judged = [_judge(work, one, now=now, free=(free or {}).get(one.name), fallback=fallback) for one in rows]
    able = sorted((one for one in judged if one.why is Why.TAKEN), key=_order)
    rest = sorted((one for one in judged if one.why is not Why.TAKEN), key=lambda one: one.offer.name)
    return [*able[:1], *(_lost(one) for one in able[1:]), *rest]


def _order(one: PoolChoice) -> tuple[float, datetime, str]:
    if one.cost is None or one.finish is None:
        raise ValueError("only pools that would do are put in order")
    return round(one.cost, 9), one.finish, one.offer.name


def _lost(one: PoolChoice) -> PoolChoice:
    return PoolChoice(
        one.offer, Why.DEARER, one.hours, one.finish, one.cost, one.cost_per_work, one.slack_hours
    )


def _fallback_hours(work: PoolWork, offers: list[PoolOffer]) -> float | None:
    """Time of the work on the fastest pool that nobody interrupts and that is always open; None: none is."""
    found = [
        one.start_hours + work.restart_hours + work.hours / one.speed
        for one in offers
        if not one.interruptions_per_hour
        and not one.window
        and one.kind.bought
        and _barred(work, one) is None
    ]
    return min(found, default=None)


def _barred(work: PoolWork, offer: PoolOffer) -> Why | None:
    if work.kinds is not None and offer.kind not in work.kinds:
        return Why.KIND
    if work.regions is not None and offer.region and offer.region not in work.regions:
        return Why.REGION
    if work.currency is not None and offer.currency != work.currency:
        return Why.CURRENCY
    most = min((count for count in (offer.units, offer.largest) if count is not None), default=work.units)
    return Why.SIZE if work.units > most else None


def _judge(
    work: PoolWork, offer: PoolOffer, *, now: datetime, free: int | None, fallback: float | None
) -> PoolChoice:
    if (barred := _barred(work, offer)) is not None:
        return PoolChoice(offer, barred)
    running = running_hours(work, offer)
    timing = _finish(work, offer, running, now)
    if timing is None:
        return PoolChoice(offer, Why.NEVER_DONE)
    finish, paid = timing
    cost = work.units * offer.hourly * paid
    slack = None if work.deadline is None else (work.deadline - finish) / HOUR
    if free is not None and free < work.units:
        why = Why.FULL
    elif slack is not None and slack < 0:
        why = Why.DEADLINE
    elif _too_late_to_repeat(work, offer, now, fallback):
        why = Why.FALLBACK
    elif work.most_cost is not None and cost > work.most_cost:
        why = Why.BUDGET
    else:
        why = Why.TAKEN
    return PoolChoice(offer, why, paid, finish, cost, cost / (work.units * work.hours), slack)


def _too_late_to_repeat(work: PoolWork, offer: PoolOffer, now: datetime, fallback: float | None) -> bool:
    """Whether an interruption of the first start leaves no time for the whole work on safe ground."""
    if work.deadline is None or not offer.interruptions_per_hour:
        return False
    if fallback is None:
        return True
    return now + (offer.start_hours + fallback) * HOUR > work.deadline


def _finish(work: PoolWork, offer: PoolOffer, running: float, now: datetime) -> tuple[datetime, float] | None:
    """(finish, paid hours), None where it is not done within the time that is looked at."""
    if not math.isfinite(running) or running > LOOK_AHEAD / HOUR * 100:
        return None
    if not offer.window:
        paid = offer.start_hours + running
        return now + paid * HOUR, paid
    window = ClockWindow.of(offer.window, offer.zone, offer.days)
    left, paid = running, 0.0
    for period in window.openings(now, now + LOOK_AHEAD):
        begins = max(period.start, now)
        room = (period.end - begins) / HOUR - offer.start_hours
        if work.checkpoint_hours is None and room < running:
            continue
        if room <= 0:
            continue
        if left <= room:
            return begins + (offer.start_hours + left) * HOUR, paid + offer.start_hours + left
        left -= room
        paid += offer.start_hours + room
    return None
