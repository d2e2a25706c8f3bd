"""The Overview page's facts: one month of bills against its forecast, budget and the month before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import numpy as np
from django.db.models import QuerySet

from apps.accounts.models import Organisation
from apps.accounts.selectors import team_list
from apps.billing.models import Anomaly, BillWatch, Budget, BudgetScope, Delivery, DeliveryState
from apps.billing.selectors.accounts import account_names
from apps.billing.selectors.anomalies import anomalies_waiting
from apps.billing.selectors.bill_days import BillDays, bill_days
from apps.billing.selectors.budget_standing import BudgetAnswer, budget_answers
from apps.billing.selectors.deliveries import reports_visible
from apps.billing.selectors.forecast import CurrencyForecast, ForecastAnswer, forecast
from apps.billing.selectors.savings import SavingsRate, Split, paid_with, savings_of_team, savings_rates
from apps.billing.selectors.spend import SpendQuestion
from apps.billing.selectors.spend_compare import AGAINST, SpendChange, spend_compare
from apps.billing.selectors.spend_question import TEAM, UNALLOCATED
from apps.billing.selectors.spend_reading import reading_session
from finops.engine.daily_costs import DailyCosts
from finops.engine.forecast import forecast_period
from finops.engine.spend import ZERO, Change, Driver, Window, compare, month_start, next_month
from finops.frames.focus import BASES
from finops.lake import facts

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
    against: str = "month"
    team: str = ""

    @property
    def where(self) -> tuple[tuple[str, str], ...]:
        """The team as a condition of a question about spend."""
        return ((TEAM, self.team),) if self.team else ()

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
    teams: dict[str, str]

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


def asked_of(query: Mapping[str, str], days: BillDays, teams: Mapping[str, str]) -> Asked:
    """The month, comparison, basis, team and currency of an address."""
    months: list[date] = []
    month = days.period[0]
    while month >= month_start(days.first) and len(months) < MONTHS_OFFERED:
        months.append(month)
        month = month_start(month - timedelta(days=1))
    text = query.get("period", "")
    start = next((m for m in months if f"{m:%Y-%m}" == text), months[0])
    basis = query.get("basis", "")
    against, team = query.get("against", ""), query.get("team", "")
    return Asked(
        start,
        basis if basis in BASES else "amortised",
        query.get("currency", "").upper(),
        tuple(months),
        against if against in AGAINST else "month",
        team if team in teams or (team == UNALLOCATED and teams) else "",
    )


def overview(organisation: Organisation, query: Mapping[str, str], *, now: datetime) -> Overview | None:
    """The facts; None without a day of bills, or without cost in the month."""
    days = bill_days(organisation, at=now)
    if days is None:
        return None
    teams = {team.slug: team.name for team in team_list(organisation)}
    asked = asked_of(query, days, teams)
    snapshots = facts.current_snapshots()
    # What the questions rest on is looked up once for all of them: the month, those it is compared with.
    span = asked.end - asked.start
    first = min(asked.start - span, month_start(asked.start - timedelta(days=1)))
    with reading_session(Window(month_start(first), asked.end), snapshots, organisation=organisation):
        return _told(organisation, asked, now, days, teams, snapshots)


def _told(
    organisation: Organisation,
    asked: Asked,
    now: datetime,
    days: BillDays,
    teams: dict[str, str],
    snapshots: Mapping[str, int],
) -> Overview | None:
    """The facts of the month, all at the same snapshots."""
    answer = forecast(
        organisation=organisation, at=now, day=asked.start, basis=asked.basis, where=asked.where,
        snapshots=snapshots,
    )  # fmt: skip
    if asked.team and not answer.currencies:
        answer = _nothing(organisation, asked, now)
    by_size = sorted(answer.currencies.values(), key=lambda one: (-abs(one.spent), one.currency))
    if not by_size:
        return None
    found = answer.currencies.get(asked.currency, by_size[0])
    window = Window(asked.start, asked.end)
    # Cut at the last day with bills: a month that calls itself final may still lack days.
    known = Window(asked.start, min(days.end, asked.end))
    compared, change, drivers = _compared(
        organisation, asked, known, days.first, ("service",), found.currency, now, snapshots
    )
    _all, _change, movers = _compared(
        organisation, asked, known, days.first, ("account", "service"), found.currency, now, snapshots
    )
    budgets = _budgets(organisation, asked, found.currency, now, day=known.end - timedelta(days=1))
    in_month = _waiting(organisation, asked, found.currency, now)
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
        budget=_whole(budgets, asked),
        split=paid_with(
            organisation, window, found.currency, now=now, snapshots=snapshots, where=asked.where
        ),
        savings=(
            savings_of_team(organisation, window, asked.team, now=now, snapshots=snapshots)
            if asked.team
            else savings_rates(organisation, window, now=now, snapshots=snapshots)
        ).get(found.currency),
        anomalies=list(in_month[:ANOMALIES_SHOWN]),
        anomalies_waiting=in_month.count(),
        anomalies_judged=BillWatch.objects.filter(
            organisation=organisation, judged_to__gte=known.end
        ).exists(),
        deliveries=_deliveries(organisation, asked),
        names={
            number: name for (_provider, number), name in account_names(organisation=organisation).items()
        },
        teams=teams,
    )


def _nothing(organisation: Organisation, asked: Asked, now: datetime) -> ForecastAnswer:
    """The answer for a team without any cost: zeros in the currencies of the organisation's bills."""
    whole = forecast(organisation=organisation, at=now, day=asked.start, basis=asked.basis)
    zeros = {}
    for currency, one in whole.currencies.items():
        daily = DailyCosts(one.daily.first, np.zeros(len(one.daily.values)))
        settled = one.result.settled_until
        result = forecast_period(daily, start=whole.start, end=whole.end, settled_until=settled)
        zeros[currency] = CurrencyForecast(currency, Decimal(0), daily, result, 0)
    return replace(whole, where=asked.where, currencies=zeros)


