"""The cheapest way to meet a deadline for one who knows the whole trace, exact, by dynamic programming.

State: tick, what ran in the tick before (nothing, Spot of one of the zones, on-demand), slack (time left
less work left). Work at full speed keeps the slack, waiting a tick costs a tick of it, a start costs the
overhead. So the slacks are the first one less multiples of gcd(tick, overhead), and a tick is a few
operations on arrays of them. One who knows the trace never gives up an instance during its start (waiting
would have been free), so a start is one step over the ticks that hold it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

import numpy as np
from numpy.typing import NDArray

from finops.engine.launches.deadline import Job
from finops.frames.availability import Flags

Floats = NDArray[np.float64]
# Values by what ran before: nothing, the zones' Spot in their order, on-demand.
Values = list[Floats]


def optimum(job: Job, gap: int, available: Flags, prices: Sequence[float] = (1.0,)) -> float:
    """Least cost in seconds of Spot price; the rules are those of `deadline.play`. `available`: a flag a
    tick, or with several zones a row a tick and a column a zone.

    >>> optimum(Job(work=2, deadline=4, overhead=0, ratio=3.0), 1, np.array([True, False, False, True]))
    2.0
    >>> optimum(Job(work=2, deadline=4, overhead=1, ratio=3.0), 1, np.array([True, False, False, True]))
    9.0
    """
    ticks = -(-job.deadline // gap)
    if len(available) < ticks:
        raise ValueError(f"{ticks} ticks are needed, {len(available)} are there")
    return float(_Search(job, gap, available[:ticks].reshape(ticks, len(prices)), prices).solve())


class _Search:
    """Values of the states of the ticks ahead, latest first: `ahead[j]` is j + 1 ticks later."""

    def __init__(self, job: Job, gap: int, available: Flags, prices: Sequence[float]) -> None:
        self.job, self.gap, self.available = job, gap, available
        self.prices = [*prices, job.ratio]
        self.unit = gcd(gap, job.overhead)
        first = job.deadline - job.work
        self.slacks = first - self.unit * np.arange(first // self.unit + 1, dtype=np.int64)
        self.start_ticks = max(1, -(-job.overhead // gap))

    def solve(self) -> float:
        ticks, zones = self.available.shape
        lengths = np.zeros(zones, dtype=np.int64)
        ahead: list[Values] = []
        for tick in range(ticks - 1, -1, -1):
            lengths = np.where(self.available[tick], lengths + 1, 0)
            # On-demand is there to the end and longer.
            there = [*lengths.tolist(), ticks + self.start_ticks]
            ahead.insert(0, self._tick(self.job.deadline - tick * self.gap, there, ahead))
            del ahead[self.start_ticks :]
        return float(ahead[0][0][0])

    def _tick(self, left: int, there: list[int], ahead: list[Values]) -> Values:
        """Values at the start of a tick with `left` seconds to go and each place there for so many ticks."""
        work = left - self.slacks
        none = self._later(ahead, 1, 0, self.gap)
        for place, length in enumerate(there, start=1):
            if length >= self.start_ticks:
                none = np.minimum(none, self._start(place, work, left, ahead))
        found = [none]
        for place, length in enumerate(there, start=1):
            found.append(np.minimum(none, self._go_on(place, work, left, ahead)) if length else none)
        for values in found:
            values[work <= 0] = 0.0
        return found

    def _later(self, ahead: list[Values], ticks: int, place: int, lost: int) -> Floats:
        """Value `ticks` later with `lost` seconds of slack less; infinite where the deadline is past."""
        found = np.full(self.slacks.size, np.inf)
        if len(ahead) >= ticks:
            shift = lost // self.unit
            values = ahead[ticks - 1][place]
            found[: max(0, values.size - shift)] = values[shift:]
        return found

    def _go_on(self, place: int, work: NDArray[np.int64], left: int, ahead: list[Values]) -> Floats:
        price = self.prices[place - 1]
        later = self.gap * price + self._later(ahead, 1, place, 0)
        return np.where(work <= min(self.gap, left), work * price, later)

    def _start(self, place: int, work: NDArray[np.int64], left: int, ahead: list[Values]) -> Floats:
        price, overhead = self.prices[place - 1], self.job.overhead
        span = self.start_ticks * self.gap
        later = span * price + self._later(ahead, self.start_ticks, place, overhead)
        return np.where(work + overhead <= min(span, left), (work + overhead) * price, later)
