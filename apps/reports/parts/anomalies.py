"""Days of the week on which a part of the bill cost more or less than usual."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from django.utils.translation import gettext as _

from apps.billing.models import Anomaly, AnomalyCourse
from apps.billing.selectors.anomalies import ANNOUNCED, anomalies_asked, anomaly_document, state_on
from apps.reports import wording as w
from apps.reports.sections import Block, Cell, Column, Question
from finops.text import display as fmt

SHOWN = 4


def block(question: Question) -> Block | None:
    """Those with a day in the week, largest first; what somebody closed or announced is said so."""
    found = [
        row
        for row in anomalies_asked(
            question.organisation,
            at=question.now,
            start=question.week.first,
            end=question.week.last + timedelta(days=1),
        )
        if row.course != AnomalyCourse.RESTATED and _inside(row, question)
    ]
    if not found:
        return None
    found.sort(key=lambda row: (-abs(row.amount), row.pk))
    today = question.now.date()
    notes: list[str] = []
    if len(found) > SHOWN:
        notes.append(_("%(n)d more under Spend, Anomalies.") % {"n": len(found) - SHOWN})
    return Block(
        _("Out of the ordinary"),
        _("Cost above or below the usual of these days, with its 90 % interval"),
        (Column(_("Anomaly")), Column(_("Amount"), number=True)),
        tuple(_row(row, question) for row in found[:SHOWN]),
        (),
        tuple(notes),
        {"anomalies": [anomaly_document(row, today) for row in found]},
    )


def _inside(row: Anomaly, question: Question) -> bool:
    """Whether it is about the report's scope: an anomaly of the whole bill is not one of a team."""
    asked = question.where
    return not asked or all([name, value] in [list(pair) for pair in row.slice] for name, value in asked)


def subject(values: Mapping[str, str]) -> str:
    """The most telling value: the service, else whatever names the slice, else the whole bill."""
    for name in ("service", "account", "team", "region"):
        if values.get(name):
            return w.clean(values[name])
    return _("The whole bill")


def _row(row: Anomaly, question: Question) -> tuple[Cell, ...]:
    values = {str(name): str(value) for name, value in row.slice}
    count = max(len(row.days), 1)
    told = _("%(what)s cost %(now)s a day instead of %(usual)s") % {
        "what": subject(values),
        "usual": w.money(row.expected / count, row.currency),
        "now": w.money(row.actual / count, row.currency),
    }
    state = state_on(row, question.now.date())
    parts = [w.days(row.first_day, row.last_day)]
    if state == ANNOUNCED:
        parts.append(_("announced by a decision"))
    elif state != "open":
        parts.append(str(row.get_state_display()).lower())
    return (
        Cell(told, " · ".join(parts), w.link("anomalies")),
        Cell(
            w.money(row.amount, row.currency, cents=True, sign=True),
            fmt.span(row.low, row.high, w.lang(), decimals=2),
        ),
    )
