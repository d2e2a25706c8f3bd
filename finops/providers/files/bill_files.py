"""One file of a bill as a relation of texts for DuckDB: CSV, plain or packed, and Parquet of any types.

What DuckDB cannot read itself (zip, xz, bzip2, UTF-16) is unpacked into the caller's folder first, with the
limits of `archives`. Everything is text: doubles of Parquet in their shortest decimal form, nested types as
JSON text. A file that is cut short, broken, ragged or in another encoding raises UnreadableError.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import re
import uuid
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from finops.providers.bills import Header
from finops.providers.files.archives import CHUNK, ArchiveLimits, UnreadableError
from finops.providers.files.text import encoding_of, utf8_chunks
from finops.text.sql import name, quote

_HEAD_BYTES = 1 << 20
_MAX_LINE_BYTES = 2 << 20
# Left to itself DuckDB takes 16 times the longest line: files side by side then ran out of 1 GB.
_BUFFER_BYTES = 8 << 20
# Files that were glued together by hand are small; larger ones are not looked through.
_MIXED_MOST_BYTES = 64 << 20
_DELIMITERS = ",;\t|"
_PARQUET = b"PAR1"
_GZIP, _ZSTD = b"\x1f\x8b", b"(\xb5/\xfd"
# A gzip stream ends with its checksum and length, which are not both zero.
_GZIP_END = 8
_XZ, _BZ2, _ZIP = b"\xfd7zXZ\x00", b"BZh", b"PK\x03\x04"
_LINE_END = re.compile(rb"\r\n|\r|\n")
_MEMBERS = (".csv", ".tsv", ".txt", ".gz", ".parquet")
# What DuckDB says of a line of a CSV file -> what that means.
_SIGNS = {
    "Invalid unicode": "is not UTF-8 (save the file as UTF-8)",
    "unterminated quote": "opens a quote that is never closed",
    "Maximum line size": f"is longer than {_MAX_LINE_BYTES} bytes",
}
# The readers of broken compressed data.
_BROKEN = (
    EOFError,
    OSError,
    lzma.LZMAError,
    zipfile.BadZipFile,
    pa.ArrowInvalid,
    zlib_error := __import__("zlib").error,
)


@dataclass(frozen=True)
class Piece:
    """A file with whole records and no header; `before` records of its source stand in earlier pieces."""

    path: Path
    before: int


@dataclass(frozen=True)
class BillFile:
    """A file that can be read: `relation(null_word)` is SQL of its rows as (rn, r0, r1 …)."""

    path: Path
    headers: tuple[Header, ...]
    form: str
    delimiter: str = ""
    columns: tuple[tuple[str, str], ...] = ()
    compression: str = "none"

    def relation(self, null_word: str = "", piece: Piece | None = None) -> str:
        """SQL of the rows: `rn` is the 1-based record. An unquoted `null_word` is null, '' stays."""
        return self._parquet() if self.form == "parquet" else self._csv(null_word, piece)

    def _csv(self, null_word: str, piece: Piece | None) -> str:
        path, compression = (self.path, self.compression) if piece is None else (piece.path, "none")
        number = "row_number() OVER ()" + (f" + {piece.before}" if piece else "")
        columns = ", ".join(f"'r{i}': 'VARCHAR'" for i in range(len(self.headers)))
        quoted = "true" if not null_word else "false"
        return (
            f"(SELECT {number} AS rn, * FROM read_csv({quote(str(path))}, "
            f"auto_detect = false, header = {str(piece is None).lower()}, "
            f"delim = {quote(self.delimiter)}, quote = '\"', "
            f"escape = '\"', nullstr = {quote(null_word)}, allow_quoted_nulls = {quoted}, "
            f"compression = {quote(compression)}, max_line_size = {_MAX_LINE_BYTES}, "
            f"buffer_size = {_BUFFER_BYTES}, "
            f"columns = {{{columns}}}))"
        )

    def _parquet(self) -> str:
        texts = ", ".join(
            f"{_as_text(column, kind)} AS r{i}" for i, (column, kind) in enumerate(self.columns)
        )
        return (
            f"(SELECT file_row_number + 1 AS rn, {texts} FROM read_parquet({quote(str(self.path))}, "
            "file_row_number = true, binary_as_string = true, hive_partitioning = false))"
        )


def _nested(kind: str) -> bool:
    return kind.startswith(("MAP", "STRUCT")) or kind.endswith("]")


def _as_text(column: str, kind: str) -> str:
    if _nested(kind):
        return f"CAST(to_json({name(column)}) AS VARCHAR)"
    return name(column) if kind == "VARCHAR" else f"CAST({name(column)} AS VARCHAR)"


def open_bill_file(path: Path, folder: Path, limits: ArchiveLimits | None = None) -> BillFile:
    """The file, ready to be read; `folder` takes what had to be unpacked. Raises UnreadableError."""
    limits = limits or ArchiveLimits()
    try:
        head = _magic(path)
    except OSError as error:
        raise UnreadableError(f"cannot be opened: {error.strerror}") from error
    if head.startswith(_PARQUET):
        return _open_parquet(path)
    if head.startswith(_ZIP):
        path = _one_member(path, folder, limits)
        head = _magic(path)
        if head.startswith(_PARQUET):
            return _open_parquet(path)
    opener, compression = _opener(head)
    try:
        start = _start(path, opener)
        encoding, mark = _encoding(start)
        if compression == "gzip" and _is_padded(path):
            compression = "unpack"
        if compression == "unpack" or encoding != "utf-8":
            path, compression = _unpacked(path, opener, folder, limits), "none"
            mark = 0
        if compression == "none":
            path = _one_line_end(path, folder)
    except _BROKEN as error:
        raise UnreadableError(f"cut short or broken: {error}") from error
    if not start:
        raise UnreadableError("the file is empty")
    text = start[mark:] if encoding == "utf-8" else start[mark:].decode(encoding, "ignore").encode()
    delimiter, headers = _header(text)
    return BillFile(path, headers, "csv", delimiter, (), compression)


def _encoding(start: bytes) -> tuple[str, int]:
    """As `encoding_of`; what is no text is said to be no bill."""
    if start[257:262] == b"ustar":
        raise UnreadableError("a tar archive: unpack it, and give its files or their folder")
    try:
        return encoding_of(start)
    except UnreadableError as error:
        raise UnreadableError("no bill: binary content") from error


def _magic(path: Path) -> bytes:
    with path.open("rb") as handle:
        return handle.read(8)


def _is_padded(path: Path) -> bool:
    """Whether zeros stand behind a gzip stream, as tapes and some copies leave them: DuckDB stops there."""
    with path.open("rb") as handle:
        handle.seek(-min(_GZIP_END, path.stat().st_size), io.SEEK_END)
        return not any(handle.read(_GZIP_END))


def _opener(head: bytes) -> tuple[Callable[[IO[bytes]], Any], str]:
    """(opens the decompressed stream, what DuckDB calls the compression; `unpack` for what it cannot)."""
    if head.startswith(_GZIP):
        return lambda raw: gzip.GzipFile(fileobj=raw), "gzip"
    if head.startswith(_ZSTD):
        return lambda raw: pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), "zstd"), "unpack"
    if head.startswith(_XZ):
        return lzma.LZMAFile, "unpack"
    if head.startswith(_BZ2):
        return bz2.BZ2File, "unpack"
    return lambda raw: raw, "none"


@contextmanager
def _opened(path: Path, opener: Callable[[IO[bytes]], Any]) -> Iterator[Any]:
    with path.open("rb") as raw:
        yield opener(raw)


def _start(path: Path, opener: Callable[[IO[bytes]], Any]) -> bytes:
    """The first decompressed bytes, up to the end of a line where there is one."""
    found = b""
    with _opened(path, opener) as stream:
        while len(found) < _HEAD_BYTES:
            chunk = stream.read(65536)
            if not chunk:
                break
            found += chunk
            if b"\n" in found[-len(chunk) :]:
                break
    return found


def _unpacked(path: Path, opener: Callable[[IO[bytes]], Any], folder: Path, limits: ArchiveLimits) -> Path:
    """The decompressed text as UTF-8 in a file of its own."""
    target = folder / f"{uuid.uuid4().hex}.csv"
    taken = max(path.stat().st_size, 1)
    size = 0
    with _opened(path, opener) as stream, target.open("wb") as out:
        readable = io.BufferedReader(cast(Any, _Raw(stream)), CHUNK)
        for chunk in utf8_chunks(readable):
            size += len(chunk)
            _check_size(size, taken, limits)
            out.write(chunk)
    return target


def _one_line_end(path: Path, folder: Path) -> Path:
    """The file, or a copy with LF where it mixes CR LF with LF: DuckDB reads one kind of line end only."""
    if path.stat().st_size > _MIXED_MOST_BYTES:
        return path
    data = path.read_bytes()
    if b"\r\n" not in data or data.count(b"\n") == data.count(b"\r\n"):
        return path
    target = folder / f"{uuid.uuid4().hex}.csv"
    target.write_bytes(data.replace(b"\r\n", b"\n"))
    return target


class _Raw(io.RawIOBase):
    """Any stream with `read` as one that io can buffer."""

    def __init__(self, stream: Any) -> None:
        super().__init__()
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _check_size(size: int, taken: int, limits: ArchiveLimits) -> None:
    if size > limits.total_bytes:
        raise UnreadableError(f"expands to more than {limits.total_bytes} bytes")
    if size > max(limits.ratio_from, taken * limits.ratio):
        raise UnreadableError(f"expands more than {limits.ratio} times")


def _is_data(member: str) -> bool:
    """Whether a member of a zip is a table; macOS adds `__MACOSX/._report.csv` beside `report.csv`."""
    path = PurePosixPath(member)
    return (
        path.name.lower().endswith(_MEMBERS) and not path.name.startswith(".") and path.parts[0] != "__MACOSX"
    )


def _one_member(path: Path, folder: Path, limits: ArchiveLimits) -> Path:
    """The one data file of a zip, unpacked."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [m for m in archive.infolist() if not m.is_dir() and _is_data(m.filename)]
            if len(members) != 1:
                raise UnreadableError(f"the zip holds {len(members)} data files; one is expected")
            target = folder / f"{uuid.uuid4().hex}{PurePosixPath(members[0].filename).suffix}"
            size = 0
            with archive.open(members[0]) as stream, target.open("wb") as out:
                while chunk := stream.read(CHUNK):
                    size += len(chunk)
                    _check_size(size, max(members[0].compress_size, 1), limits)
                    out.write(chunk)
            return target
    except (*_BROKEN, NotImplementedError, RuntimeError) as error:
        raise UnreadableError(f"zip cut short or broken: {error}") from error


