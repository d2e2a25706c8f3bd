"""Forecast of a period of the bills: daily costs through `spend`, then the engine; one answer everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.billing.selectors.bill_days import BillDays, ReportDays, bill_days
from apps.billing.selectors.spend import SpendAnswer, SpendQuestion, spend
from apps.billing.selectors.spend_document import evidence
from apps.billing.selectors.spend_period import Gap
from apps.billing.selectors.spend_question import SpendError
from finops.engine.budget import Period, period_of
from finops.engine.daily_costs import MAX_DAYS, DailyCosts
from finops.engine.forecast import Forecast, forecast_period
from finops.engine.spend import EXACT, ZERO
from finops.text.numbers import decimal_text

# The level is learned from so many days; a lump of the month before the oldest of them is seen too.
HISTORY = timedelta(days=MAX_DAYS + 31)
PLACES = Decimal("0.000001")


@dataclass(frozen=True)
class CurrencyForecast:
    """The forecast in one currency. `spent` is exact; the engine's numbers are not. `without_cost`: lines
    that have no value on this basis.
    """

    currency: str
    spent: Decimal
    daily: DailyCosts
    result: Forecast
    without_cost: int


@dataclass(frozen=True)
class ForecastAnswer:
    """What a period will cost, by currency; `days` None: there are no bills."""

    start: date
    end: date
    period: Period
    basis: str
    where: tuple[tuple[str, str], ...]
    days: BillDays | None
    currencies: dict[str, CurrencyForecast]
    gaps: list[Gap]
    snapshots: dict[str, int]
    allocation_version: int | None
    at: datetime


def forecast(
    *,
    organisation: Organisation | None,
    at: datetime,
    day: date | None = None,
    period: Period = Period.MONTH,
    basis: str = "amortised",
    where: tuple[tuple[str, str], ...] = (),
    currency: str | None = None,
    snapshots: Mapping[str, int] | None = None,
) -> ForecastAnswer:
    """The turn of `period` that holds `day` (default: the newest day with bills). Raises SpendError."""
    days = bill_days(organisation, at=at)
    if day is None:
        day = at.astimezone(UTC).date() if days is None else days.end - timedelta(days=1)
    start, end = period_of(day, period)
    if days is None or start >= days.end + timedelta(days=31):
        return ForecastAnswer(start, end, period, basis, where, days, {}, [], {}, None, at)
    first = max(days.first, start - HISTORY)
    question = SpendQuestion(
        start=min(first, start), end=max(min(days.end, end), start + timedelta(days=1)),
        granularity="day", basis=basis, where=where, currency=currency,
    )  # fmt: skip
    answer = spend(question, organisation=organisation, now=at, snapshots=snapshots, with_unallocated=False)
    return ForecastAnswer(
        start, end, period, basis, where, days, _by_currency(answer, days, first, start, end),
        answer.coverage.gaps, answer.snapshots, answer.allocation_version, at,
    )  # fmt: skip


def _by_currency(
    answer: SpendAnswer, days: BillDays, first: date, start: date, end: date
) -> dict[str, CurrencyForecast]:
    """Daily costs of each currency from the first known day, and the engine's answer to them."""
    last = min(days.end, end)
    count = max(0, (last - first).days)
    values: dict[str, list[Decimal]] = {}
    missing: dict[str, int] = {}
    for row in answer.rows:
        costs = values.setdefault(row.currency, [ZERO] * count)
        at = (row.start - first).days
        if row.cost is not None and 0 <= at < count:
            costs[at] = EXACT.add(costs[at], row.cost)
        missing[row.currency] = missing.get(row.currency, 0) + row.lines_without_cost
    found: dict[str, CurrencyForecast] = {}
    for currency, costs in sorted(values.items()):
        daily = DailyCosts(first, np.array([float(cost) for cost in costs], dtype=np.float64))
        result = forecast_period(daily, start=start, end=end, settled_until=days.settled_until)
        spent = sum(costs[max(0, (start - first).days) :], ZERO)
        found[currency] = CurrencyForecast(currency, spent, daily, result, missing[currency])
    return found


