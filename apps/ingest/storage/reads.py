"""Files of reads into daily sums per object, on a connection of the run, then into files of the lake."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from itertools import islice

import duckdb
import pyarrow as pa

from apps.ingest.storage.sources import MOST_WRONG, RowsSource, StorageOptions
from finops.frames.spot import Rejection
from finops.lake import STORAGE_READS, Lake
from finops.lake.sql import quote
from finops.providers.aws import storage_logs, storage_trail
from finops.providers.files import storage_reads
from finops.providers.files.storage_files import Table, broken, line_relation, magic, whole_text
from finops.providers.storage import Kind, StorageFileError, key_id, prefix_of
from finops.providers.storage.kinds import plain

_MOST_EVENTS_BYTES = 1 << 30
_EVENTS_PER_BATCH = 50_000
# A log of a busy bucket comes in some thousand small files: opened one by one they take 10 ms each.
_FILES_AT_ONCE = 256
_REASONS = {
    "line": "not a line of a server access log",
    "time": "not a time like 06/Feb/2019:00:00:38 +0000",
    "bucket": "no bucket",
    "key": "no object",
    "group": "no object",
    "day": "not a day like 2026-11-30, nor a time with Z or an offset",
    "bytes": "not a whole number from 0",
    "requests": "not a whole number from 0",
    "Records": "not an event",
    "eventTime": "not a time with Z",
    "requestParameters.bucketName": "no bucket",
    "requestParameters.key": "no object",
    "additionalEventData.bytesTransferredOut": "not a whole number from 0",
}
_RAW = (
    ("rn", "BIGINT"), ("bucket_name", "VARCHAR"), ("key_id", "BIGINT"), ("prefix", "VARCHAR"),
    ("day", "DATE"), ("requests", "BIGINT"), ("bytes", "BIGINT"), ("is_read", "BOOLEAN"),
    ("wrong", "VARCHAR"),
)  # fmt: skip


@dataclass
class StagedReads:
    """What the files of reads of a run said. `days`: the days that each bucket's logs name."""

    reads: int = 0
    others: int = 0
    rows_of: Counter[str] = field(default_factory=Counter)
    days: dict[str, set[date]] = field(default_factory=lambda: defaultdict(set))
    ranges: dict[str, list[tuple[date, date]]] = field(default_factory=lambda: defaultdict(list))
    rejections: list[Rejection] = field(default_factory=list)
    refused: list[Rejection] = field(default_factory=list)

    @property
    def buckets(self) -> list[str]:
        """Names of the buckets that the files speak of."""
        return sorted({*self.days, *self.ranges})


