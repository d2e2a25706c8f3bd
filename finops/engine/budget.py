"""Budgets: which period a day lies in, and which thresholds are crossed by actual or by forecast cost.

A budget is judged by itself; two budgets that cover the same cost are never added up. Money is exact here:
thresholds are compared in Decimal, the forecast comes in as the engine's float.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from enum import StrEnum

MONTHS_A_YEAR = 12


class Period(StrEnum):
    """How long one turn of a budget is; all begin on the first of a month of the calendar, in UTC."""

    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"


class Measure(StrEnum):
    """What a threshold is held against."""

    ACTUAL = "actual"
    FORECAST = "forecast"


_MONTHS = {Period.MONTH: 1, Period.QUARTER: 3, Period.YEAR: 12}


@dataclass(frozen=True, slots=True)
class Threshold:
    """Percent of the amount, and whether actual or forecast cost is held against it."""

    percent: Decimal
    measure: Measure


@dataclass(frozen=True, slots=True)
class Crossing:
    """A threshold that is reached: the limit in money, and the cost that reached it."""

    threshold: Threshold
    limit: Decimal
    cost: Decimal


@dataclass(frozen=True, slots=True)
class Standing:
    """`over`: expected cost less the amount (negative: room left), None without a forecast.

    `state`: "over" (actual above the amount), "at risk" (forecast above it), "on track" or "cannot judge" (no
    forecast, and not over yet). `runs_out`: the first day by whose end the amount is expected to be spent.
    """

    spent_pct: Decimal
    forecast_pct: Decimal | None
    over: Decimal | None
    state: str
    runs_out: date | None
    crossings: tuple[Crossing, ...]


def period_of(day: date, period: Period) -> tuple[date, date]:
    """[first day, day after the last) of the turn that holds `day`."""
    months = _MONTHS[period]
    first = (day.month - 1) // months * months + 1
    start = date(day.year, first, 1)
    return start, _add_months(start, months)


def _add_months(start: date, months: int) -> date:
    total = start.year * MONTHS_A_YEAR + start.month - 1 + months
    return date(total // MONTHS_A_YEAR, total % MONTHS_A_YEAR + 1, 1)


def in_force(day: date, *, valid_from: date, valid_to: date | None) -> bool:
    """Whether a budget counts on a day; `valid_to` is the day after the last, None for no end."""
    return valid_from <= day and (valid_to is None or day < valid_to)


def standing(
    amount: Decimal,
    spent: Decimal,
    forecast: float | None,
    thresholds: tuple[Threshold, ...],
    *,
    path: tuple[tuple[date, float], ...] = (),
) -> Standing:
    """Where a budget stands. `path`: (day, expected cost of the period up to its end), days to come.

    A threshold is reached at cost >= amount x percent / 100. Raises ValueError unless the amount is above 0.
    """
    if amount <= 0:
        raise ValueError("a budget is above 0")
    expected = None if forecast is None else Decimal(repr(forecast))
    crossings = tuple(
        Crossing(t, limit, cost)
        for t in sorted(thresholds, key=lambda t: (t.measure, t.percent))
        if (cost := spent if t.measure is Measure.ACTUAL else expected) is not None
        and cost >= (limit := amount * t.percent / 100)
    )
    if spent > amount:
        state = "over"
    elif expected is None:
        state = "cannot judge"
    else:
        state = "at risk" if expected > amount else "on track"
    runs_out = next((day for day, total in path if Decimal(repr(total)) >= amount), None)
    return Standing(
        spent_pct=percent_of(spent, amount),
        forecast_pct=None if expected is None else percent_of(expected, amount),
        over=None if expected is None else expected - amount,
        state=state,
        runs_out=runs_out if spent < amount else None,
        crossings=crossings,
    )


def percent_of(part: Decimal, whole: Decimal) -> Decimal:
    """Percent with one decimal, half up."""
    return (part / whole * 100).quantize(Decimal("0.1"), rounding=ROUND_HALF_UP)
