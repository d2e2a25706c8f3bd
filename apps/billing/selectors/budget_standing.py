"""Where budgets stand: cost and forecast of their period, each judged by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.billing.models import Budget, BudgetAlert
from apps.billing.selectors.bill_days import bill_days
from apps.billing.selectors.budgets import (
    budget_list,
    budgets_in_force,
    scope_condition,
    thresholds_of,
)
from apps.billing.selectors.forecast import (
    CurrencyForecast,
    ForecastAnswer,
    forecast,
    money_text,
    period_text,
)
from apps.billing.selectors.spend_document import evidence
from finops.engine.budget import Period, Standing, standing
from finops.engine.spend import ZERO
from finops.text.numbers import decimal_text


@dataclass(frozen=True)
class BudgetAnswer:
    """A budget in one period. `standing` None: there are no bills of the period. `others`: currencies of the
    same scope that the budget does not count.
    """

    budget: Budget
    answer: ForecastAnswer
    found: CurrencyForecast | None
    standing: Standing | None
    others: tuple[str, ...]

    @property
    def spent(self) -> Decimal:
        """Delivered cost in the budget's currency."""
        return self.found.spent if self.found is not None else ZERO

    @property
    def reason(self) -> str:
        """Why there is no forecast, "" when there is one."""
        if self.found is None:
            return _("Nothing of it is on the bills in this currency.")
        return _(self.found.result.reason) if self.found.result.reason else ""


def budget_answer(
    budget: Budget, *, at: datetime, day: date | None, snapshots: Mapping[str, int] | None = None
) -> BudgetAnswer:
    """Where one budget stands in the period that holds `day`. Raises SpendError: its team is gone."""
    answer = forecast(
        organisation=budget.organisation, at=at, day=day, period=Period(budget.period), basis=budget.basis,
        where=scope_condition(budget), snapshots=snapshots,
    )  # fmt: skip
    found = answer.currencies.get(budget.currency)
    others = tuple(name for name, one in answer.currencies.items() if name != budget.currency and one.spent)
    if answer.days is None or answer.start >= answer.days.end:
        return BudgetAnswer(budget, answer, found, None, others)
    result = found.result if found is not None else None
    # Exact where every day is settled; else the engine's estimate.
    expected = None if result is None else result.expected
    path = () if result is None else tuple((step.day, step.total) for step in result.path)
    spent = found.spent if found is not None else ZERO
    judged = standing(budget.amount, spent, expected, thresholds_of(budget), path=path)
    return BudgetAnswer(budget, answer, found, judged, others)


def budget_answers(
    organisation: Organisation | None,
    *,
    at: datetime,
    day: date | None = None,
    snapshots: Mapping[str, int] | None = None,
    all_of_them: bool = False,
) -> list[BudgetAnswer]:
    """The budgets in force on `day` (default: the newest day with bills), each by itself."""
    if day is None:
        days = bill_days(organisation, at=at)
        day = at.date() if days is None else days.period[0]
        day = day if days is None else max(day, _last(days.end))
    rows = budget_list(organisation) if all_of_them else budgets_in_force(organisation, day)
    return [budget_answer(budget, at=at, day=day, snapshots=snapshots) for budget in rows]


def _last(end: date) -> date:
    return date.fromordinal(end.toordinal() - 1)


def budget_document(found: BudgetAnswer) -> dict[str, Any]:
    """One budget and where it stands, as JSON values."""
    budget, judged, answer = found.budget, found.standing, found.answer
    result = found.found.result if found.found is not None else None
    return {
        "id": budget.pk,
        "name": budget.name,
        "scope": budget.scope,
        "scope_value": budget.scope_value or None,
        "tag_key": budget.tag_key or None,
        "team": budget.team.slug if budget.team else None,
        "basis": budget.basis,
        "amount": money_text(budget.amount),
        "currency": budget.currency,
        "period": budget.period,
        "valid_from": budget.valid_from.isoformat(),
        "valid_to": budget.valid_to.isoformat() if budget.valid_to else None,
        "thresholds": [
            {"measure": t.measure.value, "percent": money_text(t.percent)} for t in thresholds_of(budget)
        ],
        "in_period": period_text(answer.start, answer.period),
        "from": answer.start.isoformat(),
        "to": answer.end.isoformat(),
        "spent": decimal_text(found.spent) if judged else None,
        "spent_pct": float(judged.spent_pct) if judged else None,
        "forecast": money_text(result.expected) if result else None,
        "forecast_low": money_text(result.low) if result else None,
        "forecast_high": money_text(result.high) if result else None,
        "forecast_pct": float(judged.forecast_pct) if judged and judged.forecast_pct is not None else None,
        "over": money_text(judged.over) if judged else None,
        "state": judged.state if judged else "cannot judge",
        "reason": found.reason,
        "runs_out": judged.runs_out.isoformat() if judged and judged.runs_out else None,
        "other_currencies": list(found.others),
        "alerts": [
            alert_document(alert) for alert in budget.alerts.all() if alert.period_start == answer.start
        ],
    }


def alert_document(alert: BudgetAlert) -> dict[str, Any]:
    """An alert as JSON values."""
    return {
        "budget": alert.budget_id,
        "period_start": alert.period_start.isoformat(),
        "measure": alert.measure,
        "percent": money_text(alert.percent),
        "limit": money_text(alert.limit),
        "cost": money_text(alert.cost),
        "currency": alert.currency,
        "raised_at": alert.raised_at.isoformat().replace("+00:00", "Z"),
    }


def budgets_document(answers: list[BudgetAnswer], *, at: datetime) -> dict[str, Any]:
    """The document of `budgets`. There is no sum: budgets may overlap."""
    snapshots = answers[0].answer.snapshots if answers else {}
    version = answers[0].answer.allocation_version if answers else None
    return {
        "budgets": [budget_document(found) for found in answers],
        "evidence": evidence(snapshots, at, version),
    }
