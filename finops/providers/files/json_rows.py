"""JSON of the API and the CLI: one document, pages, documents one after another, JSON lines, plain lists.

A document up to WHOLE bytes is parsed at once; a larger one is taken apart at the ends of its rows, which
are flat objects, so that memory does not grow with the file. A document that is cut short refuses the whole
file.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np
import orjson
import pyarrow as pa

from finops.frames.spot import Rejection
from finops.providers.base import SpotBatch
from finops.providers.files.archives import UnreadableError
from finops.providers.files.columns import match, recognised
from finops.providers.files.json_columns import HISTORY, answer_columns
from finops.providers.files.text import encoding_of, utf8_chunks
from finops.providers.spot_rows import LABELS, CodedLabels, SpotContext, price_array, spot_batch

# A row is about 250 bytes pretty-printed and 600 as Python objects: 32 MiB stay below 110 MB while they are
# parsed.
WHOLE = 32 << 20
PIECE = 8 << 20
# A key may be missing in a row, hardly in a hundred.
KEY_ROWS = 100
_ROWS_BEGIN = re.compile(rb'(?:\A\s*|"SpotPriceHistory"\s*:\s*)\[\s*')
_ROWS_END = re.compile(rb"\}\s*\]")


class Scratch:
    """Room for one file after another: fresh memory for each would cost as much as reading it."""

    def __init__(self) -> None:
        self.room = bytearray(1 << 20)

    def fill(self, stream: io.BufferedReader) -> int:
        """Read up to WHOLE + 1 bytes to the beginning of `room`; returns how many."""
        size = 0
        while size <= WHOLE:
            if size == len(self.room):
                self.room = self.room + bytes(min(size, WHOLE + 1 - size))
            with memoryview(self.room) as view:
                count = stream.readinto(view[size:])
            if not count:
                break
            size += count
        return size


def json_batches(
    context: SpotContext, file: str, stream: io.BufferedReader, scratch: Scratch | None = None
) -> Iterator[SpotBatch | Callable[[], SpotBatch]]:
    """All rows of a JSON file, numbered from 1 over all its documents. Raises UnreadableError.

    A batch may come as the call that makes it; `scratch` is used again for the next file.
    """
    reader = _Rows(context, file)
    encoding, mark = encoding_of(stream.peek(512)[:512])
    if encoding == "utf-8":
        stream.read(mark)
        scratch = scratch or Scratch()
        size = scratch.fill(stream)
        columns = answer_columns(scratch.room, size) if size <= WHOLE else None
        if columns is not None:
            yield reader.columns(columns)
            return
        data = bytes(memoryview(scratch.room)[:size])
        if size <= WHOLE:
            yield from reader.documents(_whole(data))
            return
        yield from _pieces(reader, data, iter(lambda: stream.read(PIECE), b""))
        return
    yield from reader.documents(_whole(b"".join(utf8_chunks(stream))))


class _Rows:
    """Rows of one file into batches; counts them."""

    def __init__(self, context: SpotContext, file: str) -> None:
        self.context = context
        self.file = file
        self.count = 0

    def documents(self, documents: list[Any]) -> Iterator[SpotBatch]:
        for document in documents:
            rows = _rows_of(document)
            if rows:
                yield self.batch(rows)

    def columns(self, columns: Mapping[str, pa.Array]) -> Callable[[], SpotBatch]:
        """All rows of the file, as text by key."""
        count = len(next(iter(columns.values())))
        mapped = match(list(columns), self.context)
        fields = {field: columns[key] for field, key in mapped.columns.items()}
        numbers = np.arange(1, count + 1)
        return partial(spot_batch, self.context, self.file, fields, numbers, mapped.columns)

    def batch(self, rows: list[Any]) -> SpotBatch:
        numbers = np.arange(self.count + 1, self.count + 1 + len(rows), dtype=np.int64)
        self.count += len(rows)
        if set(map(type, rows)) != {dict}:
            odd = [i for i, row in enumerate(rows) if not isinstance(row, dict)]
            rejections = [Rejection(self.file, int(numbers[i]), "", "not a JSON object") for i in odd]
            keep = np.ones(len(rows), dtype=bool)
            keep[odd] = False
            rows = [row for row in rows if isinstance(row, dict)]
            batch = self._convert(rows, numbers[keep])
            return SpotBatch(self.file, batch.rows, rejections + batch.rejections)
        return self._convert(rows, numbers)

    def _convert(self, rows: list[dict[str, Any]], numbers: np.ndarray[Any, np.dtype[np.int64]]) -> SpotBatch:
        keys: dict[str, None] = {}
        for row in rows[:KEY_ROWS]:
            keys.update(dict.fromkeys(row))
        mapped = match(list(keys), self.context)
        keys_of = dict(mapped.columns)
        labels = _labels(rows, keys_of)
        if labels is not None:
            keys_of = {field: key for field, key in keys_of.items() if field not in LABELS}
        columns = {
            field: _prices(self.context, rows, key) if field == "price" else _column(rows, key)
            for field, key in keys_of.items()
        }
        return spot_batch(self.context, self.file, columns, numbers, mapped.columns, labels)


class _Places(dict[Any, int]):
    """Each new key gets the next number."""

    def __missing__(self, key: Any) -> int:
        place = self[key] = len(self)
        return place


def _labels(rows: list[dict[str, Any]], keys_of: Mapping[str, str]) -> CodedLabels | None:
    """The labels of all rows by combination, in one pass; None where a value is missing or no plain text."""
    present = [label for label in LABELS if label in keys_of]
    if len(present) < 2:
        return None
    places = _Places()
    try:
        found = map(itemgetter(*(keys_of[label] for label in present)), rows)
        codes = np.fromiter(map(places.__getitem__, found), np.int64, len(rows))
    except (KeyError, TypeError):
        return None
    if not all(_plain(text) for texts in places for text in texts):
        return None
    distinct = [
        tuple(given.get(label, "") for label in LABELS)
        for given in (dict(zip(present, texts, strict=True)) for texts in places)
    ]
    return CodedLabels(distinct, codes)


def _prices(context: SpotContext, rows: list[dict[str, Any]], key: str) -> pa.Array:
    """The prices where every row has one; else as `_column`, to find out why not."""
    try:
        found = map(context.known_prices.__getitem__, map(itemgetter(key), rows))
        values = np.fromiter(found, np.int64, len(rows))
    except (KeyError, TypeError):
        return _column(rows, key)
    return price_array(values) if values.all() else _column(rows, key)


def _plain(value: Any) -> bool:
    """Text that Arrow takes as it is; equal keys of other types (1 and 1.0) would be one."""
    return isinstance(value, str) and (value.isascii() or value == _text(value))


def _column(rows: list[dict[str, Any]], key: str) -> pa.Array:
    try:
        return pa.array(list(map(itemgetter(key), rows)), pa.string())
    except (KeyError, pa.ArrowInvalid, pa.ArrowTypeError, UnicodeEncodeError):
        return pa.array([_text(row.get(key)) for row in rows], pa.string())


def _text(value: Any) -> str:
    """A JSON value as text; a number by its shortest form, so that 0.031 stays 0.031."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(value)
    return json.dumps(value)[:200]


