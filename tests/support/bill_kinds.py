"""A kind of bill over a made-up file, without the pipeline: lines and faults as lists of dicts and tuples."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import Any

import duckdb

from finops.providers.bills import BillKind, Given, Header, faults_sql, lines_sql, periods_checked


@dataclass
class Read:
    """Lines without a fault, and every fault as (row, field, severity, reason)."""

    lines: list[dict[str, Any]]
    faults: list[tuple[Any, ...]]
    tag_keys: list[str] | None
    notes: list[str]


def read(kind: BillKind, text: str, *, dates: str = "") -> Read:
    """The file `text` (CSV with a header) as the kind reads it."""
    rows = list(csv.reader(io.StringIO(text.lstrip("\ufeff"))))
    headers = rows[0]
    assert kind.recognise(headers).fits, kind.recognise(headers).missing
    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    names = ", ".join(f"r{i} VARCHAR" for i in range(len(headers)))
    con.execute(f"CREATE TABLE raw (rn BIGINT, {names})")
    marks = ", ".join("?" * (len(headers) + 1))
    if rows[1:]:
        con.executemany(f"INSERT INTO raw VALUES ({marks})", [[n, *row] for n, row in enumerate(rows[1:], 1)])
    given = Given(
        kind,
        [Header(header) for header in headers],
        dates=dates,
        ask=lambda aggregates: con.execute(f"SELECT {aggregates} FROM raw").fetchall()[0],
    )
    lines = kind.lines(given)
    periods_checked(kind, given, lines)
    found = con.execute(f"SELECT * FROM ({lines_sql(lines, given, 'raw', {})}) WHERE x_row IS NOT NULL")
    columns = [column[0] for column in found.description]
    good = [dict(zip(columns, row, strict=True)) for row in found.fetchall()]
    return Read(good, con.execute(faults_sql(given, "raw")).fetchall(), lines.tag_keys, lines.notes)
