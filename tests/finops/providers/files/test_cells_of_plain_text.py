"""Cells of CSV text are those that Python's own reader finds, or the text is not taken for plain."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finops.providers.files.bill_text import Cells, NotPlainError, Room, blocks

_CELL = st.text(st.sampled_from('ab,;é\n "0'), max_size=16)
_TABLE = st.integers(2, 5).flatmap(
    lambda width: st.lists(st.lists(_CELL, min_size=width, max_size=width), min_size=1, max_size=12)
)


def _written(rows: list[list[str]], end: str) -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator=end).writerows(rows)
    return out.getvalue().encode()


def _cells(path: Path, width: int, size: int = 1 << 20, compression: str = "none") -> list[Cells]:
    found = blocks(path, compression, lambda: Room(size))
    return [Cells(room, width, ",") for room in found if room.length]


def _texts(cells: Cells, column: int, null_word: str = "") -> list[str | None]:
    found: list[str | None] = cells.texts(column, null_word).to_pylist()
    return found


@given(rows=_TABLE, end=st.sampled_from(["\n", "\r\n"]), size=st.sampled_from([128, 256, 1 << 16]))
def test_every_cell_is_what_the_csv_module_reads(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], end: str, size: int
) -> None:
    path = tmp_path_factory.mktemp("text") / "a.csv"
    width = len(rows[0])
    path.write_bytes(_written([["h"] * width, *rows], end))
    try:
        found = _cells(path, width, size)
        columns = [[cell for c in found for cell in _texts(c, column)] for column in range(width)]
    except NotPlainError:
        # Quotes in a cell, and line ends of two kinds, are for the careful reader; a lone blank row too.
        told = "".join("".join(row) for row in rows)
        assert '"' in told or (end == "\r\n" and "\n" in told) or size < 4096
        return
    assert columns == [[row[column] or None for row in rows] for column in range(width)]
    again = [
        row
        for c in found
        for row in csv.reader(io.StringIO(c.lines(np.arange(c.rows, dtype=np.int32)).decode()))
    ]
    assert again == rows


def test_blocks_end_where_records_end_and_packing_does_not_matter(tmp_path: Path) -> None:
    rows = [[f"{i}", 'with, "comma"' if i % 3 == 0 else f"plain {i}"] for i in range(500)]
    data = _written([["a", "b"], *rows], "\n")
    (tmp_path / "a.csv").write_bytes(data[:-1])
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(data[:4000]) + gzip.compress(data[4000:]))
    for name, compression in (("a.csv", "none"), ("a.csv.gz", "gzip")):
        found = _cells(tmp_path / name, 2, 1024, compression)
        assert len(found) > 5
        assert [text for c in found for text in _texts(c, 0)] == [row[0] for row in rows]


def test_null_is_blank_or_the_unquoted_word(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b'a,b\nNULL,1\n"NULL",2\n,3\n"",4\nNULLS,5\n')
    [cells] = _cells(path, 2)
    assert _texts(cells, 0) == ["NULL", "NULL", None, None, "NULLS"]
    assert _texts(cells, 0, "NULL") == [None, "NULL", "", "", "NULLS"]
    assert cells.raw(0, 1).to_pylist()[1] == '"NULL",2'
    assert cells.blank(0, 5) == 1


@pytest.mark.parametrize(
    "data",
    [
        b"a,b\n1\n2,3\n",
        b"a,b\n1,2,3\n",
        b"a,b\n1,2\n\n3,4\n",
        b'a,b\n1,"2\n3,4\n',
        b'a,b\n1,x"2"\n',
        b'a,b\n1,"2"x\n',
        b"a,b\n1,\xff\n",
        b"a,b\n1,\x002\n",
        b"a,b\r\n1,2\n3,4\r\n",
        b'"a,b\n1,2\n',
        b"a,b",
    ],
)
def test_what_is_not_plain_is_not_guessed_at(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(data)
    with pytest.raises(NotPlainError):
        _cells(path, 2)


@pytest.mark.parametrize("share", [0.4, 0.95])
def test_a_packed_file_that_is_cut_short_is_not_plain(tmp_path: Path, share: float) -> None:
    data = gzip.compress(b"a,b\n" + b"".join(b"%d,%d\n" % (i, i * i) for i in range(5000)))
    path = tmp_path / "a.csv.gz"
    path.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(NotPlainError):
        _cells(path, 2, compression="gzip")


def test_a_line_longer_than_duckdb_takes_is_not_plain(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"a,b\n1," + b"x" * (3 << 20) + b"\n")
    with pytest.raises(NotPlainError):
        _cells(path, 2, 8 << 20)
