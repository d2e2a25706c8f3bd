"""The usual cost of a day: median and its deviation over the days before, by weekday if narrower."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
from numpy.typing import NDArray

from finops.engine.daily_costs import Floats, Ints

Bools = NDArray[np.bool_]

BASELINE_DAYS = 35
LEAST_DAYS = 7
# Weekdays are told apart with three of each, when that takes at least this share off the deviation.
LEAST_WEEKDAYS, NARROWER = 3, 0.3
# The median absolute deviation of a normal variable is 0.6745 of its standard deviation.
MAD_TO_SD = 1.4826
# No part of a bill is steadier than this share of its cost: usage is metered by the hour.
LEAST_SPREAD = 0.02
NORMAL_90 = 1.645


@dataclass(frozen=True, slots=True)
class Baseline:
    """Of each slice: the usual cost of the day, its robust deviation, the half-width of the usual cost's 90 %
    interval, and whether it is known.
    """

    expected: Floats
    spread: Floats
    reach: Floats
    known: Bools


def first_days(first: date, days: int) -> Bools:
    """Which columns are the first of a month: fees are booked then, so they are compared among themselves."""
    return np.array([(first + timedelta(days=i)).day == 1 for i in range(days)], dtype=np.bool_)


def baseline(history: Floats, at: int, *, firsts: Bools) -> Baseline:
    """Usual cost of column `at` from the up to 35 columns before it.

    Firsts of month are no history; the first of a month is expected at the usual cost plus what the newest
    earlier first had above its own usual cost, and not known without one.
    """
    begin = max(0, at - BASELINE_DAYS)
    columns = np.arange(begin, at)[~firsts[begin:at]]
    expected, spread = _usual(history[:, columns], columns, at)
    known = np.full(len(history), len(columns) >= LEAST_DAYS)
    if firsts[at]:
        lump, has = _lump(history, at, firsts)
        expected, known = expected + lump, known & has
    spread = np.maximum(spread, LEAST_SPREAD * np.abs(expected))
    # The median of n days has about 1.2533 / sqrt(n) of their standard deviation.
    reach = NORMAL_90 * spread * np.sqrt(1.0 + 1.2533**2 / max(len(columns), 1))
    return Baseline(expected, spread, reach, known)


def _usual(history: Floats, columns: Ints, at: int) -> tuple[Floats, Floats]:
    """Median and robust deviation of the days; of the day's own weekday where that is clearly narrower."""
    plain, mad = _median(history)
    weekdays = columns % 7
    if min((int((weekdays == w).sum()) for w in range(7)), default=0) < LEAST_WEEKDAYS:
        return plain, MAD_TO_SD * mad
    left = history.copy()
    for weekday in range(7):
        same = weekdays == weekday
        left[:, same] -= _median(history[:, same])[0][:, None]
    centre, _ = _median(history[:, weekdays == at % 7])
    narrow = np.median(np.abs(left), axis=1)
    use = narrow <= (1 - NARROWER) * mad
    return np.where(use, centre, plain), MAD_TO_SD * np.where(use, narrow, mad)


def _median(history: Floats) -> tuple[Floats, Floats]:
    """Median and median absolute deviation along the days; 0 without any."""
    if not history.shape[1]:
        return np.zeros(len(history)), np.zeros(len(history))
    middle = np.median(history, axis=1)
    return middle, np.median(np.abs(history - middle[:, None]), axis=1)


def _lump(values: Floats, at: int, firsts: Bools) -> tuple[Floats, Bools]:
    """What the newest earlier first of a month had above the median of the six days after it."""
    earlier = np.flatnonzero(firsts[:at])
    if not len(earlier):
        return np.zeros(len(values)), np.zeros(len(values), dtype=np.bool_)
    newest = int(earlier[-1])
    after = values[:, newest + 1 : min(newest + 7, at)]
    if after.shape[1] < LEAST_WEEKDAYS:
        return np.zeros(len(values)), np.zeros(len(values), dtype=np.bool_)
    lump = values[:, newest] - np.median(after, axis=1)
    return np.maximum(lump, 0.0), np.ones(len(values), dtype=np.bool_)
