"""Tables: CSV with a header, the tab-separated lines of command line tools, and Parquet.

Text is taken in blocks of whole lines, so a field cannot hold a line break: no column of a price does.
Lines of a tool without a header are known by the word they begin with, or by the one column order that the
AWS CLI prints.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from finops.frames.spot import Rejection
from finops.providers.base import SpotBatch
from finops.providers.files.archives import UnreadableError, spooled
from finops.providers.files.columns import Mapped, match, recognised
from finops.providers.files.quotes import OpenQuote, bad_lines, has_lone_return
from finops.providers.files.text import utf8_chunks
from finops.providers.spot_rows import Reject, SpotContext, parse_instant, parse_price, spot_batch

BLOCK = 4 << 20
PARQUET_ROWS = 200_000
DELIMITERS = (",", ";", "\t", "|")
_CLI = ("zone", "instance_type", "product", "price", "at")
# The CLI's text output prints an answer's keys in alphabetical order after the word; ec2-api-tools had its
# own.
TAGGED: dict[str, tuple[tuple[str, ...], ...]] = {
    "SPOTPRICEHISTORY": (_CLI, ("zone", "zone_id", "instance_type", "product", "price", "at")),
    "SPOTINSTANCEPRICE": (("price", "at", "instance_type", "product", "zone"),),
}
_TAG = "tag"
_ZONE = re.compile(r"[a-z0-9-]+", re.ASCII)


@dataclass(frozen=True)
class _Layout:
    """`names`: the columns in order; `mapped`: field to column; `tag`: the word each line begins with."""

    delimiter: str
    names: tuple[str, ...]
    mapped: Mapped
    tag: str | None = None
    header: bool = False

    @property
    def quoted(self) -> bool:
        """Whether quotes mean something: a tool's own lines have none."""
        return self.header or self.delimiter != "\t"


def text_batches(context: SpotContext, file: str, stream: io.BufferedReader) -> Iterator[SpotBatch]:
    """All rows of a CSV or tab-separated file. Raises UnreadableError when it is none of prices."""
    layout: _Layout | None = None
    quote = OpenQuote()
    count = 0
    for block in _line_blocks(utf8_chunks(stream)):
        lines = _without_blank_lines(block)
        if layout is None:
            if not lines:
                continue
            first, _, rest = lines.partition(b"\n")
            layout = _layout(first.decode().rstrip("\r"), context)
            if layout.mapped.currency and not context.currency:
                context = replace(context, currency=layout.mapped.currency, _series={})
            lines = rest if layout.header else lines
        if lines:
            batch = _block_batch(context, file, layout, lines, count, quote)
            count += batch.read
            yield batch
    if layout is None:
        raise UnreadableError("no price data: the file is empty")


