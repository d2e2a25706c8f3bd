"""Lines of a table whose quotes do not end in them.

A field of a price holds no line break, so a line is a record. A quote that is left open makes a reader take
the lines up to the next quote for one field: such lines are found here, to be rejected one by one, for what
stands inside a quoted text is no price.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_LONE_RETURN = re.compile(rb"\r(?!\n|\Z)")


@dataclass
class OpenQuote:
    """The record whose quote is still open; None between fields. Kept from block to block."""

    row: int | None = None


def has_lone_return(lines: bytes) -> bool:
    """Whether a carriage return stands alone: a reader takes it for the end of a line."""
    return b"\r" in lines and _LONE_RETURN.search(lines) is not None


def bad_lines(lines: Sequence[bytes], delimiter: bytes, quote: OpenQuote, before: int) -> dict[int, str]:
    """Place of each line that is no record of its own, and why; `before` records came earlier."""
    bad: dict[int, str] = {}
    for place, line in enumerate(lines):
        row = before + place + 1
        opened = quote.row
        if _open_after(line, delimiter, opened is not None):
            quote.row = opened or row
        else:
            quote.row = None
        if opened is not None:
            bad[place] = f"inside the quotes that row {opened} opens and does not close"
        elif quote.row is not None:
            bad[place] = "a quote that is opened and not closed in its line"
        elif _LONE_RETURN.search(line):
            bad[place] = "a carriage return inside the line"
    return bad


def _open_after(line: bytes, delimiter: bytes, inside: bool) -> bool:
    """Whether a quoted field is open after the line. Quotes count at the start of a field only."""
    place = 0
    while True:
        if inside or line[place : place + 1] == b'"':
            close = _close(line, place if inside else place + 1)
            if close < 0:
                return True
            place, inside = close + 1, False
        cut = line.find(delimiter, place)
        if cut < 0:
            return False
        place = cut + 1


def _close(line: bytes, place: int) -> int:
    """Where the quoted text from `place` ends; two quotes stand for one. -1 when it does not end."""
    while True:
        close = line.find(b'"', place)
        if close < 0 or line[close + 1 : close + 2] != b'"':
            return close
        place = close + 2
