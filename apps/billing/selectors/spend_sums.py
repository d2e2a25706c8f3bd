"""Sums of a question's groups: adding up, limiting, ordering, and their JSON form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from itertools import repeat
from typing import Any, NamedTuple

from apps.billing.selectors.spend_question import SpendQuestion
from finops.engine.exchange import Rate
from finops.engine.spend import EXACT, ZERO, next_month, week_of
from finops.text.numbers import decimal_text


class SpendRow(NamedTuple):
    """One group and period. `values` in the order of `by`: None is "no value", for a tag "not reported";
    `cost` None: no line of the group has a value on this basis. `start` and `end` (excluded) of the period.
    `lines_without_cost`: lines that have none."""

    values: tuple[str | None, ...]
    start: date
    end: date
    currency: str
    cost: Decimal | None
    quantity: Decimal | None
    unit: str | None
    lines: int
    lines_without_cost: int


# Values in the order of `by`, first day of the period, currency.
Group = tuple[tuple[str | None, ...], date | None, str]


@dataclass
class GroupSum:
    """What adds up in a group; `mixed`: its quantities have several units and no sum."""

    cost: Decimal | None = None
    quantity: Decimal | None = None
    unit: str | None = None
    mixed: bool = False
    lines: int = 0
    missing: int = 0

    def add(
        self, cost: Decimal | None, quantity: Decimal | None, unit: str | None, lines: int, missing: int
    ) -> None:
        """Count a row in."""
        if cost is not None:
            self.cost = EXACT.add(self.cost or ZERO, cost)
        if quantity:
            self.mixed |= unit is None or self.unit not in (None, unit)
            self.unit = unit
        if quantity is not None:
            self.quantity = EXACT.add(self.quantity or ZERO, quantity)
        self.lines += lines
        self.missing += missing


def limited(sums: dict[Group, GroupSum], limit: int) -> tuple[int, dict[Group, GroupSum]]:
    """The groups (all their periods) with the largest sums in each currency, and how many are beyond."""
    if not limit:
        return 0, sums
    costs: dict[tuple[str, tuple[str | None, ...]], Decimal] = {}
    for (values, _period, currency), one in sums.items():
        costs[(currency, values)] = EXACT.add(costs.get((currency, values), ZERO), one.cost or ZERO)
    ranked: dict[str, list[tuple[str | None, ...]]] = {}
    for currency, values in sorted(costs, key=lambda key: (-costs[key], str(key))):
        ranked.setdefault(currency, []).append(values)
    shown = {(currency, values) for currency, all_ in ranked.items() for values in all_[:limit]}
    return len(costs) - len(shown), {
        group: one for group, one in sums.items() if (group[2], group[0]) in shown
    }


def in_order(sums: Mapping[Group, GroupSum]) -> list[tuple[Group, GroupSum]]:
    """By period, currency, then the largest amount; ties by the values."""
    return sorted(
        sums.items(),
        key=lambda item: (
            item[0][1] or date.min,
            item[0][2],
            item[1].cost is None,
            -(item[1].cost or ZERO),
            tuple(str(value) for value in item[0][0]),
        ),
    )


def row_of(question: SpendQuestion, group: Group, one: GroupSum) -> SpendRow:
    """The row of a group."""
    values, period, currency = group
    start, end = period_of(question, period)
    quantity = None if one.mixed else one.quantity
    unit = None if one.mixed else one.unit
    return SpendRow(values, start, end, currency, one.cost, quantity, unit, one.lines, one.missing)


def plain_rows(question: SpendQuestion, columns: Mapping[str, list[Any]]) -> list[SpendRow]:
    """The rows of groups that nothing has to be added to, column by column: a long answer is all rows."""
    count = len(columns["cost"])
    dims = [columns[f"d{i}"] for i in range(len(question.by))]
    values = zip(*dims, strict=True) if dims else repeat((), count)
    if question.granularity:
        periods = {first: period_of(question, first) for first in set(columns["p"])}
        starts = [periods[first][0] for first in columns["p"]]
        ends = [periods[first][1] for first in columns["p"]]
    else:
        starts, ends = [question.start] * count, [question.end] * count
    measured = (columns[name] for name in ("c", "cost", "quantity", "unit", "n", "missing"))
    return list(map(SpendRow._make, zip(values, starts, ends, *measured, strict=True)))


def row_texts(row: SpendRow) -> list[Any]:
    """A row as JSON values, in the order of its fields."""
    values, start, end, currency, cost, quantity, *rest = row
    return [
        list(values), start.isoformat(), end.isoformat(), currency, decimal_text(cost),
        decimal_text(quantity), *rest,
    ]  # fmt: skip


def period_of(question: SpendQuestion, first: date | None) -> tuple[date, date]:
    """First day and end of a row's period, as far as the question goes."""
    if first is None:
        return question.start, question.end
    if question.granularity == "day":
        return first, first + timedelta(days=1)
    end = next_month(first) if question.granularity == "month" else week_of(first).last + timedelta(days=1)
    return max(first, question.start), min(end, question.end)


def texts(given: Mapping[str, Decimal]) -> dict[str, str]:
    """Amounts by currency as texts."""
    return {currency: decimal_text(amount) or "" for currency, amount in given.items()}


def amounts(given: Mapping[str, str]) -> dict[str, Decimal]:
    """Texts by currency as amounts."""
    return {currency: Decimal(text) for currency, text in given.items()}


def rate_values(rate: Rate) -> list[Any]:
    """A rate as JSON values."""
    return [rate.base, rate.quote, rate.on.isoformat(), format(rate.rate, "f"), rate.source, rate.both_ways]


def rate_of(raw: Sequence[Any]) -> Rate:
    """The rate of `rate_values`."""
    base, quote, on, rate, source, both_ways = raw
    return Rate(base, quote, date.fromisoformat(on), Decimal(rate), source, both_ways)
