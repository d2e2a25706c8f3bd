"""Reports of totals into bytes per bucket, day, class and state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date

import duckdb
import pyarrow as pa

from apps.ingest.storage.sources import RowsSource
from finops.frames.spot import Rejection
from finops.providers.aws import storage_lens
from finops.providers.files.storage_files import broken
from finops.providers.storage import Kind, StorageFileError
from finops.providers.storage.kinds import plain

_REASONS = {
    "day": "not a day like 2026-11-30",
    "bucket": "no bucket",
    "value": "not a whole number from 0",
    "storage_class": "no storage class",
}


@dataclass
class Part:
    """Bytes and objects of one class and state; None where the report tells none."""

    bytes: int | None = None
    objects: int | None = None


@dataclass
class StagedTotals:
    """Parts by (bucket, day, class, state), and what each bucket's rows say of it."""

    parts: dict[tuple[str, date, str, str], Part] = field(default_factory=dict)
    places: dict[str, tuple[str, str]] = field(default_factory=dict)
    versioned: set[str] = field(default_factory=set)
    used: int = 0
    others: int = 0
    rows_of: dict[str, int] = field(default_factory=dict)
    rejections: list[Rejection] = field(default_factory=list)
    refused: list[Rejection] = field(default_factory=list)


def totals_stage(con: duckdb.DuckDBPyConnection, sources: Sequence[RowsSource]) -> StagedTotals:
    """All reports of the run; those that cannot be used are in `refused`."""
    staged = StagedTotals()
    for source in sources:
        if source.kind is not Kind.STORAGE_LENS:
            continue
        try:
            _one(con, source, staged)
        except StorageFileError as error:
            staged.refused.append(Rejection(source.file.name, error.row, error.field, str(error)))
    return staged


def _one(con: duckdb.DuckDBPyConnection, source: RowsSource, staged: StagedTotals) -> None:
    table = source.table
    assert table is not None  # noqa: S101 - a report always is a table
    places = {plain(name): place for place, name in reversed(list(enumerate(table.names)))}
    columns = {
        ours: f"r{places[plain(name)]}"
        for ours, names in storage_lens.COLUMNS.items()
        for name in names
        if plain(name) in places
    }
    try:
        con.execute(
            "CREATE OR REPLACE TEMP TABLE metrics AS "
            + storage_lens.metrics_sql(table.relation(con), columns)
        )
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        told = broken(error)
        if told is None:
            raise
        raise StorageFileError(str(told)) from error
    wrong = con.execute("SELECT rn, wrong FROM metrics WHERE wrong IS NOT NULL ORDER BY rn").fetchall()
    good = con.execute(
        "SELECT bucket_name, day, storage_class, metric, any_value(region), any_value(account), "
        "CAST(sum(value) AS BIGINT), count(*) FROM metrics WHERE used AND wrong IS NULL "
        "GROUP BY bucket_name, day, storage_class, metric ORDER BY ALL"
    ).fetchall()
    [(others,)] = con.execute("SELECT count(*) FROM metrics WHERE NOT used").fetchall()
    found = [
        Rejection(source.file.name, row, table.names[int(columns[ours][1:])], _REASONS[ours])
        for row, ours in wrong
    ]
    if not good:
        if found:
            raise StorageFileError(
                f"no row can be used: {found[0].reason}", row=found[0].row, field=found[0].field
            )
        raise StorageFileError("no row of a bucket: totals of accounts and prefixes tell no bucket's bytes")
    staged.rejections += found
    staged.others += others
    rows = 0
    for bucket, day, storage_class, metric, region, account, value, count in good:
        rows += count
        staged.places[bucket] = (region or "", account or "")
        if metric == storage_lens.VERSIONED:
            staged.versioned |= {bucket} if value else set()
            continue
        state, counts = storage_lens.METRICS[metric]
        part = staged.parts.setdefault((bucket, day, storage_class, state), Part())
        setattr(part, counts, (getattr(part, counts) or 0) + value)
    staged.used += rows
    staged.rows_of[source.sha256] = rows
