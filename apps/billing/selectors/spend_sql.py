"""The SQL of a question about spend. Names come from lists of ours, values are parameters.

A line counts on the day of its charge period; one dated outside its billing period counts on that period's
nearest day, so that days and weeks add up to the month that the provider bills.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from apps.billing.selectors.allocation import Allocation, Cell, rule_sql
from apps.billing.selectors.spend_question import ABSENT, COLUMNS, SELLER, TEAM, SpendQuestion
from apps.billing.selectors.spend_source import MANY, Needs, Source
from finops.engine.spend import Window, month_start, months_of, next_month
from finops.engine.tag_keys import exact_keys
from finops.frames.focus import BASES, DECIMAL_PRECISION, DECIMAL_SCALE
from finops.lake.bill_sums import MIXED, UNIT, UNIT_PREFIX, column_of

MONTH = "CAST(x_month || '-01' AS DATE)"
CLAMPED_DAY = f"greatest(least(coalesce(x_day, {MONTH}), last_day({MONTH})), {MONTH})"
# Where no delivery holds a line outside its month: the same days at a fifth of the time.
PLAIN_DAY = "x_day"
# Names of companies that sell through the provider stand in the billing entity: "AWS Marketplace".
_EXACT = f"DECIMAL({DECIMAL_PRECISION},{DECIMAL_SCALE})"
SELLER_SQL = "CASE WHEN x_billing_entity ILIKE '%marketplace%' THEN 'marketplace' ELSE 'cloud' END"


@dataclass
class Parameters:
    """Values of a statement by name, each used as often as wanted."""

    values: dict[str, Any] = field(default_factory=dict)

    def add(self, value: Any) -> str:
        """The placeholder of a value."""
        name = f"p{len(self.values)}"
        self.values[name] = value
        return f"${name}"

    def cell(self, kind: str, key: str) -> str:
        """The value of a tag key or cost category where they are maps: in the lake's own tables."""
        return f"{'tags' if kind == 'tag' else 'x_cost_categories'}[{self.add(key)}]"


@dataclass(frozen=True)
class TagReading:
    """How tags are read: `absent` has, by stored keys, the deliveries that could report none of them;
    `merged` the stored keys that a folded key stands for.
    """

    absent: Mapping[tuple[str, ...], Collection[int]]
    merged: Mapping[str, Sequence[str]]

    def keys(self, name: str) -> tuple[str, ...]:
        """Stored keys of a dimension `tag:…` or `tagfold:…`, first match first."""
        kind, _, key = name.partition(":")
        return exact_keys(key) if kind == "tag" else tuple(self.merged.get(key, ()))


@dataclass(frozen=True)
class Plan:
    """What one statement reads: `by_month` groups by month beside what the answer shows."""

    question: SpendQuestion
    allocation: Allocation
    tags: TagReading
    with_rules: bool
    by_month: bool
    day: str = CLAMPED_DAY

    @property
    def names(self) -> list[str]:
        """Dimensions that are grouped or selected by."""
        return [*self.question.by, *(name for name, _ in self.question.where)]

    @property
    def by_day(self) -> bool:
        """Whether months cannot tell: days are asked for one by one, or a rule begins or ends in a month."""
        months = months_of(self.question.window)
        whole = Window(months[0], next_month(months[-1]))
        return self.question.granularity in ("day", "week") or (
            self.with_rules and self.allocation.splits_months(whole)
        )

    def needs(self) -> Needs:
        """What the statement touches."""
        tags: set[str] = set()
        categories: set[str] = set()
        for name in self.names:
            kind, _, key = name.partition(":")
            if kind in ("tag", "tagfold"):
                tags |= set(self.tags.keys(name))
            elif kind == "cost_category":
                categories.add(key)
        columns = {COLUMNS[name] for name in self.names if name in COLUMNS}
        if SELLER in self.names:
            columns.add("x_billing_entity")
        if self.with_rules:
            columns |= self.allocation.columns - {"tags", "x_cost_categories"}
            tags |= self.allocation.tags
            categories |= self.allocation.categories
        return Needs(
            self.question.window,
            frozenset(columns),
            frozenset(tags),
            frozenset(categories),
            day=self.by_day,
            day_sql=self.day,
            delivery=any(name.startswith(("tag:", "tagfold:")) for name in self.names),
            cost=BASES[self.question.basis],
        )


def dimension_sql(name: str, tags: TagReading, cell: Cell) -> str:
    """The expression of a dimension; NULL is a tag that could not be reported, or a column without value."""
    if name in COLUMNS:
        return COLUMNS[name]
    if name == SELLER:
        return SELLER_SQL
    kind, _, key = name.partition(":")
    if kind == "cost_category":
        return cell("category", key)
    keys = tags.keys(name)
    if not keys:
        return "CAST(NULL AS VARCHAR)"
    value = f"coalesce({', '.join(cell('tag', one) for one in keys)})"
    absent = sorted(tags.absent.get(keys, ()))
    if not absent:
        return f"coalesce({value}, '')"
    unreported = f"{value} IS NULL AND x_delivery IN ({_listed(absent)})"
    return f"CASE WHEN {unreported} THEN NULL ELSE coalesce({value}, '') END"


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(str(int(number)) for number in numbers)


def condition_sql(name: str, values: Sequence[str], tags: TagReading, given: Parameters, cell: Cell) -> str:
    """Rows whose dimension has one of the values; "" is blank or no value."""
    expression = dimension_sql(name, tags, cell)
    tagged = name.startswith(("tag:", "tagfold:"))
    parts = []
    for value in values:
        if tagged and value == ABSENT:
            parts.append(f"({expression}) IS NULL")
        elif value == "" and not tagged:
            parts.append(f"coalesce({expression}, '') = ''")
        else:
            parts.append(f"({expression}) = {given.add(value)}")
    return f"({' OR '.join(parts)})"


