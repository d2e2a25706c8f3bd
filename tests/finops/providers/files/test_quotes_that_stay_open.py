"""A quote that stays open swallows nothing: every line is a record, read or rejected with its row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from finops.providers.files import FileEnd, FileSource, table_rows
from finops.providers.spot_rows import SpotContext

HEADER = "Timestamp,AvailabilityZone,InstanceType,ProductDescription,SpotPrice"
OPENED = "a quote that is opened and not closed in its line"


def line(hour: int, note: str = "Linux/UNIX") -> str:
    return f"2026-05-02T{hour:02}:00:00Z,us-east-1a,m5.large,{note},0.{hour + 1}"


def read(path: Path) -> tuple[list[int], list[tuple[int | None, str]]]:
    """Rows that are prices, and (row, reason) of those that are none; all of them are counted."""
    rows: list[int] = []
    refused: list[tuple[int | None, str]] = []
    read = 0
    for event in FileSource(str(path), SpotContext(provider="aws")).events():
        if isinstance(event, FileEnd):
            assert event.refused is None
        else:
            rows += event.rows.column("row").to_pylist()
            refused += [(r.row, r.reason) for r in event.rejections]
            read += event.read
    assert read == len(rows) + len(refused)
    return rows, sorted(refused)  # type: ignore[type-var]


@pytest.fixture
def csv(tmp_path: Path) -> Any:
    def make(*lines: str, end: str = "\n") -> Path:
        path = tmp_path / "prices.csv"
        path.write_bytes((end.join([HEADER, *lines]) + end).encode())
        return path

    return make


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_lines_from_an_open_quote_to_the_next_are_rejected(csv: Any, end: str) -> None:
    path = csv(
        line(1), line(2, '"Linux'), line(3), line(4, 'UNIX"'), line(5), line(6, '"Linux/UNIX"'), end=end
    )
    inside = "inside the quotes that row 2 opens and does not close"
    assert read(path) == ([1, 5, 6], [(2, OPENED), (3, inside), (4, inside)])


def test_a_quote_that_never_closes_rejects_what_follows_row_by_row(csv: Any) -> None:
    rows, refused = read(csv(line(1), line(2), '"' + line(3), line(4), line(5)))
    assert rows == [1, 2]
    assert [row for row, _ in refused] == [3, 4, 5]


def test_the_field_count_that_happens_to_fit_does_not_hide_it(csv: Any) -> None:
    # The quoted text takes the place of one field: to a reader this is one fine record.
    path = csv(f'"{line(1)}', line(2), '2026",us-east-1a,m5.large,Linux/UNIX,0.5', line(3))
    rows, refused = read(path)
    assert (rows, [row for row, _ in refused]) == ([4], [1, 2, 3])


def test_a_quote_in_the_middle_of_a_field_and_two_for_one_are_text(csv: Any) -> None:
    assert read(csv(line(1, 'Linux "x"'), line(2, '"Linux ""x"""'), line(3))) == ([1, 2, 3], [])


def test_a_carriage_return_alone_splits_no_record(csv: Any) -> None:
    rows, refused = read(csv(line(1), line(2, "Linux\rUNIX"), line(3)))
    assert (rows, refused) == ([1, 3], [(2, "a carriage return inside the line")])


def test_an_open_quote_goes_on_in_the_next_block(csv: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = csv(*[line(1)] * 40, line(2, '"Linux'), *[line(3)] * 40, line(4, 'UNIX"'), *[line(5)] * 40)
    whole = read(path)
    assert len(whole[0]) == 80
    monkeypatch.setattr(table_rows, "BLOCK", 600)
    monkeypatch.setattr("finops.providers.files.text.CHUNK", 500)
    assert read(path) == whole


@given(st.lists(st.text(alphabet='"a,\r', max_size=6), min_size=1, max_size=8))
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_line_is_counted_whatever_its_quotes(csv: Any, notes: list[str]) -> None:
    lines = [line(i, note) for i, note in enumerate(notes)]
    rows, refused = read(csv(*lines, line(20)))
    assert sorted([*rows, *(row for row, _ in refused if row)]) == list(range(1, len(lines) + 2))
