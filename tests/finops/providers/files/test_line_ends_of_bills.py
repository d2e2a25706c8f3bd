"""Line ends of all kinds, blank lines in front and zeros behind: read, or refused in plain words."""

from __future__ import annotations

import gzip
from pathlib import Path

import duckdb
import pytest

from finops.providers.files import UnreadableError
from finops.providers.files.bill_files import open_bill_file, other_line_end, reading_error


@pytest.mark.parametrize(
    "text",
    [
        "a,b\r\n1,x\r\n2,y\r\n",
        "a,b\n1,x\n2,y\n",
        "a,b\r\n1,x\r\n2,y\n",
        'a,b\n1,x\r\n2,"y"',
        "a,b\r\n1,x\n2,y",
        "a,b\r1,x\r2,y\r",
        "a,b\r1,x\r2,y",
        "a,b\n1,x\n\n2,y\n\n",
    ],
)
def test_line_ends_do_not_matter(tmp_path: Path, text: str) -> None:
    (tmp_path / "bill.csv").write_bytes(text.encode())
    (tmp_path / "work").mkdir()
    file = open_bill_file(tmp_path / "bill.csv", tmp_path / "work")
    rows = duckdb.connect().execute(f"SELECT * FROM {file.relation()} ORDER BY rn").fetchall()
    assert rows == [(1, "1", "x"), (2, "2", "y")]
    mixed = text.count("\n") != text.count("\r\n") > 0
    assert len(list((tmp_path / "work").iterdir())) == mixed


ROWS = [(1, "1", "x"), (2, "2", "y")]


@pytest.mark.parametrize("behind", [b"", b"\0" * 8, b"\0" * 512, gzip.compress(b"", mtime=0)])
def test_what_stands_behind_a_gzip_stream(tmp_path: Path, behind: bytes) -> None:
    (tmp_path / "bill.csv.gz").write_bytes(gzip.compress(b"a,b\n1,x\n2,y\n") + behind)
    file = open_bill_file(tmp_path / "bill.csv.gz", tmp_path)
    assert duckdb.connect().execute(f"SELECT * FROM {file.relation()} ORDER BY rn").fetchall() == ROWS


def _refusal(path: Path) -> str:
    try:
        file = open_bill_file(path, path.parent)
        duckdb.connect().execute(f"SELECT * FROM {file.relation()}").fetchall()
    except UnreadableError as error:
        return str(error)
    except duckdb.Error as error:
        return str(reading_error(error, file))
    return ""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b"a,b\r\n1,x\r\n2,y\n", 3),
        (b"a,b\n1,x\n2,y\r3,z\n", 3),
        (b"a,b\r1,x\r\n2,y\r", 2),
        (b'a,b\n1,"x\ry"\n2,"""\r\n"\n3,z\r\n', 4),
    ],
)
def test_a_packed_file_of_several_line_ends_names_the_line(tmp_path: Path, text: bytes, line: int) -> None:
    (tmp_path / "bill.csv.gz").write_bytes(gzip.compress(text))
    told = _refusal(tmp_path / "bill.csv.gz")
    assert told == f"line {line} ends in another way than line 1 (save it with LF, CR LF or CR)"


def test_a_line_end_on_the_edge_of_what_is_read_at_once(tmp_path: Path) -> None:
    (tmp_path / "bill.csv").write_bytes(b"a,b\r\n" + (b"1," + b"x" * 60 + b"\r\n") * 40_000)
    assert other_line_end(open_bill_file(tmp_path / "bill.csv", tmp_path)) == 0


@pytest.mark.parametrize("start", [b"\n", b"\r\n", b" \n", b",,\n", b"\xef\xbb\xbf\n"])
@pytest.mark.parametrize("packed", [True, False])
def test_a_blank_first_line_is_said_to_be_one(tmp_path: Path, start: bytes, packed: bool) -> None:
    data = start + b"a,b\n1,x\n"
    (tmp_path / "bill").write_bytes(gzip.compress(data) if packed else data)
    assert _refusal(tmp_path / "bill") == "line 1 is blank: the header has to be the first line"


def test_text_behind_a_gzip_stream_is_refused(tmp_path: Path) -> None:
    data = b"a,b\n" + b"1,x\n" * 400_000
    (tmp_path / "bill.csv.gz").write_bytes(gzip.compress(data, 1) + b"text" * 10)
    told = _refusal(tmp_path / "bill.csv.gz")
    assert told == "cut short or broken: there is something behind the end of the gzip stream"


def test_blank_lines_by_the_million_are_a_fault_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "bill.csv.gz").write_bytes(gzip.compress(b"a,b\n1,x\n" + b"\n" * 20_000_000, 1))
    assert _refusal(tmp_path / "bill.csv.gz") == "a line has no end, or blank lines go on and on"
