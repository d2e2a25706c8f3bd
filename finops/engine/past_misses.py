"""How wide an interval must be for this series: what forecasts from its own earlier days missed by.

Split conformal prediction, walked forward: at each earlier day the level is followed to that day alone, the
sum of the days after it is told, and the miss is counted in deviations that the same formula claimed then.
Steps and a worked table: docs/algorithms/forecast.md. float64 in one currency.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from finops.engine.daily_costs import Floats, Ints, without_one_offs
from finops.engine.smoothing import WEEKDAY_DAYS, Model, drift, error_sd, follow, spread_of_sum

# Days that must lie before an origin, and origins that are tried at most: more overlap and say little new.
WARM_DAYS, MOST_ORIGINS = 7, 24
# A deviation claimed then counts with at least this share of the level a day: even days claim nearly none.
LEAST_SHARE = 0.01
# One miss counts with at most so many deviations.
MOST_DEVIATIONS = 20.0


@dataclass(frozen=True, slots=True)
class Misses:
    """`sizes`: misses in deviations claimed at their time, oldest first. `ahead`: days that each was told
    ahead. `separate`: how many of them share no day.
    """

    sizes: tuple[float, ...]
    ahead: int
    separate: float


def misses_of(days: Ints, values: Floats, model: Model, steps: int) -> Misses:
    """Misses of sums of up to `steps` days, at most half of what there is. `values`: with their one-offs."""
    there = len(values) - WARM_DAYS
    ahead = min(steps, there // 2)
    if ahead < 1:
        return Misses((), 0, 0.0)
    stride = max(1, math.ceil((there - ahead + 1) / MOST_ORIGINS))
    origins = range(len(values) - ahead, WARM_DAYS - 1, -stride)
    sizes = tuple(_sizes(days, values, model, ahead, origins))[::-1]
    return Misses(sizes, ahead, (there - ahead + 1) / ahead)


def _sizes(days: Ints, values: Floats, model: Model, ahead: int, origins: range) -> Iterator[float]:
    for origin in origins:
        kept, taken = without_one_offs(values[:origin])
        known = model if origin >= WEEKDAY_DAYS else Model(model.alpha, False, model.trend)
        fit = follow(days[:origin], kept, known)
        weekday = days[origin : origin + ahead]
        told = np.maximum(fit.level + drift(fit.trend, ahead), 0.0) * fit.factors[weekday]
        claimed = math.hypot(
            error_sd(fit.errors) * spread_of_sum(model.alpha, ahead),
            error_sd(taken[1:]) * math.sqrt(ahead),
            LEAST_SHARE * abs(fit.level) * math.sqrt(ahead),
        )
        miss = abs(float((values[origin : origin + ahead] - told).sum()))
        yield min(miss / claimed, MOST_DEVIATIONS) if claimed > 0 else MOST_DEVIATIONS * (miss > 0)


def reach(misses: Misses, by_formula: float, confidence: float) -> float:
    """Deviations to take on each side: the formula's own, moved towards the quantile of the past misses the
    more of them there are (weight m / (m + 1) with m separate ones), and never under the formula's.

    Until 1 / (1 - confidence) - 1 separate misses are known, their quantile is the largest.
    """
    if not misses.sizes:
        return by_formula
    count = max(misses.separate, 1.0)
    level = min(1.0, math.ceil((count + 1) * confidence) / count)
    seen = float(np.quantile(np.array(misses.sizes), level))
    weight = misses.separate / (misses.separate + 1.0)
    return max(by_formula, weight * seen + (1 - weight) * by_formula)
