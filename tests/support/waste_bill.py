"""A made-up month of hourly bill lines in DuckDB: things that are waste, and things that only look like it.

A thing is one resource with one usage type; `pattern` says in which hours it has lines: all, work (Monday to
Friday 7 to 19), last:N or first:N (days), before:N (days before those of the bill), grow (all hours, the
quantity rises by the day), sawtooth.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime

import duckdb
import pyarrow as pa

from finops.frames.focus import LINE_COLUMNS
from finops.lake.bill_tables import BILL_LINES, stored

END = datetime(2026, 3, 31, tzinfo=UTC)
DAYS = 30
ACCOUNT, REGION = "111122223333", "us-east-1"
_PATTERNS = {
    "all": "true",
    "work": "isodow(begun) <= 5 AND hour(begun) >= 7 AND hour(begun) < 19",
    "grow": "true",
    "sawtooth": "true",
}
_TEXTS = (
    "resource", "usage_type", "quantity", "cost", "product", "operation", "instance_type", "line_type",
    "commitment", "pattern", "account", "region", "report", "description",
)  # fmt: skip
_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in _TEXTS),
        ("tags", pa.map_(pa.string(), pa.string())),
        ("number", pa.int64()),
    ]
)
_FACTOR = {"grow": "(1 + day_number * 0.05)", "sawtooth": "(1 + (day_number % 7) * 0.05)"}


@dataclass(frozen=True)
class Thing:
    """One resource's lines of one usage type; `quantity` and `cost` of an hour."""

    resource: str
    usage_type: str
    quantity: str = "1"
    cost: str = "0.01"
    product: str = "AmazonEC2"
    operation: str = ""
    instance_type: str = ""
    line_type: str = "Usage"
    commitment: str = ""
    pattern: str = "all"
    account: str = ACCOUNT
    region: str = REGION
    report: str = "1"
    description: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)


def bill_of(things: Iterable[Thing], *, days: int = DAYS, end: datetime = END) -> duckdb.DuckDBPyConnection:
    """A connection with `billing.lines` that holds the things' lines of the last days."""
    con = duckdb.connect(":memory:")
    con.execute("SET TimeZone = 'UTC'")
    con.execute("SET threads = 2")
    schema = BILL_LINES.partition(".")[0]
    columns = ", ".join(f'"{name}" {kind}' for name, _iceberg, kind in stored(LINE_COLUMNS))
    con.execute(f"CREATE SCHEMA {schema}; CREATE TABLE {BILL_LINES} ({columns})")
    by_pattern: dict[str, list[tuple[int, Thing]]] = defaultdict(list)
    for number, thing in enumerate(things):
        by_pattern[thing.pattern].append((number, thing))
    for pattern, some in by_pattern.items():
        _insert(con, pattern, some, days, end)
    return con


def _insert(
    con: duckdb.DuckDBPyConnection,
    pattern: str,
    things: Sequence[tuple[int, Thing]],
    days: int,
    end: datetime,
) -> None:
    name, _, count = pattern.partition(":")
    span, skip = days, 0
    if name in ("last", "first", "before"):
        span = int(count)
        skip = {"last": 0, "first": days - span, "before": days}[name]
        name = "all"
    rows = [{**asdict(thing), "tags": list(thing.tags.items()), "number": number} for number, thing in things]
    con.register("things", pa.Table.from_pylist(rows, schema=_SCHEMA))
    con.execute(
        f"""
        INSERT INTO {BILL_LINES} BY NAME
        SELECT report AS x_report, 'aws' AS x_provider, account AS sub_account_id, region AS region_id,
            nullif(resource, '') AS resource_id, product AS x_product_code, usage_type AS x_usage_type,
            operation AS x_operation, nullif(instance_type, '') AS x_instance_type,
            line_type AS x_line_item_type, nullif(commitment, '') AS commitment_discount_id,
            'USD' AS billing_currency, nullif(description, '') AS charge_description, tags,
            1 AS x_delivery, 'made.csv' AS x_file,
            number * 100000 + hour_number AS x_row,
            CAST(CAST(quantity AS DECIMAL(20, 10)) * {_FACTOR.get(name, 1)} AS DECIMAL(38, 18)) AS x_quantity,
            CAST(CAST(cost AS DECIMAL(20, 10)) * {_FACTOR.get(name, 1)} AS DECIMAL(38, 18)) AS effective_cost,
            CAST(cost AS DECIMAL(38, 18)) AS billed_cost, begun AS charge_period_start,
            begun + INTERVAL 1 HOUR AS charge_period_end, CAST(begun AS DATE) AS x_day,
            strftime(begun, '%Y-%m') AS x_month
        FROM things, (
            SELECT n AS hour_number, n // 24 AS day_number,
                CAST($end AS TIMESTAMPTZ) - to_hours(CAST($hours - n AS INTEGER)) AS begun
            FROM (SELECT unnest(range($length)) AS n)
        ) WHERE {_PATTERNS[name]}
        """,
        {"end": end, "hours": (span + skip) * 24, "length": span * 24},
    )
    con.unregister("things")
