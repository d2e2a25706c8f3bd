"""CSV text of a bill in whole records, and where its cells lie, without a string for any of them.

For files that are written plainly, as exports are: every record has as many cells as the header, quotes
stand around whole cells. Whatever else a file holds raises NotPlainError, and the caller reads it with
DuckDB, which knows what to make of it or says what is wrong. Nothing is guessed here.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from isal import igzip, isal_zlib

Places = npt.NDArray[np.int32]

BLOCK_BYTES = 20 << 20
# Parts of a block that stay in the processor's cache while their marks are looked for.
_STEP = 1 << 18
# As long as DuckDB takes a line for one.
_MAX_LINE_BYTES = 2 << 20
_QUOTE, _LF, _CR = 34, 10, 13
_BROKEN: tuple[Any, ...] = (OSError, EOFError, zlib.error, isal_zlib.error)
# Up to so many bytes of a text stand in Arrow's view of it.
_INLINE = 12
# Behind the data, so that words may be read from its last bytes.
_SLACK = 64
_HIGH = np.uint8(0x80)
# For each of the three words of an inline text: which bits are its own, by its length.
_KEPT = [
    np.array([(1 << 8 * min(max(length - 4 * word, 0), 4)) - 1 for length in range(_INLINE + 1)], np.uint32)
    for word in range(_INLINE // 4)
]


class NotPlainError(Exception):
    """The text needs the reader that knows every form of CSV."""


class Room:
    """Memory for one block, used again for the next: fresh memory costs as much as reading into it."""

    def __init__(self, size: int = BLOCK_BYTES) -> None:
        self.size = size
        self.data = bytearray(size + _MAX_LINE_BYTES + _SLACK)
        self.marks = np.empty(size // 6, np.int32)
        self.length = 0

    def marks_of(self, count: int) -> Places:
        """Room for so many places, with those that are there already."""
        if count > len(self.marks):
            wider = np.empty(2 * count, np.int32)
            wider[: len(self.marks)] = self.marks
            self.marks = wider
        return self.marks


def blocks(path: Path, compression: str, rooms: Callable[[], Room]) -> Iterator[Room]:
    """Whole records, without the header, in rooms that `rooms` gives; each block ends with a line end.

    Raises NotPlainError for what is not plain, also for a file that is cut short.
    """
    carried = b""
    headed = False
    try:
        with _opened(path, compression) as stream:
            while True:
                room = rooms()
                data = room.data
                data[: len(carried)] = carried
                view = memoryview(data)
                end = len(carried)
                while end < room.size and (read := stream.readinto(view[end : room.size])):
                    end += read
                view.release()
                last = end < room.size
                begin = 0
                if not headed:
                    begin = _behind_header(data, end)
                    headed = True
                if last and end > begin and data[end - 1] != _LF:
                    data[end] = _LF
                    end += 1
                cut = _record_end(data, begin, end)
                if last and cut != end:
                    raise NotPlainError("a quote that is never closed")
                if not last and cut <= begin:
                    raise NotPlainError("a very long line")
                carried = bytes(data[cut:end])
                if begin:
                    data[: cut - begin] = data[begin:cut]
                room.length = cut - begin
                yield room
                if last:
                    return
    except _BROKEN as error:
        raise NotPlainError(str(error)) from error


def _opened(path: Path, compression: str) -> Any:
    if compression == "gzip":
        return igzip.open(path, "rb")
    if compression == "none":
        return path.open("rb")
    raise NotPlainError(compression)


def _behind_header(data: bytearray, end: int) -> int:
    behind = data.find(b"\n", 0, end) + 1
    if not behind or data.count(b'"', 0, behind) % 2:
        raise NotPlainError("the header")
    return behind


def _record_end(data: bytearray, begin: int, length: int) -> int:
    """Behind the last line end that is in no quoted cell; a record begins at `begin`."""
    quotes = data.count(b'"', begin, length)
    end = max(data.rfind(b"\n", begin, length) + 1, begin)
    after = data.count(b'"', end, length)
    while end > begin and (quotes - after) % 2:
        earlier = max(data.rfind(b"\n", begin, end - 1) + 1, begin)
        after += data.count(b'"', earlier, end)
        end = earlier
    if length - end > _MAX_LINE_BYTES:
        raise NotPlainError("a very long line")
    return end


class Cells:
    """Where the cells of a block begin and end. Raises NotPlainError for a block that is not plain.

    It is of use for as long as its room is not given back.
    """

    def __init__(self, room: Room, columns: int, delimiter: str) -> None:
        self.data = room.data
        self.length = room.length
        self._bytes = np.frombuffer(room.data, np.uint8, room.length)
        if self.data.find(b"\0", 0, self.length) >= 0 or not self._is_utf8():
            raise NotPlainError("bytes that are no text")
        # Four bytes from each place on.
        self._words = np.ndarray((self.length + _INLINE,), "<u4", room.data, 0, (1,))
        self._lines_inside = 0
        quotes = self._quotes(ord(delimiter))
        ends = self._marks(room, ord(delimiter), self._inside(quotes, ord(delimiter)))
        self.rows, ragged = divmod(len(ends), columns)
        if ragged or not self.rows:
            raise NotPlainError("records of different lengths")
        self._ends = ends.reshape(self.rows, columns)
        self._quoted = frozenset(np.unique(np.searchsorted(ends, quotes) % columns).tolist())
        self._lines_checked()

    def _is_utf8(self) -> bool:
        for at in range(0, self.length, _STEP):
            if (self._bytes[at : at + _STEP] & _HIGH).any():
                break
        else:
            return True
        try:
            self.data[: self.length].decode("utf-8")
        except UnicodeDecodeError:
            return False
        return True

    def _quotes(self, delimiter: int) -> Places:
        """Where the quotes are: each pair around a whole cell or around a quote in it."""
        found = [
            np.flatnonzero(self._bytes[at : at + _STEP] == _QUOTE).astype(np.int32) + np.int32(at)
            for at in range(0, len(self._bytes), _STEP)
        ]
        quotes = np.concatenate(found)
        if len(quotes) % 2:
            raise NotPlainError("a quote that is never closed")
        if len(quotes):
            around = np.array([delimiter, _LF, _CR, _QUOTE], np.uint8)
            before = self._bytes[np.maximum(quotes[::2] - 1, 0)]
            after = self._bytes[quotes[1::2] + 1]
            opened = np.isin(before, around) | (quotes[::2] == 0)
            if not opened.all() or not np.isin(after, around).all():
                raise NotPlainError("a quote inside of a cell")
        return quotes

    def _inside(self, quotes: Places, delimiter: int) -> Places:
        """Where delimiters and line ends are text, because they stand between quotes."""
        opens, closes = quotes[::2], quotes[1::2]
        if not len(opens):
            return quotes
        between = ranges(opens, closes - opens)
        held = self._bytes[between]
        breaks = held == _LF
        self._lines_inside = int(np.count_nonzero(breaks))
        breaks |= held == delimiter
        return between[breaks]

    def _marks(self, room: Room, delimiter: int, inside: Places) -> Places:
        """Where cells end, in the order of the text."""
        count = 0
        for at in range(0, self.length, _STEP):
            part = self._bytes[at : at + _STEP]
            marks = part == delimiter
            marks |= part == _LF
            low, high = np.searchsorted(inside, (at, at + _STEP))
            marks[inside[low:high] - at] = False
            found = np.flatnonzero(marks)
            np.add(
                found, at, out=room.marks_of(count + len(found))[count : count + len(found)], casting="unsafe"
            )
            count += len(found)
        return room.marks[:count]

    def _lines_checked(self) -> None:
        """Each record ends where a line ends, and no line ends within one."""
        self._last = last = self._ends[:, -1]
        lines = self.data.count(b"\n", 0, self.length) - self._lines_inside
        if lines != self.rows or not (self._bytes[last] == _LF).all():
            raise NotPlainError("records of different lengths")
        if returns := self.data.count(b"\r", 0, self.length):
            if not (self._bytes[last - 1] == _CR).all() or returns != self.rows:
                raise NotPlainError("line ends of several kinds")
            self._last = last.copy()
            self._ends[:, -1] -= 1
        if int(np.diff(self._last, prepend=-1).max()) > _MAX_LINE_BYTES:
            raise NotPlainError("a very long line")

    def _starts(self, column: int) -> Places:
        """Behind the end of the cell before, over the line end of the row before."""
        if column:
            return self._ends[:, column - 1] + np.int32(1)
        starts = np.empty(self.rows, np.int32)
        starts[0] = 0
        np.add(self._last[:-1], 1, out=starts[1:])
        return starts

    def raw(self, first: int, last: int, rows: slice | Places = slice(None)) -> pa.Array:
        """The bytes from one column to another as they stand, quotes and delimiters too; of some rows."""
        return self._views(self._starts(first)[rows], self._ends[rows, last], None)

    def blank(self, column: int, rows: int) -> int:
        """How many of the first rows have nothing in a column."""
        return int(np.count_nonzero(self._starts(column)[:rows] == self._ends[:rows, column]))

    def texts(self, column: int, null_word: str) -> pa.Array:
        """The texts of a column; null where blank, or where an unquoted `null_word` stands if there is one.

        Raises NotPlainError for a cell with quotes in it.
        """
        starts, ends = self._starts(column), self._ends[:, column]
        quoted = None
        if column in self._quoted:
            quoted = (self._bytes[starts] == _QUOTE) & (ends > starts)
            if quoted.any():
                starts, ends = starts + quoted, ends - quoted
                held = ranges(starts[quoted], (ends - starts)[quoted])
                if (self._bytes[held] == _QUOTE).any():
                    raise NotPlainError("a quote inside of a cell")
        nulls = ends == starts
        if null_word:
            nulls = self._is(starts, ends, null_word.encode())
            if quoted is not None:
                nulls &= ~quoted
        return self._views(starts, ends, ~nulls)

    def _is(self, starts: Places, ends: Places, word: bytes) -> npt.NDArray[np.bool_]:
        same = (ends - starts) == len(word)
        for place, letter in enumerate(word):
            where = np.flatnonzero(same)
            same[where] = self._bytes[starts[where] + place] == letter
        return same

    def lines(self, rows: Places) -> bytes:
        """The records of some rows as they stand."""
        starts, ends = self._starts(0)[rows], self._ends[rows, -1]
        data = self.data
        return b"\n".join(data[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)) + b"\n"

    def _views(self, starts: Places, ends: Places, valid: npt.NDArray[np.bool_] | None) -> pa.Array:
        """Arrow's string views into the block: (length, first bytes, buffer, offset), short texts inline.

        The first bytes of a long text are left out, which DuckDB does not look at.
        """
        views = np.zeros((len(starts), 4), np.uint32)
        lengths = ends - starts
        views[:, 0] = lengths
        views[:, 3] = starts
        short = lengths <= _INLINE
        where = slice(None) if short.all() else np.flatnonzero(short)
        at, length = starts[where], lengths[where]
        for word in range(_INLINE // 4 if len(at) else 0):
            views[where, 1 + word] = self._words[at + 4 * word] & _KEPT[word][length]
        bits = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
        buffers = [bits, pa.py_buffer(views), pa.py_buffer(self.data)]
        return pa.Array.from_buffers(pa.string_view(), len(starts), buffers)


def ranges(starts: Sequence[int] | Places, lengths: Places) -> Places:
    """The numbers of each range one after the other: starts [5, 9] of lengths [2, 1] are [5, 6, 9]."""
    lengths = np.asarray(lengths)
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    shift = np.asarray(starts) - (ends - lengths)
    return np.arange(total, dtype=np.int32) + np.repeat(shift, lengths).astype(np.int32)
