"""CSV for spreadsheets: text that would run as a formula is disarmed, numbers stay numbers.

Escaping goes by the column's kind, not by the cell's look: a credit of -12.50 in a number column is a
number, a tag "-2+3" in a text column gets an apostrophe. Numbers are written with a point and without
grouping, whatever the locale of server or reader. The separator is a comma, lines end in CR LF (RFC 4180),
the encoding is up to the caller (UTF-8).
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Literal

Kind = Literal["text", "number", "time"]
# What spreadsheets take for the start of a formula; the full-width signs count in Chinese and Japanese ones.
_FORMULA = tuple("=+-@＝＋－＠")
_BLANKS = " \t\r\n\v\f\u00a0\u3000\ufeff"
_CONTROLS = ("\t", "\r", "\n")


@dataclass(frozen=True, slots=True)
class Column:
    """`key` finds the value in a row, `title` heads the column (with the unit), `kind` decides how it is
    written.
    """

    key: str
    title: str
    kind: Kind = "text"


def text_cell(value: str) -> str:
    """The text; with an apostrophe before it when it would run: = + - @ first, also after blanks, tab, CR
    or LF.

    >>> text_cell("=1+1"), text_cell(" @x"), text_cell("ok-1")
    ("'=1+1", "' @x", 'ok-1')
    """
    if value.startswith(_CONTROLS) or value.lstrip(_BLANKS).startswith(_FORMULA):
        return f"'{value}"
    return value


def number_cell(value: Decimal | int | float | str) -> str:
    """The digits with a point: `-12.50`. Raises ValueError for what is no finite number, so that no text
    slips in.
    """
    if isinstance(value, bool):
        raise ValueError(f"not a number: {value!r}")
    try:
        number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    except ArithmeticError:
        raise ValueError(f"not a number: {value!r}") from None
    if not number.is_finite():
        raise ValueError(f"not a number: {value!r}")
    return format(number, "f")


def _cell(value: Any, kind: Kind) -> str:
    """One cell; an unknown value is empty, never 0."""
    if value is None:
        return ""
    if kind == "number":
        return number_cell(value)
    if kind == "time":
        if not isinstance(value, datetime) or value.tzinfo is None:
            raise ValueError(f"not a time with an offset: {value!r}")
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return text_cell(str(value))


class _Echo:
    """A file whose `write` hands the line back: csv.writer returns it."""

    def write(self, line: str) -> str:
        return line


def csv_lines(columns: Sequence[Column], rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The header and one line a row, for a streamed answer. Raises ValueError for a value of the wrong
    kind.
    """
    writer = csv.writer(_Echo())
    yield str(writer.writerow([text_cell(column.title) for column in columns]))
    for row in rows:
        yield str(writer.writerow([_cell(row.get(column.key), column.kind) for column in columns]))
