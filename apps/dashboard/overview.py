"""The Overview page's facts: one month of bills against its forecast, budget and the month before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from apps.accounts.models import Organisation
from apps.billing.models import Anomaly, BillWatch, Budget, BudgetScope, Delivery, DeliveryState
from apps.billing.selectors.accounts import account_names
from apps.billing.selectors.anomalies import anomalies_waiting
from apps.billing.selectors.bill_days import BillDays, bill_days
from apps.billing.selectors.budget_standing import BudgetAnswer, budget_answers
from apps.billing.selectors.deliveries import reports_visible
from apps.billing.selectors.forecast import CurrencyForecast, ForecastAnswer, forecast
from apps.billing.selectors.savings import SavingsRate, Split, paid_with, savings_rates
from apps.billing.selectors.spend import SpendQuestion
from apps.billing.selectors.spend_compare import SpendChange, spend_compare
from finops.engine.spend import Change, Driver, Window, month_start, next_month
from finops.frames.focus import BASES

MONTHS_OFFERED = 24
ANOMALIES_SHOWN = 3
# Later than this after the newest delivery the page does not speak of the present.
OLD = timedelta(days=3)


@dataclass(frozen=True)
class Asked:
    """The filters of the address, each falling back to something that is there."""

    start: date
    basis: str
    currency: str
    months: tuple[date, ...]

    @property
    def end(self) -> date:
        """The first of the month after."""
        return next_month(self.start)


@dataclass(frozen=True)
class Overview:
    """What the page shows, in `currency`; `others` are currencies with cost in the month, never added."""

    asked: Asked
    now: datetime
    days: BillDays
    answer: ForecastAnswer
    found: CurrencyForecast
    others: tuple[CurrencyForecast, ...]
    compared: SpendChange
    change: Change | None
    drivers: list[Driver[tuple[str | None, ...]]]
    movers: list[Driver[tuple[str | None, ...]]]
    budgets: list[BudgetAnswer]
    budget: BudgetAnswer | None
    split: Split
    savings: SavingsRate | None
    anomalies: list[Anomaly]
    anomalies_waiting: int
    anomalies_judged: bool
    deliveries: list[Delivery]
    names: Mapping[str, str]

    @property
    def currency(self) -> str:
        """Of every amount on the page."""
        return self.found.currency

    @property
    def present(self) -> bool:
        """Whether the month is the one that runs now."""
        return self.asked.start == month_start(self.now.astimezone(UTC).date())

    @property
    def last_day(self) -> date:
        """The last delivered day of the month."""
        return min(self.days.end, self.asked.end) - timedelta(days=1)


def asked_of(query: Mapping[str, str], days: BillDays) -> Asked:
    """The month, basis and currency of an address."""
    months: list[date] = []
    month = days.period[0]
    while month >= month_start(days.first) and len(months) < MONTHS_OFFERED:
        months.append(month)
        month = month_start(month - timedelta(days=1))
    text = query.get("period", "")
    start = next((m for m in months if f"{m:%Y-%m}" == text), months[0])
    basis = query.get("basis", "")
    return Asked(
        start, basis if basis in BASES else "amortised", query.get("currency", "").upper(), tuple(months)
    )


def overview(organisation: Organisation, query: Mapping[str, str], *, now: datetime) -> Overview | None:
    """The facts; None without a day of bills, or without cost in the month."""
    days = bill_days(organisation, at=now)
    if days is None:
        return None
    asked = asked_of(query, days)
    answer = forecast(organisation=organisation, at=now, day=asked.start, basis=asked.basis)
    by_size = sorted(answer.currencies.values(), key=lambda one: (-abs(one.spent), one.currency))
    if not by_size:
        return None
    found = answer.currencies.get(asked.currency, by_size[0])
    window = Window(asked.start, asked.end)
    # Cut at the last day with bills: a month that calls itself final may still lack days.
    known = Window(asked.start, min(days.end, asked.end))
    compared, change, drivers = _compared(organisation, asked, known, ("service",), found.currency, now)
    _all, _change, movers = _compared(organisation, asked, known, ("account", "service"), found.currency, now)
    day = known.end - timedelta(days=1)
    budgets = [
        one for one in budget_answers(organisation, at=now, day=day) if one.budget.currency == found.currency
    ]
    waiting = anomalies_waiting(organisation, now.date()).filter(currency=found.currency)
    in_month = waiting.filter(last_day__gte=asked.start, first_day__lt=asked.end).order_by("-first_day")
    return Overview(
        asked=asked,
        now=now,
        days=days,
        answer=answer,
        found=found,
        others=tuple(one for one in by_size if one is not found and one.spent),
        compared=compared,
        change=change,
        drivers=drivers,
        movers=movers,
        budgets=budgets,
        budget=_whole(budgets, asked.basis),
        split=paid_with(organisation, window, found.currency, now=now),
        savings=savings_rates(organisation, window).get(found.currency),
        anomalies=list(in_month[:ANOMALIES_SHOWN]),
        anomalies_waiting=in_month.count(),
        anomalies_judged=BillWatch.objects.filter(
            organisation=organisation, judged_to__gte=known.end
        ).exists(),
        deliveries=_deliveries(organisation, asked),
        names={
            number: name for (_provider, number), name in account_names(organisation=organisation).items()
        },
    )


def _compared(
    organisation: Organisation,
    asked: Asked,
    known: Window,
    by: tuple[str, ...],
    currency: str,
    now: datetime,
) -> tuple[SpendChange, Change | None, list[Driver[tuple[str | None, ...]]]]:
    """The month's delivered days against the same days of the month before."""
    question = SpendQuestion(start=known.start, end=known.end, by=by, basis=asked.basis)
    found = spend_compare(question, organisation=organisation, now=now, against="month")
    change, drivers = found.changes.get(currency, (None, []))
    return found, change, list(drivers)


def _whole(budgets: list[BudgetAnswer], basis: str) -> BudgetAnswer | None:
    """The monthly budget of the whole organisation on this basis, where there is exactly one."""
    found = [
        one
        for one in budgets
        if one.budget.scope == BudgetScope.ORGANISATION
        and one.budget.period == "month"
        and one.budget.basis == basis
    ]
    return found[0] if len(found) == 1 else None


def _deliveries(organisation: Organisation, asked: Asked) -> list[Delivery]:
    """Current deliveries of the month and the one before, newest month first."""
    months = [asked.start, month_start(asked.start - timedelta(days=1))]
    rows = Delivery.objects.filter(
        report__in=reports_visible(organisation=organisation),
        state=DeliveryState.CURRENT,
        billing_period__in=months,
    )
    return list(rows.select_related("report").order_by("-billing_period", "report"))


def month_budget(found: Overview) -> Decimal | None:
    """The amount of the whole organisation's budget."""
    budget: Budget | None = found.budget.budget if found.budget is not None else None
    return None if budget is None else budget.amount
