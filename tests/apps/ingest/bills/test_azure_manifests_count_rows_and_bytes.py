"""Azure's manifest.json: which blobs belong together, with how many rows and bytes."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from apps.billing.models import Delivery
from apps.ingest.bills.run import bill_import
from apps.ingest.models import IngestRun

pytestmark = pytest.mark.usefixtures("lake_folder")

HEADER = (
    "SubscriptionId,ResourceGroup,ResourceLocation,Date,MeterCategory,Quantity,"
    "CostInBillingCurrency,Currency\n"
)
PARTS = {
    "part_0_0001.csv": HEADER
    + "s1,rg,eu,2026-03-02,Storage,3,0.75,EUR\ns1,rg,eu,2026-03-03,Storage,3,0.25,EUR\n",
    "part_1_0001.csv": HEADER + "s1,rg,eu,2026-03-04,Storage,1,2.00,EUR\n",
}


def _put(folder: Path, **changes: Any) -> dict[str, Any]:
    run = folder / "exports" / "daily" / "20260301-20260331" / "7f"
    run.mkdir(parents=True)
    for name, text in PARTS.items():
        (run / name).write_text(text)
    blobs = [
        {"blobName": f"exports/daily/20260301-20260331/7f/{name}", "byteCount": len(text.encode()),
         "dataRowCount": text.count("\n") - 1}
        for name, text in PARTS.items()
    ]  # fmt: skip
    document = {
        "manifestVersion": "2024-04-01", "byteCount": 400, "blobCount": 2, "dataRowCount": 3, "blobs": blobs,
        "exportConfig": {"exportName": "daily", "type": "ActualCost"},
        "runInfo": {"runId": "7f", "submittedTime": "2026-04-02T03:00:00.1Z"},
        **changes,
    }  # fmt: skip
    (run / "manifest.json").write_text(json.dumps(document))
    return document


def _refused(folder: Path) -> str:
    run: IngestRun = bill_import(paths=[folder])
    assert run.state == "refused"
    assert not Delivery.objects.exists()
    return run.error


def test_the_blobs_of_a_run_are_one_delivery_of_its_time(tmp_path: Path) -> None:
    _put(tmp_path)
    run = bill_import(paths=[tmp_path])
    assert (run.state, run.stored) == ("finished", 3), run.error
    delivery = Delivery.objects.get()
    assert delivery.totals["EUR"]["billed"] == "3"
    assert (delivery.delivered_at, delivery.assembly) == (datetime(2026, 4, 2, 3, 0, 0, 100000, UTC), "7f")


def test_a_blob_that_is_not_there_refuses(tmp_path: Path) -> None:
    _put(tmp_path)
    next(tmp_path.rglob("part_1_0001.csv")).unlink()
    assert "1 of 2 listed files missing" in _refused(tmp_path)


def test_a_blob_that_was_cut_at_the_end_of_a_line_refuses_by_its_bytes(tmp_path: Path) -> None:
    _put(tmp_path)
    blob = next(tmp_path.rglob("part_0_0001.csv"))
    blob.write_text("".join(blob.read_text().splitlines(keepends=True)[:-1]))
    assert "bytes, its manifest says" in _refused(tmp_path)


def test_a_blob_with_other_rows_refuses(tmp_path: Path) -> None:
    document = _put(tmp_path)
    blobs = [{"blobName": blob["blobName"], "dataRowCount": 3} for blob in document["blobs"]]
    path = next(tmp_path.rglob("manifest.json"))
    path.write_text(json.dumps({**document, "dataRowCount": 6, "blobs": blobs}))
    told = _refused(tmp_path)
    assert "part_0_0001.csv has 2 rows, and " in told
    assert told.endswith("manifest.json counts 3")
    assert list((tmp_path / "lake").rglob("*.parquet")) == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"blobCount": 3}, "the manifest lists 2 blobs and counts 3"),
        ({"dataRowCount": 4}, "the manifest's blobs have 3 rows, and it counts 4"),
        ({"blobs": []}, "names no data files"),
        ({"blobs": [{"blobName": "../x.csv"}]}, "a name inside of its export"),
    ],
)
def test_a_manifest_that_contradicts_itself_refuses(tmp_path: Path, change: Any, told: str) -> None:
    _put(tmp_path, **change)
    assert told in _refused(tmp_path)


def test_one_blob_of_several_alone_is_refused(tmp_path: Path) -> None:
    _put(tmp_path)
    run = bill_import(paths=[next(tmp_path.rglob("part_0_0001.csv"))])
    assert run.state == "refused"
    assert "is one of 2 files that manifest.json lists; not given: part_1_0001.csv" in run.error
