"""The lake: named snapshots, pruning, swaps, writers at once, nothing reachable but its files."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from apps.ingest import selectors
from finops.lake import SPOT_CHANGES, SPOT_KNOWN, LakeError, SnapshotMissingError
from finops.lake.filters import all_of, any_of, at_or_after, before, equals, one_of


def rows(region: str, *hours: int, price: str = "0.1") -> pa.Table:
    """Changes of one made-up series."""
    return pa.table(
        {
            "provider": ["aws"] * len(hours),
            "region": [region] * len(hours),
            "month": ["2026-05"] * len(hours),
            "account": [""] * len(hours),
            "zone": [f"{region}a"] * len(hours),
            "zone_key": [f"{region}a"] * len(hours),
            "instance_type": ["m5.large"] * len(hours),
            "product": ["Linux/UNIX"] * len(hours),
            "at": pa.array([datetime(2026, 5, 2, h, tzinfo=UTC) for h in hours], pa.timestamp("us", "UTC")),
            "price": pa.array([Decimal(price)] * len(hours)),
            "currency": ["USD"] * len(hours),
            "run_id": [1] * len(hours),
        }
    )


def hours_of(snapshot: int, **options: Any) -> list[tuple[str, int]]:
    with selectors.lake().connect({SPOT_CHANGES: snapshot}, **options) as con:
        return con.execute(
            'SELECT region, CAST(hour("at") AS INTEGER) FROM prices.spot_changes ORDER BY ALL'
        ).fetchall()


def test_a_named_snapshot_reads_the_same_after_later_changes(lake_folder: Path) -> None:
    lake = selectors.lake()
    first = lake.append(SPOT_CHANGES, rows("us-east-1", 1, 2))
    second = lake.append(SPOT_CHANGES, rows("eu-west-1", 3))
    third = lake.replace(SPOT_CHANGES, equals("region", "us-east-1"), rows("us-east-1", 9))
    assert hours_of(first) == [("us-east-1", 1), ("us-east-1", 2)]
    assert hours_of(second) == [("eu-west-1", 3), ("us-east-1", 1), ("us-east-1", 2)]
    assert hours_of(third) == [("eu-west-1", 3), ("us-east-1", 9)]
    assert lake.rollback(SPOT_CHANGES, first) is True
    assert lake.rollback(SPOT_CHANGES, first) is False
    assert lake.snapshot_ids() == {SPOT_CHANGES: first}
    assert hours_of(third) == [("eu-west-1", 3), ("us-east-1", 9)]


def test_a_filter_prunes_files_and_selects_rows(lake_folder: Path) -> None:
    lake = selectors.lake()
    lake.append(SPOT_CHANGES, rows("us-east-1", *range(24)))
    snapshot = lake.append(SPOT_CHANGES, rows("eu-west-1", *range(24)))
    span = all_of(
        at_or_after("at", datetime(2026, 5, 2, 5, tzinfo=UTC)),
        before("at", datetime(2026, 5, 2, 7, tzinfo=UTC)),
    )
    one = all_of(equals("provider", "aws"), one_of("region", ["eu-west-1"]), span)
    assert len(lake.files(SPOT_CHANGES, snapshot, one)) == 1
    assert hours_of(snapshot, filters={SPOT_CHANGES: one}) == [("eu-west-1", 5), ("eu-west-1", 6)]
    either = any_of(equals("region", "us-east-1"), equals("region", "it's"))
    assert len(hours_of(snapshot, filters={SPOT_CHANGES: either})) == 24
    with lake.connect({SPOT_CHANGES: snapshot}, columns={SPOT_CHANGES: ["price"]}) as con:
        assert con.execute("SELECT DISTINCT * FROM prices.spot_changes").fetchall() == [(Decimal("0.1"),)]


def test_a_table_without_a_snapshot_is_empty_and_an_unknown_snapshot_is_an_error(lake_folder: Path) -> None:
    lake = selectors.lake()
    assert lake.snapshot_ids() == {}
    with lake.connect({}) as con:
        assert con.execute("SELECT count(*) FROM prices.spot_known").fetchone() == (0,)
    with pytest.raises(SnapshotMissingError):
        lake.connect({SPOT_KNOWN: 1})


def test_a_reading_connection_reaches_nothing_else(lake_folder: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    lake = selectors.lake()
    with lake.connect({SPOT_CHANGES: lake.append(SPOT_CHANGES, rows("us-east-1", 1))}) as con:
        for sql in (
            f"SELECT * FROM read_csv('{secret}')",
            f"COPY (SELECT 1) TO '{tmp_path}/out.csv'",
            "SET enable_external_access = true",
            "SET memory_limit = '100GB'",
        ):
            with pytest.raises(duckdb.Error):
                con.execute(sql)


def test_writers_at_once_all_land(lake_folder: Path) -> None:
    lake = selectors.lake()
    failed: list[BaseException] = []

    def write(hour: int) -> None:
        try:
            lake.append(SPOT_CHANGES, rows("us-east-1", hour))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(hour,)) for hour in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert [hour for _, hour in hours_of(lake.snapshot_ids()[SPOT_CHANGES])] == [0, 1, 2, 3]


def test_a_failed_write_leaves_no_file(lake_folder: Path) -> None:
    lake = selectors.lake()
    with pytest.raises(duckdb.Error):
        lake.append(SPOT_CHANGES, rows("us-east-1", 1, price="123456789.5"))
    assert list(lake_folder.rglob("*.parquet")) == []
    with pytest.raises(LakeError):
        lake.append(SPOT_CHANGES, rows("us-east-1"))


def test_a_kept_plan_is_made_anew_when_a_file_has_gone(lake_folder: Path) -> None:
    lake = selectors.lake()
    first = lake.append(SPOT_CHANGES, rows("us-east-1", 1))
    planned = lake.files(SPOT_CHANGES, first)
    planned.append("a caller's own business")
    assert lake.files(SPOT_CHANGES, first) == planned[:1]
    lake.replace(SPOT_CHANGES, equals("region", "us-east-1"), rows("us-east-1", 9))
    lake.expire(older_than=datetime.now(UTC) + timedelta(seconds=5), keep=set())
    with pytest.raises(SnapshotMissingError):
        lake.files(SPOT_CHANGES, first)


def coded(table: pa.Table) -> list[pa.RecordBatch]:
    """The rows with their texts as dictionaries, as a delivery writes them."""
    names = [f.name for f in table.schema if pa.types.is_string(f.type)]
    columns = [
        table.column(n).dictionary_encode() if n in names else table.column(n) for n in table.column_names
    ]
    return pa.table(columns, names=table.column_names).to_batches()


def test_batches_of_coded_texts_are_read_as_texts(lake_folder: Path) -> None:
    lake = selectors.lake()
    parts = {
        ("aws", region, "2026-05"): partial(iter, coded(rows(region, 1, 2)))
        for region in ("eu-west-1", "us-east-1")
    }
    snapshot = lake.commit(SPOT_CHANGES, lake.write_batches(SPOT_CHANGES, parts))
    plain = lake.append(SPOT_CHANGES, rows("ap-east-1", 3))
    with lake.connect({SPOT_CHANGES: plain}) as con:
        read = con.sql('SELECT * FROM prices.spot_changes ORDER BY region, "at"').to_arrow_table()
    want = pa.concat_tables([rows("ap-east-1", 3), rows("eu-west-1", 1, 2), rows("us-east-1", 1, 2)])
    assert read.to_pylist() == want.to_pylist()
    assert hours_of(snapshot, filters={SPOT_CHANGES: equals("region", "us-east-1")}) == [
        ("us-east-1", 1),
        ("us-east-1", 2),
    ]


def test_batches_that_cannot_be_written_leave_no_file(lake_folder: Path) -> None:
    lake = selectors.lake()
    good = coded(rows("us-east-1", 1))
    odd = [good[0].rename_columns(["vendor", *good[0].schema.names[1:]])]

    def full() -> Any:
        yield good[0]
        raise OSError(28, "No space left on device")

    for broken, sentence in (
        (lambda: iter(odd), "has the columns"),
        (full, "there is no room left for the lake in .*: nothing was stored; make room and try again"),
    ):
        parts = {("aws", "us-east-1", "2026-04"): lambda: iter(good), ("aws", "us-east-1", "2026-05"): broken}
        with pytest.raises(LakeError, match=sentence):
            lake.write_batches(SPOT_CHANGES, parts)
    assert list(lake_folder.rglob("*.parquet")) == []
    assert lake.snapshot_ids() == {}
