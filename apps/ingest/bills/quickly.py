"""The files of a delivery read quickly where that can be done: several side by side, their days summed."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import structlog

from apps.ingest.bills.quick import GIVEN, Quick
from finops.lake import BILL_DAILY, BILL_LINES, Lake
from finops.lake.sql import quote
from finops.lake.tables import TABLES
from finops.providers.bills import Given, Lines, line_columns
from finops.providers.files.bill_files import BillFile
from finops.providers.files.bill_text import NotPlainError

log = structlog.get_logger(__name__)
# Planning takes as long as 100,000 lines row by row: smaller files, packed, are read so; unpacked ones too.
QUICK_FROM_BYTES = 16 << 20
_UNPACKED = 4
QUICK_MEMORY = "400MB"
_COMPRESSIONS = ("none", "gzip")


@dataclass(frozen=True)
class QuickFile:
    """A file to read, and the values of the columns that all of its lines have alike."""

    file: BillFile
    given: Given
    lines: Lines
    null_word: str
    fixed: dict[str, Any]

    def like(self, other: QuickFile) -> bool:
        """Whether both have one header, belong to one delivery and are read by the same expressions.

        Files of one header can differ in these: each says for itself in which order its dates are written.
        """
        alike = all(self.fixed[c] == other.fixed[c] for c in GIVEN if c != "x_file")
        mine, its = self.file, other.file
        one_form = (mine.headers, mine.delimiter) == (its.headers, its.delimiter)
        return alike and one_form and self._sql == other._sql

    @property
    def _sql(self) -> tuple[Any, ...]:
        return line_columns(self.lines, self.given), self.given.typed, self.given.checks


@dataclass
class QuickFiles:
    """What came of it: a file of the lake for each file, None where it has to be read row by row.

    `daily` is the file of their daily sums, "" unless all of them were read.
    """

    lines: list[str | None]
    daily: str = ""

    @property
    def written(self) -> list[str]:
        """All files that were written."""
        return [path for path in (*self.lines, self.daily) if path]


def read_quickly(
    con: duckdb.DuckDBPyConnection, lake: Lake, folder: Path, files: Sequence[QuickFile]
) -> QuickFiles:
    """Read what can be; none of it is part of a table. What is written is gone when it raises."""
    found = QuickFiles([None] * len(files))
    first = next((f for f in files if _may_be(f.file)), None)
    if first is None:
        return found
    mine = [i for i, f in enumerate(files) if _may_be(f.file) and f.like(first)]
    threads = lake.limits.threads
    key = (str(first.fixed["x_report"]), str(first.fixed["x_month"]))
    # Blocks of text and row groups lie outside of DuckDB; what it holds beyond that goes to its spill folder.
    con.execute(f"SET memory_limit = '{QUICK_MEMORY}'")
    try:
        with ThreadPoolExecutor(threads) as pool, ThreadPoolExecutor(threads) as side_by_side:
            quick = _quick(con, folder, first, pool, threads)

            def read(number: int) -> None:
                one = files[number]
                try:
                    [found.lines[number]] = lake.write_batches(
                        BILL_LINES, {key: lambda: quick.batches(number, one.file, one.fixed)}
                    )
                except (NotPlainError, duckdb.Error, pa.ArrowException) as why:
                    log.info("bill_file_row_by_row", file=one.fixed["x_file"], why=str(why)[:200])

            list(side_by_side.map(read, mine))
            if all(found.lines):
                [found.daily] = lake.write_batches(BILL_DAILY, {key: lambda: quick.daily(mine, first.fixed)})
    except BaseException:
        lake.discard_files(found.written)
        raise
    finally:
        con.execute(f"SET memory_limit = {quote(lake.limits.memory)}")
    return found


def _may_be(file: BillFile) -> bool:
    return (
        file.form == "csv"
        and file.compression in _COMPRESSIONS
        and file.path.stat().st_size >= QUICK_FROM_BYTES * (1 if file.compression == "gzip" else _UNPACKED)
    )


def _quick(
    con: duckdb.DuckDBPyConnection, folder: Path, first: QuickFile, pool: ThreadPoolExecutor, threads: int
) -> Quick:
    spec = TABLES[BILL_LINES]
    told = line_columns(first.lines, first.given)
    columns = {c: told.get(c, "NULL") for c in spec.column_names if c not in (*GIVEN, "x_row")}
    return Quick(con, spec, folder, first.given, columns, first.null_word, first.file, pool, threads)
