"""A number with more than 18 places is rounded, and the delivery says so: column and count."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.billing.models import Delivery
from finops.providers.bills.kind import rounded_sql
from tests.apps.ingest.bills.conftest import lines
from tests.support.bills import CUR_ROW, cur_csv, import_text

COST, USAGE = "lineItem/UnblendedCost", "lineItem/UsageAmount"


def _rounded(texts: list[str]) -> list[bool]:
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t (i INT, r VARCHAR)")
        con.executemany("INSERT INTO t VALUES (?, ?)", list(enumerate(texts)))
        return [row[0] for row in con.execute(f"SELECT {rounded_sql('r')} FROM t ORDER BY i").fetchall()]


@pytest.mark.parametrize(
    ("text", "rounded"),
    [
        ("0.1234567890123456789", True),
        ("0.123456789012345678", False),
        ("0.1234567890123456780000", False),
        ("1e-19", True),
        ("1e-18", False),
        ("1.5E-18", True),
        ("100e-20", False),
        ("110e-20", True),
        ("0e-30", False),
        ("0.0000000000000000000000", False),
        ("12345678901234567890", False),
        ("-2.2204460492503131e-16", True),
        ("12345678901234567890.5", False),
        ("", False),
        ("12e5", False),
    ],
)
def test_what_is_rounded(text: str, rounded: bool) -> None:
    assert _rounded([text]) == [rounded]


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.decimals(min_value=-10, max_value=10, places=24, allow_nan=False), min_size=1, max_size=20)
)
def test_it_is_what_exact_arithmetic_says(amounts: list[Decimal]) -> None:
    texts = [str(amount) for amount in amounts]
    assert _rounded(texts) == [amount != round(amount, 18) for amount in amounts]


def _note(notes: list[dict[str, object]]) -> list[dict[str, object]]:
    return [note for note in notes if note["code"] == "rounded"]


@pytest.mark.usefixtures("lake_folder")
def test_the_delivery_names_column_and_count(tmp_path: Path) -> None:
    rows = [
        {COST: "0.1234567890123456785", USAGE: "1e-19"},
        {COST: "0.1234567890123456789", USAGE: "1"},
        {COST: "1.5", USAGE: "2"},
    ]
    import_text(tmp_path / "long.csv", cur_csv(rows))
    delivery = Delivery.objects.get()
    assert _note(delivery.notes) == [
        {"code": "rounded", "column": COST, "rows": 2, "places": 18},
        {"code": "rounded", "column": USAGE, "rows": 1, "places": 18},
    ]
    assert lines("sum(billed_cost), count(x_rounded)") == [(Decimal("1.746913578024691358"), 2)]


@pytest.mark.usefixtures("lake_folder")
def test_doubles_of_parquet_are_looked_at_in_their_shortest_form(tmp_path: Path) -> None:
    columns = {name: [value, value] for name, value in CUR_ROW.items()}
    table = pa.table({**columns, COST: [0.1, 1.1999999999999999e-05]})
    pq.write_table(table, tmp_path / "doubles.parquet")
    import_text(tmp_path / "copy.parquet", (tmp_path / "doubles.parquet").read_bytes())
    assert _note(Delivery.objects.get().notes) == [
        {"code": "rounded", "column": COST, "rows": 1, "places": 18}
    ]


@pytest.mark.usefixtures("lake_folder")
def test_a_delivery_without_such_numbers_has_no_note(tmp_path: Path) -> None:
    import_text(
        tmp_path / "short.csv",
        cur_csv([{COST: "2.2e-09"}, {COST: "0E-10"}, {COST: "1.50000000000000000000"}]),
    )
    assert _note(Delivery.objects.get().notes) == []
