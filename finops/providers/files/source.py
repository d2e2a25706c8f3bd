"""A path as a source of Spot prices: each file in turn, told by its content."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from finops.providers.base import SpotBatch
from finops.providers.files.archives import ArchiveLimits, Entry, UnreadableError, Walk
from finops.providers.files.json_rows import json_batches
from finops.providers.files.table_rows import parquet_batches, text_batches
from finops.providers.files.text import encoding_of
from finops.providers.spot_rows import SpotContext

_Reader = Callable[[SpotContext, str, io.BufferedReader], Iterator[SpotBatch]]
_READERS: dict[str, _Reader] = {
    "json": json_batches,
    "text": text_batches,
    "csv": text_batches,
    "parquet": parquet_batches,
}
FORMATS = ("auto", *_READERS)


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

    def events(self) -> Iterator[SpotBatch | FileEnd]:
        """Batches of a file, then its FileEnd, file after file."""
        for entry in self._walk.entries():
            refused = entry.refused
            if refused is None:
                try:
                    yield from self._batches(entry)
                except UnreadableError as error:
                    refused = str(error)
            yield FileEnd(entry.name, refused)

    def _batches(self, entry: Entry) -> Iterator[SpotBatch]:
        if entry.stream is None:
            raise UnreadableError("nothing to read")
        form = self._form if self._form != "auto" else _form_of(entry.stream.peek(600)[:600])
        yield from _READERS[form](self._context, entry.name, entry.stream)


def _form_of(head: bytes) -> str:
    """The format by the first bytes; text that is no JSON is judged by its first line later."""
    if head.startswith(b"PAR1"):
        return "parquet"
    encoding, mark = encoding_of(head)
    text = head[mark:].decode(encoding, "ignore").lstrip()
    return "json" if text[:1] in ("{", "[") else "text"
