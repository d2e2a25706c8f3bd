"""A lake copied to another folder: rewritten it reads, goes on and forgets there; an address is no folder."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from apps.ingest import selectors
from finops.lake import BILL_LINES, SPOT_KNOWN, TABLES, Lake
from finops.lake.errors import LakeError
from finops.lake.filters import all_of, equals
from finops.lake.moving import moved_from, relocate_catalog, relocate_files
from tests.support.lake import fresh_lake

HERE = all_of(equals("x_report", "1"), equals("x_month", "2026-03"))


@pytest.fixture
def warehouse(db: None, settings: Any, tmp_path: Path) -> Iterator[Path]:
    with fresh_lake(settings, tmp_path / "lake") as folder:
        yield folder


def rows_of(table: str, **given: Any) -> pa.Table:
    columns = {name: given.get(name) for name in TABLES[table].column_names}
    return pa.table({name: [value] if value is not None else pa.nulls(1) for name, value in columns.items()})


def line(cost: int) -> pa.Table:
    return rows_of(BILL_LINES, x_report="1", x_month="2026-03", billed_cost=cost)


def costs(lake: Lake, snapshot: int) -> list[int]:
    with lake.connect({BILL_LINES: snapshot}) as con:
        found = con.execute("SELECT CAST(billed_cost AS INT) FROM billing.lines ORDER BY 1").fetchall()
    return [row[0] for row in found]


def names(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("metadata/*") if p.is_file()}


def test_both_snapshots_read_and_a_replacement_lands_in_the_new_folder(
    warehouse: Path, tmp_path: Path
) -> None:
    url, new = selectors.database_url(), tmp_path / "lake2"
    lake = Lake.open(url, warehouse)
    first = lake.append(BILL_LINES, line(1))
    second = lake.replace(BILL_LINES, HERE, line(2))
    moment = datetime(2026, 3, 1, tzinfo=UTC)
    known = rows_of(SPOT_KNOWN, provider="aws", region=f"{warehouse}/odd", known_from=moment, known_to=moment)
    lake.append(SPOT_KNOWN, known)
    lake.close()
    shutil.copytree(warehouse, new)
    assert relocate_files(new, old=str(warehouse)) > 8
    once = names(new)
    assert relocate_files(new, old=str(warehouse)) == len(once)
    assert {name: data for name, data in names(new).items() if name.endswith(".json")} == {
        name: data for name, data in once.items() if name.endswith(".json")
    }
    for _ in range(2):
        relocate_catalog(url, old=str(warehouse), new=str(new))
    shutil.rmtree(warehouse)

    moved = Lake.open(url, new)
    assert (costs(moved, first), costs(moved, second)) == ([1], [2])
    with moved.connect(moved.snapshot_ids()) as con:
        # A value that looks like a path is a value.
        assert con.execute("SELECT region FROM prices.spot_known").fetchall() == [(f"{warehouse}/odd",)]
    third = moved.replace(BILL_LINES, HERE, line(3))
    assert costs(moved, third) == [3]
    assert all(path.startswith(f"{new}/") for path in moved.files(BILL_LINES, third))
    assert moved.expire(older_than=datetime(2100, 1, 1, tzinfo=UTC), keep={third}) >= 2
    assert costs(moved, third) == [3]
    assert moved.rollback(BILL_LINES, third) is False
    moved.close()
    assert not warehouse.exists()


@pytest.mark.parametrize(
    ("path", "there"),
    [
        ("/a/lake/x", "/b/x"),
        ("file:///a/lake/x", "file:///b/x"),
        ("/a/lake", "/b"),
        ("/a/lake2/x", "/a/lake2/x"),
        ("lake/x", "lake/x"),
    ],
)
def test_only_paths_below_the_old_folder_move(path: str, there: str) -> None:
    assert moved_from("/a/lake", "/b")(path) == there


def test_metadata_that_is_cut_is_refused(warehouse: Path, tmp_path: Path) -> None:
    lake = Lake.open(selectors.database_url(), warehouse)
    lake.append(BILL_LINES, line(1))
    lake.close()
    for pattern in ("*.avro", "*.metadata.json"):
        new = tmp_path / pattern.replace("*", "copy")
        shutil.copytree(warehouse, new)
        next(new.rglob(pattern)).write_bytes(b"{cut")
        with pytest.raises(LakeError, match="is no"):
            relocate_files(new, old=str(warehouse))
        assert list(new.rglob("*.moving")) == []


def test_an_address_is_no_warehouse(warehouse: Path) -> None:
    with pytest.raises(LakeError, match="must be a local folder, not s3://bucket/lake"):
        Lake.open(selectors.database_url(), "s3://bucket/lake")
