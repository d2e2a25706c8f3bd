"""A large file is unpacked and read in pieces: same lines, same row numbers, same refusals as read as one."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from apps.accounts.models import Organisation
from apps.billing.models import BillReport, Delivery
from apps.ingest.bills.run import bill_import
from apps.ingest.selectors import current_snapshots, lake
from finops.lake import BILL_LINES
from finops.providers.files import bill_pieces
from tests.apps.ingest.bills.conftest import lines
from tests.support.bills import cur_csv, import_text

pytestmark = pytest.mark.usefixtures("lake_folder")

ROWS: list[dict[str, str]] = [
    {"identity/LineItemId": f"L{i}", "lineItem/ResourceId": f"i-{i}", "lineItem/UnblendedCost": f"0.{i:04d}",
     "lineItem/LineItemDescription": f'{i} "hours", of\nuse' if i % 3 else "plain"}
    for i in range(400)
]  # fmt: skip


@pytest.fixture
def pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every text is a large one."""
    monkeypatch.setattr(bill_pieces, "FROM_BYTES", 0)
    monkeypatch.setattr(bill_pieces, "CHUNK", 4096)


def _written(path: Path, rows: list[dict[str, str]], more: bytes = b"") -> Path:
    # stored, so that the file is as large as its text
    path.write_bytes(gzip.compress(cur_csv(rows).encode() + more, 0, mtime=0))
    return path


def test_lines_are_those_of_the_file_read_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _written(tmp_path / "report.csv.gz", ROWS)
    found: list[list[tuple[Any, ...]]] = []
    for slug, least in (("one", 1 << 40), ("pieces", 0)):
        monkeypatch.setattr(bill_pieces, "FROM_BYTES", least)
        monkeypatch.setattr(bill_pieces, "CHUNK", 4096)
        organisation = Organisation.objects.create(name=slug, slug=slug)
        run = bill_import(paths=[path], organisation=organisation)
        assert (run.state, run.stored) == ("finished", 400)
        report = BillReport.objects.get(organisation=organisation)
        told = "x_row, x_file, x_line_item_id, billed_cost, charge_description, x_day"
        found.append(list(lines(told, f"x_report = '{report.pk}'")))
    assert found[0] == found[1]
    assert [row[0] for row in found[1]] == list(range(1, 401))
    files = lake().files(BILL_LINES, current_snapshots()[BILL_LINES])
    assert sum(f"x_report={report.pk}" in file for file in files) == 2


@pytest.mark.usefixtures("pieces")
def test_a_rejected_row_of_the_last_piece_is_named_by_its_number(tmp_path: Path) -> None:
    rows = [
        row | ({"lineItem/UsageStartDate": "soon"} if place == 390 else {}) for place, row in enumerate(ROWS)
    ]
    run = import_text(tmp_path / "report.csv.gz", _written(tmp_path / "x.gz", rows).read_bytes())
    told = run.rejections.get()
    assert (run.stored, told.row, told.field) == (399, 391, "lineItem/UsageStartDate")
    assert [row[0] for row in lines("x_row")] == [n for n in range(1, 401) if n != 391]


@pytest.mark.usefixtures("pieces")
@pytest.mark.parametrize(
    ("place", "change", "more", "said"),
    [
        (395, {"lineItem/UnblendedCost": "NaN"}, b"", "row 396, lineItem/UnblendedCost: not a number: NaN"),
        (5, {"lineItem/UnblendedCost": "1_0"}, b"", "row 6, lineItem/UnblendedCost: not a number: 1_0"),
        (0, {}, b"a,b\n", "cells, the header"),
        (0, {}, cur_csv(ROWS[:1]).encode().split(b"\n", 1)[1].replace(b"L0", b"L\xff"), "is not UTF-8"),
    ],
    ids=["money at the end", "money at the start", "ragged", "encoding"],
)
def test_what_refuses_a_file_refuses_its_pieces(
    tmp_path: Path, place: int, change: dict[str, str], more: bytes, said: str
) -> None:
    assert import_text(tmp_path / "report.csv.gz", gzip.compress(cur_csv(ROWS[:3]).encode())).stored == 3
    rows = [row | (change if number == place else {}) for number, row in enumerate(ROWS)]
    _written(tmp_path / "report.csv.gz", rows, more)
    run = bill_import(paths=[tmp_path / "report.csv.gz"])
    assert run.state == "refused"
    assert said in run.error
    assert Delivery.objects.get().stored == 3
    # Nothing of the refused one is left in the lake's folder.
    assert len(list(lake().warehouse.glob("billing/lines/**/*.parquet"))) == 1


@pytest.mark.usefixtures("pieces")
def test_a_changed_byte_refuses_and_nothing_is_left(tmp_path: Path) -> None:
    path = _written(tmp_path / "report.csv.gz", ROWS)
    packed = bytearray(path.read_bytes())
    packed[packed.index(b"0.0399")] = ord("9")
    path.write_bytes(packed)
    run = bill_import(paths=[path])
    assert (run.state, run.error) == (
        "refused",
        "report.csv.gz: the packed content is damaged (incorrect data check)",
    )
    assert not list(lake().warehouse.glob("billing/lines/**/*.parquet"))
    assert not list((lake().limits.spill or tmp_path).glob("bills-*"))


@pytest.mark.usefixtures("pieces")
def test_files_side_by_side(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        _written(tmp_path / f"report-{number:05d}.csv.gz", ROWS[(number - 1) * 130 : number * 130])
    run = bill_import(paths=[tmp_path])
    assert (run.state, run.stored) == ("finished", 390)
    assert lines("x_file, min(x_row), max(x_row), count(DISTINCT x_row)", "true GROUP BY 1") == [
        (f"report-{number:05d}.csv.gz", 1, 130, 130) for number in (1, 2, 3)
    ]
