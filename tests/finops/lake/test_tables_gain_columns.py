"""A table that was made before a column: the column is added, what was written before reads as null."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from apps.ingest import selectors
from finops.lake import BILL_LINES, TABLES, Lake
from finops.lake.evolution import absent_columns
from finops.lake.filters import equals
from tests.support.lake import fresh_lake

LATER = ("x_commitment_start", "x_commitment_upfront", "x_source_columns")


@pytest.fixture
def warehouse(db: None, settings: Any, tmp_path: Path) -> Iterator[Path]:
    """An empty folder and an empty catalog."""
    with fresh_lake(settings, tmp_path / "lake", tables=False) as folder:
        yield folder


def _open(folder: Path) -> Lake:
    return Lake.open(selectors.database_url(), folder)


def _row(cost: int, **more: Any) -> pa.Table:
    given = {"x_report": ["1"], "x_month": ["2026-03"], "billed_cost": [cost]}
    columns = {name: given.get(name) for name in TABLES[BILL_LINES].column_names}
    columns |= {name: [value] for name, value in more.items()}
    return pa.table({name: value if value else pa.nulls(1) for name, value in columns.items()})


def _early(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = TABLES[BILL_LINES]
    kept = tuple(column for column in spec.columns if column[0] not in LATER)
    monkeypatch.setitem(TABLES, BILL_LINES, replace(spec, columns=kept))


def test_opening_again_leaves_nothing_in_the_folder(warehouse: Path) -> None:
    _open(warehouse).close()
    files = sorted(file for file in warehouse.rglob("*") if file.is_file())
    assert len(files) == len(TABLES)
    _open(warehouse).close()
    assert sorted(file for file in warehouse.rglob("*") if file.is_file()) == files


def test_old_files_read_as_null_alone_and_beside_new_ones(warehouse: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        _early(patch)
        old = _open(warehouse)
        first = old.append(BILL_LINES, _row(1).select(TABLES[BILL_LINES].column_names))
        old.close()
    lake = _open(warehouse)
    assert [f.name for f in lake.table(BILL_LINES).schema().fields][-3:] == list(LATER)
    asked = (
        "SELECT CAST(billed_cost AS INT), CAST(x_commitment_upfront AS INT), x_source_columns "
        "FROM billing.lines ORDER BY 1"
    )
    with lake.connect({BILL_LINES: first}) as con:
        assert con.execute(asked).fetchall() == [(1, None, None)]
    second = lake.append(BILL_LINES, _row(2, x_commitment_upfront=446))
    with lake.connect({BILL_LINES: second}) as con:
        assert con.execute(asked).fetchall() == [(1, None, None), (2, 446, None)]
    with lake.connect({BILL_LINES: second}, filters={BILL_LINES: equals("x_report", "1")}) as con:
        assert len(con.execute(asked).fetchall()) == 2
    joined, _ = lake.compact(BILL_LINES, second, files=1)
    with lake.connect({BILL_LINES: joined}) as con:
        assert con.execute(asked).fetchall() == [(1, None, None), (2, 446, None)]
    with lake.connect({BILL_LINES: first}) as con:
        assert con.execute(asked).fetchall() == [(1, None, None)]
    lake.close()


def test_a_table_that_has_them_all_is_left_alone(warehouse: Path) -> None:
    lake = _open(warehouse)
    before = lake.table(BILL_LINES).metadata_location
    again = _open(warehouse)
    assert again.table(BILL_LINES).metadata_location == before
    for one in (lake, again):
        one.close()


def test_a_file_that_is_gone_has_no_columns(tmp_path: Path) -> None:
    assert absent_columns([str(tmp_path / "gone.parquet")], ["a"]) == {"a"}
    assert absent_columns([], ["a"]) == {"a"}
