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
        self.largest = first
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
        none = self._later(ahead, 1, 0, self.gap)
        for place, length in enumerate(there, start=1):
            if length >= self.start_ticks:
                np.minimum(none, self._start(place, left, ahead), out=none)
        found = [none]
        for place, length in enumerate(there, start=1):
            if length:
                on = self._go_on(place, left, ahead)
                np.minimum(none, on, out=on)
            found.append(on if length else none)
        done = self._first_of(left, 0)
        for values in found:
            values[:done] = 0.0
        return found

    def _first_of(self, left: int, work: int) -> int:
        """Of how many slacks, the largest first, no more than `work` is left."""
        return min(self.slacks.size, max(0, (self.largest - left + work) // self.unit + 1))

    def _later(self, ahead: list[Values], ticks: int, place: int, lost: int, paid: float = 0.0) -> Floats:
        """Value `ticks` later with `lost` seconds of slack less, and `paid`; infinite past the deadline."""
        shift = lost // self.unit
        if len(ahead) < ticks or shift >= self.slacks.size:
            return np.full(self.slacks.size, np.inf)
        found = np.empty(self.slacks.size)
        kept = self.slacks.size - shift
        np.add(ahead[ticks - 1][place][shift:], paid, out=found[:kept])
        found[kept:] = np.inf
        return found

    def _go_on(self, place: int, left: int, ahead: list[Values]) -> Floats:
        later = self._later(ahead, 1, place, 0, self.gap * self.prices[place - 1])
        return self._done_within(later, place, left, min(self.gap, left), 0)

    def _start(self, place: int, left: int, ahead: list[Values]) -> Floats:
        span, overhead = self.start_ticks * self.gap, self.job.overhead
        later = self._later(ahead, self.start_ticks, place, overhead, span * self.prices[place - 1])
        return self._done_within(later, place, left, min(span, left), overhead)

    def _done_within(self, values: Floats, place: int, left: int, span: int, overhead: int) -> Floats:
        """`values` with those of the work that is done in `span` seconds, its start included."""
        done = self._first_of(left, span - overhead)
        if done:
            values[:done] = (left - self.slacks[:done] + overhead) * self.prices[place - 1]
        return values
