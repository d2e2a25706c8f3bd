"""The text of a large CSV file in pieces that are read side by side: unpacked once, cut between records.

A piece knows how many records stand before it, so that each row keeps its number in the file. Where a record
ends is told by quotes, and only as long as they stand at the edges of cells, line ends are of one kind and no
line is blank: DuckDB, which reads the pieces, then takes the same bytes for the same records. Another file
raises NotInPiecesError and is read as one. The last piece is not looked at: nothing stands behind it.
Unpacking checks a gzip file's checksum and length.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from isal import igzip, igzip_lib

from finops.providers.files.archives import ArchiveLimits, UnreadableError
from finops.providers.files.bill_files import BillFile, Piece
from finops.providers.files.gzip_sums import altered

# Smaller files are read as fast in one piece.
FROM_BYTES = 4 << 20
CHUNK = 8 << 20
# Pieces that begin later are smaller, by this part from the first to the last, so that all end together.
_LEAN = 0.15
# Of the disk's free space, what may be taken for unpacked text.
_MOST_OF_FREE = 0.5
_QUOTE, _LF, _CR = 34, 10, 13
_FAULTS = (EOFError, OSError, igzip_lib.IsalError)


class NotInPiecesError(Exception):
    """The file has to be read as one."""


def fits(file: BillFile) -> bool:
    """Whether it is worth to try."""
    return (
        file.form == "csv"
        and file.compression in {"none", "gzip"}
        and file.path.stat().st_size >= FROM_BYTES
        and len(file.delimiter.encode()) == 1
    )


def pieces(file: BillFile, folder: Path, count: int, limits: ArchiveLimits | None = None) -> Iterator[Piece]:
    """Up to `count` pieces in order, each as soon as it is written; the caller removes them.

    Raises NotInPiecesError, at any time; UnreadableError for damaged or endless content.
    """
    limits = limits or ArchiveLimits()
    size = file.path.stat().st_size
    room = min(limits.total_bytes, shutil.disk_usage(folder).free * _MOST_OF_FREE)
    weights = [1 + _LEAN * (count - 1 - 2 * i) / count for i in range(count)]
    ends = [size * sum(weights[: i + 1]) / count for i in range(count - 1)]
    taken = 0
    with _text(file) as (raw, stream):
        cutter = _Cutter(stream, file.delimiter.encode()[0])
        for end in (*ends, None):
            before, path = cutter.seen, folder / f"{uuid.uuid4().hex}.csv"
            begun = taken
            try:
                with path.open("wb") as out:
                    for text in cutter.rest() if end is None else cutter.until(raw, end):
                        out.write(text)
                        taken += len(text)
                        _check(taken, size, room, limits)
            except BaseException:
                path.unlink(missing_ok=True)
                raise
            if taken > begun:
                yield Piece(path, before)
            else:
                path.unlink()


def _check(taken: int, size: int, room: float, limits: ArchiveLimits) -> None:
    if taken > max(limits.ratio_from, size * limits.ratio):
        raise UnreadableError(f"expands more than {limits.ratio} times")
    if taken > room:
        raise NotInPiecesError


@contextmanager
def _text(file: BillFile) -> Iterator[tuple[IO[bytes], Any]]:
    """(the file, its unpacked stream); what is wrong with packed bytes is said as `altered` says it."""
    with file.path.open("rb") as raw:
        try:
            yield raw, igzip.IGzipFile(fileobj=raw, mode="rb") if file.compression == "gzip" else raw
        except _FAULTS as error:  # type: ignore[misc]
            if file.compression == "gzip" and (wrong := altered(file.path)):
                raise UnreadableError(wrong) from error
            # Reading it as one says what is wrong, or does without the room on the disk.
            raise NotInPiecesError from error


class _Cutter:
    """Finds where records end. `seen` counts those given out by `until`, without the header."""

    def __init__(self, stream: Any, delimiter: int) -> None:
        self.seen = 0
        self._stream = stream
        self._held = b""
        self._headed = False
        # Whether lines end with CR LF; None before the first.
        self._returns: bool | None = None
        self._opens_after = _these(delimiter, _LF, _QUOTE)
        self._closes_before = _these(delimiter, _LF, _CR, _QUOTE)

    def until(self, raw: IO[bytes], end: float) -> Iterator[memoryview]:
        """Text of whole records until the packed file is read to `end`; the header is left out."""
        while chunk := self._stream.read(CHUNK):
            text = self._held + chunk
            ends = self._ends(text)
            if not len(ends):
                if len(text) > 2 * CHUNK:
                    raise NotInPiecesError
                self._held = text
                continue
            cut, begin = int(ends[-1]) + 1, 0 if self._headed else int(ends[0]) + 1
            self.seen += len(ends) - (not self._headed)
            self._headed, self._held = True, text[cut:]
            yield memoryview(text)[begin:cut]
            if raw.tell() >= end:
                return

    def rest(self) -> Iterator[memoryview]:
        """All that is left, not looked at: behind a record's end it reads as it does in the whole file."""
        if not self._headed:
            text = self._held + self._stream.read(CHUNK)
            ends = self._ends(text)
            if not len(ends):
                raise NotInPiecesError
            self._headed, self._held = True, text[int(ends[0]) + 1 :]
        if self._held:
            yield memoryview(self._held)
        while chunk := self._stream.read(CHUNK):
            yield memoryview(chunk)

    def _ends(self, text: bytes) -> npt.NDArray[np.intp]:
        """Places of the line feeds that end records; the text begins with a record."""
        data = np.frombuffer(text, np.uint8)
        places = np.flatnonzero((data == _QUOTE) | (data == _LF))
        quoted = data[places] == _QUOTE
        opened = np.cumsum(quoted) & 1
        ends = places[~quoted & (opened == 0)]
        if len(ends):
            last = np.searchsorted(places, ends[-1])
            places, quoted, opened = places[:last], quoted[:last], opened[:last].astype(bool)
            self._edges(data, places[quoted & opened], places[quoted & ~opened])
            self._lines(text, data, ends)
        return ends

    def _edges(
        self, data: npt.NDArray[np.uint8], opening: npt.NDArray[np.intp], closing: npt.NDArray[np.intp]
    ) -> None:
        """Raises NotInPiecesError for a quote that stands inside a cell."""
        before = data[opening[opening > 0] - 1]
        if not (self._opens_after[before].all() and self._closes_before[data[closing + 1]].all()):
            raise NotInPiecesError

    def _lines(self, text: bytes, data: npt.NDArray[np.uint8], ends: npt.NDArray[np.intp]) -> None:
        """Raises NotInPiecesError for a blank line or another kind of line end."""
        if self._returns is None:
            self._returns = bool(ends[0] > 0 and data[ends[0] - 1] == _CR)
        end = int(ends[-1])
        if self._returns:
            # A single CR between quotes makes the numbers differ too.
            alike = text.count(b"\r", 0, end) == len(ends) and bool((data[ends - 1] == _CR).all())
        else:
            alike = text.find(b"\r", 0, end) < 0
        shortest = min(int(ends[0]) + 1, int(np.diff(ends).min(initial=3)))
        if not alike or shortest <= 1 + self._returns:
            raise NotInPiecesError


def _these(*letters: int) -> npt.NDArray[np.bool_]:
    found = np.zeros(256, bool)
    found[list(letters)] = True
    return found
