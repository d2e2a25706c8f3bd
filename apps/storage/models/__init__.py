"""Buckets, what was listed in them, how they were read, and what storage costs the organisation."""

from apps.storage.models.files import TakenFile
from apps.storage.models.listings import Bucket, Listing, ListingCell, ListingState, ReportedPart
from apps.storage.models.prices import StoragePriceRow
from apps.storage.models.reads import ReadDay, ReadSpan

__all__ = [
    "Bucket",
    "Listing",
    "ListingCell",
    "ListingState",
    "ReadDay",
    "ReadSpan",
    "ReportedPart",
    "StoragePriceRow",
    "TakenFile",
]