def period_day(text: str) -> tuple[date, Period]:
    """`2018-11`, `2018-Q4` or `2018` as a day of that period and its kind. Raises SpendError."""
    year, dash, rest = text.strip().partition("-")
    try:
        if not dash:
            return date(int(year), 1, 1), Period.YEAR
        if rest[:1] in "Qq" and len(rest) == 2:
            return date(int(year), 3 * int(rest[1]) - 2, 1), Period.QUARTER
        return date(int(year), int(rest), 1), Period.MONTH
    except ValueError as error:
        raise SpendError("period", _("Write a period as 2018-11, 2018-Q4 or 2018.")) from error


def period_text(start: date, period: Period) -> str:
    """`2018-11`, `2018-Q4`, `2018`."""
    if period is Period.YEAR:
        return f"{start:%Y}"
    return f"{start:%Y-%m}" if period is Period.MONTH else f"{start:%Y}-Q{(start.month + 2) // 3}"


def end_of_day(day: date) -> datetime:
    """The instant at which a day is over."""
    return datetime.combine(day + timedelta(days=1), time(), UTC)


def money_text(value: float | Decimal | None) -> str | None:
    """An estimate as a decimal string with at most six decimals: more would be noise."""
    if value is None:
        return None
    exact = value if isinstance(value, Decimal) else Decimal(repr(value))
    return format(exact.quantize(PLACES, rounding=ROUND_HALF_UP, context=EXACT).normalize() + ZERO, "f")


def forecast_document(answer: ForecastAnswer) -> dict[str, Any]:
    """The document of `forecast`; with one currency its keys stand at the top as well."""
    each = [_currency_document(answer, one) for one in answer.currencies.values()]
    only = each[0] if len(each) == 1 else dict.fromkeys(_KEYS)
    return {
        "period": period_text(answer.start, answer.period),
        "from": answer.start.isoformat(),
        "to": answer.end.isoformat(),
        "basis": answer.basis,
        "where": [f"{name}={value}" for name, value in answer.where],
        **({**only, "verdict": only["verdict"] or "cannot judge"}),
        "reason": only["reason"] if each else _("There are no bills for this period."),
        "currencies": each,
        "settled_until": answer.days.settled_until.isoformat() if answer.days else None,
        "delivered_to": answer.days.end.isoformat() if answer.days else None,
        "lateness": [_lateness(report) for report in (answer.days.reports if answer.days else ())],
        "incomplete": [gap.document() for gap in answer.gaps],
        "evidence": evidence(answer.snapshots, answer.at, answer.allocation_version),
    }


_KEYS = (
    "verdict", "reason", "currency", "spent", "expected", "low", "high", "level_per_day", "lump",
    "trend_per_day", "weekday_factors", "training_days", "interval_widened",
    "lines_without_cost", "days",
)  # fmt: skip


def _currency_document(answer: ForecastAnswer, one: CurrencyForecast) -> dict[str, Any]:
    result = one.result
    known = one.daily.between(answer.start, answer.end)
    begun = max(answer.start, one.daily.first)
    settled = [
        {"day": (begun + timedelta(days=i)).isoformat(), "cost": money_text(float(cost)), "settled": True}
        for i, cost in enumerate(known)
        if begun + timedelta(days=i) < result.settled_until
    ]
    ahead = [
        {
            "day": step.day.isoformat(), "cost": money_text(step.cost), "settled": False,
            "total": money_text(step.total), "low": money_text(step.low), "high": money_text(step.high),
        }
        for step in result.path
    ]  # fmt: skip
    return {
        "verdict": result.verdict,
        "reason": _(result.reason) if result.reason else "",
        "currency": one.currency,
        "spent": decimal_text(one.spent),
        "expected": decimal_text(one.spent) if result.verdict == "complete" else money_text(result.expected),
        "low": decimal_text(one.spent) if result.verdict == "complete" else money_text(result.low),
        "high": decimal_text(one.spent) if result.verdict == "complete" else money_text(result.high),
        "level_per_day": money_text(result.level),
        "lump": money_text(result.lump),
        "trend_per_day": money_text(result.trend_per_day),
        "weekday_factors": result.weekday_factors,
        "training_days": result.training_days,
        "interval_widened": None if result.widened is None else round(result.widened, 3),
        "lines_without_cost": one.without_cost,
        "days": settled + ahead,
    }


def _lateness(report: ReportDays) -> dict[str, Any]:
    return {
        "report": report.report,
        "days": report.late.days,
        "source": report.late.source,
        "stated": report.stated if report.late.source == "default" else None,
        "compared_days": report.late.seen,
        "settled_until": report.settled_until.isoformat(),
        "last_day": report.last_day.isoformat(),
    }
