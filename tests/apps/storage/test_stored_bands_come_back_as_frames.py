"""Selectors give what is stored: the newest listing, reports where it is silent, spans of reads."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from apps.accounts.models import Organisation
from apps.storage.models import Bucket, Listing, ReadDay, ReadSpan, ReportedPart
from apps.storage.selectors import coverage_of, histogram_of, reads_of
from finops.frames.storage import ReadsCell, ReadsHistory, StorageCell

pytestmark = pytest.mark.django_db


def listing(bucket: Bucket, day: int, state: str, objects: int) -> None:
    made = Listing.objects.create(
        bucket=bucket, state=state, listed_at=datetime(2026, 11, day, tzinfo=UTC), source="inventory",
        states=["current"], content_hash="h", objects_count=objects, bytes=objects * 2, run_id=1,
    )  # fmt: skip
    made.cells.create(
        prefix="logs/", storage_class="STANDARD", state="current", size_from=1, size_to=8192, age_from=0,
        age_to=1, objects_count=objects, bytes=objects * 2,
    )  # fmt: skip


def bucket(name: str = "data", organisation: Organisation | None = None) -> Bucket:
    return Bucket.objects.create(
        provider="aws", region="us-east-1", account="1", name=name, organisation=organisation
    )


def test_the_newest_listing_counts_and_an_earlier_instant_sees_an_earlier_one() -> None:
    data = bucket()
    listing(data, 1, "superseded", 5)
    listing(data, 8, "current", 7)
    cell = StorageCell(
        "aws", "us-east-1", "1", "data", "logs/", "STANDARD", "", "current", 1, 8192, 0, 1, None, None, 7, 14
    )
    assert histogram_of() == [cell]
    assert [c.objects for c in histogram_of("data", at=datetime(2026, 11, 7, tzinfo=UTC))] == [5]
    assert histogram_of("data", at=datetime(2026, 10, 1, tzinfo=UTC)) == []
    assert histogram_of("other") == []


def test_a_report_of_totals_tells_the_states_that_a_listing_does_not_hold() -> None:
    data = bucket()
    listing(data, 8, "current", 7)
    for state, size in (("current", 99), ("incomplete", 50)):
        ReportedPart.objects.create(
            bucket=data, day=date(2026, 11, 7), storage_class="STANDARD", state=state, objects_count=3,
            bytes=size, run_id=2,
        )  # fmt: skip
    assert [(c.state, c.objects, c.bytes, c.size_to) for c in histogram_of("data")] == [
        ("current", 7, 14, 8192),
        ("incomplete", 3, 50, None),
    ]
    covered = coverage_of("data")
    assert covered is not None
    assert covered.listed == {("STANDARD", "current"): 14, ("STANDARD", "incomplete"): 50}
    assert (covered.blocked, covered.reason_code, covered.versioning) == (True, "no-bill", None)


def test_reads_are_those_of_the_newest_days_without_a_hole() -> None:
    data = bucket()
    for first, last in ((1, 2), (5, 9)):
        ReadSpan.objects.create(bucket=data, first_day=date(2026, 11, first), last_day=date(2026, 11, last))
    for day in (1, 6):
        ReadDay.objects.create(
            bucket=data, day=date(2026, 11, day), prefix="logs/", idle_from=0, idle_to=1, age_from=0,
            age_to=1, reads=1, requests=4, bytes=8, exposure=2,
        )  # fmt: skip
    cell = ReadsCell("data", "logs/", date(2026, 11, 6), 0, 1, 0, 1, 1, 4, 8, 2)
    assert reads_of("data") == ReadsHistory("data", date(2026, 11, 5), date(2026, 11, 9), (cell,))
    early = reads_of("data", at=datetime(2026, 11, 5, tzinfo=UTC))
    assert early == ReadsHistory("data", date(2026, 11, 5), date(2026, 11, 5), ())
    assert reads_of("other") is None


def test_an_organisation_sees_its_own_buckets_and_those_of_everybody() -> None:
    mine, other = (Organisation.objects.create(name=n, slug=n) for n in ("mine", "other"))
    listing(bucket("shared"), 1, "current", 1)
    listing(bucket("data"), 1, "current", 2)
    listing(bucket("data", mine), 1, "current", 3)
    listing(bucket("secret", other), 1, "current", 4)
    assert sorted((c.bucket, c.objects) for c in histogram_of(organisation=mine)) == [
        ("data", 3),
        ("shared", 1),
    ]
    assert sorted((c.bucket, c.objects) for c in histogram_of()) == [("data", 2), ("shared", 1)]
