"""What a delivery sums to: by currency, by line item type, by service and account; and what it should be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import duckdb

from finops.frames.focus import BASES, DECIMAL_SCALE
from finops.frames.money import EXACT
from finops.lake.sql import quote
from finops.text.numbers import decimal_text

_SUMS = ", ".join(f"sum({column})" for column in BASES.values())
# Clouds deliver a day's charges within three days; a file that ends longer before it was made lacks some.
SETTLES_WITHIN = timedelta(days=3)
# What grouping(kind, service) says of rows without both, and of rows without the service.
_BY_CURRENCY, _BY_TYPE = 3, 1


@dataclass
class Totals:
    """Sums of the four bases, None where the delivery tells a base on no row at all.

    `invoiced`: whether all lines name an invoice, None where none does. `reaches_to`: the last day of which
    there are charges.
    """

    by_currency: dict[str, dict[str, Decimal | None]] = field(default_factory=dict)
    by_type: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    parts: list[tuple[Any, ...]] = field(default_factory=list)
    first_day: date | None = None
    last_day: date | None = None
    invoiced: bool | None = None
    reaches_to: date | None = None
    notes: list[dict[str, Any]] = field(default_factory=list)


def totals_of(con: duckdb.DuckDBPyConnection, lake_files: Sequence[str]) -> Totals:
    """Read back from the written lines, so that what is shown is what is stored."""
    lines = f"read_parquet([{', '.join(quote(f) for f in lake_files)}])"
    found = Totals()
    # One scan for the three groupings; the grouping's number tells them apart (a bit a column left out).
    rows = con.execute(
        "SELECT grouping(kind, service), kind, service, account, category, billing_currency, count(*), "
        f"sum(x_quantity), {_SUMS} FROM (SELECT *, coalesce(x_line_item_type, '') AS kind, "
        "coalesce(service_name, '') AS service, coalesce(sub_account_id, '') AS account, "
        f"coalesce(charge_category, '') AS category FROM {lines}) "
        "GROUP BY GROUPING SETS ((billing_currency), (kind, billing_currency), "
        "(service, account, category, billing_currency)) ORDER BY ALL"
    ).fetchall()
    for grouping, kind, service, account, category, currency, count, quantity, *sums in rows:
        by_basis = dict(zip(BASES, sums, strict=True))
        if grouping == _BY_CURRENCY:
            found.by_currency[currency] = by_basis
        elif grouping == _BY_TYPE:
            found.by_type.setdefault(kind, {})[currency] = {
                "rows": count,
                **by_basis,
                "quantity": quantity,
            }
        else:
            found.parts.append((service, account, category, currency, count, *sums))
    _facts(con, lines, found)
    return found


def _facts(con: duckdb.DuckDBPyConnection, lines: str, found: Totals) -> None:
    nulls = ", ".join(f"count(*) - count({column})" for column in BASES.values())
    first, last, rows, invoiced, shared, rounded, undated, *blank = con.execute(
        "SELECT min(x_day), max(x_day), count(*), count(invoice_id), count(x_split_cost), count(x_rounded), "
        f"count(x_undated), {nulls} FROM {lines}"
    ).fetchall()[0]
    found.first_day, found.last_day = first, last
    found.invoiced = rows == invoiced if invoiced else None
    found.reaches_to = _reaches_to(con, lines, last)
    for (basis, column), count in zip(BASES.items(), blank, strict=True):
        if count:
            found.notes.append({"code": "blank", "basis": basis, "column": column, "rows": count})
    if shared:
        found.notes += _shares(con, lines)
    if rounded:
        found.notes += _rounded(con, lines)
    if undated:
        found.notes += _undated(con, lines)


def _rounded(con: duckdb.DuckDBPyConnection, lines: str) -> list[dict[str, Any]]:
    """Columns whose numbers had more places than are kept, with the number of lines."""
    rows = con.execute(
        "SELECT field, count(*) FROM (SELECT unnest(string_split(x_rounded, ', ')) AS field "
        f"FROM {lines} WHERE x_rounded IS NOT NULL) GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    return [
        {"code": "rounded", "column": field, "rows": count, "places": DECIMAL_SCALE} for field, count in rows
    ]


def _undated(con: duckdb.DuckDBPyConnection, lines: str) -> list[dict[str, Any]]:
    """Charges without dates of their own, which have the billing period: the blank column, lines, amount."""
    rows = con.execute(
        "SELECT x_undated, x_line_item_type, billing_currency, count(*), sum(billed_cost) "
        f"FROM {lines} WHERE x_undated IS NOT NULL GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    return [
        {
            "code": "undated",
            "column": column,
            "line_item_type": kind,
            "currency": currency,
            "rows": count,
            "billed": as_text(cost),
        }
        for column, kind, currency, count, cost in rows
    ]


def _reaches_to(con: duckdb.DuckDBPyConnection, lines: str, last_day: date | None) -> date | None:
    """The last day with charges of a day or less; of longer ones (a bill by month) where they end.

    Fees and taxes of a month are dated over all of it on its first day, so that they say nothing.
    """
    short = "charge_period_end IS NULL OR charge_period_end <= charge_period_start + INTERVAL 25 HOUR"
    row = con.execute(
        f"SELECT max(x_day) FILTER ({short}), max(charge_period_end - INTERVAL 1 MICROSECOND) "
        f"AT TIME ZONE 'UTC' FROM {lines}"
    ).fetchall()[0]
    return row[0] or (row[1].date() if row[1] else last_day)


def _last_of(period: date) -> date:
    return date(period.year + period.month // 12, period.month % 12 + 1, 1) - timedelta(days=1)


def final_of(totals: Totals, period: date, *, doubted: bool) -> bool | None:
    """Whether the month is closed, as far as the data say: None where they say neither.

    Closed: every line names an invoice and the charges reach the month's last day. Open: some lines name
    none, or the charges end before.
    """
    reaches = totals.reaches_to is not None and totals.reaches_to >= _last_of(period)
    if not reaches or totals.invoiced is False:
        return False
    return None if doubted else totals.invoiced


def ends_early(totals: Totals, period: date, delivered_at: datetime) -> list[dict[str, Any]]:
    """A note where the charges end days before the month and before the delivery: it is likely cut short."""
    reaches, last = totals.reaches_to, _last_of(period)
    if reaches is None or reaches >= last or delivered_at.date() - reaches <= SETTLES_WITHIN:
        return []
    return [{"code": "ends early", "last_day": reaches.isoformat(), "period_ends": last.isoformat()}]


def _shares(con: duckdb.DuckDBPyConnection, lines: str) -> list[dict[str, Any]]:
    """What containers' lines share out of their machines' cost: no part of any total."""
    rows = con.execute(
        "SELECT billing_currency, count(*), sum(x_split_cost), sum(x_split_unused_cost) "
        f"FROM {lines} WHERE x_split_cost IS NOT NULL GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    return [
        {
            "code": "split",
            "currency": currency,
            "rows": count,
            "shared": as_text(cost),
            "unused": as_text(unused),
        }
        for currency, count, cost, unused in rows
    ]


def checks(totals: Totals, *, has_net_columns: bool) -> list[dict[str, Any]]:
    """Figures that say the same in two ways, for the notes: they decide nothing.

    `net`: cash with its discount rows against the net columns. `amortised`: with no upfront part it equals
    cash over a month; a difference is what upfront fees and refunds move between months.
    """
    found: list[dict[str, Any]] = []
    for currency, sums in totals.by_currency.items():
        billed, amortised, net = (sums[basis] for basis in ("billed", "amortised", "net"))
        pairs = [("amortised", amortised), *([("net", net)] if has_net_columns else [])]
        for code, other in pairs:
            if billed is not None and other is not None:
                found.append(
                    {"code": code, "currency": currency, "agrees": billed == other,
                     "difference": as_text(EXACT.subtract(other, billed))}
                )  # fmt: skip
    return found


def as_text(value: Any) -> Any:
    """Decimals as plain texts without needless zeros, everything else as it is."""
    if isinstance(value, Decimal):
        return decimal_text(value)
    if isinstance(value, dict):
        return {key: as_text(inner) for key, inner in value.items()}
    return value
