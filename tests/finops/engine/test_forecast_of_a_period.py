"""Forecast of a billing period: the worked tables of docs/algorithms/forecast.md and what always holds."""

from __future__ import annotations

import math
from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.engine.daily_costs import DailyCosts, lumps_of, without_one_offs
from finops.engine.forecast import Forecast, forecast_period
from finops.engine.smoothing import Model, choose, follow, spread_of_sum

START, END = date(2026, 1, 1), date(2026, 2, 1)


def costs(*values: float, first: date = START) -> DailyCosts:
    return DailyCosts(first, np.array(values, dtype=np.float64))


def told(values: list[float], *, first: date = START, settled: date | None = None) -> Forecast:
    made = costs(*values, first=first)
    return forecast_period(made, start=START, end=END, settled_until=settled or made.end)


def test_the_worked_month_with_a_fee_on_the_first() -> None:
    got = told([30.0, *[10.0] * 9])
    assert (got.verdict, got.to_date, got.level, got.training_days) == ("forecast", 120.0, 10.0, 10)
    assert got.lumps == ((START, 20.0),)
    # 120 so far + 21 days of 10; the fee is not repeated, as the run-rate would: 120 / 10 x 31 = 372
    assert (got.expected, got.low, got.high) == (330.0, 330.0, 330.0)


def test_the_worked_table_of_levels_errors_and_interval() -> None:
    values = [10.0, 10.0, 10.0, 12.0, 12.0, 10.0, 10.0, 11.0]
    fit = follow(np.arange(8) % 7, np.array(values), Model(0.3, False, False))
    assert fit.errors.tolist() == pytest.approx([0, 0, 2, 1.4, -1.02, -0.714, 0.5002])
    assert fit.level == pytest.approx(10.64986)
    got = told(values)
    assert got.expected == pytest.approx(85 + 23 * 10.64986)
    assert got.error_sd == pytest.approx(math.sqrt(7.760396 / 6), abs=1e-5)
    assert spread_of_sum(0.3, 23) == pytest.approx(math.sqrt(516.35), abs=1e-2)
    reach = 1.94318 * math.sqrt(7.760396 / 6) * math.sqrt(516.35)
    assert got.high == pytest.approx(got.expected + reach, abs=0.01)
    assert got.low == pytest.approx(got.expected - reach, abs=0.01)


def test_a_whole_settled_period_is_its_cost() -> None:
    got = told([5.0] * 40)
    assert (got.verdict, got.expected, got.low, got.high) == ("complete", 155.0, 155.0, 155.0)


def test_the_newest_days_that_may_grow_are_forecast_and_never_under_what_came() -> None:
    got = told([10.0] * 12 + [2.0, 0.5], settled=date(2026, 1, 13))
    assert got.to_date == 122.5
    assert got.expected == pytest.approx(310.0)
    more = told([10.0] * 12 + [25.0, 0.5], settled=date(2026, 1, 13))
    assert more.expected == pytest.approx(325.0)
    assert [day.cost for day in more.path[:2]] == [25.0, 10.0]


@pytest.mark.parametrize(
    ("values", "first", "settled", "reason"),
    [
        ([10.0] * 6, START, None, "Fewer than seven settled days of cost are known."),
        ([10.0] * 20, date(2026, 1, 5), None, "The bills begin after the first day of the period."),
        ([0.0] * 20, START, None, "Fewer than seven settled days of cost are known."),
        (
            [10.0] * 20,
            date(2025, 11, 1),
            None,
            "The newest settled day lies more than a month before the period.",
        ),
    ],
)
def test_too_little_data_is_not_judged(
    values: list[float], first: date, settled: date | None, reason: str
) -> None:
    got = told(values, first=first, settled=settled)
    assert (got.verdict, got.reason, got.expected, got.low, got.high) == (
        "cannot judge",
        reason,
        None,
        None,
        None,
    )


def test_the_fee_of_the_next_first_is_expected_in_a_quarter() -> None:
    made = costs(30.0, *[10.0] * 30, 32.0, *[10.0] * 10)
    got = forecast_period(made, start=START, end=date(2026, 4, 1), settled_until=made.end)
    assert got.lump == 22.0
    assert got.expected == pytest.approx(30 + 30 * 10 + 32 + 10 * 10 + 17 * 10 + 31 * 10 + 22)
    assert got.high is not None
    assert got.high - got.expected == pytest.approx(2.0)  # the largest change between two fees


