"""A path as a source of Spot prices: each file in turn, told by its content."""

from __future__ import annotations

import io
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial

from finops.providers.base import SpotBatch
from finops.providers.files.ahead import ahead
from finops.providers.files.archives import NOTHING, ArchiveLimits, Entry, UnreadableError, Walk
from finops.providers.files.json_rows import Scratch, json_batches
from finops.providers.files.table_rows import parquet_batches, text_batches
from finops.providers.files.text import encoding_of
from finops.providers.spot_rows import SpotContext

# A batch, or the last part of the work for one, which needs no file.
_Made = SpotBatch | Callable[[], SpotBatch]
_Reader = Callable[[SpotContext, str, io.BufferedReader], Iterator[_Made]]
FORMATS = ("auto", "json", "text", "csv", "parquet")
# Batches of small files are small; of large ones two more are 40 MB.
READ_AHEAD = 2


@dataclass(frozen=True)
class FileEnd:
    """A file is through. `refused`: why nothing of it may be kept, its batches included; else None."""

    file: str
    refused: str | None


class FileSource:
    """The rows behind a file, folder, glob or archive. Raises UnreadableError for no such path."""

    def __init__(
        self, path: str, context: SpotContext, *, form: str = "auto", limits: ArchiveLimits | None = None
    ) -> None:
        if form not in FORMATS:
            raise ValueError(f"unknown format {form!r}; known: {', '.join(FORMATS)}")
        self._walk = Walk(path, limits or ArchiveLimits())
        self._context = context
        self._form = form
        self._readers: dict[str, _Reader] = {
            "json": partial(json_batches, scratch=Scratch()),
            "text": text_batches,
            "csv": text_batches,
            "parquet": parquet_batches,
        }

    @property
    def bytes_total(self) -> int:
        """Bytes on disk."""
        return self._walk.bytes_total

    @property
    def bytes_done(self) -> int:
        """Bytes taken from disk until now."""
        return self._walk.meter.taken

    @property
    def top_files(self) -> int:
        """Files on disk; an archive among them holds more."""
        return self._walk.top_files

    def events(self) -> Generator[SpotBatch | FileEnd]:
        """Batches of a file, then its FileEnd, file after file.

        Reading and parsing go on in a second thread while the caller works on the batch before; closing the
        generator ends it.
        """
        with closing(ahead(self._made(), READ_AHEAD)) as waiting:
            for made in waiting:
                yield made() if callable(made) else made

    def _made(self) -> Iterator[_Made | FileEnd]:
        for entry in self._walk.entries():
            refused = entry.refused
            if refused is None:
                try:
                    yield from self._batches(entry)
                except UnreadableError as error:
                    refused = str(error)
            yield FileEnd(entry.name, refused)

    def _batches(self, entry: Entry) -> Iterator[_Made]:
        if entry.stream is None:
            raise UnreadableError(NOTHING)
        form = self._form if self._form != "auto" else _form_of(entry.stream.peek(600)[:600])
        yield from self._readers[form](self._context, entry.name, entry.stream)


def _form_of(head: bytes) -> str:
    """The format by the first bytes; text that is no JSON is judged by its first line later."""
    if head.startswith(b"PAR1"):
        return "parquet"
    encoding, mark = encoding_of(head)
    text = head[mark:].decode(encoding, "ignore").lstrip()
    return "json" if text[:1] in ("{", "[") else "text"