@dataclass
class ReadsStager:
    """Reads files into `staged_reads` (bucket_name, source, key_id, prefix, day, requests, bytes)."""

    con: duckdb.DuckDBPyConnection
    options: StorageOptions
    tell: Callable[[int], None] = lambda _rows: None
    staged: StagedReads = field(default_factory=StagedReads)

    def __post_init__(self) -> None:
        self.con.execute(
            "CREATE TEMP TABLE staged_reads (bucket_name VARCHAR, source VARCHAR, key_id BIGINT, "
            "prefix VARCHAR, day DATE, requests BIGINT, bytes BIGINT)"
        )

    def stage(self, sources: Sequence[RowsSource]) -> StagedReads:
        """All files; those that cannot be used are in `refused` and leave nothing."""
        logs = [s for s in sources if s.kind is Kind.ACCESS_LOG]
        for packed in (True, False):
            group = [s for s in logs if magic(s.file.path).startswith(b"\x1f\x8b") == packed]
            for batch in _in_batches(group, _FILES_AT_ONCE):
                self._logs(batch)
        for source in sources:
            if source.kind is Kind.CLOUDTRAIL:
                self._take(source, partial(self._trail, source))
            elif source.kind is Kind.READS:
                self._take(source, partial(self._table, source))
        return self.staged

    def _logs(self, batch: Sequence[RowsSource]) -> None:
        """Many files at once; where one is broken, file by file."""
        relation = line_relation([s.file.path for s in batch])
        try:
            self._raw(storage_logs.reads_sql(relation), batch)
        except StorageFileError:
            for source in batch:
                sql = storage_logs.reads_sql(line_relation([source.file.path]))
                self._take(source, partial(self._raw, sql, [source]))

    def _take(self, source: RowsSource, read: Callable[[], None]) -> None:
        try:
            read()
        except StorageFileError as error:
            name = source.file.name
            self.staged.refused.append(Rejection(name, error.row, error.field, str(error)))

    def _table(self, source: RowsSource) -> None:
        table = source.table
        assert table is not None  # noqa: S101 - a table of reads always has one
        columns = reads_columns(table)
        bucket = self.options.bucket or source.file.path.name.split(".", 1)[0]
        sql = storage_reads.reads_sql(table.relation(self.con), columns, quote(bucket))
        self._raw(sql, [source], whole=True)

    def _trail(self, source: RowsSource) -> None:
        events = storage_trail.events_of(whole_text(source.file.path, _MOST_EVENTS_BYTES))
        names = ["rn", "bucket_name", "key", "day", "bytes", "is_read", "wrong"]
        kinds = [pa.int64(), pa.string(), pa.string(), pa.date32(), pa.int64(), pa.bool_(), pa.string()]
        schema = pa.schema(list(zip(names, kinds, strict=True)))
        rows = ((e.row, e.bucket, e.key, e.at and e.at.date(), e.sent, e.is_read, e.wrong) for e in events)

        def batches() -> Iterator[pa.RecordBatch]:
            while part := list(islice(rows, _EVENTS_PER_BATCH)):
                columns = [pa.array(c, k) for c, k in zip(zip(*part, strict=True), kinds, strict=True)]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)

        trail = pa.Table.from_batches(batches(), schema=schema)
        self.con.register("trail", trail)
        try:
            self._raw(
                f"SELECT rn, bucket_name, {key_id('key')} AS key_id, {prefix_of('key')} AS prefix, day, "
                "1 AS requests, bytes, is_read, wrong FROM trail",
                [source],
            )
        finally:
            self.con.unregister("trail")

    def _raw(self, sql: str, sources: Sequence[RowsSource], *, whole: bool = False) -> None:
        """Take over what a SELECT of requests says. `whole`: the file tells all reads of its days, so every
        bucket is covered from its first day to its last.
        """
        columns = ", ".join(f"CAST({name} AS {kind}) AS {name}" for name, kind in _RAW)
        try:
            self.con.execute(f"CREATE OR REPLACE TEMP TABLE raw_reads AS SELECT {columns} FROM ({sql})")
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            told = broken(error)
            if told is None:
                raise
            raise StorageFileError(str(told)) from error
        # All of it is fetched: an answer that is not read to its end keeps the connection busy.
        [(wrong, reads, others)] = self.con.execute(
            "SELECT count(*) FILTER (wrong IS NOT NULL), count(*) FILTER (wrong IS NULL AND is_read), "
            "count(*) FILTER (wrong IS NULL AND NOT is_read) FROM raw_reads"
        ).fetchall()
        if wrong:
            self._wrong(sources, wrong, good=reads + others)
        self.tell(wrong + reads + others)
        kind = sources[0].kind
        self.con.execute(
            f"INSERT INTO staged_reads SELECT bucket_name, '{kind}', key_id, any_value(prefix), day, "
            "sum(requests), sum(bytes) FROM raw_reads WHERE is_read AND wrong IS NULL "
            "GROUP BY bucket_name, key_id, day"
        )
        self.staged.reads += reads
        self.staged.others += others
        self._count_rows(sources, reads)
        self._days(whole=whole)
        self.con.execute("DROP TABLE raw_reads")

    def _count_rows(self, sources: Sequence[RowsSource], reads: int) -> None:
        """Rows per file, so that the same file again can be counted; a batch's are its first file's."""
        for source in sources:
            self.staged.rows_of[source.sha256] += 0
        self.staged.rows_of[sources[0].sha256] += reads

    def _days(self, *, whole: bool) -> None:
        if whole:
            rows = self.con.execute(
                "WITH d AS (SELECT min(day) AS a, max(day) AS b FROM raw_reads WHERE wrong IS NULL) "
                "SELECT DISTINCT bucket_name, a, b FROM raw_reads, d WHERE wrong IS NULL"
            ).fetchall()
            for bucket, first, last in rows:
                self.staged.ranges[bucket].append((first, last))
            return
        rows = self.con.execute(
            "SELECT DISTINCT bucket_name, day FROM raw_reads WHERE wrong IS NULL AND bucket_name != ''"
        ).fetchall()
        for bucket, day in rows:
            self.staged.days[bucket].add(day)

    def _wrong(self, sources: Sequence[RowsSource], wrong: int, *, good: int) -> None:
        """Which rows of which files; a single file of which no row can be used is refused as a whole."""
        found: list[Rejection] = []
        for source in sources:
            found += self._numbered(source, alone=len(sources) == 1)
        if wrong > MOST_WRONG or (not good and len(sources) == 1):
            first = found[0]
            told = f"{wrong} rows cannot be used" if good else "no row can be used"
            raise StorageFileError(f"{told}: {first.reason}", row=first.row, field=first.field)
        self.staged.rejections += found

    def _numbered(self, source: RowsSource, *, alone: bool) -> list[Rejection]:
        if source.kind is Kind.ACCESS_LOG:
            assert source.table is not None  # noqa: S101 - lines always have one
            sql = storage_logs.reads_sql(source.table.relation(self.con))
            rows = self.con.execute(
                f"SELECT rn, wrong FROM ({sql}) WHERE wrong IS NOT NULL ORDER BY rn LIMIT {MOST_WRONG}"
            ).fetchall()
        else:
            rows = self.con.execute(
                f"SELECT rn, wrong FROM raw_reads WHERE wrong IS NOT NULL ORDER BY rn LIMIT {MOST_WRONG}"
            ).fetchall()
        names = column_names(source)
        return [
            Rejection(source.file.name, row, names.get(wrong, wrong), _REASONS.get(wrong, wrong))
            for row, wrong in rows
        ]

    def write(self, lake: Lake, *, key_of: Callable[[str], str], run_id: int) -> list[str]:
        """The staged reads as files of the lake, one per bucket and month."""
        found = self.con.execute(
            "SELECT DISTINCT bucket_name, strftime(day, '%Y-%m') FROM staged_reads ORDER BY ALL"
        ).fetchall()
        parts: dict[tuple[str, ...], str] = {}
        for bucket, month in found:
            parts[key_of(bucket), month] = (
                f"SELECT {quote(key_of(bucket))} AS bucket, {quote(month)} AS month, key_id, "
                "any_value(prefix) AS prefix, day, source, sum(requests) AS requests, sum(bytes) AS bytes, "
                f"{run_id} AS run_id FROM staged_reads WHERE bucket_name = {quote(bucket)} "
                f"AND strftime(day, '%Y-%m') = {quote(month)} GROUP BY key_id, day, source "
                "ORDER BY day, prefix, key_id"
            )
        return lake.write_parts(self.con, STORAGE_READS, parts) if parts else []


def reads_columns(table: Table) -> dict[str, str]:
    """Name of ours -> SQL name, for a table of reads."""
    places = {plain(name): place for place, name in reversed(list(enumerate(table.names)))}
    found = {}
    for ours, theirs in storage_reads.COLUMNS.items():
        place = next((places[plain(name)] for name in theirs if plain(name) in places), None)
        if place is not None:
            found[ours] = f"r{place}"
    return found


def column_names(source: RowsSource) -> dict[str, str]:
    """Name of ours -> the column as the file has it."""
    if source.table is None or source.kind is not Kind.READS:
        return {}
    return {ours: source.table.names[int(place[1:])] for ours, place in reads_columns(source.table).items()}


def _in_batches(items: Sequence[RowsSource], size: int) -> Iterator[list[RowsSource]]:
    it = iter(items)
    while part := list(islice(it, size)):
        yield part
