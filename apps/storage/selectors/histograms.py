"""The bands of listings and of reads, as frames."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime

from django.db.models import QuerySet

from apps.accounts.models import Organisation
from apps.storage.models import Bucket, ListingCell, ReadDay, ReadSpan, ReportedPart
from apps.storage.selectors.buckets import bucket_of, buckets_visible, listing_of
from finops.frames.storage import ReadsCell, ReadsHistory, StorageCell

_BANDS = ("size_from", "size_to", "age_from", "age_to", "idle_from", "idle_to")


def histogram_of(
    bucket: str | None = None,
    organisation: Organisation | None = None,
    at: datetime | None = None,
) -> list[StorageCell]:
    """The newest listing (made at or before `at`) of one bucket, or of all that the organisation sees.

    States that the listing does not hold come from the newest report of totals, with open bands.
    """
    seen = buckets_visible(organisation=organisation)
    if bucket is not None:
        seen = seen.filter(name=bucket)
    return [cell for one in seen for cell in _cells(one, at)]


def _cells(bucket: Bucket, at: datetime | None) -> Iterator[StorageCell]:
    listing = listing_of(bucket, at=at)
    held: list[str] = []
    if listing is not None:
        held = list(listing.states)
        names = ("prefix", "storage_class", "tier", "state", *_BANDS, "objects_count", "bytes")
        cells = ListingCell.objects.filter(listing=listing)
        for row in cells.values_list(*names).iterator():
            yield StorageCell(bucket.provider, bucket.region, bucket.account, bucket.name, *row)
    for part in reported_of(bucket, at=at).exclude(state__in=held):
        # A part without objects has bytes of nothing: there is nothing to decide about.
        if part.objects_count:
            yield StorageCell(
                bucket.provider, bucket.region, bucket.account, bucket.name, "", part.storage_class, "",
                part.state, 0, None, None, None, None, None, part.objects_count, part.bytes,
            )  # fmt: skip


def reported_of(bucket: Bucket, *, at: datetime | None = None) -> QuerySet[ReportedPart]:
    """The parts of a bucket's newest report of totals, or the newest of the day of `at` or before."""
    parts = ReportedPart.objects.filter(bucket=bucket)
    if at is not None:
        parts = parts.filter(day__lte=at.date())
    newest = parts.order_by("-day").values_list("day", flat=True).first()
    return parts.filter(day=newest) if newest else parts.none()


def reads_of(
    bucket: str, organisation: Organisation | None = None, at: datetime | None = None
) -> ReadsHistory | None:
    """Daily reads of a bucket over the newest days that logs cover without a hole; None where none do.

    With `at`, days after it are left out.
    """
    found = bucket_of(bucket, organisation=organisation)
    span = None if found is None else span_of(found, until=at.date() if at else None)
    if found is None or span is None:
        return None
    first, last = span
    names = (
        "prefix", "day", "idle_from", "idle_to", "age_from", "age_to", "reads", "requests", "bytes",
        "exposure",
    )  # fmt: skip
    days = ReadDay.objects.filter(bucket=found, day__gte=first, day__lte=last)
    cells = tuple(ReadsCell(bucket, *row) for row in days.values_list(*names).iterator())
    return ReadsHistory(bucket, first, last, cells)


def span_of(bucket: Bucket, *, until: date | None = None) -> tuple[date, date] | None:
    """The newest days without a hole that logs cover, both included, cut off after `until`."""
    spans = ReadSpan.objects.filter(bucket=bucket)
    if until is not None:
        spans = spans.filter(first_day__lte=until)
    newest = spans.order_by("-first_day").first()
    if newest is None:
        return None
    return newest.first_day, min(newest.last_day, until or newest.last_day)