def _line_blocks(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Blocks of whole lines of about BLOCK bytes."""
    waiting: list[bytes] = []
    size = 0
    for chunk in chunks:
        waiting.append(chunk)
        size += len(chunk)
        if size >= BLOCK:
            lines, line_end, rest = b"".join(waiting).rpartition(b"\n")
            if not line_end and size > 8 * BLOCK:
                raise UnreadableError("no price data: a line of more than 32 MiB")
            if line_end:
                yield lines + b"\n"
            waiting, size = [rest], len(rest)
    if size:
        yield b"".join(waiting)


def _without_blank_lines(block: bytes) -> bytes:
    """Blank lines are no records; Arrow skips them but counts them where it complains of a line."""
    block = block.lstrip(b"\r\n")
    if b"\n\n" in block or b"\n\r\n" in block:
        block = b"\n".join(line for line in block.split(b"\n") if line.strip(b"\r"))
    return block


def _layout(first: str, context: SpotContext) -> _Layout:
    tabs = first.split("\t")
    for columns in TAGGED.get(tabs[0].strip(), ()):
        if len(tabs) == len(columns) + 1:
            return _Layout("\t", (_TAG, *columns), Mapped({c: c for c in columns}), tag=tabs[0].strip())
    if _is_cli_line(tabs):
        return _Layout("\t", _CLI, Mapped({c: c for c in _CLI}))
    best: tuple[int, str, list[str]] = (0, ",", [])
    for delimiter in DELIMITERS:
        try:
            names = next(csv.reader([first], delimiter=delimiter), [])
        except csv.Error as error:
            raise UnreadableError(
                f"no price data: the first line {first[:80]!r} is no header: {error}"
            ) from error
        best = max(best, (recognised(names), delimiter, names), key=lambda found: found[0])
    known, delimiter, names = best
    if not known:
        raise UnreadableError(f"no price data: the first line {first[:80]!r} names no known column")
    names = [name.strip() for name in names]
    if len(set(names)) != len(names):
        raise UnreadableError("two columns of one name in the header")
    return _Layout(delimiter, tuple(names), match(names, context), header=True)


def _is_cli_line(fields: Sequence[str]) -> bool:
    """Whether a line without a word before it is what the CLI prints: every field has to be of its kind."""
    if len(fields) != len(_CLI) or not _ZONE.fullmatch(fields[0]) or "." not in fields[1] or not fields[2]:
        return False
    try:
        parse_price(fields[3])
        parse_instant(fields[4], None)
    except Reject:
        return False
    return True


def _block_batch(
    context: SpotContext, file: str, layout: _Layout, lines: bytes, before: int, quote: OpenQuote
) -> SpotBatch:
    """One block; `before` records of the file came earlier. Every line is a record, read or rejected."""
    count = lines.count(b"\n") + (not lines.endswith(b"\n"))
    numbers = np.arange(1, count + 1, dtype=np.int64)
    rejections: list[Rejection] = []
    read = None
    if quote.row is None and not has_lone_return(lines):
        read = _read(layout, lines)
    if read is None or read[0].num_rows + len(read[1]) != count:
        split = lines.removesuffix(b"\n").split(b"\n")
        bad = bad_lines(split, layout.delimiter.encode(), quote, before) if layout.quoted else {}
        rejections = [Rejection(file, before + place + 1, "", reason) for place, reason in bad.items()]
        kept = [place for place in range(count) if place not in bad]
        read = _read(layout, b"\n".join(split[place] for place in kept))
        numbers = numbers[kept]
    table, broken = read
    rejections += [
        Rejection(file, before + int(numbers[row - 1]), "", reason) for row, reason in sorted(broken.items())
    ]
    numbers = np.delete(numbers, np.array(sorted(broken), dtype=np.int64) - 1)
    if layout.tag is not None:
        ours = np.array([word == layout.tag for word in table.column(_TAG).to_pylist()], dtype=bool)
        rejections += [
            Rejection(file, before + int(row), "", f"does not begin with {layout.tag}")
            for row in numbers[~ours]
        ]
        table, numbers = table.filter(pa.array(ours)), numbers[ours]
    columns = {
        meaning: table.column(name).combine_chunks() for meaning, name in layout.mapped.columns.items()
    }
    batch = spot_batch(context, file, columns, numbers + before, layout.mapped.columns)
    return SpotBatch(file, batch.rows, rejections + batch.rejections)


def _read(layout: _Layout, lines: bytes) -> tuple[pa.Table, dict[int, str]]:
    """The records of some lines as text, and by number those that have too few fields or too many."""
    broken: dict[int, str] = {}

    def skip(row: pacsv.InvalidRow) -> str:
        broken[row.number] = f"{row.actual_columns} fields instead of {row.expected_columns}"
        return "skip"

    kinds = {name: pa.string() for name in layout.names}
    if not lines:
        return pa.schema(kinds).empty_table(), broken
    table = pacsv.read_csv(
        io.BytesIO(lines),
        read_options=pacsv.ReadOptions(
            use_threads=False, column_names=list(layout.names), block_size=max(len(lines) + 1, 1024)
        ),
        parse_options=pacsv.ParseOptions(
            delimiter=layout.delimiter,
            quote_char='"' if layout.quoted else False,
            invalid_row_handler=skip,
        ),
        convert_options=pacsv.ConvertOptions(column_types=kinds, strings_can_be_null=False),
    )
    return table, broken


def parquet_batches(context: SpotContext, file: str, stream: io.BufferedReader) -> Iterator[SpotBatch]:
    """All rows of a Parquet file. Raises UnreadableError."""
    with spooled(stream) as seekable:
        try:
            opened = pq.ParquetFile(seekable)
        except (pa.ArrowInvalid, OSError) as error:
            raise UnreadableError(f"Parquet broken or cut short: {error}") from error
        mapped = match(opened.schema_arrow.names, context)
        if mapped.currency and not context.currency:
            context = replace(context, currency=mapped.currency, _series={})
        count = 0
        try:
            for part in opened.iter_batches(PARQUET_ROWS, columns=list(mapped.columns.values())):
                columns = {meaning: part.column(name) for meaning, name in mapped.columns.items()}
                numbers = np.arange(count + 1, count + 1 + part.num_rows, dtype=np.int64)
                count += part.num_rows
                yield spot_batch(context, file, columns, numbers, mapped.columns)
        except pa.ArrowNotImplementedError as error:
            raise UnreadableError(f"a column that holds no plain values: {error}") from error
        except (pa.ArrowInvalid, OSError) as error:
            raise UnreadableError(f"Parquet broken after row {count}: {error}") from error