def test_weekdays_are_followed_once_they_earn_it() -> None:
    week = [10.0, 10.0, 10.0, 10.0, 10.0, 4.0, 4.0]
    first = date(2025, 11, 3)  # a Monday
    made = costs(*(week * 9)[: (date(2026, 1, 3) - first).days], first=first)
    got = forecast_period(made, start=START, end=END, settled_until=made.end)
    assert got.model is not None
    assert got.model.weekdays
    truth = sum(week[(START + timedelta(days=i)).weekday()] for i in range(31))
    assert got.expected == pytest.approx(truth, rel=0.01)


def test_a_purchase_of_one_day_is_not_repeated() -> None:
    values, taken = without_one_offs(np.array([10.0, 10.5, 9.5, 10.0, 900.0, 10.0, 10.5]))
    assert values.tolist() == [10.0, 10.5, 9.5, 10.0, 10.0, 10.0, 10.5]
    assert taken.tolist() == [0, 0, 0, 0, 890.0, 0, 0]
    got = told([10.0, 10.5, 9.5, 10.0, 10.0, 10.0, 900.0, 10.0, 10.5, 10.0])
    assert got.expected == pytest.approx(got.to_date + 21 * 10, rel=0.02)


def test_a_new_level_is_no_one_off() -> None:
    steps = np.array([10.0] * 8 + [20.0] * 4)
    assert without_one_offs(steps)[1].tolist() == [0.0] * 12


def test_an_ordinary_first_is_no_lump() -> None:
    assert lumps_of(costs(*[10.0, 10.2] * 20)) == ()


def test_an_unknown_day_is_refused() -> None:
    with pytest.raises(ValueError, match="one finite number a day"):
        costs(1.0, float("nan"))


daily = st.lists(st.floats(0.5, 1000.0, allow_nan=False), min_size=8, max_size=60)


@given(daily, st.floats(0.01, 100.0))
@settings(max_examples=60, deadline=None)
def test_another_currency_changes_nothing_but_the_scale(values: list[float], rate: float) -> None:
    first = END - timedelta(days=len(values) + 5)
    first = min(first, START)
    one = told(values, first=first)
    other = told([v * rate for v in values], first=first)
    assert one.verdict == other.verdict
    assert one.model == other.model or one.model is None or other.model is None
    if one.verdict == "forecast" and one.model == other.model:
        assert other.expected == pytest.approx((one.expected or 0) * rate, rel=1e-6)


@given(daily, st.integers(7, 30), st.lists(st.floats(0.0, 1e6), min_size=0, max_size=20))
@settings(max_examples=60, deadline=None)
def test_days_to_come_are_not_looked_at(values: list[float], known: int, later: list[float]) -> None:
    known = min(known, len(values))
    settled = START + timedelta(days=known)
    alone = forecast_period(costs(*values[:known]), start=START, end=END, settled_until=settled)
    seen = costs(*values[:known], *[0.0] * len(later))
    again = forecast_period(seen, start=START, end=END, settled_until=settled)
    assert again == alone


@given(daily)
@settings(max_examples=60, deadline=None)
def test_the_forecast_lies_in_its_interval_and_above_what_is_spent(values: list[float]) -> None:
    got = told(values[:30])
    assert got.verdict == "forecast"
    assert got.low is not None
    assert got.high is not None
    assert got.expected is not None
    assert got.to_date - 1e-6 <= got.low <= got.expected + 1e-6 <= got.high + 2e-6
    assert [d.total for d in got.path] == sorted(d.total for d in got.path)


@given(daily)
@settings(max_examples=30, deadline=None)
def test_the_plain_level_is_kept_unless_another_is_clearly_better(values: list[float]) -> None:
    weekdays = np.arange(len(values)) % 7
    model = choose(weekdays, np.array(values))
    if len(values) < 14:
        assert model == Model(0.3, False, False)
    if len(values) < 28:
        assert not model.weekdays
