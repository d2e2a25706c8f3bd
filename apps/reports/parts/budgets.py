"""Budgets that cover what the report is about, each by itself, as the Budgets page has them."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from apps.billing.models import Budget, BudgetScope
from apps.billing.selectors.budget_standing import BudgetAnswer, budget_answers, budget_document
from apps.reports import wording as w
from apps.reports.sections import Block, Cell, Column, Question
from finops.text import display as fmt


def state_word(state: str) -> str:
    """The state of a budget in words."""
    return {
        "over": _("Over"),
        "at risk": _("Heading over"),
        "on track": _("On track"),
        "cannot judge": _("Cannot judge"),
    }[state]


def belongs(budget: Budget, question: Question) -> bool:
    """Whether a budget is about the report's scope; the organisation's report has all of them."""
    if question.team is not None:
        return budget.scope == BudgetScope.TEAM and budget.team_id == question.team.pk
    if question.account:
        return budget.scope == BudgetScope.ACCOUNT and budget.scope_value == question.account
    return True


def answers_of(question: Question) -> list[BudgetAnswer]:
    """The budgets of the week's last day with their standing."""
    found = budget_answers(
        question.organisation, at=question.now, day=question.week.last, snapshots=question.spend.snapshots
    )
    return [one for one in found if belongs(one.budget, question)]


def block(question: Question) -> Block | None:
    """A line a budget; there is no sum, because budgets may overlap."""
    found = answers_of(question)
    if not found:
        return None
    rows = tuple(_row(one) for one in found)
    heads = (
        Column(_("Budget")),
        Column(_("Spent"), number=True),
        Column(_("Forecast"), number=True),
        Column(_("Amount"), number=True),
    )
    document: dict[str, Any] = {"budgets": [budget_document(one) for one in found]}
    measure = _("Cost so far and forecast with its 90 % interval; budgets may overlap and are not added up")
    return Block(_("Budgets"), measure, heads, rows, (), (), document)


def _row(one: BudgetAnswer) -> tuple[Cell, ...]:
    judged, unit = one.standing, w.currency_head(one.budget.currency)
    result = one.found.result if one.found is not None else None
    start, last = one.answer.start, one.answer.end
    when = w.days(start, last.fromordinal(last.toordinal() - 1))
    known = judged is not None and result is not None and result.expected is not None
    interval = ""
    if known and result is not None and result.verdict == "forecast":
        interval = fmt.span(result.low, result.high, w.lang())
    return (
        Cell(
            w.clean(one.budget.name),
            " · ".join((state_word(judged.state if judged else "cannot judge"), when, unit)),
            w.link("budgets"),
        ),
        Cell(
            fmt.number(one.spent, 2) if judged else fmt.UNKNOWN,
            w.percent(judged.spent_pct) if judged else _("no bills of this period yet"),
        ),
        Cell(fmt.number(result.expected, 2) if known and result is not None else fmt.UNKNOWN, interval),
        Cell(fmt.number(one.budget.amount, 2)),
    )
