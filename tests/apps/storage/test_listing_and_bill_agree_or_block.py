"""Inventory and report files on one side, bill lines on the other: the whole way to a bucket's coverage."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from apps.accounts.models import Organisation
from apps.ingest.storage.run import storage_import
from apps.ingest.storage.sources import StorageOptions
from apps.storage.selectors import coverage_of, coverages_of, histogram_of
from finops.frames.storage import GIB
from tests.support.bill_lake import put_bill
from tests.support.lake import fresh_lake
from tests.support.storage_files import LISTED, listing, row

D = Decimal
NOVEMBER = date(2026, 11, 1)
LENS = (
    "version_number,configuration_id,report_date,aws_account_number,aws_region,storage_class,record_type,"
    "record_value,bucket_name,metric_name,metric_value\n"
)


@pytest.fixture(autouse=True)
def _lake(db: None, settings: Any, tmp_path: Path) -> Iterator[None]:
    with fresh_lake(settings, tmp_path / "lake"):
        yield


def bill(*lines: tuple[str | None, str, str, str], organisation: Organisation | None = None) -> None:
    """(bucket, usage type, amount, cost) of the whole month each, in GB-Mo."""
    start = datetime(2026, 11, 1, tzinfo=UTC)
    rows = [
        {
            "resource_id": bucket, "x_usage_type": usage, "x_operation": "StandardStorage",
            "x_product_code": "AmazonS3", "service_name": "AmazonS3", "x_quantity": amount,
            "x_unit": "GB-Mo", "pricing_unit": "GB-Mo", "billed_cost": cost, "region_id": "us-east-1",
            "sub_account_id": "1", "charge_period_start": start,
            "charge_period_end": start + timedelta(days=30),
        }
        for bucket, usage, amount, cost in lines
    ]  # fmt: skip
    put_bill(rows, period=NOVEMBER, organisation=organisation)


def load(*paths: Path, **given: Any) -> None:
    organisation = given.pop("organisation", None)
    options = StorageOptions(region="us-east-1", account="1", **given)
    run = storage_import(paths=[str(p) for p in paths], options=options, organisation=organisation)
    assert run.state == "finished", run.error


def lens(folder: Path, *rows: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "lens.csv"
    made = "".join(f"V_1,all,2026-11-28,1,us-east-1,{text}\n" for text in rows)
    path.write_text(LENS + made)
    return path


def current(gib: int) -> list[list[str]]:
    """Objects of 5 GiB."""
    return [row(f"lake/{i}", 5 * GIB) for i in range(gib // 5)]


SCHEMA = "Bucket, Key, Size, LastModifiedDate, StorageClass"


def narrow(rows: list[list[str]]) -> list[list[str]]:
    """As an inventory of current versions has it."""
    return [[r[0], r[1], r[5], r[6], r[7]] for r in rows]


def test_case_t4_05_most_of_the_bill_is_not_in_the_listing(tmp_path: Path) -> None:
    bill(("data", "TimedStorage-ByteHrs", "40000", "920.00"))
    load(
        listing(tmp_path / "in", narrow(current(2000)), schema=SCHEMA),
        lens(tmp_path, ",BUCKET,,data,VersioningEnabledBucketCount,1"),
    )
    found = coverage_of("data")
    assert found is not None
    assert found.listed == {("STANDARD", "current"): 2000 * GIB}
    assert (found.billed_gib_months, found.billed_gib) == ({"STANDARD": D(40000)}, {"STANDARD": D(40000)})
    assert (found.billed_cost, found.currency) == ({"STANDARD": D("920.00")}, "USD")
    assert (found.gap_bytes, found.gap_share) == (38000 * GIB, D("0.95"))
    assert (found.blocked, found.reason_code, found.missing) == (True, "gap", ("noncurrent", "incomplete"))
    assert (found.versioning, found.scope, found.listed_at) == ("Enabled", "bucket", LISTED)
    assert found.reason == (
        "38000 GiB of the bucket's bill (95.0 %) are not listed. Missing from the listing: noncurrent "
        "versions and unfinished uploads."
    )


def test_a_report_that_tells_the_noncurrent_bytes_closes_the_gap(tmp_path: Path) -> None:
    bill(("arn:aws:s3:::data", "TimedStorage-ByteHrs", "40000", "920.00"))
    load(
        listing(tmp_path / "in", narrow(current(2000)), schema=SCHEMA),
        lens(
            tmp_path,
            f"STANDARD,BUCKET,,data,NonCurrentVersionStorageBytes,{37900 * GIB}",
            "STANDARD,BUCKET,,data,NonCurrentVersionObjectCount,7",
            f"STANDARD,BUCKET,,data,IncompleteMultipartUploadStorageBytes,{100 * GIB}",
            "STANDARD,BUCKET,,data,IncompleteMultipartUploadObjectCount,3",
            f"STANDARD,BUCKET,,data,CurrentVersionStorageBytes,{1999 * GIB}",
            f"STANDARD,ACCOUNT,,,NonCurrentVersionStorageBytes,{37900 * GIB}",
        ),
    )
    found = coverage_of("data")
    assert found is not None
    assert (found.gap_bytes, found.blocked, found.reason, found.missing) == (0, False, "", ())
    totals = [(c.state, c.objects, c.bytes // GIB, c.age_from) for c in histogram_of("data")]
    assert totals == [
        ("current", 400, 2000, 14),
        ("incomplete", 3, 100, None),
        ("noncurrent", 7, 37900, None),
    ]


def test_a_class_of_the_bill_that_is_not_listed_is_named(tmp_path: Path) -> None:
    bill(
        ("data", "TimedStorage-ByteHrs", "100", "2.30"),
        ("data", "TimedStorage-GlacierByteHrs", "100", "0.36"),
        ("data", "Requests-Tier1", "1000", "0.005"),
    )
    load(listing(tmp_path / "in", current(100)))
    found = coverage_of("data")
    assert found is not None
    assert (found.blocked, found.missing) == (True, ("incomplete", "class GLACIER"))
    assert [(c.kind, c.cost) for c in found.charges] == [("requests", D("0.005"))]


def test_a_bucket_that_is_billed_and_not_listed_is_told(tmp_path: Path) -> None:
    bill(("data", "TimedStorage-ByteHrs", "100", "2.30"), ("dark", "TimedStorage-ByteHrs", "9", "0.207"))
    load(listing(tmp_path / "in", current(100)))
    assert [(c.bucket, c.reason_code, c.missing) for c in coverages_of()] == [
        ("dark", "no-listing", ("bucket dark",)),
        ("data", "", ()),
    ]
    assert coverage_of("nowhere") is None


def test_a_listing_without_a_bill_is_not_enough(tmp_path: Path) -> None:
    load(listing(tmp_path / "in", current(100)))
    found = coverage_of("data")
    assert found is not None
    assert (found.blocked, found.reason_code, found.gap_bytes, found.gap_share) == (
        True,
        "no-bill",
        None,
        None,
    )


def test_a_bill_without_buckets_stands_against_all_of_its_region(tmp_path: Path) -> None:
    bill((None, "TimedStorage-ByteHrs", "200", "4.60"))
    load(listing(tmp_path / "in", current(100)))
    found = coverage_of("data")
    assert found is not None
    assert (found.scope, found.blocked, found.missing) == ("region", True, ("incomplete", "bucket"))
    more = [row(f"x{i}", 5 * GIB, bucket="more") for i in range(20)]
    load(listing(tmp_path / "more", more, bucket="more"))
    for name in ("data", "more"):
        found = coverage_of(name)
        assert found is not None
        assert (found.scope, found.blocked, found.gap_bytes) == ("region", False, 0)


def test_a_wrong_unit_is_found_by_its_rate(tmp_path: Path) -> None:
    bill(("data", "TimedStorage-ByteHrs", "0.0001", "2.30"))
    load(listing(tmp_path / "in", current(100)))
    found = coverage_of("data")
    assert found is not None
    assert (found.blocked, found.reason_code) == (True, "rate")


def test_another_organisations_bill_is_not_looked_at(tmp_path: Path) -> None:
    mine, other = (Organisation.objects.create(name=n, slug=n) for n in ("mine", "other"))
    bill(("data", "TimedStorage-ByteHrs", "100", "2.30"), organisation=other)
    load(listing(tmp_path / "in", current(100)), organisation=mine)
    found = coverage_of("data", mine)
    assert found is not None
    assert found.reason_code == "no-bill"
    seen = coverage_of("data", other)
    assert seen is not None
    assert (seen.reason_code, seen.listed) == ("no-listing", {})
