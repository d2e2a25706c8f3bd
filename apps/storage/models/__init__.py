"""Buckets, what was listed in them and how they were read."""

from apps.storage.models.files import TakenFile
from apps.storage.models.listings import Bucket, Listing, ListingCell, ListingState, ReportedPart
from apps.storage.models.reads import ReadDay, ReadSpan

__all__ = [
    "Bucket",
    "Listing",
    "ListingCell",
    "ListingState",
    "ReadDay",
    "ReadSpan",
    "ReportedPart",
    "TakenFile",
]
