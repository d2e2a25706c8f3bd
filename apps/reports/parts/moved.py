"""What moved: the parts of the week's change, shown so that they add up."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.reports import wording as w
from apps.reports.sections import Block, Cell, Column, Question
from apps.reports.selectors.week import BASIS, CurrencyWeek
from finops.engine.spend import ZERO, Driver, rounded_parts, total
from finops.text import display as fmt
from finops.text.numbers import decimal_text

SHOWN = 5
Values = tuple[str | None, ...]


def by_service(question: Question) -> Block | None:
    """The services that explain the change; currencies one after the other, never added up."""
    return _block(question, "service")


def by_usage(question: Question) -> Block | None:
    """The same by service and usage type, for those who can do something about it."""
    return _block(question, "usage")


def _block(question: Question, what: str) -> Block | None:
    spend = question.spend
    sides = spend.compared
    if sides is None or not spend.currencies:
        return None
    rows: list[tuple[Cell, ...]] = []
    document: list[dict[str, Any]] = []
    many = len(spend.currencies) > 1
    only: tuple[Cell, ...] = ()
    for one in spend.currencies:
        parts = one.drivers if what == "service" else one.usage
        if not parts:
            continue
        shown, sums, facts = _rows(question, one, parts, many=many)
        rows += shown
        document.append(facts)
        if many:
            rows.append(sums)
        else:
            only = sums
    if not rows:
        return None
    unit = "" if many else _(", %(unit)s") % {"unit": w.currency_head(spend.currencies[0].currency)}
    measure = _("%(basis)s cost, whole days in UTC; change against %(before)s") % {
        "basis": _("Amortised"), "before": w.window_days(sides.before),
    }  # fmt: skip
    heads = (
        Column(_("Service") if what == "service" else _("Usage type")),
        Column(_("%(days)s%(unit)s") % {"days": w.window_days(sides.after), "unit": unit}, number=True),
        Column(_("Change%(unit)s") % {"unit": unit}, number=True),
    )
    title = _("What moved") if what == "service" else _("What moved, by usage type")
    return Block(title, measure, heads, tuple(rows), only, (), {"basis": BASIS, "currencies": document})


def _rows(
    question: Question, one: CurrencyWeek, parts: Sequence[Driver[Values]], *, many: bool
) -> tuple[list[tuple[Cell, ...]], tuple[Cell, ...], dict[str, Any]]:
    """The largest changes, the others in one line, and the sum: both columns add up as they are shown."""
    head, rest = list(parts[:SHOWN]), list(parts[SHOWN:])
    if len(rest) == 1:  # "1 other" would hide what fits in the same line
        head, rest = list(parts), []
    costs = [part.change.after or ZERO for part in head]
    deltas = [part.change.delta for part in head]
    if rest:
        costs.append(total(part.change.after for part in rest))
        deltas.append(total(part.change.delta for part in rest))
    shown_costs, cost_sum = rounded_parts(costs)
    shown_deltas, delta_sum = rounded_parts(deltas)
    unit = f" ({w.currency_head(one.currency)})" if many else ""
    names = [_name(part.key) for part in head]
    subs = [{"new": _("new"), "gone": _("gone")}.get(part.change.label, "") for part in head]
    if rest:
        names.append(ngettext("%(n)d other", "%(n)d others", len(rest)) % {"n": len(rest)})
        subs.append("")
    rows: list[tuple[Cell, ...]] = [
        (Cell(f"{name}{unit}", sub), Cell(fmt.number(cost, 2)), Cell(fmt.number(delta, 2, sign=True)))
        for name, sub, cost, delta in zip(names, subs, shown_costs, shown_deltas, strict=True)
    ]
    sums = (
        Cell(_("All") + unit, link=_explorer(question)),
        Cell(fmt.number(cost_sum, 2)),
        Cell(fmt.number(delta_sum, 2, sign=True)),
    )
    return rows, sums, _document(one, parts)


def _name(values: Values) -> str:
    """The last value that is there; a line without a service says so."""
    named = [w.clean(value) for value in values if value]
    return " · ".join(named) or _("without a name")


def _explorer(question: Question) -> str:
    sides = question.spend.compared
    if sides is None:
        return ""
    where = [f"{name}={value}" for name, value in question.where]
    return w.link(
        "spend", **{"from": sides.after.start.isoformat(), "to": sides.after.end.isoformat()},
        by="service", basis=BASIS, against="previous", where=where,
    )  # fmt: skip


def _document(one: CurrencyWeek, parts: Sequence[Driver[Values]]) -> dict[str, Any]:
    return {
        "currency": one.currency,
        "cost": decimal_text(one.change.after),
        "cost_before": decimal_text(one.change.before),
        "delta": decimal_text(one.change.delta),
        "delta_pct": percent_value(one.change.percent),
        "label": one.change.label,
        "drivers": [
            {
                "key": [None if value is None else w.clean(value) for value in part.key],
                "cost": decimal_text(part.change.after),
                "cost_before": decimal_text(part.change.before),
                "delta": decimal_text(part.change.delta),
                "delta_pct": percent_value(part.change.percent),
                "label": part.change.label,
                "share": None if part.share is None else round(float(part.share), 6),
            }
            for part in parts
        ],
    }


def percent_value(value: Decimal | None) -> float | None:
    """A percentage for JSON; null where there is nothing to compare with."""
    return None if value is None else round(float(value), 6) + 0.0
