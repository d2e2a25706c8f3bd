"""Rows of one delivery in a DuckDB of its own, before anything of them is in the lake.

A series becomes a small number at the door, so that repeats, conflicts and order are matters of integers.
What does not fit the memory limit spills to the lake's own folder.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import duckdb
import numpy as np
import pyarrow as pa

from finops.frames.spot import SERIES_COLUMNS, Rejection, check
from finops.lake import Lake, open_duckdb
from finops.lake.duck import close_outside
from finops.providers.base import SpotBatch
from finops.providers.spot_rows import combinations

# One INSERT costs about a millisecond whatever its size; a file of the archives holds 3,600 rows.
FLUSH_ROWS = 200_000
# Rejections are kept in memory until the delivery is decided: 250 bytes each. The count stays exact above it.
REJECTIONS_KEPT = 200_000

SeriesLabels = tuple[str, ...]


@contextmanager
def collector_paused() -> Iterator[None]:
    """Rows are millions of objects without a cycle: looking for cycles costs a tenth of an import."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@dataclass
class Staging:
    """The rows and rejections of one delivery. `rows_read` counts every record, and a refused file as one."""

    lake: Lake
    con: duckdb.DuckDBPyConnection = field(init=False)
    files: list[str] = field(default_factory=list)
    series: list[SeriesLabels] = field(default_factory=list)
    rejections: list[Rejection] = field(default_factory=list)
    rejected: int = 0
    rows_read: int = 0
    files_refused: int = 0
    _numbers: dict[SeriesLabels, int] = field(default_factory=dict)
    _waiting: list[pa.Table] = field(default_factory=list)
    _waiting_rows: int = 0
    _open: str | None = None
    _open_read: int = 0
    _open_rejected: int = 0
    _open_rejections: list[Rejection] = field(default_factory=list)
    _open_waiting: int = 0
    _open_flushed: bool = False

    def __post_init__(self) -> None:
        self.con = open_duckdb(self.lake.limits)
        close_outside(self.con, folders=[str(self.lake.warehouse)])
        self.con.execute(
            'CREATE TABLE staged (sid INTEGER, "at" TIMESTAMPTZ, price DECIMAL(18,10), file INTEGER, '
            '"row" BIGINT)'
        )

    def close(self) -> None:
        """Give memory and spill files back."""
        self.con.close()

    @property
    def staged(self) -> int:
        """Rows that are prices."""
        return self.rows_read - self.rejected

    def add(self, batch: SpotBatch) -> None:
        """Take a batch; one of another file closes the file before."""
        if self._open != batch.file:
            self.end_file(None)
            self._open = batch.file
            self.files.append(batch.file)
        self._open_read += batch.read
        self._open_rejected += len(batch.rejections)
        room = REJECTIONS_KEPT - len(self.rejections) - len(self._open_rejections)
        self._open_rejections += batch.rejections[: max(0, room)]
        if batch.rows.num_rows:
            self._stage(check(batch.rows))
        if self._waiting_rows >= FLUSH_ROWS:
            self._flush()

    def refuse_file(self, file: str, reason: str) -> None:
        """Nothing of `file` is kept, whatever its earlier batches held: one rejection without a row."""
        if self._open == file:
            if self._open_waiting:
                del self._waiting[-self._open_waiting :]
                self._waiting_rows = sum(table.num_rows for table in self._waiting)
            if self._open_flushed:
                self.con.execute("DELETE FROM staged WHERE file = ?", [len(self.files) - 1])
            self._reset()
        else:
            self.end_file(None)
            self.files.append(file)
        self.files_refused += 1
        self.rows_read += 1
        self.rejected += 1
        # A refused file is always named: there are few of them and each stands for many rows.
        self.rejections.append(Rejection(file, None, "", reason))

    def end_file(self, file: str | None) -> None:
        """The open file is whole; `file` names one that held nothing, to be counted."""
        if file is not None and self._open != file:
            self.end_file(None)
            self.files.append(file)
        self.rows_read += self._open_read
        self.rejected += self._open_rejected
        self.rejections += self._open_rejections
        self._reset()

    def reject(self, rejections: list[Rejection], count: int) -> None:
        """Rows that turn out to be no news and no repeat but a contradiction."""
        self.rejected += count
        self.rejections += rejections[: max(0, REJECTIONS_KEPT - len(self.rejections))]

    def finish(self) -> None:
        """All batches are in: make the tables `staged` and `series` complete."""
        self.end_file(None)
        self._flush()
        keys, members = self._merge_labels()
        columns = [pa.array(values) for values in zip(*keys, strict=True)] if keys else []
        names = ["region", "account", "zone", "zone_key", "instance_type", "product", "currency"]
        table = (
            pa.table(columns, names=names)
            if keys
            else pa.table({name: pa.array([], pa.string()) for name in names})
        )
        self.con.register("labels", table.append_column("sid", pa.array(range(len(keys)), pa.int32())))
        self.con.execute(
            "CREATE TABLE series AS SELECT *, CAST(row_number() OVER "
            "(ORDER BY instance_type, product, zone_key, currency, region) AS INTEGER) AS place, "
            "CAST(dense_rank() OVER (ORDER BY region) AS INTEGER) AS region_place FROM labels"
        )
        self.con.unregister("labels")
        if members != list(range(len(members))):
            self.con.register("members", pa.table({"old": range(len(members)), "new": members}))
            self.con.execute(
                "UPDATE staged SET sid = members.new FROM members WHERE staged.sid = members.old"
            )
            self.con.unregister("members")

    def _merge_labels(self) -> tuple[list[SeriesLabels], list[int]]:
        """One entry per series key, whatever account and zone text it came with, and where each number went.

        Of several texts for a zone a name is kept rather than the id, then the first by alphabet: no matter
        which came first.
        """
        best: dict[SeriesLabels, SeriesLabels] = {}
        for labels in self.series:
            region, _, zone, zone_key, *rest = labels
            key = (region, zone_key, *rest)
            known = best.get(key)
            if known is None or (zone == zone_key, zone, labels[1]) < (
                known[2] == zone_key,
                known[2],
                known[1],
            ):
                best[key] = labels
        place = {key: i for i, key in enumerate(best)}
        members = [place[(labels[0], *labels[3:])] for labels in self.series]
        return list(best.values()), members

    def _reset(self) -> None:
        self._open, self._open_read, self._open_rejected = None, 0, 0
        self._open_rejections, self._open_waiting, self._open_flushed = [], 0, False

    def _stage(self, rows: pa.RecordBatch) -> None:
        table = pa.table(
            {
                "sid": pa.array(self._series_numbers(rows), pa.int32()),
                "at": rows.column("at"),
                "price": rows.column("price"),
                "file": pa.array(np.full(rows.num_rows, len(self.files) - 1, dtype=np.int32)),
                "row": rows.column("row"),
            }
        )
        self._waiting.append(table)
        self._waiting_rows += table.num_rows
        self._open_waiting += 1

    def _series_numbers(self, rows: pa.RecordBatch) -> np.ndarray:
        """A number per distinct labels, for each row."""
        texts = [rows.column(column).dictionary.to_pylist() for column in SERIES_COLUMNS]
        codes = [rows.column(column).indices.to_numpy().astype(np.int64) for column in SERIES_COLUMNS]
        sizes = [len(text) for text in texts]
        first, inverse = combinations(rows.num_rows, list(zip(sizes, codes, strict=True)))
        numbers = np.empty(len(first), dtype=np.int32)
        for i, row in enumerate(first):
            labels = tuple(text[code[row]] for text, code in zip(texts, codes, strict=True))
            number = self._numbers.setdefault(labels, len(self.series))
            if number == len(self.series):
                self.series.append(labels)
            numbers[i] = number
        return numbers[inverse]

    def _flush(self) -> None:
        if not self._waiting:
            return
        self.con.register("waiting", pa.concat_tables(self._waiting))
        self.con.execute("INSERT INTO staged SELECT * FROM waiting")
        self.con.unregister("waiting")
        self._open_flushed = self._open_flushed or self._open_waiting > 0
        self._waiting, self._waiting_rows, self._open_waiting = [], 0, 0
