"""The least that any sequence of classes could have cost, with all reads known: the limit of every policy.

Exact dynamic programming per object over (class, minimum days left, days in the automatic tier), with the
same classes, moves and prices as the policies.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from finops.engine.storage.rates import AUTO, COLD, COOL, HOT, Rates
from finops.engine.storage.reads import Reads

Floats = NDArray[np.float64]


class _Layout:
    """Places in a row of values: one for HOT, one per idle day of AUTO, one per day left of COOL and COLD."""

    def __init__(self, rates: Rates) -> None:
        self.rates = rates
        self.sizes = [1, len(rates.auto_day), int(rates.min_days[COOL]) + 1, int(rates.min_days[COLD]) + 1]
        starts = np.concatenate([[0], np.cumsum(self.sizes)])
        self.parts = [slice(int(starts[c]), int(starts[c + 1])) for c in range(4)]
        self.total = int(starts[-1])
        self.left = np.zeros(self.total)
        for c in (COOL, COLD):
            self.left[self.parts[c]] = np.arange(self.sizes[c]) * rates.day[c]
        self.fresh = [self.parts[HOT].start, self.parts[AUTO].start]
        self.fresh += [self.parts[c].stop - 1 for c in (COOL, COLD)]

    def moved(self, value: Floats) -> Floats:
        """After the cheapest move."""
        leaving = value + self.left
        cheapest = np.stack([leaving[:, part].min(axis=1) for part in self.parts])
        after = value.copy()
        for target in range(4):
            fees = self.rates.move[:, target].copy()
            arrival = np.min(cheapest + fees[:, None], axis=0)
            place = self.fresh[target]
            after[:, place] = np.minimum(after[:, place], arrival)
        return after

    def day(self, value: Floats, read: NDArray[np.bool_]) -> Floats:
        """After the day's reads and storage, with one day less left."""
        rates, after = self.rates, np.full_like(value, np.inf)
        for c in (HOT, COOL, COLD):
            paid = value[:, self.parts[c]] + np.where(read, rates.read[c], 0.0)[:, None] + rates.day[c]
            shifted = np.full_like(paid, np.inf)
            shifted[:, :-1] = paid[:, 1:]
            shifted[:, 0] = np.minimum(shifted[:, 0], paid[:, 0])
            after[:, self.parts[c]] = shifted
        auto = value[:, self.parts[AUTO]]
        idle = auto + rates.auto_day
        longer = np.full_like(idle, np.inf)
        longer[:, 1:] = idle[:, :-1]
        longer[:, -1] = np.minimum(longer[:, -1], idle[:, -1])
        again = np.full_like(idle, np.inf)
        again[:, min(1, idle.shape[1] - 1)] = auto.min(axis=1) + rates.read[AUTO] + rates.auto_day[0]
        after[:, self.parts[AUTO]] = np.where(read[:, None], again, longer)
        return after


def optimum(reads: Reads, rates: Rates, *, since: int = 0) -> Floats:
    """Least cost per object from day `since` on (an object born earlier may start in any class), per GiB."""
    layout = _Layout(rates)
    value = np.full((len(reads.keys), layout.total), np.inf)
    start = np.full(layout.total, np.inf)
    free = np.full(layout.total, np.inf)
    for c in range(4):
        start[layout.fresh[c]] = rates.upload[c]
        # Who counts from later on lets the optimum begin where it likes: it stays a lower limit.
        free[layout.fresh[c]] = 0.0
        free[layout.parts[c].start] = 0.0
    for day in range(since, reads.days):
        if day == since:
            value[reads.born < since] = free
        value[reads.born == day] = start
        alive = reads.born <= day
        value[alive] = layout.day(layout.moved(value[alive]), reads.read[alive, day])
    cost = value.min(axis=1)
    return np.where(np.isfinite(cost), cost, 0.0)
