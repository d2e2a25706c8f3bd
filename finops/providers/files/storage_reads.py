"""Any table of reads: an object, a day or instant, and bytes or a count.

Known by its header. An object is a key, or a prefix or data set that is read as a whole; without a column for
the bucket all rows are of one that the caller names. A row of 0 bytes is no read.
"""

from __future__ import annotations

from collections.abc import Mapping

from finops.providers.storage.sql import day_of, key_id, prefix_of, whole_number

COLUMNS: dict[str, tuple[str, ...]] = {
    "key": ("key", "object", "object_key", "path"),
    "group": ("prefix", "dataset", "dandiset"),
    "day": ("date", "day", "time", "timestamp"),
    "bytes": ("bytes", "bytes_sent", "bytes_read"),
    "requests": ("requests", "reads", "count"),
    "bucket": ("bucket", "bucket_name"),
}


def reads_sql(relation: str, columns: Mapping[str, str], bucket: str) -> str:
    """SELECT of the reads of a relation of texts: rn, bucket_name, key_id, prefix, day, requests, bytes,
    is_read, wrong. `columns`: name of ours -> SQL name; `bucket`: a SQL literal, for tables without one.
    """

    def text(ours: str) -> str:
        return f"coalesce({columns[ours]}, '')"

    grouped = "key" not in columns
    key = text("group") if grouped else text("key")
    place = f"CASE WHEN right({key}, 1) = '/' THEN {key} ELSE {key} || '/' END" if grouped else prefix_of(key)
    sent = whole_number(text("bytes")) if "bytes" in columns else "CAST(NULL AS BIGINT)"
    count = whole_number(text("requests")) if "requests" in columns else "1"
    of = text("bucket") if "bucket" in columns else bucket
    checks = [f"WHEN {of} = '' THEN 'bucket'", f"WHEN {key} = '' THEN '{'group' if grouped else 'key'}'"]
    checks.append(f"WHEN {day_of(text('day'))} IS NULL THEN 'day'")
    if "bytes" in columns:
        checks.append(f"WHEN {sent} IS NULL THEN 'bytes'")
    if "requests" in columns:
        checks.append(f"WHEN {count} IS NULL THEN 'requests'")
    read = f"{sent} > 0" if "bytes" in columns else f"{count} > 0"
    return (
        f"SELECT rn, {of} AS bucket_name, {key_id(key)} AS key_id, {place} AS prefix, "
        f"{day_of(text('day'))} AS day, CAST(greatest({count}, 1) AS BIGINT) AS requests, {sent} AS bytes, "
        f"coalesce({read}, false) AS is_read, CASE {' '.join(checks)} END AS wrong FROM {relation}"
    )
