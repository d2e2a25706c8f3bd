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

from finops.engine.daily_costs import (
    DAY,
    DailyCosts,
    Floats,
    Ints,
    lumps_of,
    training,
    without_one_offs,
)

ALPHAS = (0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
# Used until there are SELECT_DAYS: the best fixed weight on the bill of 2018-10 (bench/forecast.py).
ALPHA = 0.3
MIN_DAYS = 7
SELECT_DAYS = 14
WEEKDAY_DAYS = 21
# How far ahead a choice is judged, and from which day on.
JUDGED_DAYS, WARM_DAYS = 7, 7
# Weekdays and trend must beat the plain level by this share on the series' own past, else they are left out.
WORTH = 0.10
DAMPING, TREND_WEIGHT = 0.9, 0.1
CONFIDENCE = 0.90


@dataclass(frozen=True, slots=True)
class Model:
    """How the level was followed: weight of the newest day; whether weekdays and a damped trend are in it."""

    alpha: float
    weekdays: bool
    trend: bool


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
    month adds, None where no first day is known. `error_sd` and `one_off_sd`: what the interval rests on.
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
    return _answer(costs, start, end, settled, to_date, lumps, fit, one_offs)


def _refusal(costs: DailyCosts, start: date, settled: date, known: int) -> str:
    """Why there is no forecast, "" when there is one: the texts are message ids."""
    if costs.first > start:
        return "The bills begin after the first day of the period."
    if known < MIN_DAYS:
        return "Fewer than seven settled days of cost are known."
    if settled < start - timedelta(days=31):
        return "The newest settled day lies more than a month before the period."
    return ""


@dataclass(frozen=True, slots=True)
class Fit:
    """The state after the last training day, and the one-day-ahead errors on the way."""

    model: Model
    level: float
    trend: float
    factors: Floats
    errors: Floats
    days: int


def follow(days: Ints, values: Floats, model: Model) -> Fit:
    """Exponential smoothing: level += alpha x error; the trend is damped by 0.9 a day."""
    factors = weekday_factors(days, values) if model.weekdays else np.ones(7)
    plain = values / factors[days]
    level, trend = float(plain[0]), 0.0
    errors = np.empty(len(values) - 1)
    for i in range(1, len(values)):
        ahead = level + DAMPING * trend if model.trend else level
        miss = float(plain[i]) - ahead
        errors[i - 1] = miss * factors[days[i]]
        level = ahead + model.alpha * miss
        if model.trend:
            trend = DAMPING * trend + TREND_WEIGHT * miss
    return Fit(model, level, trend, factors, errors, len(values))


def weekday_factors(days: Ints, values: Floats) -> Floats:
    """By weekday: median of cost / mean of the seven days around it, scaled to mean 1; ones where unknown."""
    factors = np.ones(7)
    if len(values) < WEEKDAY_DAYS or (values <= 0).any():
        return factors
    around = np.convolve(values, np.full(7, 1 / 7), mode="valid")
    ratio, at = values[3 : len(values) - 3] / around, days[3 : len(values) - 3]
    for weekday in range(7):
        seen = ratio[at == weekday]
        if len(seen) >= 2:
            factors[weekday] = np.median(seen)
    mean = float(factors.mean())
    return factors / mean if mean > 0 else np.ones(7)


def choose(days: Ints, values: Floats) -> Model:
    """The model that would have been nearest on this series' own past.

    The plain level unless another is 10 % better. Each origin sees only days before it and is judged by the
    mean of the next (up to) seven days.
    """
    if len(values) < SELECT_DAYS:
        return Model(ALPHA, False, False)
    levels = [Model(alpha, False, False) for alpha in ALPHAS]
    plain = min(levels, key=lambda model: (past_error(days, values, model), model.alpha))
    best, least = plain, past_error(days, values, plain)
    others = [Model(plain.alpha, False, True)] if len(values) >= WEEKDAY_DAYS else []
    if len(values) >= WEEKDAY_DAYS + JUDGED_DAYS:
        others += [Model(plain.alpha, True, False), Model(plain.alpha, True, True)]
    for other in others:
        error = past_error(days, values, other)
        if error < (1 - WORTH) * least:
            best, least = other, error
    return best


def past_error(days: Ints, values: Floats, model: Model) -> float:
    """Mean absolute error of the mean of the next seven days, walk-forward over the series."""
    total, count = 0.0, 0
    first = WEEKDAY_DAYS if model.weekdays else WARM_DAYS
    level, trend = float(values[0]), 0.0
    for i in range(1, len(values) - 1):
        factors = np.ones(7)
        if model.weekdays and i >= first:
            # Re-learned at each origin from what lies before it.
            fit = follow(days[: i + 1], values[: i + 1], model)
            level, trend, factors = fit.level, fit.trend, fit.factors
        elif not model.weekdays:
            ahead = level + DAMPING * trend if model.trend else level
            miss = float(values[i]) - ahead
            level = ahead + model.alpha * miss
            trend = DAMPING * trend + TREND_WEIGHT * miss if model.trend else 0.0
        if i < first:
            continue
        steps = min(JUDGED_DAYS, len(values) - 1 - i)
        told = (level + _drift(trend, steps)) * factors[days[i + 1 : i + 1 + steps]]
        total += abs(float(values[i + 1 : i + 1 + steps].mean() - told.mean()))
        count += 1
    return total / count if count else math.inf


def _drift(trend: float, steps: int) -> Floats:
    """What a damped trend adds 1 … steps days ahead: trend x (0.9 + 0.9² + …)."""
    return trend * np.cumsum(DAMPING ** np.arange(1, steps + 1))


def _answer(
    costs: DailyCosts,
    start: date,
    end: date,
    settled: date,
    to_date: float,
    lumps: tuple[tuple[date, float], ...],
    fit: Fit,
    one_offs: Floats,
) -> Forecast:
    """The days that are not settled, summed on what is."""
    steps = (end - settled).days
    ahead = [settled + timedelta(days=i) for i in range(steps)]
    weekday = np.array([day.weekday() for day in ahead], dtype=np.int64)
    expected = np.maximum(fit.level + _drift(fit.trend, steps), 0.0) * fit.factors[weekday]
    sd = error_sd(fit.errors)
    odd = error_sd(one_offs[1:])
    reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(fit.errors) - 1))
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
        width = math.hypot(reach * level_width, reach * odd * math.sqrt(i + 1), lump_width)
        path.append(DayForecast(day, cost, total, max(floor, total - width), total + width))
    last = path[-1]
    return Forecast(
        "forecast", "", start, end, settled, to_date, last.total, last.low, last.high,
        level=fit.level,
        weekday_factors=tuple(fit.factors.tolist()) if fit.model.weekdays else None,
        trend_per_day=fit.trend,
        lump=lump if lump is not None else (0.0 if known_first else None),
        lumps=lumps, model=fit.model, training_days=fit.days, error_sd=sd, one_off_sd=odd, path=tuple(path),
    )  # fmt: skip


def _knows_first(costs: DailyCosts, settled: date) -> bool:
    """Whether any first of a month is settled, with three days after it."""
    return any(
        (costs.first + timedelta(days=i)).day == 1 for i in range(max(0, (settled - costs.first).days - 3))
    )


def error_sd(errors: Floats) -> float:
    """Root of the sum of squares over (n - 1): not a robust measure, since a jump is what may come again."""
    return math.sqrt(float((errors**2).sum()) / (len(errors) - 1))


def spread_of_sum(alpha: float, steps: int) -> float:
    """Standard deviations of one day in the sum of the next `steps`: an error on day j stays with share alpha
    in every later day, so it weighs 1 + (steps - j) x alpha; the weights add in squares.
    """
    return math.sqrt(float(((1 + alpha * np.arange(steps)) ** 2).sum()))


def lump_expected(lumps: Sequence[tuple[date, float]]) -> tuple[float | None, float]:
    """The newest lump and how far the next may lie from it: the largest change so far, 0 with only one."""
    if not lumps:
        return None, 0.0
    sizes = [size for _, size in lumps]
    return sizes[-1], max((abs(b - a) for a, b in pairwise(sizes)), default=0.0)
