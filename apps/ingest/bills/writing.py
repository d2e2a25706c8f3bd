"""Lines of files into files of the lake, on as many threads as the lake has.

Files of a delivery are written side by side; the pieces of a large file too, each into a file of the lake of
its own (finops/providers/files/bill_pieces.py). What a piece cannot be read for is found out, and said with
its line, by reading the file as one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import duckdb

from apps.ingest.bills.staged import BillRefusedError, Identity, discard
from finops.frames.spot import Rejection
from finops.lake import BILL_LINES, Lake
from finops.lake.sql import quote
from finops.lake.tables import TABLES
from finops.providers.bills import BillKind, Given, Lines, billing_month, lines_sql
from finops.providers.files import UnreadableError
from finops.providers.files.bill_files import BillFile, reading_error
from finops.providers.files.bill_pieces import NotInPiecesError, Piece, fits, pieces
from finops.providers.files.gzip_sums import altered

# SQL of the fields of an Identity.
MONTH = billing_month("billing_period_start", "billing_period_end")
IDENTITY = f"x_provider, billing_account_id, {MONTH}"
# Each file of the lake that is being written takes 200 MB of DuckDB's memory.
MOST_AT_ONCE = 3
# Columns that are the pipeline's own.
OWN = ("x_report", "x_month", "x_delivery", "x_file", "x_row", "x_day")


@dataclass(frozen=True)
class Opened:
    """A file with its kind, its columns and the SQL of its lines."""

    shown: str
    file: BillFile
    kind: BillKind
    given: Given
    lines: Lines

    @property
    def relation(self) -> str:
        """SQL of the raw rows."""
        return self.file.relation(self.kind.null_word)

    def sql(self, fixed: Mapping[str, str], relation: str) -> str:
        """The SELECT of all line columns, null for those that the kind does not give."""
        given = {**self.lines.columns, **dict.fromkeys(OWN)}
        missing = {column: "NULL" for column in TABLES[BILL_LINES].column_names if column not in given}
        return lines_sql(
            Lines({**missing, **self.lines.columns}, self.lines.tag_keys), self.given, relation, fixed
        )

    def unreadable(self, error: duckdb.Error) -> Exception:
        """The refusal that a fault of the file is; any other fault as it is."""
        told = reading_error(error, self.file)
        return error if told is None else self.refused(str(told))

    def refused(self, told: str) -> BillRefusedError:
        """The refusal of the whole file."""
        return BillRefusedError(f"{self.shown}: {told}", [Rejection(self.shown, None, "", told)])


@dataclass(frozen=True)
class Job:
    """A file to write: into which partition, and SQL of the pipeline's own columns."""

    one: Opened
    partition: tuple[str, str]
    fixed: Mapping[str, str]


@dataclass(frozen=True)
class Written:
    """Files of the lake with all rows of a file: how many, how many without a fault, and whose they are."""

    paths: list[str]
    rows: int
    stored: int
    identities: set[Identity]


@dataclass
class Writer:
    """`written` takes the name of each file as it is made, so that a failure can remove all; `tell` is called
    with the rows of each source file that is through."""

    lake: Lake
    con: duckdb.DuckDBPyConnection
    folder: Path
    written: list[str]
    tell: Callable[[int], None]
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def all(self, jobs: Sequence[Job]) -> list[Written]:
        """What each job wrote, in their order. Raises BillRefusedError."""
        threads = min(self.lake.limits.threads, MOST_AT_ONCE)
        with ThreadPoolExecutor(threads) as pool:
            if len(jobs) == 1:
                return [self._one(jobs[0], threads, pool.submit)]
            return list(pool.map(lambda job: self._one(job, 1, _at_once), jobs))

    def _one(self, job: Job, count: int, submit: Callable[..., Future[str]]) -> Written:
        paths = self._in_pieces(job, count, submit) if fits(job.one.file) else None
        if paths is None:
            paths = [self._as_one(job)]
        rows, stored, found = self._ask(
            f"SELECT count(*), count(x_row), list(DISTINCT ROW({IDENTITY})) FILTER (x_row IS NOT NULL) "
            f"FROM read_parquet([{', '.join(map(quote, paths))}])"
        )
        self.tell(rows)
        return Written(paths, rows, stored, {Identity(*as_tuple(f)) for f in found or ()})

    def _ask(self, sql: str) -> tuple[int, int, list[object] | None]:
        with self.con.cursor() as cursor:
            return cursor.execute(sql).fetchall()[0]

    def _in_pieces(self, job: Job, count: int, submit: Callable[..., Future[str]]) -> list[str] | None:
        """Files of the lake, one a piece; None where the file has to be read as one."""
        running: list[Future[str]] = []
        try:
            for piece in pieces(job.one.file, self.folder, count):
                running.append(submit(self._piece, job, piece))
            return [future.result() for future in running]
        except (NotInPiecesError, duckdb.Error, UnreadableError) as error:
            self._forget(running)
            if isinstance(error, UnreadableError):
                raise job.one.refused(str(error)) from error
            return None

    def _forget(self, running: Iterable[Future[str]]) -> None:
        for future in running:
            if future.exception() is None:
                discard([future.result()])
                with self._lock:
                    self.written.remove(future.result())

    def _piece(self, job: Job, piece: Piece) -> str:
        try:
            return self._write(job, job.one.file.relation(job.one.kind.null_word, piece))
        finally:
            piece.path.unlink(missing_ok=True)

    def _as_one(self, job: Job) -> str:
        # DuckDB does not look at the checksum of what it unpacks.
        with ThreadPoolExecutor(1) as beside:
            wrong = beside.submit(altered, job.one.file.path)
            try:
                path = self._write(job, job.one.relation)
            except duckdb.Error as error:
                raise job.one.unreadable(error) from error
        if wrong.result():
            raise job.one.refused(wrong.result())
        return path

    def _write(self, job: Job, relation: str) -> str:
        with self.con.cursor() as cursor:
            sql = job.one.sql(job.fixed, relation)
            [path] = self.lake.write_parts(cursor, BILL_LINES, {job.partition: sql})
        with self._lock:
            self.written.append(path)
        return path


def _at_once(work: Callable[..., str], *given: object) -> Future[str]:
    """As `submit` of a pool, in this thread."""
    done: Future[str] = Future()
    try:
        done.set_result(work(*given))
    except duckdb.Error as error:
        done.set_exception(error)
    return done


def as_tuple(found: object) -> tuple[str, str, date]:
    """The fields of an Identity from DuckDB's row."""
    values = list(found.values()) if isinstance(found, dict) else list(found)  # type: ignore[call-overload]
    return values[0], values[1], values[2]