def _open_parquet(path: Path) -> BillFile:
    try:
        names = pq.read_schema(path).names
        with duckdb.connect(":memory:") as con:
            described = con.execute(
                f"DESCRIBE SELECT * FROM read_parquet({quote(str(path))}, binary_as_string = true, "
                "hive_partitioning = false)"
            ).fetchall()
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        raise UnreadableError(f"Parquet cut short or broken: {_first_line(error)}") from error
    columns = tuple((str(row[0]), str(row[1])) for row in described)
    headers = tuple(Header(n, _nested(kind)) for n, (_, kind) in zip(names, columns, strict=True))
    return BillFile(path, headers, "parquet", columns=columns)


def _header(text: bytes) -> tuple[str, tuple[Header, ...]]:
    """(delimiter, columns) by the first record. Raises UnreadableError when it is none."""
    try:
        told = text.decode("utf-8", "strict" if len(text) < _HEAD_BYTES else "ignore")
    except UnicodeDecodeError:
        told = text.rsplit(b"\n", 1)[0].decode("utf-8", "replace")
    delimiter = max(_DELIMITERS, key=lambda d: len(_first_record(told, d)))
    record = _first_record(told, delimiter)
    if "\ufffd" in "".join(record):
        raise UnreadableError("the header is not UTF-8 (save the file as UTF-8)")
    names = [column.strip() for column in record]
    if not any(names):
        raise UnreadableError("line 1 is blank: the header has to be the first line")
    if len(names) < 2:
        raise UnreadableError("no table: the first line has no columns")
    repeated = sorted({column for column in names if names.count(column) > 1 and column})
    if repeated:
        raise UnreadableError(f"the column {repeated[0]} is there more than once")
    return delimiter, tuple(Header(column) for column in names)


