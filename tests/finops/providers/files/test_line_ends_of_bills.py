"""A file that mixes two kinds of line ends is read like any other."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from finops.providers.files.bill_files import open_bill_file


@pytest.mark.parametrize(
    "text",
    [
        "a,b\r\n1,x\r\n2,y\r\n",
        "a,b\n1,x\n2,y\n",
        "a,b\r\n1,x\r\n2,y\n",
        'a,b\n1,x\r\n2,"y"',
        "a,b\r\n1,x\n2,y",
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
