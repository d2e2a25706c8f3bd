"""A series' own past misses widen its interval: a table by hand, no look ahead, how often it holds."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench._cost_shapes import SHAPES, decisions, made
from finops.engine.daily_costs import DailyCosts
from finops.engine.forecast import Forecast, forecast_period
from finops.engine.past_misses import Misses, misses_of, reach
from finops.engine.smoothing import Model

PLAIN = Model(0.5, False, False)
START, END = date(2026, 1, 1), date(2026, 2, 1)


def weekdays(count: int) -> np.ndarray:
    return np.arange(count, dtype=np.int64) % 7


def test_the_worked_table_of_misses() -> None:
    # Even days, then twice as much: seven days of 10, then four of 20; two days ahead.
    values = np.array([10.0] * 7 + [20.0] * 4)
    found = misses_of(weekdays(11), values, PLAIN, 2)
    # From day 7, 8, 9 (level 10, 15, 17.5): 40 - 20, 40 - 30, 40 - 35.
    # Claimed: 1 % of the level a day where every day before was even: sqrt(2) x 0.1 = 0.1414.
    assert found.ahead == 2
    assert found.separate == pytest.approx(1.5)
    assert found.sizes[0] == 20.0  # 20 / 0.1414 = 141, counted with at most 20
    # Errors 0 x 6, 10: s = 10 / sqrt(6); x sqrt(1 + 1.5^2) = 7.36; with 0.15 x sqrt(2): 7.363
    assert found.sizes[1] == pytest.approx(10 / 7.363, rel=1e-3)
    assert len(found.sizes) == 3


def test_the_worked_reach() -> None:
    # 1.5 separate ones: the largest, 4, with weight 1.5 / 2.5, on the formula's 2.
    assert reach(Misses((1.0, 4.0, 3.0), 2, 1.5), 2.0, 0.9) == pytest.approx(0.6 * 4 + 0.4 * 2)
    # Nothing is narrower than the formula, and without a miss the formula stands alone.
    assert reach(Misses((0.1,), 1, 1.0), 2.0, 0.9) == 2.0
    assert reach(Misses((), 0, 0.0), 2.0, 0.9) == 2.0
    # 19 separate ones: 18 of 19 = the 94.7 % quantile, not the largest.
    sizes = (*map(float, range(19)), 1000.0)
    assert reach(Misses(sizes, 1, 19.0), 1.0, 0.9) < 1000.0 * 0.95


def test_too_short_a_past_says_nothing() -> None:
    assert misses_of(weekdays(8), np.full(8, 3.0), PLAIN, 20) == Misses((), 0, 0.0)


def test_a_series_that_jumped_is_told_wider_than_the_formula_says() -> None:
    calm = [10.0, 10.2, 9.8, 10.1, 9.9] * 5
    jumped = [*calm, *(2 * value for value in calm)]
    start = START - timedelta(days=len(jumped) - 10)
    told = forecast_period(
        DailyCosts(start, np.array(jumped)), start=START, end=END, settled_until=START + timedelta(days=10)
    )
    assert told.widened is not None
    assert told.widened > 1.2


@given(st.integers(0, 10_000), st.sampled_from(sorted(SHAPES)), st.integers(12, 39))
@settings(max_examples=40, deadline=None)
def test_later_days_change_nothing(seed: int, name: str, known: int) -> None:
    costs = next(made(name, 1, seed=seed))
    until = costs.first + timedelta(days=known)
    window = {"start": until - timedelta(days=1), "end": until + timedelta(days=14), "settled_until": until}
    alone = forecast_period(DailyCosts(costs.first, costs.values[:known]), **window)
    blank = np.concatenate([costs.values[:known], np.zeros(len(costs.values) - known)])
    assert forecast_period(DailyCosts(costs.first, blank), **window) == alone


@given(st.integers(0, 10_000), st.sampled_from(sorted(SHAPES)))
@settings(max_examples=30, deadline=None)
def test_an_interval_is_never_narrower_for_its_past(seed: int, name: str) -> None:
    costs = next(made(name, 1, seed=seed))
    told = forecast_period(
        costs,
        start=costs.end - timedelta(days=20),
        end=costs.end + timedelta(days=10),
        settled_until=costs.end,
    )
    if told.verdict == "forecast":
        assert told.widened is not None
        assert told.widened >= 1.0


def test_the_interval_holds_about_nine_times_in_ten() -> None:
    """On made series of every shape, late days and all; bench.forecast prints each shape."""

    def held(true: float, told: Forecast) -> bool:
        assert told.low is not None
        assert told.high is not None
        return told.low - 1e-6 <= true <= told.high + 1e-6

    found = [held(true, told) for name in SHAPES for true, told in decisions(name, series=8, each=4, seed=11)]
    assert len(found) > 200
    assert 0.85 <= float(np.mean(found)) <= 0.97
