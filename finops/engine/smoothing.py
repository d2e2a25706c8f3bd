"""The level of daily costs by exponential smoothing, and which weight of the newest day fits a series best.

Terms and a worked table: docs/algorithms/forecast.md. float64 in one currency.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from finops.engine.daily_costs import Floats, Ints

ALPHAS = (0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
# Used until there are SELECT_DAYS: the best fixed weight on the bill of 2018-10 (bench/forecast.py).
ALPHA = 0.3
SELECT_DAYS = 14
WEEKDAY_DAYS = 21
# How far ahead a choice is judged, and from which day on.
JUDGED_DAYS, WARM_DAYS = 7, 7
# Weekdays and trend must beat the plain level by this share on the series' own past, else they are left out.
WORTH = 0.10
DAMPING, TREND_WEIGHT = 0.9, 0.1


@dataclass(frozen=True, slots=True)
class Model:
    """How the level was followed: weight of the newest day; whether weekdays and a damped trend are in it."""

    alpha: float
    weekdays: bool
    trend: bool


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
        told = (level + drift(trend, steps)) * factors[days[i + 1 : i + 1 + steps]]
        total += abs(float(values[i + 1 : i + 1 + steps].mean() - told.mean()))
        count += 1
    return total / count if count else math.inf


def drift(trend: float, steps: int) -> Floats:
    """What a damped trend adds 1 … steps days ahead: trend x (0.9 + 0.9² + …)."""
    return trend * np.cumsum(DAMPING ** np.arange(1, steps + 1))


def error_sd(errors: Floats) -> float:
    """Root of the sum of squares over (n - 1): not a robust measure, since a jump is what may come again."""
    return math.sqrt(float((errors**2).sum()) / (len(errors) - 1))


def spread_of_sum(alpha: float, steps: int) -> float:
    """Standard deviations of one day in the sum of the next `steps`: an error on day j stays with share alpha
    in every later day, so it weighs 1 + (steps - j) x alpha; the weights add in squares.
    """
    return math.sqrt(float(((1 + alpha * np.arange(steps)) ** 2).sum()))
