"""Budgets in words: where each stands, never a sum of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, timedelta
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from apps.billing.models import Budget, BudgetAlert, BudgetScope
from apps.billing.selectors.budget_standing import BudgetAnswer
from apps.dashboard import format as fmt
from apps.dashboard.presenters.spend_words import BASIS_WORDS, instant
from apps.dashboard.words import lang
from finops.engine.forecast import Forecast

STATES: dict[str, tuple[str, Any]] = {
    "over": ("deny", gettext_lazy("Over budget")),
    "at risk": ("warn", gettext_lazy("At risk")),
    "on track": ("pass", gettext_lazy("On track")),
    "cannot judge": ("unknown", gettext_lazy("Cannot judge")),
}


@dataclass(frozen=True)
class BudgetLine:
    """One budget as it is shown; `width` is the spent part of a bar that ends at the amount."""

    budget: Budget
    covers: str
    when: str
    spent: str
    spent_pct: str
    width: str
    forecast: str
    interval: str
    amount: str
    kind: str
    word: str
    note: str
    thresholds: str
    alerts: list[str]


def line(found: BudgetAnswer) -> BudgetLine:
    """The budget in words."""
    budget, judged = found.budget, found.standing
    result = found.found.result if found.found is not None else None
    kind, word = STATES[judged.state if judged else "cannot judge"]
    known = result is not None and result.expected is not None
    start, end = found.answer.start, found.answer.end
    return BudgetLine(
        budget=budget,
        covers=covers(budget),
        when=fmt.day_range(instant(start), instant(end - timedelta(days=1)), UTC, lang()),
        spent=fmt.number(found.spent, 2) if judged else fmt.UNKNOWN,
        spent_pct=fmt.percent(judged.spent_pct if judged else None, lang()),
        width=f"{min(float(judged.spent_pct), 100.0) if judged else 0.0:.1f}",
        forecast=fmt.number(result.expected, 2) if known and result is not None else fmt.UNKNOWN,
        interval=_interval(result),
        amount=fmt.number(budget.amount, 2),
        kind=kind,
        word=str(word),
        note=_note(found),
        thresholds=", ".join(
            f"{t.get_measure_display()} {fmt.percent(t.percent, lang(), decimals=0)}"
            for t in budget.thresholds.all()
        ),
        alerts=[alert(one) for one in budget.alerts.all() if one.period_start == start],
    )


def _interval(result: Forecast | None) -> str:
    """The forecast's interval; nothing where every day is known."""
    if result is None or result.verdict != "forecast":
        return ""
    return fmt.span(result.low, result.high, lang())


def _note(found: BudgetAnswer) -> str:
    judged = found.standing
    if judged is None:
        return _("no bills of this period yet")
    if found.others:
        return _("also cost in %(others)s, which is not counted") % {"others": ", ".join(found.others)}
    if judged.runs_out is not None:
        day = fmt.day(instant(judged.runs_out), UTC, lang())
        return _("spent on %(day)s at this pace") % {"day": day}
    if judged.state == "cannot judge":
        return found.reason
    return ""


def covers(budget: Budget) -> str:
    """What it covers, and how cost is counted."""
    if budget.scope == BudgetScope.ORGANISATION:
        what = str(BudgetScope.ORGANISATION.label)
    elif budget.scope == BudgetScope.TAG:
        what = f"{budget.tag_key} = {budget.scope_value or _('blank')}"
    elif budget.scope == BudgetScope.TEAM and budget.team is not None:
        what = f"{BudgetScope.TEAM.label} {budget.team.name}"
    else:
        what = f"{BudgetScope(budget.scope).label} {budget.scope_value}"
    return f"{what} · {str(BASIS_WORDS[budget.basis]).lower()}"


def alert(one: BudgetAlert) -> str:
    """`Forecast reached 100 % on 21 May`."""
    return _("%(measure)s reached %(percent)s on %(day)s") % {
        "measure": one.get_measure_display(),
        "percent": fmt.percent(one.percent, lang(), decimals=0),
        "day": fmt.day(one.raised_at, UTC, lang()),
    }


def heading(found: list[BudgetAnswer]) -> str:
    """The answer: how many are over or at risk."""
    if not found:
        return _("No budget is in force.")
    states = [one.standing.state if one.standing else "cannot judge" for one in found]
    over, risk = states.count("over"), states.count("at risk")
    if over:
        text = ngettext(
            "[[%(n)s]] budget is over its amount.", "[[%(n)s]] budgets are over their amount.", over
        )
        return text % {"n": over}
    if risk:
        text = ngettext(
            "[[%(n)s]] budget is heading over its amount.",
            "[[%(n)s]] budgets are heading over their amount.",
            risk,
        )
        return text % {"n": risk}
    if all(state == "on track" for state in states):
        text = ngettext("[[%(n)s]] budget is on track.", "All [[%(n)s]] budgets are on track.", len(states))
        return text % {"n": len(states)}
    return _("No budget is over; not all can be judged yet.")
