"""CSV export: formulas in tags are disarmed, credits stay numbers; checked by reading the file back."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from finops.text.csv_cells import Column, csv_lines, number_cell, text_cell

ROWS = [
    {"tag": "=1+1", "cost": "20.00"},
    {"tag": "-2+3", "cost": "-12.50"},
    {"tag": "\t=1", "cost": "0.00"},
    {"tag": " @x", "cost": "0.00"},
    {"tag": "ok-1", "cost": "0.00"},
]
COLUMNS = [Column("tag", "Tag"), Column("cost", "Cost (USD)", "number")]


def test_the_field_case_reads_back_with_its_exact_cells_and_sum() -> None:
    read = list(csv.reader(io.StringIO("".join(csv_lines(COLUMNS, ROWS)), newline="")))
    assert read[0] == ["Tag", "Cost (USD)"]
    assert [row[0] for row in read[1:]] == ["'=1+1", "'-2+3", "'\t=1", "' @x", "ok-1"]
    assert [row[1] for row in read[1:]] == ["20.00", "-12.50", "0.00", "0.00", "0.00"]
    assert sum(Decimal(row[1]) for row in read[1:]) == Decimal("7.50")


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "＝", "＋", "－", "＠"])
@pytest.mark.parametrize("blanks", ["", " ", "\t", "\r", "\n", " \t ", "\u00a0", "\ufeff"])
def test_every_start_of_a_formula_counts_after_any_blanks(blanks: str, start: str) -> None:
    assert text_cell(f"{blanks}{start}cmd") == f"'{blanks}{start}cmd"


@pytest.mark.parametrize("value", ["", "ok", "a=1", "1-2", " spaced", "'quoted", "中文"])
def test_harmless_text_is_left_alone(value: str) -> None:
    assert text_cell(value) == value


def test_titles_are_escaped_too_because_tags_become_columns() -> None:
    assert next(csv_lines([Column("a", "=HYPERLINK(1)")], [])) == "'=HYPERLINK(1)\r\n"


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (Decimal("1E+3"), "1000"),
        (Decimal("-0.0000001"), "-0.0000001"),
        (12.5, "12.5"),
        (7, "7"),
        ("12.5", "12.5"),
    ],
)
def test_numbers_have_a_point_and_no_exponent(value: Decimal | float | int | str, cell: str) -> None:
    assert number_cell(value) == cell


@pytest.mark.parametrize("value", ["=1", "1,5", "", "NaN", float("inf"), True])
def test_a_number_column_takes_numbers_only(value: str | float) -> None:
    with pytest.raises(ValueError, match="not a number"):
        number_cell(value)


def test_unknown_is_empty_and_times_are_utc() -> None:
    columns = [Column("n", "n", "number"), Column("at", "at", "time"), Column("t", "t")]
    berlin = datetime(2026, 3, 6, 10, tzinfo=timezone(timedelta(hours=1)))
    lines = list(csv_lines(columns, [{"n": None, "at": berlin, "t": 'a "b", c'}]))
    assert lines[1] == ',2026-03-06T09:00:00Z,"a ""b"", c"\r\n'
    with pytest.raises(ValueError, match="offset"):
        list(csv_lines(columns, [{"n": 1, "at": berlin.astimezone(UTC).replace(tzinfo=None), "t": ""}]))
