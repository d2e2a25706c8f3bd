"""When a queue's backlog buys help, and when that help ends again.

The backlog is told in hours: unit-hours of work that wait, over the units that take them. Above `start` the
queue bursts, and it stays so until the backlog is at or below `stop`: two limits, so that it does not turn
on and off around one. With nothing waiting the help scales to zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class BurstRule:
    """Limits in hours of backlog; `most`: units that may be bought at once, None for no limit."""

    start: float
    stop: float
    most: int | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.start) and 0 <= self.stop <= self.start):
            raise ValueError("a burst starts at a finite backlog, and stops at the same or a smaller one")
        if self.most is not None and self.most < 0:
            raise ValueError("units are not below 0")


@dataclass(frozen=True)
class BurstState:
    """What the queue is to have: `bursting`, how many bought `units`, and its backlog in hours."""

    bursting: bool
    units: int
    backlog_hours: float


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
