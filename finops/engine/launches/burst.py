"""When a queue's backlog buys help, and when that help ends again.

The backlog is told in hours: unit-hours of work that wait, over the units that take them. Above `start` the
queue bursts, and it stays so until the backlog is at or below `stop`: two limits, so that it does not turn
on and off around one. With nothing waiting the help scales to zero: in a replay at once (`judge_burst`), on
a live queue after bought units had nothing to do for `idle` (`step_burst`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

IDLE = timedelta(minutes=10)


@dataclass(frozen=True)
class BurstRule:
    """Limits in hours of backlog; `most`: units that may be bought at once, None for no limit; `idle`: how
    long a bought unit may have nothing to do.
    """

    start: float
    stop: float
    most: int | None = None
    idle: timedelta = IDLE

    def __post_init__(self) -> None:
        if not (math.isfinite(self.start) and 0 <= self.stop <= self.start):
            raise ValueError("a burst starts at a finite backlog, and stops at the same or a smaller one")
        if self.most is not None and self.most < 0:
            raise ValueError("units are not below 0")
        if self.idle < timedelta(0):
            raise ValueError("a unit is idle for no time or longer")


@dataclass(frozen=True)
class BurstState:
    """What the queue is to have: `bursting`, how many bought `units`, and its backlog in hours."""

    bursting: bool
    units: int
    backlog_hours: float


class BurstWhy(StrEnum):
    """Why a step is as it is; the words are made from these codes."""

    OFF = "off"  # the backlog is below its limit, nothing is bought
    ON = "on"  # the backlog is above its limit
    FULL = "full"  # as `on`, and the rule allows no more units
    DRAINING = "draining"  # no longer bursting; bought units work on, or have not been idle for long
    IDLE = "idle"  # some bought units end
    ZERO = "zero"  # the last ones end


@dataclass(frozen=True)
class QueueSeen:
    """A queue at one look. `waiting`: unit-hours of work that wait; `own`: units that are there anyway and
    take them; `bought`: units that run or are asked for, `idle` of them without work; `bursting` and
    `idle_since` as the last step returned them (at first False and None).
    """

    waiting: float
    own: float
    bought: int
    idle: int
    bursting: bool
    idle_since: datetime | None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.waiting) and self.waiting >= 0):
            raise ValueError("work that waits is finite and not below 0")
        if not (math.isfinite(self.own) and self.own >= 0):
            raise ValueError("own units are finite and not below 0")
        if not 0 <= self.idle <= self.bought:
            raise ValueError("idle units are some of the bought ones")


@dataclass(frozen=True)
class BurstStep:
    """Buy `start` units, end `end` of the idle ones; `bursting` and `idle_since` are for the next look."""

    bursting: bool
    start: int
    end: int
    idle_since: datetime | None
    backlog_hours: float
    why: BurstWhy


def backlog_hours(waiting: float, units: float) -> float:
    """Hours that `units` need for `waiting` unit-hours; infinite where work waits and nothing takes it."""
    if waiting <= 0:
        return 0.0
    return waiting / units if units > 0 else math.inf


def judge_burst(rule: BurstRule, *, waiting: float, units: float, bursting: bool) -> BurstState:
    """The next state. Units bought: so many that what waits is down to `stop` hours, and not more.

    >>> judge_burst(BurstRule(start=2, stop=1), waiting=30, units=10, bursting=False)
    BurstState(bursting=True, units=20, backlog_hours=3.0)
    """
    backlog = backlog_hours(waiting, units)
    on = waiting > 0 and (backlog > rule.stop if bursting else backlog > rule.start)
    if not on:
        return BurstState(False, 0, backlog)
    wanted = math.ceil(waiting / max(rule.stop, 1.0) - units)
    needed = max(1, wanted)
    return BurstState(True, needed if rule.most is None else min(needed, rule.most), backlog)


def step_burst(rule: BurstRule, seen: QueueSeen, *, now: datetime) -> BurstStep:
    """One look at a live queue. Units on their way count as bought, so a look that comes twice buys once.

    Bought units are never ended at work. Idle ones end together once none was needed for `rule.idle`: the
    clock starts when the queue stops bursting with idle units there, and anew when it bursts again.

    >>> from datetime import UTC
    >>> now = datetime(2026, 1, 1, tzinfo=UTC)
    >>> step = step_burst(BurstRule(start=2, stop=1), QueueSeen(30, 10, 5, 0, False, None), now=now)
    >>> step.start, step.end, step.bursting, str(step.why)
    (15, 0, True, 'on')
    """
    state = judge_burst(rule, waiting=seen.waiting, units=seen.own, bursting=seen.bursting)
    if state.bursting:
        more = max(0, state.units - seen.bought)
        full = rule.most is not None and max(state.units, seen.bought) >= rule.most
        return BurstStep(True, more, 0, None, state.backlog_hours, BurstWhy.FULL if full else BurstWhy.ON)
    if not seen.bought:
        return BurstStep(False, 0, 0, None, state.backlog_hours, BurstWhy.OFF)
    since = None if not seen.idle else min(seen.idle_since or now, now)
    if since is None or now - since < rule.idle:
        return BurstStep(False, 0, 0, since, state.backlog_hours, BurstWhy.DRAINING)
    why = BurstWhy.ZERO if seen.idle == seen.bought else BurstWhy.IDLE
    return BurstStep(False, 0, seen.idle, None, state.backlog_hours, why)
