"""A large bill's text in pieces is the same records with the same numbers, or the file is read as one."""

from __future__ import annotations

import csv
import errno
import gzip
import io
from functools import cache
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.providers.files import UnreadableError
from finops.providers.files import bill_pieces as module
from finops.providers.files.archives import ArchiveLimits
from finops.providers.files.bill_files import BillFile, open_bill_file
from finops.providers.files.bill_pieces import NotInPiecesError, fits, pieces

Rows = list[tuple[object, ...]]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of some bytes, so that cuts fall everywhere."""
    monkeypatch.setattr(module, "FROM_BYTES", 0)
    monkeypatch.setattr(module, "CHUNK", 64)


def _file(folder: Path, content: bytes, name: str = "bill.csv", level: int = 6) -> BillFile:
    path = folder / name
    path.write_bytes(gzip.compress(content, level, mtime=0) if name.endswith(".gz") else content)
    return open_bill_file(path, folder)


@cache
def _duckdb() -> duckdb.DuckDBPyConnection:
    con = duckdb.connect(":memory:")
    con.execute("SET threads = 1")
    return con


def _rows(relation: str) -> Rows:
    return _duckdb().execute(f"SELECT * FROM {relation} ORDER BY rn").fetchall()


def _by_pieces(file: BillFile, folder: Path, count: int) -> tuple[Rows, int]:
    found: Rows = []
    made = list(pieces(file, folder, count))
    for piece in made:
        found += _rows(file.relation("", piece))
    return found, len(made)


_CELLS = st.lists(st.text(st.sampled_from('ab",\n ü'), max_size=6), min_size=3, max_size=3)


@settings(max_examples=40, deadline=None)
@given(table=st.lists(_CELLS, min_size=1, max_size=40), count=st.integers(1, 4), crlf=st.booleans())
def test_the_same_records_with_the_same_numbers(
    table: list[list[str]], count: int, crlf: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("pieces")
    text = io.StringIO(newline="")
    writer = csv.writer(
        text,
        quoting=csv.QUOTE_MINIMAL if count % 2 else csv.QUOTE_ALL,
        lineterminator="\r\n" if crlf else "\n",
    )
    writer.writerows([["x", "y\n,", "z"], *table])
    file = _file(folder, text.getvalue().encode())
    try:
        found, _ = _by_pieces(file, folder, count)
    except NotInPiecesError:
        # Line feeds between quotes of a file with CR LF: read as one.
        assert crlf
        assert count > 1
        return
    assert found == _rows(file.relation())
    assert found == [(number, *(cell or None for cell in row)) for number, row in enumerate(table, 1)]


@pytest.mark.parametrize("name", ["bill.csv", "bill.csv.gz"])
def test_cuts_are_spread_over_the_file(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK", 1 << 16)
    content = b"a,b\n" + b"".join(b'%d,"x, %d"\n' % (i, i * 7919 % 10007) for i in range(300_000))
    file = _file(tmp_path, content, name, 0)
    made = list(pieces(file, tmp_path, 3))
    sizes = [piece.path.stat().st_size for piece in made]
    assert made[0].before == 0
    assert sum(sizes) == len(content) - 4
    assert all(len(content) / 5 < size < len(content) / 2 for size in sizes)
    assert made[2].path.read_bytes().startswith(b"%d," % made[2].before)


@pytest.mark.parametrize(
    "line",
    [b'5" disk,2"', b'"a" ,2', b"", b"\r", b"1,2\r", b'"a\rb",2'],
    ids=["quote inside", "blank behind a quote", "blank line", "CR line", "CR LF line", "CR in quotes"],
)
def test_what_might_be_cut_wrongly_is_read_as_one(tmp_path: Path, line: bytes) -> None:
    rows = b"1,2\n" * 10
    file = _file(tmp_path, b"a,b\n1,2\n" + line + b"\n" + rows * 50, "bill.csv.gz")
    (tmp_path / "work").mkdir()
    with pytest.raises(NotInPiecesError):
        list(pieces(file, tmp_path / "work", 2))
    assert not list((tmp_path / "work").iterdir())


def test_a_line_without_end_and_a_quote_that_stays_open_are_read_as_one(tmp_path: Path) -> None:
    for content in (b"a,b\n1," + b"x" * 500, b'a,b\n1,2\n"' + b"x,\n" * 200):
        with pytest.raises(NotInPiecesError):
            list(pieces(_file(tmp_path, content), tmp_path, 2))


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize(
    ("at", "told"),
    [
        (-6, "the packed content is damaged (incorrect data check)"),
        (-2, "the packed content is damaged (incorrect length check)"),
    ],
)
def test_damaged_packed_bytes_are_refused(tmp_path: Path, count: int, at: int, told: str) -> None:
    file = _file(tmp_path, b"a,b\n" + b"1,2\n" * 500, "bill.csv.gz")
    packed = bytearray(file.path.read_bytes())
    packed[at] ^= 1
    file.path.write_bytes(packed)
    with pytest.raises(UnreadableError, match=told.replace("(", r"\(").replace(")", r"\)")):
        list(pieces(file, tmp_path, count))


def test_a_stream_cut_short_is_refused_and_more_behind_it_is_for_the_other_reader(tmp_path: Path) -> None:
    file = _file(tmp_path, b"a,b\n" + b"1,2\n" * 500, "bill.csv.gz")
    whole = file.path.read_bytes()
    file.path.write_bytes(whole[:-9])
    with pytest.raises(UnreadableError, match="ends too early"):
        list(pieces(file, tmp_path, 2))
    file.path.write_bytes(whole + b"more")
    with pytest.raises(NotInPiecesError):
        list(pieces(file, tmp_path, 2))
    file.path.write_bytes(whole + whole)
    assert sum(len(p.path.read_bytes()) for p in pieces(file, tmp_path, 2)) > 2 * 2000


def test_text_that_grows_without_end_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = _file(tmp_path, b"a,b\n" + b"1,2\n" * 100_000, "bill.csv.gz")
    with pytest.raises(UnreadableError, match="more than 3 times"):
        list(pieces(file, tmp_path, 1, ArchiveLimits(ratio=3, ratio_from=1000)))
    monkeypatch.setattr(module, "_MOST_OF_FREE", 0)
    with pytest.raises(NotInPiecesError):
        list(pieces(file, tmp_path, 1))
    assert [path.name for path in tmp_path.iterdir()] == ["bill.csv.gz"]


def test_only_large_texts_are_worth_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = _file(tmp_path, b"a,b\n1,2\n")
    assert fits(file)
    monkeypatch.setattr(module, "FROM_BYTES", 9)
    assert not fits(file)


@pytest.mark.parametrize("name", ["bill.csv", "bill.csv.gz"])
def test_a_full_disk_is_no_fault_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    file = _file(tmp_path, b"a,b\n" + b"1,2\n" * 500, name)

    def full(*_given: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(module, "_check", full)
    with pytest.raises(NotInPiecesError):
        list(pieces(file, tmp_path, 2))
    assert [path.name for path in tmp_path.iterdir()] == [name]
