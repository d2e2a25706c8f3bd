"""The SQL of a question about spend. Names come from lists of ours, values are parameters.

A line counts on the day of its charge period; one dated outside its billing period counts on that period's
nearest day, so that days and weeks add up to the month that the provider bills.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from apps.billing.selectors.allocation import Allocation, rule_sql
from apps.billing.selectors.spend_question import ABSENT, COLUMNS, SELLER, TEAM, SpendQuestion
from finops.engine.spend import Window, month_start, months_of
from finops.engine.tag_keys import exact_keys
from finops.frames.focus import BASES
from finops.lake import BILL_DAILY, BILL_LINES
from finops.lake.bill_tables import DAILY_DIMENSIONS

MONTH = "CAST(x_month || '-01' AS DATE)"
CLAMPED_DAY = f"greatest(least(coalesce(x_day, {MONTH}), last_day({MONTH})), {MONTH})"
# Where no delivery holds a line outside its month: the same days at a fifth of the time.
PLAIN_DAY = "x_day"
# Names of companies that sell through the provider stand in the billing entity: "AWS Marketplace".
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
    """What one statement reads: `hidden` are group columns that the answer works with and does not show."""

    question: SpendQuestion
    allocation: Allocation
    tags: TagReading
    with_rules: bool
    by_month: bool
    day: str = CLAMPED_DAY

    @property
    def table(self) -> str:
        """The daily sums where they can tell, else the lines."""
        names = [*self.question.by, *(name for name, _ in self.question.where)]
        columns = [COLUMNS[name] for name in names if name in COLUMNS]
        lines = any(column not in DAILY_DIMENSIONS for column in columns)
        if self.with_rules and self.allocation.reads_lines:
            lines = True
        return BILL_LINES if lines else BILL_DAILY

    def columns(self) -> list[str]:
        """Columns of the table that the statement touches: a view of fewer is a faster one."""
        names = [*self.question.by, *(name for name, _ in self.question.where)]
        found = {"x_report", "x_month", "x_day", "billing_currency", "x_quantity", "x_unit"}
        found.add(BASES[self.question.basis])
        found |= {COLUMNS[name] for name in names if name in COLUMNS}
        if any(name.startswith(("tag:", "tagfold:")) for name in names):
            found |= {"tags", "x_delivery"}
        if any(name.startswith("cost_category:") for name in names):
            found.add("x_cost_categories")
        if SELLER in names:
            found.add("x_billing_entity")
        if self.with_rules:
            found |= self.allocation.columns
        if self.table == BILL_DAILY:
            found.add("x_rows")
        return sorted(found)


def dimension_sql(name: str, tags: TagReading, given: Parameters) -> str:
    """The expression of a dimension; NULL is a tag that could not be reported, or a column without value."""
    if name in COLUMNS:
        return COLUMNS[name]
    if name == SELLER:
        return SELLER_SQL
    kind, _, key = name.partition(":")
    if kind == "cost_category":
        return f"x_cost_categories[{given.add(key)}]"
    keys = tags.keys(name)
    if not keys:
        return "CAST(NULL AS VARCHAR)"
    value = f"coalesce({', '.join(f'tags[{given.add(one)}]' for one in keys)})"
    absent = sorted(tags.absent.get(keys, ()))
    if not absent:
        return f"coalesce({value}, '')"
    unreported = f"{value} IS NULL AND x_delivery IN ({_listed(absent)})"
    return f"CASE WHEN {unreported} THEN NULL ELSE coalesce({value}, '') END"


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(str(int(number)) for number in numbers)


def condition_sql(name: str, values: Sequence[str], tags: TagReading, given: Parameters) -> str:
    """Rows whose dimension has one of the values; "" is blank or no value."""
    expression = dimension_sql(name, tags, given)
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


def grouped_sql(plan: Plan, given: Parameters) -> str:
    """One row a group: d0, d1, …, p (first day of the period), c, m, r, cost, quantity, unit, n, missing.

    `missing` counts lines that have no value on this basis; `unit` is NULL where units differ.
    """
    question = plan.question
    select = [f"{dimension_sql(name, plan.tags, given)} AS d{i}" for i, name in _shown(question)]
    if question.granularity:
        select.append(f"{_period(question.granularity, plan.day)} AS p")
    select.append("billing_currency AS c")
    if plan.by_month:
        select.append("x_month AS m")
    if plan.with_rules:
        select.append(f"{rule_sql(plan.allocation, plan.day, given)} AS r")
    rows = "x_rows" if plan.table == BILL_DAILY else "1"
    cost = BASES[question.basis]
    select += [
        f"sum({cost}) AS cost",
        "sum(x_quantity) AS quantity",
        "CASE WHEN min(x_unit) = max(x_unit) AND count(*) FILTER (x_unit IS NULL AND x_quantity <> 0) = 0 "
        "THEN min(x_unit) END AS unit",
        f"CAST(sum({rows}) AS BIGINT) AS n",
        f"CAST(coalesce(sum({rows}) FILTER ({cost} IS NULL), 0) AS BIGINT) AS missing",
    ]
    where = [window_sql(question.window, given, plan.day)]
    where += [
        condition_sql(name, values, plan.tags, given)
        for name, values in question.conditions().items()
        if name != TEAM
    ]
    sql = f"SELECT {', '.join(select)} FROM {plan.table} WHERE {' AND '.join(where)} GROUP BY ALL"
    texts = ["p"] if question.granularity == "month" else []
    texts += ["m"] if plan.by_month else []
    if not texts:
        return sql
    # Grouped by the text of the month as it is stored, and made a day once a group.
    days = ", ".join(f"CAST({name} || '-01' AS DATE) AS {name}" for name in texts)
    return f"SELECT * REPLACE ({days}) FROM ({sql})"


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
