"""Daily costs, and what in them is no level: lumps on the first of a month, single days that stand out.

Fees, support and taxes are booked on the first; an up-front purchase is one day. A forecast that took either
for a level would repeat it every day.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DAY = timedelta(days=1)
MAX_DAYS = 120
LUMP_DEVIATIONS = 4.0
# Least excess of a first day over its neighbours, as a share of their level, that is called a lump.
LUMP_SHARE = 0.05
# A single day stands out when it lies four robust deviations and 30 % of the level from both neighbours.
ONE_OFF_DEVIATIONS, ONE_OFF_SHARE = 4.0, 0.30
# The newest day may be the first of a new level: it is set aside only when it lies twice the level away.
NEWEST_SHARE = 2.0


@dataclass(frozen=True, slots=True)
class DailyCosts:
    """Consecutive days: `values[i]` is the cost of day `first + i`, 0 where nothing was charged."""

    first: date
    values: Floats

    def __post_init__(self) -> None:
        """Raises ValueError for a value that is no number: unknown is not a cost."""
        if self.values.ndim != 1 or not np.isfinite(self.values).all():
            raise ValueError("daily costs are one finite number a day")

    @property
    def end(self) -> date:
        """The day after the last."""
        return self.first + timedelta(days=len(self.values))

    def between(self, start: date, end: date) -> Floats:
        """The values of the days in [start, end) that are there."""
        low = max(0, (start - self.first).days)
        return self.values[low : max(low, (end - self.first).days)]


def lumps_of(history: DailyCosts) -> tuple[tuple[date, float], ...]:
    """(first of month, excess) of each known first day: its cost less the median of up to 7 days after it,
    or of those before it while fewer than three are known after it.

    Only an excess above 5 % of that median and above four robust deviations of the days around is a lump; any
    other first day is an ordinary one and is not listed.
    """
    found: list[tuple[date, float]] = []
    for i, value in enumerate(history.values):
        day = history.first + timedelta(days=i)
        if day.day != 1:
            continue
        near = np.concatenate([history.values[max(0, i - 7) : i], history.values[i + 1 : i + 8]])
        if len(near) < 3:
            continue
        # The side after the first day counts where it is there: a level may change with the month.
        after = history.values[i + 1 : i + 8]
        usual = float(np.median(after if len(after) >= 3 else near))
        spread = 1.4826 * float(np.median(np.abs(near - np.median(near))))
        excess = float(value) - usual
        if excess > max(LUMP_DEVIATIONS * spread, LUMP_SHARE * abs(usual), 1e-9):
            found.append((day, excess))
    return tuple(found)


def training(history: DailyCosts, lumps: Sequence[tuple[date, float]]) -> tuple[Ints, Floats]:
    """Weekday (Monday 0) and cost of the days that the level is learned from, oldest first.

    Days before the first cost are no zeros of a running service; a day with a lump loses the lump. At most
    MAX_DAYS.
    """
    values = history.values.copy()
    for day, excess in lumps:
        values[(day - history.first).days] -= excess
    begun = np.flatnonzero(values != 0.0)
    begin = int(begun[0]) if len(begun) else len(values)
    values = values[begin:][-MAX_DAYS:]
    first = history.end - timedelta(days=len(values))
    days = (first.weekday() + np.arange(len(values), dtype=np.int64)) % 7
    return days, values


def without_one_offs(values: Floats) -> tuple[Floats, Floats]:
    """The values with single days that stand out set to the mean of their neighbours, and what was taken off.

    A day stands out against both neighbours in the same direction; the last day against the two before it. A
    day like the one a week before is a weekday's, not a one-off.
    """
    kept, taken = values.copy(), np.zeros(len(values))
    if len(values) < 4:
        return kept, taken
    moves = np.abs(np.diff(values))
    usual = 1.4826 * float(np.median(moves))
    for i in range(1, len(values)):
        near = (i - 1, i + 1) if i + 1 < len(values) else (i - 2, i - 1)
        mean = float((kept[near[0]] + values[near[1]]) / 2) if near[1] > i else float(kept[list(near)].mean())
        share = ONE_OFF_SHARE if i + 1 < len(values) else NEWEST_SHARE
        least = max(ONE_OFF_DEVIATIONS * usual, share * abs(mean), 1e-9)
        apart = [float(values[i] - (kept[j] if j < i else values[j])) for j in near]
        if min(apart) <= least and max(apart) >= -least:
            continue
        if i >= 7 and abs(float(values[i] - values[i - 7])) <= least:
            continue
        kept[i], taken[i] = mean, values[i] - mean
    return kept, taken
