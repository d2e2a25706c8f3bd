"""S3 Storage Lens metrics exports: bytes and objects of each bucket, class and state, in long form.

Source: "Understanding the Amazon S3 Storage Lens export schema" and the metrics glossary, Amazon S3 User
Guide, read 2026-11. Quirks: one metric a row; a row is of an account, a bucket, a prefix or a group, and all
of them add up the same bytes, so only rows of buckets are taken; `StorageBytes` holds every version and
unfinished upload.
"""

from __future__ import annotations

from collections.abc import Mapping

from finops.frames.storage import CURRENT, INCOMPLETE, NONCURRENT
from finops.providers.storage.sql import whole_number

COLUMNS: dict[str, tuple[str, ...]] = {
    "day": ("report_date",),
    "account": ("aws_account_number",),
    "region": ("aws_region",),
    "storage_class": ("storage_class",),
    "record_type": ("record_type",),
    "bucket": ("bucket_name",),
    "metric": ("metric_name",),
    "value": ("metric_value",),
}
# Metric -> (state, what it counts).
METRICS: dict[str, tuple[str, str]] = {
    "CurrentVersionStorageBytes": (CURRENT, "bytes"),
    "CurrentVersionObjectCount": (CURRENT, "objects"),
    "NonCurrentVersionStorageBytes": (NONCURRENT, "bytes"),
    "NonCurrentVersionObjectCount": (NONCURRENT, "objects"),
    "IncompleteMultipartUploadStorageBytes": (INCOMPLETE, "bytes"),
    "IncompleteMultipartUploadObjectCount": (INCOMPLETE, "objects"),
}
VERSIONED = "VersioningEnabledBucketCount"
BUCKET = "BUCKET"


def metrics_sql(relation: str, columns: Mapping[str, str]) -> str:
    """SELECT of the metrics that count here: rn, day, account, region, storage_class, bucket_name, metric,
    value, used, wrong. `columns`: name of ours -> SQL name.
    """

    def text(ours: str) -> str:
        return f"coalesce({columns[ours]}, '')" if ours in columns else "''"

    names = ", ".join(f"'{name}'" for name in (*METRICS, VERSIONED))
    day = f"try_cast(nullif({text('day')}, '') AS DATE)"
    used = f"upper({text('record_type')}) = '{BUCKET}' AND {text('metric')} IN ({names})"
    return (
        f"SELECT rn, {day} AS day, {text('account')} AS account, {text('region')} AS region, "
        f"{text('storage_class')} AS storage_class, {text('bucket')} AS bucket_name, "
        f"{text('metric')} AS metric, {whole_number(text('value'))} AS value, {used} AS used, "
        f"CASE WHEN NOT ({used}) THEN NULL WHEN {day} IS NULL THEN 'day' "
        f"WHEN {text('bucket')} = '' THEN 'bucket' "
        f"WHEN {whole_number(text('value'))} IS NULL THEN 'value' "
        f"WHEN {text('storage_class')} = '' AND {text('metric')} != '{VERSIONED}' THEN 'storage_class' END "
        f"AS wrong FROM {relation}"
    )
