"""Daily costs of many shapes, made from a seed: what an interval is held against beside real bills.

Each shape is what bills do: even use, weekdays, growth, steps, fees on the first of a month, a wandering
level, busy weeks, batch jobs, single purchases, something switched off. Sizes, times and noise are drawn anew
for every series, so that no series is the one an interval was made for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, timedelta

import numpy as np
from numpy.typing import NDArray

from finops.engine.daily_costs import DailyCosts
from finops.engine.forecast import Forecast, forecast_period
from finops.engine.spend import month_start, next_month

Floats = NDArray[np.float64]
Shape = Callable[[np.random.Generator, int, date], Floats]


def _noise(rng: np.random.Generator, days: int) -> Floats:
    """Factor around 1: the deviation of a day is 0.5 to 12 % and stays as it is for the whole series."""
    return np.exp(rng.normal(0, rng.uniform(0.005, 0.12), days))


def _weekdays(rng: np.random.Generator, days: int, first: date) -> Floats:
    """Weekends cost 20 to 90 % of a working day."""
    weekend = rng.uniform(0.2, 0.9)
    at = (first.weekday() + np.arange(days)) % 7
    return np.where(at >= 5, weekend, 1.0)


def _steps(rng: np.random.Generator, days: int, per_day: float) -> Floats:
    """A level that changes by half to double at random days."""
    level = np.zeros(days)
    jumps = rng.random(days) < per_day
    level[jumps] = rng.uniform(np.log(0.5), np.log(2.0), int(jumps.sum()))
    return np.exp(np.cumsum(level))


def even(rng: np.random.Generator, days: int, first: date) -> Floats:
    """One level."""
    return _noise(rng, days)


def weekdays(rng: np.random.Generator, days: int, first: date) -> Floats:
    """Working days and weekends."""
    return _weekdays(rng, days, first) * _noise(rng, days)


def growth(rng: np.random.Generator, days: int, first: date) -> Floats:
    """Up or down by at most 1.5 % a day."""
    return np.exp(rng.uniform(-0.01, 0.015) * np.arange(days)) * _noise(rng, days)


def steps(rng: np.random.Generator, days: int, first: date) -> Floats:
    """A new level about every 40 days."""
    return _steps(rng, days, 1 / 40) * _noise(rng, days)


def fees(rng: np.random.Generator, days: int, first: date) -> Floats:
    """Fees on the first of the month that are 3 to 30 days of cost and grow a little."""
    values = _noise(rng, days)
    fee = rng.uniform(3, 30)
    for i in range(days):
        if (first + timedelta(days=i)).day == 1:
            values[i] += fee
            fee *= rng.uniform(0.97, 1.08)
    return values


def wandering(rng: np.random.Generator, days: int, first: date) -> Floats:
    """A random walk of 1 to 5 % a day."""
    return np.exp(np.cumsum(rng.normal(0, rng.uniform(0.01, 0.05), days))) * _noise(rng, days)


def busy_weeks(rng: np.random.Generator, days: int, first: date) -> Floats:
    """Noise that lasts: a busy day follows a busy day, and it comes back to the same level."""
    stay, size = rng.uniform(0.6, 0.9), rng.uniform(0.03, 0.15)
    state, values = 0.0, np.empty(days)
    for i in range(days):
        state = stay * state + rng.normal(0, size)
        values[i] = np.exp(state)
    return values


def batches(rng: np.random.Generator, days: int, first: date) -> Floats:
    """Jobs on a share of the days, next to nothing on the others."""
    ran = rng.random(days) < rng.uniform(0.2, 0.8)
    return np.where(ran, rng.lognormal(0, rng.uniform(0.2, 0.8), days), rng.uniform(0, 0.1))


def purchases(rng: np.random.Generator, days: int, first: date) -> Floats:
    """One level, and on one day of 25 a purchase or credit of up to ten days of cost."""
    values = _noise(rng, days)
    bought = rng.random(days) < 1 / 25
    values[bought] += rng.uniform(-2, 10, int(bought.sum()))
    return values


def switched_off(rng: np.random.Generator, days: int, first: date) -> Floats:
    """One level until a day in the last third, from then on 2 to 60 % of it."""
    values = _noise(rng, days)
    values[int(rng.uniform(0.67, 1.0) * days) :] *= rng.uniform(0.02, 0.6)
    return values


def all_together(rng: np.random.Generator, days: int, first: date) -> Floats:
    """Weekdays, growth, steps and fees at once."""
    return (
        _weekdays(rng, days, first) * growth(rng, days, first) * _steps(rng, days, 1 / 60)
        + fees(rng, days, first) - 1
    )  # fmt: skip


SHAPES: dict[str, Shape] = {
    shape.__name__.replace("_", " "): shape
    for shape in (
        even, weekdays, growth, steps, fees, wandering, busy_weeks, batches, purchases, switched_off,
        all_together,
    )
}  # fmt: skip


def made(name: str, count: int, *, seed: int) -> Iterator[DailyCosts]:
    """`count` series of a shape, of 40 to 150 days and a scale of 1 to 10,000 a day."""
    rng = np.random.default_rng([seed, list(SHAPES).index(name)])
    for _ in range(count):
        days = int(rng.integers(40, 151))
        first = date(2024, 1, 1) + timedelta(days=int(rng.integers(0, 366)))
        yield DailyCosts(first, SHAPES[name](rng, days, first) * 10 ** rng.uniform(0, 4))


def decisions(name: str, *, series: int, each: int, seed: int) -> Iterator[tuple[float, Forecast]]:
    """(true cost, forecast) of a month at days drawn at random: `series` series, up to `each` days of each.

    The two days after the last settled one are there with 30 to 95 % of their cost, as a delivery has them.
    """
    rng = np.random.default_rng([seed, 7, list(SHAPES).index(name)])
    for costs in made(name, series, seed=seed):
        for known in rng.choice(np.arange(8, len(costs.values) - 1), each, replace=False).tolist():
            settled = costs.first + timedelta(days=known)
            start = month_start(settled)
            end = next_month(start)
            if start < costs.first or end > costs.end:
                continue
            late = costs.values[known : known + 2] * rng.uniform(0.3, 0.95)
            seen = DailyCosts(costs.first, np.concatenate([costs.values[:known], late]))
            told = forecast_period(seen, start=start, end=end, settled_until=settled)
            if told.verdict == "forecast":
                yield float(costs.between(start, end).sum()), told