def _rows_of(document: Any) -> list[Any]:
    """The rows of one document: an answer of the API, a row, or a list of rows or of answers."""
    if isinstance(document, dict):
        if HISTORY in document:
            rows = document[HISTORY]
            if not isinstance(rows, list):
                raise UnreadableError(f"no price data: {HISTORY} is not a list")
            return rows
        if recognised(list(document)) >= 3:
            return [document]
        raise UnreadableError(f"no price data: a JSON document without {HISTORY} and without price rows")
    if isinstance(document, list):
        if any(isinstance(part, dict) and HISTORY in part for part in document):
            return [row for part in document for row in _rows_of(part)]
        if not document or any(isinstance(part, dict) for part in document):
            return document
    raise UnreadableError("no price data: the JSON holds no price rows")


def _whole(data: bytes) -> list[Any]:
    """The documents in `data`."""
    try:
        return [orjson.loads(data)]
    except orjson.JSONDecodeError as error:
        if not data.strip():
            raise UnreadableError("no price data: the file is empty") from error
        if "unexpected content after document" not in str(error):
            raise _refusal(data, error) from error
    first_line = data.lstrip().split(b"\n", 1)[0]
    try:
        orjson.loads(first_line)
    except orjson.JSONDecodeError:
        return _one_after_another(data.decode())
    return [_json_lines(data)]


