"""What lies in buckets, how it is read, and whether listing and bill agree. Reads only."""

from apps.storage.selectors.buckets import bucket_of, buckets_visible, listing_of
from apps.storage.selectors.coverage import coverage_of, coverages_of
from apps.storage.selectors.histograms import histogram_of, reads_of

__all__ = [
    "bucket_of",
    "buckets_visible",
    "coverage_of",
    "coverages_of",
    "histogram_of",
    "listing_of",
    "reads_of",
]
