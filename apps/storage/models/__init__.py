"""Buckets, what was listed in them and how they were read."""

from apps.storage.models.listings import Bucket, Listing, ListingCell, ReportedPart
from apps.storage.models.reads import ReadDay, ReadSpan

__all__ = ["Bucket", "Listing", "ListingCell", "ReadDay", "ReadSpan", "ReportedPart"]
