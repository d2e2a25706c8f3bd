"""Budgets: periods, thresholds on actual and forecast; the table of docs/algorithms/budgets.md."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finops.engine.budget import Measure, Period, Threshold, in_force, percent_of, period_of, standing

ALERTS = (
    Threshold(Decimal(50), Measure.ACTUAL),
    Threshold(Decimal(100), Measure.ACTUAL),
    Threshold(Decimal(100), Measure.FORECAST),
)


def test_the_worked_table() -> None:
    path = ((date(2026, 1, 20), 940.0), (date(2026, 1, 21), 1000.0), (date(2026, 1, 22), 1060.0))
    got = standing(Decimal(1000), Decimal("510.00"), 1120.5, ALERTS, path=path)
    assert (got.spent_pct, got.forecast_pct, got.over) == (
        Decimal("51.0"),
        Decimal("112.1"),
        Decimal("120.5"),
    )
    assert (got.state, got.runs_out) == ("at risk", date(2026, 1, 21))
    assert [(c.threshold.percent, c.threshold.measure.value, c.limit) for c in got.crossings] == [
        (Decimal(50), "actual", Decimal(500)),
        (Decimal(100), "forecast", Decimal(1000)),
    ]


@pytest.mark.parametrize(
    ("spent", "forecast", "state"),
    [
        ("999", 1000.0, "on track"),
        ("999", 1000.01, "at risk"),
        ("1000.01", None, "over"),
        ("1000", None, "cannot judge"),
    ],
)
def test_states(spent: str, forecast: float | None, state: str) -> None:
    assert standing(Decimal(1000), Decimal(spent), forecast, ()).state == state


def test_a_limit_that_is_reached_to_the_cent_is_crossed() -> None:
    third = Threshold(Decimal("33.3"), Measure.ACTUAL)
    assert len(standing(Decimal("99.99"), Decimal("33.29667"), None, (third,)).crossings) == 1
    assert standing(Decimal("99.99"), Decimal("33.29666"), None, (third,)).crossings == ()


def test_without_a_forecast_only_actual_is_judged() -> None:
    got = standing(Decimal(100), Decimal(70), None, ALERTS)
    assert [c.threshold.measure for c in got.crossings] == [Measure.ACTUAL]
    assert (got.forecast_pct, got.over, got.runs_out) == (None, None, None)


def test_a_budget_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="above 0"):
        standing(Decimal(0), Decimal(1), None, ())


@pytest.mark.parametrize(
    ("day", "period", "start", "end"),
    [
        (date(2026, 12, 31), Period.MONTH, date(2026, 12, 1), date(2027, 1, 1)),
        (date(2026, 5, 1), Period.QUARTER, date(2026, 4, 1), date(2026, 7, 1)),
        (date(2026, 11, 30), Period.QUARTER, date(2026, 10, 1), date(2027, 1, 1)),
        (date(2028, 2, 29), Period.YEAR, date(2028, 1, 1), date(2029, 1, 1)),
    ],
)
def test_periods_follow_the_calendar(day: date, period: Period, start: date, end: date) -> None:
    assert period_of(day, period) == (start, end)


@given(st.dates(date(1999, 1, 1), date(2090, 1, 1)), st.sampled_from(Period))
def test_every_day_lies_in_one_period(day: date, period: Period) -> None:
    start, end = period_of(day, period)
    assert start <= day < end
    assert period_of(start, period) == (start, end)
    assert period_of(end, period)[0] == end


def test_validity_is_half_open() -> None:
    start, end = date(2026, 1, 1), date(2026, 4, 1)
    assert in_force(start, valid_from=start, valid_to=end)
    assert not in_force(end, valid_from=start, valid_to=end)
    assert in_force(end, valid_from=start, valid_to=None)


def test_percent_rounds_half_up_once() -> None:
    assert percent_of(Decimal("12.345"), Decimal(100)) == Decimal("12.3")
    assert percent_of(Decimal("12.35"), Decimal(100)) == Decimal("12.4")
