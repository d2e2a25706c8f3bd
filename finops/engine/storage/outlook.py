"""How often objects will be read in the coming year, by how long they have not been read: with an interval.

The chance that an object is read on a day is learnt per idle band from reads and object-days: a Gamma
posterior, each band drawn towards the band before it by `access.PRIOR_DAYS` object-days (the first towards
the rate of all bands). Reads come in bursts (one job reads a whole prefix), so that they tell less than
their number: counts are divided by the dispersion of the weeks' reads (variance over mean, at least 1). The
interval holds what was learnt badly and what the coming year may bring by chance:

    a = reads / dispersion + PRIOR_DAYS x rate of the band before
    b = object-days / dispersion + PRIOR_DAYS
    mean = a / b,  variance = a / b^2 + dispersion x mean / object-days of a coming year

low and high are the 5 % and 95 % quantiles of the Gamma with that mean and variance, high at least 1.645
deviations above the mean: most years have none of a rare burst, and the quantile alone would leave it out.
All bands are low or high together, which makes the interval of a sum wider than 90 %, never narrower.

From there on days are a Markov chain over the days since the last read, which policies do not change: moving
an object does not change who reads it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

from finops.engine.storage.access import FIRST_DAYS, FIRST_RATE, PRIOR_DAYS
from finops.frames.storage import IDLE_EDGES, ReadsCell

Floats = NDArray[np.float64]

LEVEL = 0.90
# The 95 % quantile of a normal deviate.
UPPER = 1.645
YEAR_DAYS = 365.25
DAYS = 366
# Idle days that are told apart; beyond the last edge of the bands the hazard is the last band's.
STATES = IDLE_EDGES[-1] + 1


@dataclass(frozen=True)
class Hazard:
    """Chance of a read on a day per idle band (`IDLE_EDGES`): low, expected and high; read with the words of
    the module. `requests` a read: how often an object is fetched on a day on which it is read; `share`: part
    of the object's bytes that this takes, None where the log tells no bytes. `reads`, `object_days` and
    `days`: what it was learnt from; `dispersion` of the weeks' reads.
    """

    low: Floats
    expected: Floats
    high: Floats
    requests: float
    share: float | None
    reads: int
    object_days: float
    days: int
    dispersion: float

    def ends(self) -> tuple[Floats, Floats, Floats]:
        """Low, expected, high."""
        return self.low, self.expected, self.high


def never_read() -> Hazard:
    """The hazard of what is never read: the best case of every move."""
    zero = np.zeros(len(IDLE_EDGES))
    return Hazard(zero, zero, zero, 1.0, 1.0, 0, 0.0, 0, 1.0)


def constant(chance: float) -> Hazard:
    """The same given chance of a whole read on every day."""
    same = np.full(len(IDLE_EDGES), min(max(chance, 0.0), 1.0))
    return Hazard(same, same, same, 1.0, 1.0, 0, 0.0, 0, 1.0)


def learn(cells: Sequence[ReadsCell], *, first: date, last: date, mean_bytes: float) -> Hazard:
    """The hazard of one prefix from its reads of the days `first` to `last`, both included.

    Rows without idle bands (nothing known of the last read yet) count towards the rate of all bands only.
    `mean_bytes`: of its objects, to tell which part of an object a read takes.
    """
    count = len(IDLE_EDGES)
    reads, seen = np.zeros(count), np.zeros(count)
    for cell in cells:
        if cell.idle_from is not None:
            place = int(np.searchsorted(IDLE_EDGES, cell.idle_from, side="right")) - 1
            reads[place] += cell.reads
            seen[place] += cell.exposure
    all_reads = float(sum(cell.reads for cell in cells))
    all_days = float(sum(cell.exposure for cell in cells))
    spread = dispersion(cells, first=first, last=last)
    span = max((last - first).days + 1, 1)
    towards = (all_reads + FIRST_RATE * FIRST_DAYS) / (all_days + FIRST_DAYS)
    low, expected, high = np.zeros(count), np.zeros(count), np.zeros(count)
    for place in range(count):
        a = reads[place] / spread + PRIOR_DAYS * towards
        b = seen[place] / spread + PRIOR_DAYS
        coming = max(seen[place] / span, 1.0) * YEAR_DAYS
        mean = a / b
        variance = a / b**2 + spread * mean / coming
        low[place], high[place] = _quantiles(mean, variance)
        expected[place] = towards = mean
    requests = sum(cell.requests for cell in cells) / all_reads if all_reads else 1.0
    return Hazard(
        np.minimum(low, expected), np.minimum(expected, 1.0), np.clip(high, expected, 1.0),
        max(requests, 1.0), _share(cells, mean_bytes), int(all_reads), all_days, span, spread,
    )  # fmt: skip


def dispersion(cells: Sequence[ReadsCell], *, first: date, last: date) -> float:
    """Variance over mean of the whole weeks' reads, at least 1; 1 without two weeks or without reads."""
    weeks = ((last - first).days + 1) // 7
    if weeks < 2:
        return 1.0
    by_week: dict[int, float] = defaultdict(float)
    for cell in cells:
        week = (last - cell.day).days // 7
        if 0 <= week < weeks:
            by_week[week] += cell.reads
    counts = np.array([by_week[week] for week in range(weeks)])
    mean = float(counts.mean())
    return max(1.0, float(counts.var(ddof=1)) / mean) if mean > 0 else 1.0


