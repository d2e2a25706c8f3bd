"""Tables kept by hand: read whole or refused with file, row and field."""

from __future__ import annotations

import pytest

from finops.text import small_tables
from finops.text.csv_cells import Column, csv_lines
from finops.text.small_tables import Mistake, TableError, read_table


def read(text: str | bytes, **options: object) -> list[tuple[int, dict[str, str]]]:
    content = text.encode() if isinstance(text, str) else text
    rows = read_table(content, file="names.csv", **{"required": ("id", "name"), **options})  # type: ignore[arg-type]
    return [(row.number, row.cells) for row in rows]


def refused(text: str | bytes, **options: object) -> list[Mistake]:
    with pytest.raises(TableError) as told:
        read(text, **options)
    return told.value.mistakes


def test_marks_blanks_letter_case_and_empty_rows_do_not_count() -> None:
    assert read("\ufeffID , Name\r\n 1 , One \r\n,\r\n2,\r\n") == [
        (1, {"id": "1", "name": "One"}),
        (3, {"id": "2", "name": ""}),
    ]
    assert read("id;name\n1;a,b\n") == [(1, {"id": "1", "name": "a,b"})]
    assert read('id,name\n1,"two\nlines"\n') == [(1, {"id": "1", "name": "two\nlines"})]


def test_other_columns_are_refused_unless_they_may_be_there() -> None:
    text = "id,name,email\n1,One,a@example.test\n"
    assert refused(text) == [Mistake("names.csv", None, "email", "unknown column; known: id, name")]
    assert read(text, others_ignored=True) == [(1, {"id": "1", "name": "One"})]
    assert read("id\n1\n", required=("id",), optional=("name",)) == [(1, {"id": "1", "name": ""})]


def test_every_missing_and_double_column_is_named() -> None:
    assert refused("nr,id,id\n") == [
        Mistake("names.csv", None, "name", "the column is missing"),
        Mistake("names.csv", None, "id", "the column is there twice"),
        Mistake("names.csv", None, "nr", "unknown column; known: id, name"),
    ]
    assert [m.reason for m in refused("")] == ["the column is missing"] * 2


def test_what_is_no_table_is_refused_with_its_row() -> None:
    assert str(refused("id,name\n1,a\n2,b,c\n")[0]) == "names.csv, row 2: 3 cells under 2 columns"
    assert "not UTF-8" in refused(b"id,name\n1,M\xfcnchen\n")[0].reason
    assert "not a text file" in refused(b"id,name\n1,\0\n")[0].reason
    assert "not a CSV file" in refused('id,name\n1,"open\n')[0].reason


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_tables, "MAX_ROWS", 1)
    assert "more than 1 rows" in refused("id,name\n1,a\n2,b\n")[0].reason
    monkeypatch.setattr(small_tables, "MAX_BYTES", 4)
    assert "larger than" in refused("id,name\n")[0].reason


def test_what_was_exported_comes_back_as_it_was() -> None:
    names = ["=1+1", "@x", "'quoted'", "plain", "-"]
    columns = (Column("id", "id"), Column("name", "name"))
    text = "".join(csv_lines(columns, ({"id": str(i), "name": n} for i, n in enumerate(names))))
    assert "'=1+1" in text
    assert [cells["name"] for _, cells in read(text)] == names
