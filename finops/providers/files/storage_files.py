"""Files about storage as relations of texts for DuckDB: tables, Parquet, ORC, lines.

Columns are `r0`, `r1`, …; `rn` is the 1-based record where it is asked for. Types become the texts that CSV
has: instants end in Z, truth is true or false. DuckDB reads no ORC; PyArrow gives it a stripe at a time.
"""

from __future__ import annotations

import gzip
import hashlib
import itertools
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import orc

from finops.providers.files.archives import UnreadableError
from finops.providers.files.bill_files import BillFile, open_bill_file, reading_error
from finops.text.sql import name, quote

PARQUET, ORC, GZIP = b"PAR1", b"ORC", b"\x1f\x8b"
# A line of a log may hold a request of 8 KiB and as much of headers.
_MAX_LINE_BYTES = 2 << 20
_HEAD_BYTES = 64 << 10
_views = itertools.count()


@dataclass(frozen=True)
class Table:
    """A file whose columns are known. `form`: csv (no header), bill (csv with one), parquet, orc, lines."""

    path: Path
    names: tuple[str, ...]
    form: str
    bill: BillFile | None = None

    def relation(self, con: duckdb.DuckDBPyConnection, *, numbered: bool = True) -> str:
        """SQL of the rows on this connection. Counting records holds a file to one thread."""
        if self.bill is not None:
            return self.bill.relation()
        count = "row_number() OVER () AS rn, " if numbered else ""
        if self.form == "orc":
            view = f"orc_{next(_views)}"
            con.register(view, orc_reader(self.path))
            return f"(SELECT {count}* FROM {view})"
        if self.form == "parquet":
            return _parquet(con, self.path, numbered=numbered)
        packed = "gzip" if magic(self.path).startswith(GZIP) else "none"
        columns = ", ".join(f"'r{i}': 'VARCHAR'" for i in range(len(self.names)))
        text = f"delim = ',', quote = '\"', escape = '\"', columns = {{{columns}}}"
        if self.form == "lines":
            text = "delim = e'\\x01', quote = '', escape = '', columns = {'line': 'VARCHAR'}"
        return (
            f"(SELECT {count}* FROM read_csv({quote(str(self.path))}, auto_detect = false, header = false, "
            f"compression = '{packed}', max_line_size = {_MAX_LINE_BYTES}, {text}))"
        )


def csv_relation(paths: Sequence[Path], columns: int) -> str:
    """The rows of many files of one form without a header, read side by side and not numbered."""
    packed = "gzip" if magic(paths[0]).startswith(GZIP) else "none"
    kinds = ", ".join(f"'r{i}': 'VARCHAR'" for i in range(columns))
    return (
        f"(SELECT * FROM read_csv([{', '.join(quote(str(p)) for p in paths)}], auto_detect = false, "
        f"header = false, compression = '{packed}', max_line_size = {_MAX_LINE_BYTES}, delim = ',', "
        f"quote = '\"', escape = '\"', columns = {{{kinds}}}))"
    )


def line_relation(paths: Sequence[Path]) -> str:
    """The lines of many files as (file, rn, line); `rn` is 0: what is wrong is looked up file by file."""
    packed = "gzip" if magic(paths[0]).startswith(GZIP) else "none"
    return (
        "(SELECT filename AS file, 0 AS rn, line FROM read_csv("
        f"[{', '.join(quote(str(p)) for p in paths)}], auto_detect = false, header = false, "
        f"compression = '{packed}', max_line_size = {_MAX_LINE_BYTES}, delim = e'\\x01', quote = '', "
        "escape = '', columns = {'line': 'VARCHAR'}, filename = true))"
    )


def open_table(path: Path, folder: Path) -> Table:
    """A file that names its columns. Raises UnreadableError; `folder` takes what had to be unpacked."""
    head = magic(path)
    if head.startswith(ORC):
        return Table(path, tuple(_orc(path).schema.names), "orc")
    if head.startswith(PARQUET):
        with duckdb.connect(":memory:") as con:
            return Table(path, tuple(column for column, _ in _columns(con, path)), "parquet")
    bill = open_bill_file(path, folder)
    return Table(path, tuple(header.name for header in bill.headers), "bill", bill)


def magic(path: Path) -> bytes:
    """The first bytes. Raises UnreadableError."""
    try:
        with path.open("rb") as handle:
            return handle.read(8)
    except OSError as error:
        raise UnreadableError(f"cannot be opened: {error.strerror}") from error


