"""Text as UTF-8: a byte order mark is dropped, UTF-16 is converted, the rest is refused with its position."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator

from finops.providers.files.archives import CHUNK, UnreadableError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def encoding_of(head: bytes) -> tuple[str, int]:
    """(encoding, length of its mark) from the first bytes. Raises UnreadableError for binary data."""
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding, len(mark)
    sample = head[:512]
    if b"\x00" in sample:
        # Latin letters in UTF-16 have a zero in every second byte.
        even, odd = sample[::2].count(0), sample[1::2].count(0)
        half = max(1, len(sample) // 2)
        if odd > 0.6 * half and even < 0.1 * half:
            return "utf-16-le", 0
        if even > 0.6 * half and odd < 0.1 * half:
            return "utf-16-be", 0
        raise UnreadableError("no price data: binary content")
    return "utf-8", 0


def utf8_chunks(stream: io.BufferedReader) -> Iterator[bytes]:
    """The whole text as valid UTF-8 in pieces of about a megabyte."""
    encoding, mark = encoding_of(stream.peek(512)[:512])
    stream.read(mark)
    decoder = codecs.getincrementaldecoder(encoding)("strict")
    position = mark
    while True:
        chunk = stream.read(CHUNK)
        pending = len(decoder.getstate()[0])
        try:
            text = decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            where = position - pending + error.start
            raise UnreadableError(
                f"not {encoding.upper()}: byte 0x{error.object[error.start]:02x} at position {where} "
                "(save the file as UTF-8)"
            ) from error
        position += len(chunk)
        if text:
            yield text.encode()
        if not chunk:
            return
