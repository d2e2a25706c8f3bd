"""One part of a split delivery, a file that ends early, a text cut inside a line: refused or marked."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from apps.billing.models import Delivery
from apps.ingest.bills.run import bill_import
from tests.support.bills import cur_csv, import_text

pytestmark = pytest.mark.usefixtures("lake_folder")

COST, START, END = "lineItem/UnblendedCost", "lineItem/UsageStartDate", "lineItem/UsageEndDate"
INVOICE, TYPE = "bill/InvoiceId", "lineItem/LineItemType"
FIRST = cur_csv([{COST: "1.00", "identity/LineItemId": "a"}])
SECOND = cur_csv([{COST: "2.00", "identity/LineItemId": "b"}])
AFTER = datetime(2026, 4, 10, tzinfo=UTC)


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def _notes(code: str) -> list[dict[str, Any]]:
    return [note for note in Delivery.objects.get().notes if note["code"] == code]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("report-00001.csv", "report-00002.csv"),
        ("report-1.csv.gz", "report-2.csv.gz"),
        ("part_0_0001.csv", "part_1_0001.csv"),
        ("bill-000000000000.csv", "bill-000000000001.csv"),
    ],
)
def test_a_later_part_alone_is_refused_and_all_parts_are_not(tmp_path: Path, first: str, second: str) -> None:
    run = bill_import(paths=[_write(tmp_path / "alone" / second, SECOND)])
    assert run.state == "refused"
    assert f"{second} is part " in run.error
    assert "of a delivery of which part is missing: " in run.error
    assert run.error.endswith("say --whole where these files are the whole bill")
    assert not Delivery.objects.exists()
    both = [_write(tmp_path / "both" / name, text) for name, text in ((first, FIRST), (second, SECOND))]
    run = bill_import(paths=both)
    assert run.state == "finished", run.error
    assert Delivery.objects.get().totals["USD"]["billed"] == "3"


def test_a_part_between_that_is_missing_is_named(tmp_path: Path) -> None:
    for number in (1, 2, 4):
        _write(tmp_path / f"r-{number:05d}.csv.gz", FIRST.replace("a,", f"a{number},"))
    run = bill_import(paths=[tmp_path])
    assert run.error.startswith("r-00004.csv.gz is part 4 of a delivery of which part is missing: 3")


def test_one_part_whose_others_lie_beside_it_is_refused(tmp_path: Path) -> None:
    _write(tmp_path / "r-00002.csv.gz", SECOND)
    run = bill_import(paths=[_write(tmp_path / "r-00001.csv.gz", FIRST)])
    assert run.state == "refused"
    assert "its folder has more that were not given: r-00002.csv.gz" in run.error


@pytest.mark.parametrize("folder", ["data/BILLING_PERIOD=2026-03", "metadata/BILLING_PERIOD=2026-03"])
def test_a_manifest_that_lists_more_files_refuses_one_of_them(tmp_path: Path, folder: str) -> None:
    keys = [f"p/data/BILLING_PERIOD=2026-03/{name}.csv.gz" for name in ("one", "two")]
    _write(tmp_path / folder / "x-Manifest.json", json.dumps({"dataFiles": keys}))
    one = _write(tmp_path / "data/BILLING_PERIOD=2026-03/one.csv.gz", FIRST)
    run = bill_import(paths=[one])
    assert run.state == "refused"
    assert run.error.startswith(
        "one.csv.gz is one of 2 files that x-Manifest.json lists; not given: two.csv.gz"
    )


def test_a_first_part_alone_is_taken_and_its_delivery_says_so(tmp_path: Path) -> None:
    bill_import(paths=[_write(tmp_path / "r-00001.csv.gz", FIRST)])
    assert _notes("one part") == [{"code": "one part", "file": "r-00001.csv.gz"}]


def test_whole_takes_a_file_for_all(tmp_path: Path) -> None:
    run = bill_import(paths=[_write(tmp_path / "r-00002.csv.gz", SECOND)], whole=True)
    assert run.state == "finished"
    assert _notes("one part") == []


@pytest.mark.parametrize(
    "name", ["bill-2026-03.csv", "cur_2018-10.csv", "mar-10.csv", "111122223333.csv", "b-94103.csv"]
)
def test_other_numbers_in_names_are_no_parts(tmp_path: Path, name: str) -> None:
    assert bill_import(paths=[_write(tmp_path / name, FIRST)]).state == "finished"


def test_a_text_that_stops_inside_a_line_is_marked(tmp_path: Path) -> None:
    reaching = [{COST: "1.25", START: "2026-03-31T22:00:00Z", END: "2026-03-31T23:00:00Z", INVOICE: "7"}]
    text = cur_csv(reaching)
    import_text(tmp_path / "whole.csv", text, at=AFTER)
    assert Delivery.objects.get().final is True
    Delivery.objects.all().delete()
    import_text(tmp_path / "cut.csv", text.rstrip("\n")[:-1], at=AFTER)
    assert _notes("no line end") == [{"code": "no line end", "file": "cut.csv"}]
    assert Delivery.objects.get().final is None


def _final(tmp_path: Path, *rows: dict[str, str], at: datetime = AFTER) -> bool | None:
    import_text(tmp_path / "f.csv", cur_csv(rows), at=at)
    return Delivery.objects.get().final


MID = {START: "2026-03-14T00:00:00Z", END: "2026-03-14T01:00:00Z", INVOICE: "7", COST: "1"}
LAST = {START: "2026-03-31T23:00:00Z", END: "2026-04-01T00:00:00Z", INVOICE: "7", COST: "1"}
FEE = {START: "2026-03-01T00:00:00Z", END: "2026-03-31T23:59:59Z", TYPE: "RIFee", INVOICE: "7", COST: "5"}


def test_a_bill_that_ends_in_the_middle_of_its_month_is_not_final(tmp_path: Path) -> None:
    assert _final(tmp_path, MID, FEE) is False
    assert _notes("ends early") == [
        {"code": "ends early", "last_day": "2026-03-14", "period_ends": "2026-03-31"}
    ]


def test_a_bill_of_the_running_month_ends_early_for_no_fault(tmp_path: Path) -> None:
    assert _final(tmp_path, MID, at=datetime(2026, 3, 16, tzinfo=UTC)) is False
    assert _notes("ends early") == []


def test_a_bill_whose_lines_name_their_invoice_to_the_last_day_is_final(tmp_path: Path) -> None:
    assert _final(tmp_path, MID, LAST, FEE) is True
    assert _notes("ends early") == []


def test_one_line_without_invoice_leaves_the_month_open(tmp_path: Path) -> None:
    assert _final(tmp_path, MID, {**LAST, INVOICE: ""}) is False


def test_without_any_invoice_the_time_of_delivery_decides(tmp_path: Path) -> None:
    assert _final(tmp_path, {**MID, INVOICE: ""}, {**LAST, INVOICE: ""}) is None


def test_a_bill_by_month_reaches_as_far_as_its_lines(tmp_path: Path) -> None:
    monthly = {START: "2026-03-01T00:00:00Z", END: "2026-04-01T00:00:00Z", INVOICE: "7", COST: "1"}
    assert _final(tmp_path, monthly) is True
