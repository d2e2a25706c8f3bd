"""Storing listings and reports of totals; run inside the transaction that ends the import."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import Any

from apps.storage.models import Bucket, Listing, ListingCell, ListingState, ReportedPart

_CELLS_PER_INSERT = 5_000
# A year of monthly looks, or two months of weekly ones: older listings keep their totals only.
LISTINGS_WITH_CELLS = 10
Cells = Sequence[tuple[Any, ...]]


def listing_state(bucket: Bucket | None, listed_at: datetime) -> str:
    """What a listing of this time becomes: an older one never takes the place of a newer."""
    if bucket is None:
        return ListingState.CURRENT
    newer = bucket.listings.filter(state=ListingState.CURRENT, listed_at__gt=listed_at)
    return ListingState.LATE if newer.exists() else ListingState.CURRENT


def listing_known(bucket: Bucket | None, listed_at: datetime, content_hash: str) -> bool:
    """Whether this very listing was stored before."""
    if bucket is None:
        return False
    return bucket.listings.filter(listed_at=listed_at, content_hash=content_hash).exists()


def listing_store(
    *,
    bucket: Bucket,
    state: str,
    listed_at: datetime,
    source: str,
    states: Sequence[str],
    content_hash: str,
    log: tuple[date, date] | None,
    objects: int,
    size: int,
    run_id: int,
    cells: Cells,
) -> Listing:
    """A listing with its bands; one of the same time is replaced, the current one gives way to a newer."""
    bucket.listings.filter(listed_at=listed_at).delete()
    if state == ListingState.CURRENT:
        bucket.listings.filter(state=ListingState.CURRENT).update(state=ListingState.SUPERSEDED)
    made = Listing.objects.create(
        bucket=bucket,
        state=state,
        listed_at=listed_at,
        source=source[-1000:],
        states=list(states),
        content_hash=content_hash,
        log_from=log[0] if log else None,
        log_to=log[1] if log else None,
        objects_count=objects,
        bytes=size,
        run_id=run_id,
    )
    cells_replace(made, cells)
    old = bucket.listings.order_by("-listed_at")[LISTINGS_WITH_CELLS:]
    ListingCell.objects.filter(listing__in=[listing.pk for listing in old]).delete()
    return made


def bands_store(listing: Listing, cells: Cells, log: tuple[date, date] | None) -> None:
    """The bands of a listing made anew, after more reads are known."""
    listing.log_from, listing.log_to = log or (None, None)
    listing.save(update_fields=["log_from", "log_to"])
    cells_replace(listing, cells)


def cells_replace(listing: Listing, cells: Cells) -> None:
    """(prefix, class, tier, state, six ends of bands, objects, bytes) each."""
    listing.cells.all().delete()
    ListingCell.objects.bulk_create(
        (
            ListingCell(
                listing=listing, prefix=row[0][:1024], storage_class=row[1][:40], tier=row[2][:40],
                state=row[3], size_from=row[4], size_to=row[5], age_from=row[6], age_to=row[7],
                idle_from=row[8], idle_to=row[9], objects_count=row[10], bytes=row[11],
            )
            for row in cells
        ),
        batch_size=_CELLS_PER_INSERT,
    )  # fmt: skip


def reported_store(
    *, bucket: Bucket, day: date, parts: Iterable[tuple[str, str, int | None, int]], run_id: int
) -> None:
    """(class, state, objects, bytes) of a bucket and day; what was reported of that day before goes."""
    ReportedPart.objects.filter(bucket=bucket, day=day).delete()
    ReportedPart.objects.bulk_create(
        ReportedPart(
            bucket=bucket, day=day, storage_class=storage_class[:40], state=state, objects_count=objects,
            bytes=size, run_id=run_id,
        )
        for storage_class, state, objects, size in parts
    )  # fmt: skip
