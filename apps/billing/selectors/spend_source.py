"""Where a question's rows come from: per month the smallest sums that can tell, else the lake's own tables.

Whatever is read, a row has the same columns: the dimensions asked for, a column a tag key or cost category
(`finops.lake.bill_sums.column_of`), `x_month`, `billing_currency`, `cost`, `quantity`, `unit_code`, `n` lines
and `missing` of them without a cost. Finer rows are only more rows, so sources mix freely.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from finops.engine.spend import Window, months_of, next_month
from finops.lake import BILL_DAILY, BILL_LINES, Lake
from finops.lake.bill_sums import (
    DAY,
    LEVELS,
    MIXED,
    PLAIN_DIMENSIONS,
    QUANTITY,
    RESOURCE,
    UNIT,
    UNIT_PREFIX,
    USAGE_TYPE,
    LevelFacts,
    PartitionSums,
    by_partition,
    column_of,
    sums_of,
)
from finops.lake.sql import quote

_WIDE = "DECIMAL(38,18)"
# Rows that are read twice are not read for nothing: much less than reading once.
WORTH_TAKING_OFF = 0.5
MANY = object()


@dataclass(frozen=True)
class Needs:
    """What a statement touches: columns of lines, keys, the day of a row, its delivery, and the cost.

    Rows are those whose day (`day_sql`) lies in the window; `day`: the statement itself looks at days.
    """

    window: Window
    columns: frozenset[str]
    tags: frozenset[str]
    categories: frozenset[str]
    day: bool
    day_sql: str
    delivery: bool
    cost: str

    @property
    def fine(self) -> set[str]:
        """What only some levels keep."""
        return {*(self.columns & {USAGE_TYPE, RESOURCE}), *([DAY] if self.day else [])}


@dataclass(frozen=True)
class Source:
    """`sql` stands after FROM; `files` are all that a reader of these snapshots may open. `currency` and
    `unit` are the one value that all rows have, else MANY. `complete_costs`: no line is without a cost.
    `rows`: how many there are, None where that is not known. `signed`: some are taken off again.
    """

    sql: str
    files: tuple[str, ...]
    currency: Any
    unit: Any
    complete_costs: bool
    rows: int | None
    signed: bool


@dataclass(frozen=True)
class _Branch:
    """Files that are read alike."""

    table: str
    types: tuple[str, str]
    tags: frozenset[str]
    categories: frozenset[str]
    missing: bool
    where: str
    sign: str


@dataclass(frozen=True)
class _Taken:
    """A file of sums, which of its rows, and whether they are added or taken off."""

    level: LevelFacts
    where: str = ""
    sign: str = ""


def source_of(
    lake: Lake,
    snapshots: Mapping[str, int],
    reports: Sequence[str],
    needs: Needs,
    *,
    use_sums: bool = True,
) -> Source:
    """The rows of the reports in the window. `use_sums` False: of the lake's tables only."""
    tables = _tables(lake, snapshots)
    seen, months = set(reports), {f"{month:%Y-%m}": month for month in months_of(needs.window)}
    files: list[str] = []
    branches: dict[_Branch, list[str]] = {}
    levels: list[LevelFacts | None] = []
    for partition, daily in sorted(tables.get(BILL_DAILY, {}).items()):
        if partition[0] not in seen:
            continue
        lines = tables.get(BILL_LINES, {}).get(partition, [])
        sums = sums_of(lake.warehouse, lines) if use_sums and lines else None
        files += [*daily, *lines, *(one.path for one in sums.levels.values())] if sums else [*daily, *lines]
        if partition[1] not in months:
            continue
        taken = _taken(sums, needs, months[partition[1]])
        levels += [one.level for one in taken] or [None]
        for one in taken:
            assert sums is not None  # noqa: S101 - what is taken is a file of them
            branch = _Branch(
                "", (one.level.types[needs.cost], one.level.types[QUANTITY]), needs.tags & sums.tags,
                needs.categories & sums.categories, needs.cost in one.level.missing, one.where, one.sign,
            )  # fmt: skip
            branches.setdefault(branch, []).append(one.level.path)
        if not taken:
            in_lines = bool(needs.columns - set(PLAIN_DIMENSIONS))
            where = _within(needs, months[partition[1]])
            table = BILL_LINES if in_lines else BILL_DAILY
            branch = _Branch(table, (_WIDE, _WIDE), needs.tags, needs.categories, True, where, "")
            branches.setdefault(branch, []).extend(lines if in_lines else daily)
    return _joined(branches, levels, needs, files)


def _tables(lake: Lake, snapshots: Mapping[str, int]) -> dict[str, dict[tuple[str, str], list[str]]]:
    return {
        table: by_partition(lake.files(table, snapshots[table]))
        for table in (BILL_DAILY, BILL_LINES)
        if table in snapshots
    }


def partitions_of(
    lake: Lake, snapshots: Mapping[str, int], reports: Sequence[str]
) -> Iterator[tuple[str, list[str], PartitionSums | None]]:
    """(month, files of the roll-up, sums) of all that the reports have."""
    tables = _tables(lake, snapshots)
    for (report, month), daily in sorted(tables.get(BILL_DAILY, {}).items()):
        if report in reports:
            lines = tables.get(BILL_LINES, {}).get((report, month), [])
            yield month, daily, sums_of(lake.warehouse, lines) if lines else None