def _quantiles(mean: float, variance: float) -> tuple[float, float]:
    shape, scale = mean**2 / variance, variance / mean
    tail = (1 - LEVEL) / 2
    low, high = (float(gammaincinv(shape, at) * scale) for at in (tail, 1 - tail))
    return low, max(high, mean + UPPER * variance**0.5)


def _share(cells: Sequence[ReadsCell], mean_bytes: float) -> float | None:
    told = [cell for cell in cells if cell.reads and cell.bytes is not None]
    reads = sum(cell.reads for cell in told)
    if not reads or mean_bytes <= 0:
        return None
    return sum(cell.bytes or 0 for cell in told) / reads / mean_bytes


@dataclass(frozen=True)
class Outlook:
    """What a year of reads looks like for objects that begin with each of `starts` idle days.

    Cumulative over days d = 0 .. DAYS: `read[i, d]` expected days with a read per object before day d,
    `idle[k][i, d]` days before day d on which the last read lay k days back or more, for each k asked for.
    """

    read: Floats
    idle: dict[int, Floats]

    def reads_before(self, which: NDArray[np.int64], days: Floats) -> Floats:
        """Read days before `days` (fractions of a day in proportion), per row of `which`."""
        return _at(self.read, which, days)

    def idle_before(self, threshold: int, which: NDArray[np.int64], days: Floats) -> Floats:
        """Days before `days` with at least `threshold` idle days."""
        return _at(self.idle[threshold], which, days)


def look_ahead(chances: Floats, starts: Sequence[int], thresholds: Sequence[int]) -> Outlook:
    """Follow the days since the last read for a year from each of `starts`."""
    places = np.searchsorted(IDLE_EDGES, np.arange(STATES), side="right") - 1
    chance = chances[places]
    state = np.zeros((len(starts), STATES))
    for row, start in enumerate(starts):
        state[row, min(start, STATES - 1)] = 1.0
    read = np.zeros((len(starts), DAYS + 1))
    idle = {k: np.zeros((len(starts), DAYS + 1)) for k in thresholds}
    for day in range(DAYS):
        for k, sums in idle.items():
            sums[:, day + 1] = sums[:, day] + state[:, min(k, STATES - 1) :].sum(axis=1)
        today = state @ chance
        read[:, day + 1] = read[:, day] + today
        left = state * (1 - chance)
        state = np.zeros_like(state)
        state[:, 1:] = left[:, :-1]
        state[:, -1] += left[:, -1]
        state[:, 1] += today
    return Outlook(read, idle)


def _at(cumulative: Floats, which: NDArray[np.int64], days: Floats) -> Floats:
    """Interpolated between whole days; `days` has one row per entry of `which`."""
    whole = np.clip(np.floor(days), 0, DAYS - 1).astype(np.int64)
    rest = np.clip(days - whole, 0.0, 1.0)
    rows = which[:, None] if days.ndim == 2 else which
    low, high = cumulative[rows, whole], cumulative[rows, whole + 1]
    return np.asarray(low + (high - low) * rest)