def _first_record(text: str, delimiter: str) -> Sequence[str]:
    try:
        return next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), [])
    except csv.Error:
        return []


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0][:300] if str(error) else type(error).__name__


def reading_error(error: duckdb.Error, file: BillFile | None = None) -> UnreadableError | None:
    """What DuckDB says of a file that is no bill, as our refusal; None when the fault is not the file's."""
    told = _first_line(error)
    if file is not None and "state machine" in told and (line := other_line_end(file)):
        return UnreadableError(f"line {line} ends in another way than line 1 (save it with LF, CR LF or CR)")
    if isinstance(error, duckdb.NotImplementedException) and "CSV" in told:
        # A record that has no end within DuckDB's buffers: lines without anything in them, by the million.
        return UnreadableError("a line has no end, or blank lines go on and on")
    if isinstance(error, duckdb.IOException | duckdb.InvalidInputException) and any(
        word in str(error)
        for word in (
            "CSV Error",
            "GZIP",
            "gzip",
            "Parquet",
            "parquet",
            "unicode",
            "UTF-8",
            "utf-8",
            "ZSTD",
            "read",
        )
    ):
        return UnreadableError(f"cut short or broken: {_plainly(str(error)) or told}")
    return None


def other_line_end(file: BillFile) -> int:
    """The first line that ends in another way than line 1, breaks between quotes aside; 0 for none."""
    opener, _ = _opener(_magic(file.path))
    wanted, line, inside, held = b"", 0, False, b""
    try:
        with _opened(file.path, opener) as stream:
            while chunk := stream.read(CHUNK):
                data = held + chunk
                # What comes after a CR at the end is not known yet.
                held = b"\r" if data.endswith(b"\r") else b""
                for number, piece in enumerate(data[: len(data) - len(held)].split(b'"')):
                    inside ^= number > 0
                    for end in () if inside else _LINE_END.findall(piece):
                        line += 1
                        wanted = wanted or end
                        if end != wanted:
                            return line
    except _BROKEN:
        return 0
    return 0


def _plainly(told: str) -> str:
    """What is wrong with a line, without DuckDB's advice and paths of the machine; "" where not known."""
    if "end of GZIP stream" in told:
        return "the gzip stream ends too early"
    if "not a GZIP stream" in told:
        return "there is something behind the end of the gzip stream"
    line = re.search(r"CSV Error on Line: (\d+)", told)
    cells = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", told)
    if line is None:
        return ""
    if cells is not None:
        return f"line {line[1]} has {cells[2]} cells, the header {cells[1]}"
    for sign, meaning in _SIGNS.items():
        if sign in told:
            return f"line {line[1]} {meaning}"
    return f"line {line[1]}"
