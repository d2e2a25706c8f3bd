"""Small CSV tables that people keep by hand: account names, rates. All or nothing, every mistake named.

A comma or, where the header has none, a semicolon separates cells (spreadsheets of many countries save
that). A byte order mark, blanks around cells and letter case of column names do not count. An apostrophe that
`csv_cells.text_cell` put before a text is taken off again, so what was exported comes back as it was.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Collection
from dataclasses import dataclass

from finops.text.csv_cells import text_cell

MAX_BYTES = 5 * 2**20
MAX_ROWS = 50_000


@dataclass(frozen=True, slots=True)
class Mistake:
    """`row` is the 1-based data record (the header is not counted), None for the file as a whole."""

    file: str
    row: int | None
    field: str
    reason: str

    def __str__(self) -> str:
        place = [self.file, *([f"row {self.row}"] if self.row else []), *([self.field] if self.field else [])]
        return f"{', '.join(place)}: {self.reason}"


class TableError(ValueError):
    """The table is refused; `mistakes` are all that were found."""

    def __init__(self, mistakes: list[Mistake]) -> None:
        super().__init__("; ".join(str(mistake) for mistake in mistakes[:3]))
        self.mistakes = mistakes


@dataclass(frozen=True, slots=True)
class Row:
    """One record: `number` as in `Mistake.row`, every known column with its text ("" where not delivered)."""

    number: int
    cells: dict[str, str]

    def __getitem__(self, name: str) -> str:
        return self.cells[name]


def read_table(
    content: bytes,
    *,
    file: str,
    required: Collection[str],
    optional: Collection[str] = (),
    others_ignored: bool = False,
) -> list[Row]:
    """The records, without those that are wholly empty. Raises TableError for what is no such table."""

    def refuse(reason: str, row: int | None = None, field: str = "") -> TableError:
        return TableError([Mistake(file, row, field, reason)])

    if len(content) > MAX_BYTES:
        raise refuse(f"larger than {MAX_BYTES >> 20} MiB")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise refuse("not UTF-8 text: save it as CSV UTF-8") from error
    if "\0" in text:
        raise refuse("not a text file")
    first = text.split("\n", 1)[0]
    separator = ";" if "," not in first and ";" in first else ","
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        header = [" ".join(name.split()).casefold().replace(" ", "_") for name in next(reader, [])]
        _check_header(header, file, required, optional, others_ignored)
        rows: list[Row] = []
        for number, cells in enumerate(reader, start=1):
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) > len(header) and any(cell.strip() for cell in cells[len(header) :]):
                raise refuse(f"{len(cells)} cells under {len(header)} columns", number)
            if len(rows) >= MAX_ROWS:
                raise refuse(f"more than {MAX_ROWS} rows")
            given = dict(zip(header, (_plain(cell) for cell in cells), strict=False))
            rows.append(Row(number, {name: given.get(name, "") for name in (*required, *optional)}))
    except csv.Error as error:
        raise refuse(f"not a CSV file: {error}", reader.line_num) from error
    return rows


def _check_header(
    header: list[str],
    file: str,
    required: Collection[str],
    optional: Collection[str],
    others_ignored: bool,
) -> None:
    mistakes = [Mistake(file, None, name, "the column is missing") for name in required if name not in header]
    known = {*required, *optional}
    twice = {name for name in header if name in known and header.count(name) > 1}
    mistakes += [Mistake(file, None, name, "the column is there twice") for name in sorted(twice)]
    if not others_ignored:
        mistakes += [
            Mistake(file, None, name, f"unknown column; known: {', '.join((*required, *optional))}")
            for name in header
            if name and name not in known
        ]
    if mistakes:
        raise TableError(mistakes)


def _plain(cell: str) -> str:
    text = cell.strip()
    return text[1:] if text.startswith("'") and text_cell(text[1:]) == text else text