def start_of(path: Path) -> bytes:
    """The first 64 KiB, unpacked from gzip. Raises UnreadableError for what is cut short or broken there."""
    try:
        with path.open("rb") as handle:
            if not magic(path).startswith(GZIP):
                return handle.read(_HEAD_BYTES)
            return gzip.GzipFile(fileobj=handle).read(_HEAD_BYTES)
    except (OSError, EOFError, zlib.error) as error:
        raise UnreadableError(f"gzip data cut short or broken: {error}") from error


def whole_text(path: Path, most: int) -> bytes:
    """All of a document, unpacked from gzip. Raises UnreadableError over `most` bytes."""
    try:
        with path.open("rb") as handle:
            stream = gzip.GzipFile(fileobj=handle) if magic(path).startswith(GZIP) else handle
            data = stream.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UnreadableError(f"gzip data cut short or broken: {error}") from error
    if len(data) > most:
        raise UnreadableError(f"larger than {most >> 20} MiB")
    return data


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file as it lies there."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def md5_of(path: Path) -> str:
    """The MD5 of a file as it lies there: what manifests tell."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def broken(error: Exception) -> UnreadableError | None:
    """What a reader says of an unusable file, as our refusal; None when the file is not at fault."""
    if isinstance(error, UnreadableError):
        return error
    if isinstance(error, pa.ArrowException | OSError):
        return UnreadableError(f"cut short or broken: {str(error).splitlines()[0][:200]}")
    if isinstance(error, duckdb.Error):
        # What a reader of ours raises inside a query comes out in DuckDB's words.
        if "Arrow" in str(error) or "ORC" in str(error):
            return UnreadableError(f"cut short or broken: {str(error).splitlines()[0][:200]}")
        return reading_error(error)
    return None


def _columns(con: duckdb.DuckDBPyConnection, path: Path) -> list[tuple[str, str]]:
    try:
        described = con.execute(
            f"DESCRIBE SELECT * FROM read_parquet({quote(str(path))}, binary_as_string = true, "
            "hive_partitioning = false)"
        ).fetchall()
    except duckdb.Error as error:
        raise UnreadableError(f"Parquet cut short or broken: {str(error).splitlines()[0][:200]}") from error
    return [(str(row[0]), str(row[1])) for row in described]


def _parquet(con: duckdb.DuckDBPyConnection, path: Path, *, numbered: bool) -> str:
    texts = ", ".join(f"{_as_text(c, kind)} AS r{i}" for i, (c, kind) in enumerate(_columns(con, path)))
    count = "file_row_number + 1 AS rn, " if numbered else ""
    return (
        f"(SELECT {count}{texts} FROM read_parquet({quote(str(path))}, binary_as_string = true, "
        f"file_row_number = {str(numbered).lower()}, hive_partitioning = false))"
    )


def _as_text(column: str, kind: str) -> str:
    if kind.startswith("TIMESTAMP"):
        return f"strftime({name(column)}, '%Y-%m-%dT%H:%M:%SZ')"
    return name(column) if kind == "VARCHAR" else f"CAST({name(column)} AS VARCHAR)"


def _orc(path: Path) -> orc.ORCFile:
    try:
        return orc.ORCFile(path)
    except (pa.ArrowException, OSError) as error:
        raise UnreadableError(f"ORC cut short or broken: {str(error).splitlines()[0][:200]}") from error


def orc_reader(path: Path, columns: Sequence[str] | None = None) -> pa.RecordBatchReader:
    """The columns (all) as texts, a stripe at a time."""
    file = _orc(path)
    names = list(columns or file.schema.names)
    schema = pa.schema([(f"r{i}", pa.string()) for i in range(len(names))])

    def batches() -> Iterator[pa.RecordBatch]:
        for stripe in range(file.nstripes):
            batch = file.read_stripe(stripe, columns=names)
            texts = [_arrow_text(batch.column(batch.schema.get_field_index(n))) for n in names]
            yield pa.RecordBatch.from_arrays(texts, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def _arrow_text(column: pa.Array) -> pa.Array:
    if pa.types.is_timestamp(column.type):
        return pc.strftime(column.cast(pa.timestamp("s", "UTC"), safe=False), format="%Y-%m-%dT%H:%M:%SZ")
    if pa.types.is_nested(column.type):
        return pa.nulls(len(column), pa.string())
    return column.cast(pa.string())