def _budgets(
    organisation: Organisation, asked: Asked, currency: str, now: datetime, *, day: date
) -> list[BudgetAnswer]:
    """The budgets in force: of the team that is asked for, else all of them."""
    found = [one for one in budget_answers(organisation, at=now, day=day) if one.budget.currency == currency]
    if not asked.team:
        return found
    return [one for one in found if one.budget.team is not None and one.budget.team.slug == asked.team]


def _waiting(organisation: Organisation, asked: Asked, currency: str, now: datetime) -> QuerySet[Anomaly]:
    """Anomalies of the month that wait for a person; of a team: those whose cause names it."""
    found = anomalies_waiting(organisation, now.date()).filter(currency=currency)
    if asked.team:
        found = found.filter(slice__contains=[[TEAM, asked.team]])
    return found.filter(last_day__gte=asked.start, first_day__lt=asked.end).order_by("-first_day")


def _compared(
    organisation: Organisation,
    asked: Asked,
    known: Window,
    first: date,
    by: tuple[str, ...],
    currency: str,
    now: datetime,
    snapshots: Mapping[str, int],
) -> tuple[SpendChange, Change | None, list[Driver[tuple[str | None, ...]]]]:
    """The month's delivered days against those asked for; `first`: the first day of all bills."""
    question = SpendQuestion(start=known.start, end=known.end, by=by, basis=asked.basis, where=asked.where)
    found = spend_compare(
        question, organisation=organisation, now=now, against=asked.against, snapshots=snapshots
    )
    if found.windows is None or found.windows.before.start < first:
        # Days before the first bill are not known: they cost something, not nothing.
        return found, None, []
    change, drivers = found.changes.get(currency, (compare(ZERO, ZERO), []))
    return found, change, list(drivers)


def _whole(budgets: list[BudgetAnswer], asked: Asked) -> BudgetAnswer | None:
    """The monthly budget of the organisation, or of the team asked for, where there is exactly one."""
    scope = BudgetScope.TEAM if asked.team else BudgetScope.ORGANISATION
    found = [
        one
        for one in budgets
        if one.budget.scope == scope and one.budget.period == "month" and one.budget.basis == asked.basis
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