def _taken(sums: PartitionSums | None, needs: Needs, month: date) -> list[_Taken]:
    """The smallest file that can tell, [] where none can. Of most of a month: the whole month, and what lies
    outside of the window taken off again, where that is less to read than what lies within.
    """
    if sums is None or needs.tags & sums.dropped_tags or needs.categories & sums.dropped_categories:
        return []
    where = _within(needs, month)
    whole = _smallest(sums, needs.fine)
    if not where:
        return [_Taken(whole)] if whole is not None else []
    within = _smallest(sums, {*needs.fine, DAY})
    if within is None:
        return []
    if whole is not None and not needs.day:
        days = (next_month(month) - month).days
        inside = (min(needs.window.end, next_month(month)) - max(needs.window.start, month)).days
        outside = within.rows * (days - inside) // days
        if whole.rows + outside < WORTH_TAKING_OFF * within.rows:
            return [_Taken(whole), _Taken(within, f"({where}) IS NOT TRUE", "-")]
    return [_Taken(within, where)]


def _smallest(sums: PartitionSums, fine: set[str]) -> LevelFacts | None:
    able = [facts for name, facts in sums.levels.items() if fine <= set(LEVELS[name])]
    return min(able, key=lambda facts: facts.rows, default=None)


def _within(needs: Needs, month: date) -> str:
    """The condition of the month's rows in the window, "" where all of them are."""
    window, parts = needs.window, []
    if window.start > month:
        parts.append(f"{needs.day_sql} >= DATE '{window.start.isoformat()}'")
    if window.end < next_month(month):
        parts.append(f"{needs.day_sql} < DATE '{window.end.isoformat()}'")
    return " AND ".join(parts)


def _joined(
    branches: Mapping[_Branch, Sequence[str]],
    levels: Sequence[LevelFacts | None],
    needs: Needs,
    files: Sequence[str],
) -> Source:
    wide = len({branch.types for branch in branches}) > 1
    parts = [_select(branch, paths, needs, wide) for branch, paths in branches.items() if paths]
    whole = [level for level in levels if level is not None]
    every = len(whole) == len(levels)
    return Source(
        sql=f"({' UNION ALL '.join(parts) or _nothing(needs)})",
        files=tuple(files),
        currency=_one(level.currencies for level in whole) if every else MANY,
        unit=_one(level.units for level in whole) if every else MANY,
        complete_costs=not any(branch.missing for branch in branches),
        rows=sum(level.rows for level in whole) if every else None,
        signed=any(branch.sign for branch in branches),
    )


def _one(values: Any) -> Any:
    """The one value of all these lists, else MANY."""
    found: set[str | None] = set()
    for one in values:
        if one is None:
            return MANY
        found |= set(one)
    return found.pop() if len(found) == 1 else MANY


def _shown(needs: Needs) -> list[str]:
    columns = {"x_month", "billing_currency", *needs.columns, *([DAY] if needs.day else [])}
    return sorted(columns | ({"x_delivery"} if needs.delivery else set()))


def _select(branch: _Branch, paths: Sequence[str], needs: Needs, wide: bool) -> str:
    """The rows of some files."""
    listed = ", ".join(quote(path) for path in paths)
    made = _shown(needs)
    for kind, keys, there in (
        ("tag", needs.tags, branch.tags),
        ("category", needs.categories, branch.categories),
    ):
        for key in sorted(keys):
            column = column_of(kind, key)
            if key not in there:
                made.append(f"CAST(NULL AS VARCHAR) AS {column}")
            elif branch.table:
                made.append(f"{'tags' if kind == 'tag' else 'x_cost_categories'}[{quote(key)}] AS {column}")
            else:
                made.append(column)
    if branch.table:
        n = "x_rows" if branch.table == BILL_DAILY else "CAST(1 AS BIGINT)"
        unit = (
            f"CASE WHEN x_unit IS NOT NULL THEN {quote(UNIT_PREFIX)} || x_unit "
            f"WHEN {QUANTITY} <> 0 THEN {quote(MIXED)} END"
        )
        missing, without = (
            f"CASE WHEN {column} IS NULL THEN {n} ELSE 0 END" for column in (needs.cost, QUANTITY)
        )
    else:
        n, unit, without = "n", UNIT, f"no_{QUANTITY}"
        missing = f"no_{needs.cost}" if branch.missing else "CAST(0 AS BIGINT)"
    cast = (lambda column: f"CAST({column} AS {_WIDE})") if wide else (lambda column: column)
    sign = branch.sign
    made += [
        f"{sign}{cast(needs.cost)} AS cost", f"{sign}{cast(QUANTITY)} AS quantity", f"{unit} AS {UNIT}",
        f"{sign}{n} AS n", f"{sign}({missing}) AS missing", f"{sign}({without}) AS no_quantity",
    ]  # fmt: skip
    by_name = "union_by_name = true, " if branch.table else ""
    files = f"read_parquet([{listed}], {by_name}hive_partitioning = false)"
    return f"SELECT {', '.join(made)} FROM {files}{f' WHERE {branch.where}' if branch.where else ''}"


def _nothing(needs: Needs) -> str:
    kinds = {DAY: "DATE", "x_delivery": "BIGINT"}
    made = [f"CAST(NULL AS {kinds.get(column, 'VARCHAR')}) AS {column}" for column in _shown(needs)]
    made += [f"CAST(NULL AS VARCHAR) AS {column_of('tag', key)}" for key in sorted(needs.tags)]
    made += [f"CAST(NULL AS VARCHAR) AS {column_of('category', key)}" for key in sorted(needs.categories)]
    made += [f"CAST(NULL AS {_WIDE}) AS cost", f"CAST(NULL AS {_WIDE}) AS quantity"]
    made += [f"CAST(NULL AS VARCHAR) AS {UNIT}"]
    made += [f"CAST(0 AS BIGINT) AS {name}" for name in ("n", "missing", "no_quantity")]
    return f"SELECT {', '.join(made)} WHERE false"
