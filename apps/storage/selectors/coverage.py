"""Bytes listed against bytes billed."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime

from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.storage.models import Bucket
from apps.storage.selectors.buckets import bucket_of, listing_of
from apps.storage.selectors.histograms import reported_of
from finops.frames.storage import BucketCoverage


def coverage_of(
    bucket: str, organisation: Organisation | None = None, at: datetime | None = None
) -> BucketCoverage | None:
    """What is known of a bucket and whether it is enough for advice; None for a bucket that nobody listed."""
    found = bucket_of(bucket, organisation=organisation)
    if found is None:
        return None
    listing = listing_of(found, at=at)
    return BucketCoverage(
        provider=found.provider,
        region=found.region,
        account=found.account,
        bucket=found.name,
        listed_at=listing.listed_at if listing else None,
        log_from=listing.log_from if listing else None,
        log_to=listing.log_to if listing else None,
        listed=listed_bytes(found, at=at),
        billed_gib_months={},
        billed_gib={},
        billed_cost={},
        currency="",
        billed_from=None,
        billed_to=None,
        gap_bytes=None,
        gap_share=None,
        missing=(),
        versioning=found.versioning or None,
        blocked=True,
        reason=_("No bill names this bucket: what is billed cannot be compared with what is listed."),
        reason_code="no-bill",
    )


def listed_bytes(bucket: Bucket, *, at: datetime | None) -> dict[tuple[str, str], int]:
    """Bytes by class and state: of the listing, and of the report of totals for states it does not hold."""
    listing = listing_of(bucket, at=at)
    sums: dict[tuple[str, str], int] = defaultdict(int)
    held = list(listing.states) if listing else []
    if listing is not None:
        for storage_class, state, size in listing.cells.values_list("storage_class", "state", "bytes"):
            sums[storage_class, state] += size
    for part in reported_of(bucket, at=at).exclude(state__in=held):
        sums[part.storage_class, part.state] += part.bytes
    return dict(sums)