def _json_lines(data: bytes) -> list[Any]:
    lines = [line for line in data.split(b"\n") if line.strip()]
    try:
        documents = orjson.loads(b"[" + b",".join(lines) + b"]")
    except orjson.JSONDecodeError:
        documents = None
    if documents is not None and len(documents) == len(lines):
        return list(documents)
    for number, line in enumerate(data.split(b"\n"), start=1):
        if line.strip():
            try:
                orjson.loads(line)
            except orjson.JSONDecodeError as error:
                raise UnreadableError(f"not valid JSON in line {number}: {error.msg}") from error
    raise UnreadableError("not valid JSON lines")


def _one_after_another(text: str) -> list[Any]:
    """Documents with nothing but white space between them."""
    decoder, documents, position = json.JSONDecoder(), list[Any](), 0
    blank = re.compile(r"\s*")
    while True:
        position = blank.match(text, position).end()  # type: ignore[union-attr]
        if position == len(text):
            return documents
        try:
            document, position = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            raise UnreadableError(f"not valid JSON: {error}") from error
        documents.append(document)


def _refusal(data: bytes, error: orjson.JSONDecodeError) -> UnreadableError:
    try:
        data.decode()
    except UnicodeDecodeError as bad:
        return UnreadableError(
            f"not UTF-8: byte 0x{data[bad.start]:02x} at position {bad.start} (save the file as UTF-8)"
        )
    kind = "JSON cut short" if "unexpected end of data" in str(error) else "not valid JSON"
    return UnreadableError(f"{kind}: {error}")


def _pieces(reader: _Rows, buffer: bytes, more: Iterator[bytes]) -> Iterator[SpotBatch]:
    """Batches of a file too large to parse at once: an API answer, a plain list, or JSON lines."""
    first_line, _, _ = buffer.lstrip().partition(b"\n")
    try:
        orjson.loads(first_line)
    except orjson.JSONDecodeError:
        yield from _answer_pieces(reader, buffer, more)
    else:
        yield from _line_pieces(reader, buffer, more)


def _line_pieces(reader: _Rows, buffer: bytes, more: Iterator[bytes]) -> Iterator[SpotBatch]:
    offset = 0
    for chunk in more:
        lines, _, rest = buffer.rpartition(b"\n")
        yield from reader.documents([_lines_at(lines, offset)])
        offset += len(lines) + 1
        buffer = rest + chunk
    yield from reader.documents([_lines_at(buffer, offset)])


def _lines_at(data: bytes, offset: int) -> list[Any]:
    try:
        return _json_lines(data)
    except UnreadableError as error:
        raise UnreadableError(f"{error} counted from byte {offset}") from error


def _answer_pieces(reader: _Rows, buffer: bytes, more: Iterator[bytes]) -> Iterator[SpotBatch]:
    """Rows between `[` and `]`, again and again: pages may follow each other."""
    offset, inside, seen = 0, False, False
    while True:
        chunk = next(more, b"")
        buffer += chunk
        while True:
            if not inside:
                begin = _ROWS_BEGIN.search(buffer)
                if begin is None:
                    break
                inside = seen = True
                offset += begin.end()
                buffer = buffer[begin.end() :]
            stripped = buffer.lstrip(b" \t\r\n,")
            buffer, offset = stripped, offset + len(buffer) - len(stripped)
            if buffer.startswith(b"]"):
                inside, buffer, offset = False, buffer[1:], offset + 1
                continue
            end = _ROWS_END.search(buffer)
            cut = end.start() + 1 if end else buffer.rfind(b"}") + 1
            if cut:
                yield reader.batch(_row_list(buffer[:cut], offset))
                buffer, offset = buffer[cut:], offset + cut
            if end is None:
                break
        if not chunk:
            break
    if inside or not seen:
        what = "JSON cut short" if inside else "no price data: no list of prices in the JSON"
        raise UnreadableError(f"{what} (after byte {offset})")


def _row_list(rows: bytes, offset: int) -> list[Any]:
    try:
        return list(orjson.loads(b"[" + rows + b"]"))
    except orjson.JSONDecodeError as error:
        raise UnreadableError(f"not valid JSON near byte {offset + error.pos}: {error.msg}") from error
