"""What a billing period will cost: from daily costs up to the last settled day, with a 90 % interval.

Settled days count as they are; every other day of the period with max(already delivered, level x weekday +
trend), and the first of a month with its lump on top.
Terms, steps and a worked table: docs/algorithms/forecast.md. float64 in one currency; the caller rounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise

import numpy as np
from scipy import stats

from finops.engine.daily_costs import DAY, DailyCosts, Floats, lumps_of, training, without_one_offs
from finops.engine.past_misses import Misses, misses_of, reach
from finops.engine.smoothing import Fit, Model, choose, drift, error_sd, follow, spread_of_sum

MIN_DAYS = 7
CONFIDENCE = 0.90


@dataclass(frozen=True, slots=True)
class DayForecast:
    """A day that is not settled: its own cost and the period's cost up to its end, with the interval."""

    day: date
    cost: float
    total: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Forecast:
    """`verdict`: "forecast", "complete" (every day is settled: `expected` is the cost) or "cannot judge".

    `to_date`: everything delivered for the period, also of unsettled days. `settled_until`: the day after the
    last settled one. `expected`, `low`, `high` are None when it cannot be judged. `lump`: what the first of a
    month adds, None where no first day is known. `error_sd` and `one_off_sd`: what the interval rests on;
    `widened`: how many times the formula's width its own past misses make it.
    """

    verdict: str
    reason: str
    start: date
    end: date
    settled_until: date
    to_date: float
    expected: float | None = None
    low: float | None = None
    high: float | None = None
    level: float | None = None
    weekday_factors: tuple[float, ...] | None = None
    trend_per_day: float = 0.0
    lump: float | None = None
    lumps: tuple[tuple[date, float], ...] = ()
    model: Model | None = None
    training_days: int = 0
    error_sd: float | None = None
    one_off_sd: float | None = None
    widened: float | None = None
    path: tuple[DayForecast, ...] = ()


def forecast_period(costs: DailyCosts, *, start: date, end: date, settled_until: date) -> Forecast:
    """Cost of [start, end). Days at or after `settled_until` are looked at only as what was delivered so far.

    Raises ValueError when the period is empty.
    """
    if end <= start:
        raise ValueError("a period ends after it starts")
    settled = max(min(settled_until, costs.end), costs.first)
    to_date = math.fsum(costs.between(start, min(end, costs.end)))
    if settled >= end and costs.first <= start:
        return Forecast("complete", "", start, end, settled, to_date, to_date, to_date, to_date)
    history = DailyCosts(costs.first, costs.between(costs.first, settled))
    lumps = lumps_of(history)
    days, raw = training(history, lumps)
    values, one_offs = without_one_offs(raw)
    refusal = _refusal(costs, start, settled, len(values))
    if refusal:
        return Forecast(
            "cannot judge", refusal, start, end, settled, to_date, lumps=lumps, training_days=len(values)
        )
    fit = follow(days, values, choose(days, values))
    misses = misses_of(days, raw, fit.model, (end - settled).days)
    return _answer(costs, start, end, settled, to_date, lumps, fit, one_offs, misses)


def _refusal(costs: DailyCosts, start: date, settled: date, known: int) -> str:
    """Why there is no forecast, "" when there is one: the texts are message ids."""
    if costs.first > start:
        return "The bills begin after the first day of the period."
    if known < MIN_DAYS:
        return "Fewer than seven settled days of cost are known."
    if settled < start - timedelta(days=31):
        return "The newest settled day lies more than a month before the period."
    return ""


def _answer(
    costs: DailyCosts,
    start: date,
    end: date,
    settled: date,
    to_date: float,
    lumps: tuple[tuple[date, float], ...],
    fit: Fit,
    one_offs: Floats,
    misses: Misses,
) -> Forecast:
    """The days that are not settled, summed on what is."""
    steps = (end - settled).days
    ahead = [settled + timedelta(days=i) for i in range(steps)]
    weekday = np.array([day.weekday() for day in ahead], dtype=np.int64)
    expected = np.maximum(fit.level + drift(fit.trend, steps), 0.0) * fit.factors[weekday]
    sd = error_sd(fit.errors)
    odd = error_sd(one_offs[1:])
    by_formula = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(fit.errors) - 1))
    wide = reach(misses, by_formula, CONFIDENCE)
    lump, lump_reach = lump_expected(lumps)
    known_first = _knows_first(costs, settled)
    base = math.fsum(costs.between(start, settled))
    path: list[DayForecast] = []
    total, floor, lump_width = base, base, 0.0
    for i, day in enumerate(ahead):
        cost = float(expected[i])
        if day.day == 1 and lump is not None:
            cost += lump
            lump_width += lump_reach if day >= start else 0.0
        delivered = float(costs.between(day, day + DAY).sum())
        cost = max(cost, delivered)
        if day < start:
            continue
        total += cost
        floor += delivered
        level_width = sd * spread_of_sum(fit.model.alpha, i + 1)
        width = math.hypot(wide * level_width, wide * odd * math.sqrt(i + 1), lump_width)
        path.append(DayForecast(day, cost, total, max(floor, total - width), total + width))
    last = path[-1]
    return Forecast(
        "forecast", "", start, end, settled, to_date, last.total, last.low, last.high,
        level=fit.level,
        weekday_factors=tuple(fit.factors.tolist()) if fit.model.weekdays else None,
        trend_per_day=fit.trend,
        lump=lump if lump is not None else (0.0 if known_first else None),
        lumps=lumps, model=fit.model, training_days=fit.days, error_sd=sd, one_off_sd=odd,
        widened=wide / by_formula, path=tuple(path),
    )  # fmt: skip


def _knows_first(costs: DailyCosts, settled: date) -> bool:
    """Whether any first of a month is settled, with three days after it."""
    return any(
        (costs.first + timedelta(days=i)).day == 1 for i in range(max(0, (settled - costs.first).days - 3))
    )


def lump_expected(lumps: Sequence[tuple[date, float]]) -> tuple[float | None, float]:
    """The newest lump and how far the next may lie from it: the largest change so far, 0 with only one."""
    if not lumps:
        return None, 0.0
    sizes = [size for _, size in lumps]
    return sizes[-1], max((abs(b - a) for a, b in pairwise(sizes)), default=0.0)
