"""Made-up listings, read logs and coverage of buckets, put straight into the database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from unittest import mock

from apps.accounts.models import Organisation
from apps.storage.models import Bucket, Listing, ListingCell, ReadDay, ReadSpan
from apps.storage.selectors import coverage_of
from finops.frames.storage import BucketCoverage, ReadsCell, StorageCell

NOW = datetime(2026, 11, 30, 6, tzinfo=UTC)


def put_listing(
    cells: Sequence[StorageCell], *, organisation: Organisation | None = None, at: datetime = NOW
) -> Bucket:
    """A bucket with a listing of these cells."""
    first = cells[0]
    bucket, _made = Bucket.objects.get_or_create(
        organisation=organisation, provider=first.provider, name=first.bucket,
        defaults={"region": first.region, "account": first.account, "versioning": "Off"},
    )  # fmt: skip
    states = sorted({cell.state for cell in cells})
    listing = Listing.objects.create(
        bucket=bucket, state="current", listed_at=at, source="test", states=states, content_hash=str(at),
        objects_count=sum(cell.objects for cell in cells), bytes=sum(cell.bytes for cell in cells), run_id=1,
    )  # fmt: skip
    ListingCell.objects.bulk_create(
        ListingCell(
            listing=listing, prefix=c.prefix, storage_class=c.storage_class, tier=c.tier, state=c.state,
            size_from=c.size_from, size_to=c.size_to, age_from=c.age_from, age_to=c.age_to,
            idle_from=c.idle_from, idle_to=c.idle_to, objects_count=c.objects, bytes=c.bytes,
        )
        for c in cells
    )  # fmt: skip
    return bucket


def put_reads(bucket: Bucket, rows: Sequence[ReadsCell], *, last: date, days: int) -> None:
    """What a log of these days tells."""
    ReadSpan.objects.create(bucket=bucket, first_day=last - timedelta(days=days - 1), last_day=last)
    ReadDay.objects.bulk_create(
        ReadDay(
            bucket=bucket, prefix=r.prefix, day=r.day, idle_from=r.idle_from, idle_to=r.idle_to,
            age_from=r.age_from, age_to=r.age_to, reads=r.reads, requests=r.requests, bytes=r.bytes,
            exposure=r.exposure,
        )
        for r in rows
    )  # fmt: skip


@contextmanager
def billed_as_listed() -> Iterator[None]:
    """Bills that agree with the listings."""

    def agreeing(
        bucket: str, organisation: Organisation | None = None, at: datetime | None = None
    ) -> BucketCoverage | None:
        found = coverage_of(bucket, organisation, at)
        return None if found is None else replace(found, blocked=False, reason="", reason_code="")

    with mock.patch("apps.recommendations.services.storage_units.coverage_of", agreeing):
        yield
