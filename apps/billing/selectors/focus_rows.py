"""Bill lines as FOCUS rows: which lines, what they can give, and the SQL of each column as it is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time
from decimal import Decimal
from typing import Any

import duckdb

from apps.billing.models import Delivery
from finops.engine.spend import Window, months_of
from finops.frames.focus import BASES, FOCUS_COLUMNS, LINE_COLUMNS, Column, Kind, focus_name
from finops.frames.focus_rules import columns as column_rules
from finops.frames.focus_rules import columns_of
from finops.lake import BILL_LINES
from finops.lake.filters import all_of, at_or_after, before, one_of
from finops.text.sql import name

# Ours to find a line again; nothing of the bill.
_INTERNAL = {"x_report", "x_month", "x_delivery", "x_file", "x_row", "x_day", "x_rounded", "x_undated"}
CUSTOM_COLUMNS: tuple[Column, ...] = tuple(c for c in LINE_COLUMNS if not c.focus and c.name not in _INTERNAL)
# By which of a line's two periods it is chosen.
CHARGE, BILLING = "charge", "billing"
PERIODS = (CHARGE, BILLING)
CSV, PARQUET = "csv", "parquet"
FORMATS = (CSV, PARQUET)
FOCUS_KIND = "focus"


def row_filter(window: Window, reports: Sequence[str], period: str) -> Any:
    """Which lines: charges that begin in the days, or the bills of the months that begin in them."""
    whose = one_of("x_report", reports)
    if period == BILLING:
        months = [m for m in months_of(window) if window.start <= m < window.end]
        return all_of(whose, one_of("x_month", [f"{month:%Y-%m}" for month in months]))
    start, end = (datetime.combine(day, time(), UTC) for day in (window.start, window.end))
    return all_of(whose, at_or_after("charge_period_start", start), before("charge_period_start", end))


@dataclass(frozen=True)
class Presence:
    """What the chosen lines hold: rows of each delivery, filled cells by delivery and column, sums."""

    rows: Mapping[int, int]
    filled: Mapping[int, Mapping[str, int]]
    totals: Mapping[str, Mapping[str, Decimal | None]]
    delivered: Mapping[int, frozenset[str]] = field(default_factory=dict)

    def empty_in(self, column: Column) -> list[int]:
        """Deliveries that cannot give the column: no cell is filled and no FOCUS header has it."""
        return [
            delivery
            for delivery in self.rows
            if not self.filled[delivery][column.name]
            and column.focus not in self.delivered.get(delivery, frozenset())
        ]


def presence_of(con: duckdb.DuckDBPyConnection, deliveries: Mapping[int, Delivery]) -> Presence:
    """One pass over the chosen lines (the view `billing.lines` of `con`)."""
    columns = (*FOCUS_COLUMNS, *CUSTOM_COLUMNS)
    counted = ", ".join(
        f"count(nullif({name(c.name)}, ''))" if c.kind is Kind.TEXT else f"count({name(c.name)})"
        for c in columns
    )
    found = con.execute(
        f"SELECT x_delivery, count(*), {counted} FROM {BILL_LINES} GROUP BY ALL ORDER BY ALL"  # noqa: S608
    ).fetchall()
    sums = ", ".join(f"sum({column})" for column in BASES.values())
    totals = con.execute(
        f"SELECT billing_currency, {sums} FROM {BILL_LINES} GROUP BY ALL ORDER BY ALL"  # noqa: S608
    ).fetchall()
    return Presence(
        rows={row[0]: row[1] for row in found},
        filled={row[0]: dict(zip((c.name for c in columns), row[2:], strict=True)) for row in found},
        totals={row[0]: dict(zip(BASES, row[1:], strict=True)) for row in totals},
        delivered={
            number: frozenset(delivery.columns)
            for number, delivery in deliveries.items()
            if delivery.kind == FOCUS_KIND
        },
    )


@dataclass(frozen=True)
class Chosen:
    """The columns of an export, and what its sources cannot give: at all, or in some deliveries only."""

    columns: tuple[Column, ...]
    not_available: tuple[str, ...]
    partly: Mapping[str, tuple[int, ...]]


def choose(presence: Presence, version: str) -> Chosen:
    """FOCUS columns first, then ours. A column that no source gives is left out, unless it is mandatory."""
    asked, rules = set(columns_of(version)), column_rules()
    kept: list[Column] = []
    missing: list[str] = []
    partly: dict[str, tuple[int, ...]] = {}
    for column in FOCUS_COLUMNS:
        if column.focus not in asked:
            continue
        empty = presence.empty_in(column)
        if len(empty) == len(presence.rows):
            missing.append(column.focus)
            if rules[column.focus].level != "mandatory":
                continue
        elif empty:
            partly[column.focus] = tuple(empty)
        kept.append(column)
    ours = [c for c in CUSTOM_COLUMNS if any(filled[c.name] for filled in presence.filled.values())]
    return Chosen((*kept, *ours), tuple(missing), partly)


def typed_sql(columns: Sequence[Column]) -> str:
    """The lines under their FOCUS names with the types of the lake; a blank text is no value, so null."""
    listed = ", ".join(
        f"nullif({name(c.name)}, '') AS {name(focus_name(c))}"
        if c.kind is Kind.TEXT
        else f"{name(c.name)} AS {name(focus_name(c))}"
        for c in columns
    )
    return f"SELECT {listed} FROM {BILL_LINES}"  # noqa: S608 - names of our own table


def written_sql(columns: Sequence[Column], relation: str, form: str) -> str:
    """The rows of `relation` (FOCUS names) as the file holds them.

    CSV: decimals as plain digits without needless zeros, times as FOCUS writes them, maps as JSON. Parquet
    keeps decimals and times as what they are.
    """
    write = _csv_cell if form == CSV else _parquet_cell
    listed = ", ".join(f"{write(c, name(focus_name(c)))} AS {name(focus_name(c))}" for c in columns)
    return f"SELECT {listed} FROM {relation}"  # noqa: S608 - names of our own table


def _csv_cell(column: Column, cell: str) -> str:
    if column.kind in {Kind.MONEY, Kind.NUMBER}:
        return f"rtrim(rtrim(CAST({cell} AS VARCHAR), '0'), '.')"
    if column.kind is Kind.INSTANT:
        return f"strftime({cell} AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%SZ')"
    return _parquet_cell(column, cell)


def _parquet_cell(column: Column, cell: str) -> str:
    return f"CAST(to_json({cell}) AS VARCHAR)" if column.kind is Kind.MAP else cell