def window_sql(window: Window, given: Parameters, day: str) -> str:
    """Rows of the window's days; whole months need no look at the day. `day`: its expression."""
    months = [f"{month:%Y-%m}" for month in months_of(window)]
    condition = f"x_month IN ({', '.join(given.add(month) for month in months)})"
    if _whole(window.start) and _whole(window.end):
        return condition
    return f"{condition} AND {day} >= {given.add(window.start)} AND {day} < {given.add(window.end)}"


def _whole(day: date) -> bool:
    return day == month_start(day)


def grouped_sql(plan: Plan, source: Source, given: Parameters) -> str:
    """One row a group: d0, d1, …, p (first day of the period), c, m, r, cost, quantity, unit, n, missing.

    `missing` counts lines that have no value on this basis; `unit` is NULL where units differ.
    """
    question = plan.question
    day = plan.day if plan.by_day else MONTH
    select = [f"{dimension_sql(name, plan.tags, column_of)} AS d{i}" for i, name in _shown(question)]
    if question.granularity:
        select.append(f"{_period(question.granularity, day)} AS p")
    # A value that every row has is no key to group by: keys cost more than sums. Without any key there would
    # be a row where there is no line.
    keyed = question.granularity or plan.by_month or any(name in COLUMNS for _, name in _shown(question))
    one_currency = source.currency if keyed and isinstance(source.currency, str) else None
    if one_currency is None:
        select.append("billing_currency AS c")
    if plan.by_month:
        select.append("x_month AS m")
    if plan.with_rules:
        select.append(f"{rule_sql(plan.allocation, day, given, column_of)} AS r")
    if source.unit is MANY:
        select.append(f"{UNIT} AS u")
    select += [
        "sum(cost) AS cost",
        "sum(quantity) AS quantity",
        "sum(n) AS n",
    ]
    if not source.complete_costs:
        select.append("sum(missing) AS missing")
    if source.signed:
        select.append("sum(no_quantity) AS no_quantity")
    where = [
        condition_sql(name, values, plan.tags, given, column_of)
        for name, values in question.conditions().items()
        if name != TEAM
    ]
    condition = f" WHERE {' AND '.join(where)}" if where else ""
    # What is taken off again may be all that there was.
    having = " HAVING sum(n) > 0" if source.signed else ""
    inner = f"SELECT {', '.join(select)} FROM {source.sql}{condition} GROUP BY ALL{having}"
    keys = [_outer_key(name, question, one_currency, given) for name in group_names(plan)]
    if source.unit is MANY:
        unit = f"CASE WHEN min(u) = max(u) AND min(u) <> '{MIXED}' THEN substr(min(u), 2) END"
        cost, quantity, n, missing = (f"sum({name})" for name in ("cost", "quantity", "n", "missing"))
    else:
        known = source.unit is not None and source.unit != MIXED
        unit = given.add(source.unit[len(UNIT_PREFIX) :]) if known else "CAST(NULL AS VARCHAR)"
        cost, quantity, n, missing = "cost", "quantity", "n", "missing"
    if source.signed:
        # Nothing less nothing is 0: where no line is left that has a value there is none.
        none = "sum(no_quantity)" if source.unit is MANY else "no_quantity"
        quantity = f"CASE WHEN {n} > {none} THEN {quantity} END"
        cost = cost if source.complete_costs else f"CASE WHEN {n} > {missing} THEN {cost} END"
    keys += [
        f"CAST({cost} AS {_EXACT}) AS cost",
        f"CAST({quantity} AS {_EXACT}) AS quantity",
        f"{unit} AS unit",
        f"CAST({n} AS BIGINT) AS n",
        f"CAST({'0' if source.complete_costs else missing} AS BIGINT) AS missing",
    ]
    grouped = " GROUP BY ALL" if source.unit is MANY else ""
    return f"SELECT {', '.join(keys)} FROM ({inner}){grouped}"


def _outer_key(name: str, question: SpendQuestion, currency: str | None, given: Parameters) -> str:
    """A group column of the outer statement: months, grouped by their texts, are made days once a group."""
    if name == "m" or (name == "p" and question.granularity == "month"):
        return f"CAST({name} || '-01' AS DATE) AS {name}"
    if name == "c" and currency is not None:
        return f"CAST({given.add(currency)} AS VARCHAR) AS c"
    return name


def ordered_sql(plan: Plan, table: str, columns: Sequence[str]) -> str:
    """Groups in the order of an answer: by period, currency, then the largest amount; ties by the values."""
    names = group_names(plan)
    order = [f"one.{name}" for name in ("p", "c") if name in names]
    order += ["one.cost DESC NULLS LAST"]
    # A value that is none is sorted as Python writes it.
    order += [f"coalesce(one.{name}, 'None')" for name in names if name.startswith("d")]
    return f"SELECT {', '.join(columns)} FROM {table} AS one ORDER BY {', '.join(order)}"


def _period(granularity: str, day: str) -> str:
    """The first day of a row's period; of a month its text."""
    if granularity == "month":
        return "x_month"
    return day if granularity == "day" else f"CAST(date_trunc('week', {day}) AS DATE)"


def _shown(question: SpendQuestion) -> list[tuple[int, str]]:
    return [(i, name) for i, name in enumerate(question.by) if name != TEAM]


def group_names(plan: Plan) -> list[str]:
    """Names of the group columns that `grouped_sql` makes, in their order."""
    names = [f"d{i}" for i, _ in _shown(plan.question)]
    if plan.question.granularity:
        names.append("p")
    names.append("c")
    if plan.by_month:
        names.append("m")
    if plan.with_rules:
        names.append("r")
    return names
