"""The groups of a statement, out of DuckDB column by column."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

import duckdb
from django.utils.translation import gettext as _

from apps.billing.selectors.spend_question import SpendError
from apps.billing.selectors.spend_sql import Parameters, Plan, group_names, ordered_sql
from finops.engine.spend import ZERO, total

MOST_ROWS = 1_000_000
_DAYS = {"p", "m"}
_AMOUNTS = {"cost", "quantity"}
_EPOCH = date(1970, 1, 1).toordinal()


@dataclass(frozen=True)
class Groups:
    """Lists by name, in the order of an answer: those of `group_names`, then cost, quantity, unit, n and
    missing. `beyond` are the groups that a limit leaves out; `totals` by currency count those too.
    """

    columns: dict[str, list[Any]]
    beyond: int
    totals: dict[str, Decimal]


def groups_of(
    con: duckdb.DuckDBPyConnection,
    plan: Plan,
    sql: str,
    given: Parameters,
    *,
    shown: bool,
    limit: int,
    few: bool,
) -> Groups:
    """Run the statement of `grouped_sql`. Raises SpendError where the answer is too long to be one.

    `shown`: the groups are what the answer shows, so quantities of several units have no sum. `few`: there
    are not too many rows, let alone groups of them.
    """
    if few and not limit:
        columns = _columns(con, plan, f"({sql})", shown, given)
        return Groups(columns, 0, _added(columns["c"], columns["cost"]))
    con.execute(f"CREATE TEMP TABLE g AS {sql}", given.values)
    totals, count = _totals_of(con)
    beyond = 0
    if limit:
        dims = [name for name in group_names(plan) if name.startswith("d")]
        beyond = _top(con, dims, limit)
    elif count > MOST_ROWS:
        raise SpendError("by", _("The answer has more than a million rows: ask for fewer, or set a limit."))
    return Groups(_columns(con, plan, "top" if limit else "g", shown, Parameters()), beyond, totals)


def _added(currencies: Sequence[str], costs: Sequence[Decimal | None]) -> dict[str, Decimal]:
    found: dict[str, list[Decimal | None]] = {}
    for currency, cost in zip(currencies, costs, strict=True):
        found.setdefault(currency, []).append(cost)
    return {currency: total(found[currency]) for currency in sorted(found)}


def _columns(
    con: duckdb.DuckDBPyConnection, plan: Plan, table: str, shown: bool, given: Parameters
) -> dict[str, list[Any]]:
    names = [*group_names(plan), "cost", "quantity", "unit", "n", "missing"]
    columns = [_SHOWN[name] if shown and name in _SHOWN else _readable(name) for name in names]
    found = con.execute(ordered_sql(plan, table, columns), given.values).fetchnumpy()
    with collecting_later():
        return {name: _list(name, found[name]) for name in names}


_SHOWN = {
    "quantity": "CASE WHEN unit IS NOT NULL OR quantity = 0 THEN CAST(quantity AS VARCHAR) END AS quantity",
    "unit": "CASE WHEN quantity <> 0 THEN unit END AS unit",
}


def _readable(name: str) -> str:
    """Days as numbers and amounts as texts: twice as fast as what DuckDB makes of them for Python."""
    if name in _DAYS:
        return f"CAST({name} - DATE '1970-01-01' AS INTEGER) AS {name}"
    return f"CAST({name} AS VARCHAR) AS {name}" if name in _AMOUNTS else name


def _list(name: str, array: Any) -> list[Any]:
    values: list[Any] = array.tolist()
    if name in _DAYS:
        days = {
            number: None if number is None else date.fromordinal(number + _EPOCH) for number in set(values)
        }
        return [days[number] for number in values]
    if name in _AMOUNTS:
        return [None if text is None else Decimal(text) for text in values]
    return values


def _top(con: duckdb.DuckDBPyConnection, dims: Sequence[str], limit: int) -> int:
    """Make `top`: all periods of the groups of `g` with the largest sums in each currency; returns how many
    groups are beyond."""
    listed = ", ".join([*dims, "c"])
    same = " AND ".join(f"g.{name} IS NOT DISTINCT FROM t.{name}" for name in [*dims, "c"])
    con.execute(
        f"CREATE TEMP TABLE t AS SELECT {listed}, row_number() OVER (PARTITION BY c "
        f"ORDER BY sum(cost) DESC NULLS LAST, {listed}) AS place FROM g GROUP BY {listed}"
    )
    con.execute(f"CREATE TEMP VIEW top AS SELECT g.* FROM g JOIN t ON {same} WHERE place <= {int(limit)}")
    beyond = con.execute(f"SELECT count(*) FROM t WHERE place > {int(limit)}").fetchone()
    return int(beyond[0]) if beyond else 0


def _totals_of(con: duckdb.DuckDBPyConnection) -> tuple[dict[str, Decimal], int]:
    rows = con.execute("SELECT c, sum(cost), count(*) FROM g GROUP BY c ORDER BY c").fetchall()
    totals = {currency: cost if cost is not None else ZERO for currency, cost, _count in rows}
    return totals, sum(row[2] for row in rows)


_pausing = threading.Lock()
_pauses: list[bool] = []


@contextmanager
def collecting_later() -> Iterator[None]:
    """Python looks for garbage again when the block is over: among a few hundred thousand new rows there is
    none, and looking takes four times as long as making them."""
    with _pausing:
        _pauses.append(gc.isenabled())
        gc.disable()
    try:
        yield
    finally:
        with _pausing:
            # Whoever comes last gives back what the first one found.
            first = _pauses[0]
            _pauses.pop()
            if not _pauses and first:
                gc.enable()
