"""What the spend explorer says: sentence, key figures, chart, drivers and table, one block a currency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.billing.selectors.spend import SpendRow
from apps.billing.selectors.spend_compare import SpendChange
from apps.dashboard import format as fmt
from apps.dashboard.figures.bars import COLOURS, OTHER, Series, stacked_bars
from apps.dashboard.presenters.spend_words import (
    BASIS_WORDS,
    condition_value,
    dimension_word,
    period_word,
    short_period,
    value_word,
    window_word,
)
from apps.dashboard.spend import SHOWN_SERIES, Filters, SpendFacts
from apps.dashboard.words import joined, lang
from finops.engine.spend import ZERO, Change, Driver, Window, rounded, rounded_parts, sorted_by_amount, total

SHOWN_DRIVERS = 6
SHOWN_FROM = Decimal("0.005")
NEARLY_LEVEL = Decimal("1.1")
# What a value is opened by, when nothing has been chosen: from the whole towards the resource.
NEXT = {
    "provider": "account", "payer": "account", "account": "service", "service": "usage_type",
    "service_category": "service", "region": "service", "usage_type": "resource",
    "instance_type": "resource", "team": "service", "seller": "service",
}  # fmt: skip
Values = tuple[str | None, ...]


@dataclass(frozen=True)
class Cell:
    """One value of a row, with the address that opens it."""

    text: str
    address: str


def known_window(facts: SpendFacts) -> Window:
    """The days that are delivered."""
    end = facts.groups.coverage.known_to
    window = facts.filters.window
    return Window(window.start, end) if end is not None and end > window.start else window


def heading(facts: SpendFacts) -> str:
    """The sentence with the number."""
    period = window_word(known_window(facts))
    totals = facts.groups.totals
    if not facts.groups.rows:
        return _("Nothing is billed for this question, %(period)s.") % {"period": period}
    if facts.groups.unknown == totals.keys():
        return _("The bill tells no amount on this basis, %(period)s.") % {"period": period}
    if len(totals) > 1:
        amounts = _(" and ").join(
            fmt.money(None if currency in facts.groups.unknown else amount, currency)
            for currency, amount in totals.items()
        )
        return _("%(period)s: [[%(amounts)s]], not added up.") % {"period": period, "amounts": amounts}
    ((currency, amount),) = totals.items()
    top = _first(facts, currency)
    values = {"period": period, "cost": fmt.money(amount, currency)}
    if top is not None and amount > 0 and top[1] > 0 and len(facts.parts.rows) > 1:
        values |= {"what": top[0], "share": fmt.percent(top[1] / amount * 100, lang(), decimals=0)}
        text = _("%(period)s: [[%(cost)s]], %(what)s is %(share)s of it.") % values
        if len(text) <= 94:
            return text
    return _("%(period)s: [[%(cost)s]].") % values


def _first(facts: SpendFacts, currency: str) -> tuple[str, Decimal] | None:
    """The largest value of the first dimension and its cost."""
    costs: dict[str | None, list[Decimal | None]] = {}
    for row in facts.parts.rows:
        if row.currency == currency:
            costs.setdefault(row.values[0], []).append(row.cost)
    if not costs:
        return None
    sums = {value: total(found) for value, found in costs.items()}
    best = max(sums, key=lambda value: sums[value])
    return value_word(facts.filters.by[0], best, facts.names), sums[best]


def lead(facts: SpendFacts) -> str:
    """The comparison in words: how much more or less than what, and what explains it."""
    change = facts.change
    parts = [_("Basis: %(basis)s.") % {"basis": str(BASIS_WORDS[facts.filters.basis]).lower()}]
    if change is not None and change.windows is None:
        parts.append(_("No day of this period is delivered: there is nothing to compare."))
    elif change is not None:
        for currency, (whole, drivers) in change.changes.items():
            parts.append(_change_sentence(change, currency, whole, drivers, facts))
    for rate in facts.groups.rates:
        parts.append(
            _("Converted at 1 %(base)s = %(rate)s %(quote)s of %(day)s (%(source)s).")
            % {
                "base": rate.base,
                "rate": format(rate.rate.normalize(), "f"),
                "quote": rate.quote,
                "day": rate.on.isoformat(),
                "source": rate.source,
            }
        )
    return joined(*parts)


def _change_sentence(
    change: SpendChange, currency: str, whole: Change, drivers: Sequence[Driver[Values]], facts: SpendFacts
) -> str:
    assert change.windows is not None  # noqa: S101 - the caller looked
    values = {
        "before": window_word(change.windows.before),
        "after": window_word(change.windows.after),
        "delta": fmt.money(whole.delta, currency, sign=True),
        "base": fmt.money(whole.before or ZERO, currency),
        "percent": fmt.percent(whole.percent, lang(), sign=True),
    }
    if whole.before is None:
        text = _("Nothing is billed for %(before)s to compare with.") % values
    elif whole.percent is None:
        text = _("%(after)s against %(before)s: %(delta)s, from %(base)s.") % values
    else:
        text = _("%(after)s against %(before)s: %(percent)s (%(delta)s, from %(base)s).") % values
    if change.before is not None and not change.before.complete:
        text = joined(text, _("The period before is not complete either."))
    share = drivers[0].share if drivers and whole.before is not None else None
    if share is not None and share > 0:
        text = joined(
            text,
            _("%(what)s is %(share)s of the change.")
            % {
                "what": group_word(facts, drivers[0].key),
                "share": fmt.percent(share * 100, lang(), decimals=0),
            },
        )
    return text


def group_word(facts: SpendFacts, values: Values) -> str:
    """The values of a row in one text."""
    return " · ".join(
        value_word(name, value, facts.names) for name, value in zip(facts.filters.by, values, strict=True)
    )


def kpis(facts: SpendFacts) -> list[dict[str, str]]:
    """Cost, change, mean a day, largest part; with one currency only."""
    if len(facts.groups.totals) != 1 or facts.groups.unknown:
        return []
    ((currency, amount),) = facts.groups.totals.items()
    window = known_window(facts)
    found = [
        {
            "label": _("Cost"),
            "value": fmt.money(amount, currency, decimals=2),
            "note": ngettext("%(n)d day", "%(n)d days", window.days) % {"n": window.days}
            + f" · {BASIS_WORDS[facts.filters.basis]}",
        },
        {
            "label": _("Mean a day"),
            "value": fmt.money(amount / window.days, currency, decimals=2),
            "note": window_word(window),
        },
    ]
    change = facts.change
    if change is not None and change.windows is not None and currency in change.changes:
        whole = change.changes[currency][0]
        shown = whole.percent is not None
        found.insert(
            1,
            {
                "label": _("Against %(period)s") % {"period": window_word(change.windows.before)},
                "value": fmt.percent(whole.percent, lang(), sign=True)
                if shown
                else fmt.money(whole.delta, currency, decimals=2, sign=True),
                "note": fmt.money(whole.delta, currency, decimals=2, sign=True)
                if shown
                else _("no percentage: the base is not above 0"),
            },
        )
    top = _first(facts, currency)
    if top is not None:
        found.append(
            {
                "label": _("Largest, by %(what)s") % {"what": dimension_word(facts.filters.by[0]).lower()},
                "value": fmt.money(top[1], currency, decimals=2),
                "note": top[0],
            }
        )
    return found


def blocks(facts: SpendFacts) -> list[dict[str, Any]]:
    """One block a currency: chart, drivers, table; the block with most groups first."""
    order = sorted(
        facts.groups.totals,
        key=lambda currency: (-sum(row.currency == currency for row in facts.groups.rows), currency),
    )
    return [
        {
            "currency": currency,
            "chart": chart(facts, currency),
            "drivers": driver_rows(facts, currency),
            "table": table(facts, currency),
        }
        for currency in order
    ]


def chart(facts: SpendFacts, currency: str) -> dict[str, Any] | None:
    """Stacked bars by period and their table; None with a single period."""
    filters = facts.filters
    whole = {row.start: row for row in facts.periods.rows if row.currency == currency}
    starts = sorted(whole)
    if len(starts) < 2:
        return None
    sums: dict[str | None, list[Decimal | None]] = {}
    costs: dict[tuple[str | None, Any], Decimal | None] = {}
    for row in facts.parts.rows:
        if row.currency == currency:
            sums.setdefault(row.values[0], []).append(row.cost)
            costs[(row.values[0], row.start)] = row.cost
    names = sorted_by_amount(list(sums), lambda value: total(sums[value]), str)[:SHOWN_SERIES]
    series = [
        Series(value_word(filters.by[0], value, facts.names), [costs.get((value, s)) for s in starts], colour)
        for value, colour in zip(names, COLOURS, strict=False)
    ]
    others = [
        (whole[start].cost or ZERO) - total(costs.get((value, start)) for value in names) for start in starts
    ]
    if any(others):
        series.append(Series(_("Others"), others, OTHER))
    labels = [short_period(filters.granularity, start, first=i == 0) for i, start in enumerate(starts)]
    return {
        "id": f"spend-{currency}",
        "title": _chart_title(facts, currency, [whole[start] for start in starts]),
        "measure": _("%(basis)s cost by %(granularity)s and %(what)s, %(currency)s, UTC days")
        % {
            "basis": BASIS_WORDS[filters.basis],
            "granularity": {"day": _("day"), "week": _("week"), "month": _("month")}[filters.granularity],
            "what": dimension_word(filters.by[0]).lower(),
            "currency": fmt.currency_word(currency, lang()),
        },
        "figure": stacked_bars(labels, series, lang=lang()),
        "legend": [(one.name, one.colour.removeprefix("@")) for one in series],
        "rows": [
            (
                period_word(filters.granularity, start, whole[start].end),
                [fmt.number(one.values[i], 2) for one in series],
                fmt.number(whole[start].cost, 2),
            )
            for i, start in enumerate(starts)
        ],
    }


def _chart_title(facts: SpendFacts, currency: str, rows: Sequence[SpendRow]) -> str:
    """The finding: the dearest period, or that they cost about the same."""
    costs = [row.cost or ZERO for row in rows]
    mean = total(costs) / len(costs)
    dearest = max(rows, key=lambda row: row.cost or ZERO)
    top = dearest.cost or ZERO
    values = {
        "period": period_word(facts.filters.granularity, dearest.start, dearest.end),
        "cost": fmt.money(top, currency),
        "mean": fmt.money(mean, currency),
    }
    if mean > 0 and top / mean <= NEARLY_LEVEL:
        return _("No period costs much more than the mean of %(mean)s") % values
    return _("%(period)s is the dearest: %(cost)s, the mean is %(mean)s") % values


def driver_rows(facts: SpendFacts, currency: str) -> dict[str, Any] | None:
    """The parts of the change, largest amount first; the rest in one line; they sum to the whole."""
    change = facts.change
    if change is None or change.windows is None or currency not in change.changes:
        return None
    whole, parts = change.changes[currency]
    if whole.before is None or not parts:
        return None
    # A part that would be shown as 0.00 explains nothing; it is counted among the others.
    large = sum(abs(part.change.delta) >= SHOWN_FROM for part in parts)
    shown, rest = parts[: min(large, SHOWN_DRIVERS)], parts[min(large, SHOWN_DRIVERS) :]
    amounts = [part.change.delta for part in shown]
    if rest:
        amounts.append(total(part.change.delta for part in rest))
    seen, sum_shown = rounded_parts(amounts)
    widest = max((abs(amount) for amount in amounts), default=ZERO) or Decimal(1)
    words = [group_word(facts, part.key) for part in shown]
    labels = [part.change.label for part in shown]
    if rest:
        words.append(ngettext("%(n)d other", "%(n)d others", len(rest)) % {"n": len(rest)})
        labels.append("")
    rows = [
        {
            "word": word,
            "label": {"new": _("new"), "gone": _("gone")}.get(label, ""),
            "delta": fmt.number(amount, 2, sign=True),
            "share": fmt.percent(exact / whole.delta * 100, lang(), decimals=0)
            if whole.delta
            else fmt.UNKNOWN,
            "width": int(abs(exact) / widest * 100),
            "less": exact < 0,
        }
        for word, label, amount, exact in zip(words, labels, seen, amounts, strict=True)
    ]
    return {
        "title": _drivers_title(facts, whole, shown),
        "measure": _("Change of %(after)s against %(before)s, %(currency)s")
        % {
            "after": window_word(change.windows.after),
            "before": window_word(change.windows.before),
            "currency": fmt.currency_word(currency, lang()),
        },
        "rows": rows,
        "total": fmt.number(sum_shown, 2, sign=True),
        "percent": fmt.percent(whole.percent, lang(), sign=True),
    }


def _drivers_title(facts: SpendFacts, whole: Change, parts: Sequence[Driver[Values]]) -> str:
    if not parts or not whole.delta:
        return _("Nothing changed on the whole")
    word = group_word(facts, parts[0].key)
    if whole.delta > 0:
        return (
            _("%(what)s explains most of the rise") % {"what": word}
            if _most(parts)
            else _("What rose and fell")
        )
    return (
        _("%(what)s explains most of the fall") % {"what": word} if _most(parts) else _("What rose and fell")
    )


def _most(parts: Sequence[Driver[Values]]) -> bool:
    return parts[0].share is not None and parts[0].share >= Decimal("0.5")


def table(facts: SpendFacts, currency: str) -> dict[str, Any]:
    """Groups by amount with their share and change; the shown amounts add up to the shown total."""
    rows = [row for row in facts.groups.rows if row.currency == currency]
    whole = facts.groups.totals[currency]
    rest = whole - total(row.cost for row in rows)
    left = facts.groups.left_out
    known = [row.cost if row.cost is not None else ZERO for row in rows]
    seen, shown_total = rounded_parts([*known, rest] if left else known)
    before = _before(facts, currency)
    made = [
        {
            "cells": _cells(facts, row.values),
            "cost": fmt.number(amount, 2) if row.cost is not None else fmt.UNKNOWN,
            "share": _share(row.cost, whole),
            "quantity": fmt.number(row.quantity, 2) if row.quantity else "",
            "unit": row.unit or "",
            "missing": row.lines_without_cost,
            "change": _delta(before, row.values),
            "lines": _lines_address(facts.filters, row.values),
        }
        for row, amount in zip(rows, seen, strict=False)
    ]  # fmt: skip
    return {
        "rows": made,
        "others": {"n": left, "cost": fmt.number(seen[-1], 2)} if left else None,
        "total": fmt.UNKNOWN if currency in facts.groups.unknown else fmt.number(shown_total, 2),
        "count": len(rows) + left,
        "with_change": before is not None,
        "with_missing": any(row.lines_without_cost for row in rows),
        "change_total": fmt.number(rounded(_whole_change(facts, currency)), 2, sign=True)
        if before is not None
        else "",
    }


def _share(cost: Decimal | None, whole: Decimal) -> str:
    return fmt.percent(cost / whole * 100, lang()) if cost is not None and whole > 0 else fmt.UNKNOWN


def _before(facts: SpendFacts, currency: str) -> Mapping[Values, Change] | None:
    if facts.change is None or currency not in facts.change.changes:
        return None
    if facts.change.changes[currency][0].before is None:
        return None
    return {part.key: part.change for part in facts.change.changes[currency][1]}


def _whole_change(facts: SpendFacts, currency: str) -> Decimal:
    assert facts.change is not None  # noqa: S101 - the caller looked
    return facts.change.changes[currency][0].delta


def _delta(before: Mapping[Values, Change] | None, values: Values) -> str:
    if before is None or values not in before:
        return ""
    change = before[values]
    text = fmt.number(change.delta, 2, sign=True)
    return f"{text} ({_('new')})" if change.label == "new" else text


def _cells(facts: SpendFacts, values: Values) -> list[Cell]:
    filters = facts.filters
    found = []
    for place, (name, value) in enumerate(zip(filters.by, values, strict=True)):
        others = tuple(one for i, one in enumerate(filters.by) if i != place)
        deeper = others or (NEXT.get(name, "resource"),)
        address = filters.with_where((name, condition_value(name, value)), by=deeper)
        if name == "resource":
            address = ""
        found.append(Cell(value_word(name, value, facts.names), address))
    return found


def _lines_address(filters: Filters, values: Values) -> str:
    pairs = [(name, condition_value(name, value)) for name, value in zip(filters.by, values, strict=True)]
    return filters.with_where(*pairs)
