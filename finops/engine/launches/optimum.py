"""The cheapest way to meet a deadline for one who knows the whole trace, exact, by dynamic programming.

State: tick, what ran in the tick before, slack (time left less work left). Work at full speed keeps the
slack, waiting a tick costs a tick of it, a start costs the overhead. So the slacks are the first one less
multiples of gcd(tick, overhead), and a tick is a few operations on arrays of them. One who knows the trace
never gives up an instance during its start (waiting would have been free), so a start is one step over
the ticks that hold it.
"""

from __future__ import annotations

from math import gcd

import numpy as np
from numpy.typing import NDArray

from finops.engine.launches.deadline import Job, Market
from finops.frames.availability import Flags

Floats = NDArray[np.float64]


def optimum(job: Job, gap: int, available: Flags) -> float:
    """Least cost in seconds of Spot price; the rules are those of `deadline.run`.

    >>> optimum(Job(work=2, deadline=4, overhead=0, ratio=3.0), 1, np.array([True, False, False, True]))
    2.0
    >>> optimum(Job(work=2, deadline=4, overhead=1, ratio=3.0), 1, np.array([True, False, False, True]))
    9.0
    """
    ticks = -(-job.deadline // gap)
    if available.size < ticks:
        raise ValueError(f"{ticks} ticks are needed, {available.size} are there")
    return float(_Search(job, gap, available[:ticks]).solve())


class _Search:
    """Values of the states of the ticks ahead, latest first: `ahead[j][market]` is j + 1 ticks later."""

    def __init__(self, job: Job, gap: int, available: Flags) -> None:
        self.job, self.gap, self.available = job, gap, available
        self.unit = gcd(gap, job.overhead)
        first = job.deadline - job.work
        self.slacks = first - self.unit * np.arange(first // self.unit + 1, dtype=np.int64)
        self.start_ticks = max(1, -(-job.overhead // gap))

    def solve(self) -> float:
        ticks = self.available.size
        run_length = 0
        ahead: list[tuple[Floats, Floats, Floats]] = []
        for tick in range(ticks - 1, -1, -1):
            run_length = run_length + 1 if self.available[tick] else 0
            ahead.insert(0, self._tick(self.job.deadline - tick * self.gap, run_length, ahead))
            del ahead[self.start_ticks :]
        return float(ahead[0][Market.NONE][0])

    def _tick(
        self, left: int, run_length: int, ahead: list[tuple[Floats, Floats, Floats]]
    ) -> tuple[Floats, Floats, Floats]:
        """Values at the start of a tick with `left` seconds to go and Spot for `run_length` ticks."""
        work = left - self.slacks
        none = self._later(ahead, 1, Market.NONE, self.gap)
        none = np.minimum(none, self._start(Market.ON_DEMAND, work, left, ahead))
        if run_length >= self.start_ticks:
            none = np.minimum(none, self._start(Market.SPOT, work, left, ahead))
        spot = none
        if run_length:
            spot = np.minimum(none, self._go_on(Market.SPOT, work, left, ahead))
        demand = np.minimum(none, self._go_on(Market.ON_DEMAND, work, left, ahead))
        for values in (none, spot, demand):
            values[work <= 0] = 0.0
        return none, spot, demand

    def _later(
        self, ahead: list[tuple[Floats, Floats, Floats]], ticks: int, market: Market, lost: int
    ) -> Floats:
        """Value `ticks` later with `lost` seconds of slack less; infinite where the deadline is past."""
        found = np.full(self.slacks.size, np.inf)
        if len(ahead) >= ticks:
            shift = lost // self.unit
            values = ahead[ticks - 1][market]
            found[: max(0, values.size - shift)] = values[shift:]
        return found

    def _go_on(
        self, market: Market, work: NDArray[np.int64], left: int, ahead: list[tuple[Floats, Floats, Floats]]
    ) -> Floats:
        price = self.job.price(market)
        later = self.gap * price + self._later(ahead, 1, market, 0)
        return np.where(work <= min(self.gap, left), work * price, later)

    def _start(
        self, market: Market, work: NDArray[np.int64], left: int, ahead: list[tuple[Floats, Floats, Floats]]
    ) -> Floats:
        price, overhead = self.job.price(market), self.job.overhead
        span = self.start_ticks * self.gap
        later = span * price + self._later(ahead, self.start_ticks, market, overhead)
        return np.where(work + overhead <= min(span, left), (work + overhead) * price, later)
