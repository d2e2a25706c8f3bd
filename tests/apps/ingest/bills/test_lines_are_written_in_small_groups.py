"""Lines are wide: as few of them at once are held in memory as the table says, none is lost between."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from apps.ingest import selectors
from finops.lake import BILL_LINES, TABLES
from finops.lake.duck import open_duckdb

pytestmark = pytest.mark.usefixtures("lake_folder")


def test_a_row_group_of_lines_is_no_larger_than_the_table_says() -> None:
    lake, most = selectors.lake(), TABLES[BILL_LINES].row_group_rows
    assert most == 61_440
    given = {"x_report": "'1'", "x_month": "'2026-03'", "x_row": "i + 1"}
    columns = ", ".join(f"{given.get(c, 'NULL')} AS {c}" for c in TABLES[BILL_LINES].column_names)
    with open_duckdb(lake.limits) as con:
        [path] = lake.write_parts(
            con, BILL_LINES, {("1", "2026-03"): f"SELECT {columns} FROM range({most + 5}) AS r(i)"}
        )
        rows = con.execute(f"SELECT count(DISTINCT x_row), max(x_row) FROM '{path}'").fetchall()
    groups = pq.ParquetFile(path).metadata
    assert [groups.row_group(i).num_rows for i in range(groups.num_row_groups)] == [most, 5]
    assert rows == [(most + 5, most + 5)]
