"""Launches of the week: what was planned and what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.launches.models import Launch, LaunchState
from apps.launches.selectors.launches import launch_document, launch_rows, queue_reason
from apps.reports import wording as w
from apps.reports.sections import Block, Cell, Column, Question
from finops.engine.spend import rounded_parts
from finops.text import display as fmt
from finops.text.numbers import decimal_text

SHOWN = 6
BAD = (LaunchState.FAILED, LaunchState.MISSED)


def block(question: Question) -> Block | None:
    """Those due on the days of the week (UTC), what went wrong first, planned against paid."""
    if question.account:
        return None
    rows = list(
        launch_rows(
            question.organisation,
            {
                "team": question.team.slug if question.team else "",
                "due_from": w.instant(question.week.first),
                "due_to": w.instant(question.week.last + timedelta(days=1)),
            },
        )
    )
    if not rows:
        return None
    rows.sort(key=lambda row: (row.state not in BAD, -row.due_at.timestamp(), row.pk))
    paid = [row for row in rows if row.paid is not None and planned(row) is not None]
    heads = (
        Column(_("Launch")),
        Column(_("Planned"), number=True),
        Column(_("Paid"), number=True),
    )
    notes = [_states(rows)]
    if len(rows) > SHOWN:
        more = len(rows) - SHOWN
        notes.append(ngettext("%(n)d more is not listed.", "%(n)d more are not listed.", more) % {"n": more})
    documents = [launch_document(row, question.now) for row in rows]
    return Block(
        _("Launches, plan against actual"),
        _("Launches due in the week; paid by the prices of the hours that ran"),
        heads,
        tuple(_row(row, question) for row in rows[:SHOWN]),
        _total(paid),
        tuple(notes),
        {
            "launches": documents,
            "planned": _sum_text(paid, planned),
            "paid": _sum_text(paid, lambda r: r.paid),
        },
    )


def planned(row: Launch) -> Decimal | None:
    """The plan's cost of one of its machines."""
    return None if row.plan.cost is None else row.plan.cost / row.plan.parts


def _currency(row: Launch) -> str:
    return row.currency or row.plan.currency or ""


def _row(row: Launch, question: Question) -> tuple[Cell, ...]:
    zone_at = fmt.moment(row.due_at, question.zone, w.lang())
    why = queue_reason(row, question.now) if row.state in BAD else ""
    sub = " · ".join(part for part in (zone_at, str(row.get_state_display()), w.clean(why)) if part)
    plan, currency = planned(row), _currency(row)
    return (
        Cell(w.clean(row.plan.name), sub, w.link("launch", row.pk)),
        Cell(w.money(plan, currency, cents=True) if currency else fmt.UNKNOWN),
        Cell(w.money(row.paid, currency, cents=True) if currency else fmt.UNKNOWN),
    )


def _total(rows: Sequence[Launch]) -> tuple[Cell, ...]:
    """The sum of those with both sides, in one currency only."""
    if len(rows) < 2 or len({_currency(row) for row in rows}) != 1:
        return ()
    currency = _currency(rows[0])
    plan = rounded_parts([planned(row) or Decimal(0) for row in rows])[1]
    paid = rounded_parts([row.paid or Decimal(0) for row in rows])[1]
    return (
        Cell(_("All %(n)d with both figures") % {"n": len(rows)}),
        Cell(w.money(plan, currency, cents=True)),
        Cell(w.money(paid, currency, cents=True)),
    )


def _states(rows: Sequence[Launch]) -> str:
    """`12 completed, 1 missed.`"""
    counts: dict[str, int] = {}
    for row in rows:
        word = str(row.get_state_display()).lower()
        counts[word] = counts.get(word, 0) + 1
    return _("%(states)s.") % {"states": ", ".join(f"{n} {word}" for word, n in sorted(counts.items()))}


def _sum_text(rows: Sequence[Launch], of: Any) -> dict[str, str | None]:
    found: dict[str, Decimal] = {}
    for row in rows:
        found[_currency(row)] = found.get(_currency(row), Decimal(0)) + (of(row) or Decimal(0))
    return {currency: decimal_text(amount) for currency, amount in found.items()}
