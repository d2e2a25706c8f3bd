"""S3 Inventory: the manifest, and the columns of its files.

Source: "Locating your inventory list" and "Cataloging and analyzing your data with S3 Inventory", Amazon S3
User Guide, read 2026-11. Quirks:
- CSV files have no header; their columns are those of the manifest's `fileSchema`, in its order. Keys are URL
  encoded there, and nowhere else. Parquet and ORC name their columns (`last_modified_date`).
- `creationTimestamp` is text of milliseconds: when the scan of the bucket began.
- An inventory of all versions has VersionId, IsLatest and IsDeleteMarker; one of current versions has not.
- Unfinished uploads are in no inventory; IsMultipartUploaded tells how a whole object came.
Alibaba OSS and Tencent COS write manifests of the same form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from finops.frames.storage import CURRENT, NONCURRENT
from finops.providers.storage.kinds import StorageFileError, plain
from finops.providers.storage.sql import day_of, key_id, prefix_of, whole_number

# Name of ours -> names of theirs.
COLUMNS: dict[str, tuple[str, ...]] = {
    "bucket": ("Bucket",),
    "key": ("Key",),
    "size": ("Size",),
    "modified": ("LastModifiedDate", "LastModified"),
    "storage_class": ("StorageClass",),
    "tier": ("IntelligentTieringAccessTier",),
    "latest": ("IsLatest",),
    "deleted": ("IsDeleteMarker",),
    "version": ("VersionId",),
}
REQUIRED = ("key", "size", "storage_class")
FORMATS = ("CSV", "Parquet", "ORC")
# Tiers as the inventory writes them -> as `data/storage_tiers.csv` has them.
_TIERS = {
    "ARCHIVE_INSTANT_ACCESS": "ARCHIVE_INSTANT",
    "ARCHIVE": "ARCHIVE_ACCESS",
    "DEEP_ARCHIVE": "DEEP_ARCHIVE_ACCESS",
}
_TRUE, _FALSE = "'true', 'True', 'TRUE'", "'false', 'False', 'FALSE'"


@dataclass(frozen=True)
class ManifestFile:
    """A file of the listing: `key` in the destination bucket, bytes and MD5 where they are told."""

    key: str
    size: int | None
    md5: str


@dataclass(frozen=True)
class Manifest:
    """One listing. `columns` are theirs, () for formats that name their columns."""

    bucket: str
    created: datetime
    form: str
    columns: tuple[str, ...]
    files: tuple[ManifestFile, ...]


def is_manifest(document: Any) -> bool:
    """Whether a JSON document is the manifest of an inventory."""
    return isinstance(document, dict) and "fileSchema" in document and "files" in document


def parse_manifest(data: bytes) -> Manifest:
    """The manifest; raises StorageFileError with the field that is wrong."""
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise StorageFileError(f"the manifest is not JSON: {error}") from error
    if not is_manifest(document):
        raise StorageFileError("no inventory manifest: fileSchema and files are missing", field="fileSchema")
    bucket = _text(document, "sourceBucket")
    form = next((f for f in FORMATS if f.casefold() == _text(document, "fileFormat").casefold()), None)
    if form is None:
        raise StorageFileError(
            f"{document['fileFormat']} is none of {', '.join(FORMATS)}", field="fileFormat"
        )
    columns: tuple[str, ...] = ()
    if form == "CSV":
        columns = tuple(name.strip() for name in _text(document, "fileSchema").split(","))
        require(columns, "fileSchema")
    return Manifest(bucket, _created(document), form, columns, _files(document))


def _text(document: Mapping[str, Any], field: str) -> str:
    value = document.get(field)
    if not isinstance(value, str) or not value.strip():
        raise StorageFileError(f"the manifest names no {field}", field=field)
    return value.strip()


def _created(document: Mapping[str, Any]) -> datetime:
    told = document.get("creationTimestamp")
    try:
        moment = datetime.fromtimestamp(int(float(str(told))) / 1000, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise StorageFileError(
            f"creationTimestamp is no time in milliseconds: {told}", field="creationTimestamp"
        ) from error
    if moment.year < 2006:
        raise StorageFileError(
            f"creationTimestamp {told} lies before S3: it counts milliseconds", field="creationTimestamp"
        )
    return moment


def _files(document: Mapping[str, Any]) -> tuple[ManifestFile, ...]:
    given = document["files"]
    if not isinstance(given, list):
        raise StorageFileError("the manifest's files are no list", field="files")
    found = []
    for number, entry in enumerate(given, start=1):
        key = entry.get("key") if isinstance(entry, dict) else None
        if not isinstance(key, str) or not key:
            raise StorageFileError(f"entry {number} of files names no key", row=number, field="files")
        size, md5 = entry.get("size"), entry.get("MD5checksum")
        found.append(
            ManifestFile(
                key, size if isinstance(size, int) else None, str(md5 or "").strip().strip('"').casefold()
            )
        )
    return tuple(found)


def columns_of(names: Sequence[str]) -> dict[str, int]:
    """Name of ours -> place of the column that holds it."""
    places = {plain(name): place for place, name in reversed(list(enumerate(names)))}
    found = {}
    for ours, theirs in COLUMNS.items():
        place = next((places[plain(name)] for name in theirs if plain(name) in places), None)
        if place is not None:
            found[ours] = place
    return found


def require(names: Sequence[str], field: str = "") -> dict[str, int]:
    """As `columns_of`; raises StorageFileError naming the columns without which nothing can be said."""
    found = columns_of(names)
    missing = [COLUMNS[ours][0] for ours in REQUIRED if ours not in found]
    if missing:
        raise StorageFileError(
            f"the inventory has no {', '.join(missing)}: switch these optional fields on", field=field
        )
    return found


def states_of(names: Sequence[str]) -> list[str]:
    """Which kinds of bytes an inventory of these columns lists."""
    return [CURRENT, NONCURRENT] if "latest" in columns_of(names) else [CURRENT]


def objects_sql(relation: str, columns: Mapping[str, str], *, also: str = "") -> str:
    """SELECT of the objects of a relation of texts: bucket_name, key_id, prefix, storage_class, tier, state,
    size, modified, deleted, wrong.

    `columns`: name of ours -> SQL name; texts may be null. `wrong` is the column of ours that cannot be
    used, null for a good row; `deleted` marks a delete marker, which holds no bytes. `also`: more columns.
    """

    def text(ours: str) -> str:
        return f"coalesce({columns[ours]}, '')" if ours in columns else "''"

    key, latest = text("key"), text("latest")
    tiers = " ".join(f"WHEN {text('tier')} = '{theirs}' THEN '{ours}'" for theirs, ours in _TIERS.items())
    bucket = text("bucket") if "bucket" in columns else "NULL"
    state = f"CASE WHEN {latest} IN ({_FALSE}) THEN '{NONCURRENT}' ELSE '{CURRENT}' END"
    checks = ["WHEN key_text = '' THEN 'key'"]
    if "latest" in columns:
        checks.append(f"WHEN latest NOT IN ({_TRUE}, {_FALSE}) THEN 'latest'")
    checks.append("WHEN NOT deleted AND size IS NULL THEN 'size'")
    if "modified" in columns:
        checks.append("WHEN modified IS NULL AND modified_text != '' THEN 'modified'")
    checks.append("WHEN NOT deleted AND storage_class = '' THEN 'storage_class'")
    # What a check needs is worked out once, below it: inside a CASE it would be worked out again.
    cells = (
        f"SELECT {bucket} AS bucket_name, {key_id(key)} AS key_id, {prefix_of(key)} AS prefix, "
        f"{text('storage_class')} AS storage_class, CASE {tiers} ELSE {text('tier')} END AS tier, "
        f"{state if 'latest' in columns else repr(CURRENT)} AS state, {whole_number(text('size'))} AS size, "
        f"{day_of(text('modified'))} AS modified, {text('deleted')} IN ({_TRUE}) AS deleted, "
        f"{key} AS key_text, {latest} AS latest, {text('modified')} AS modified_text{also} FROM {relation}"
    )
    return (
        "SELECT bucket_name, key_id, prefix, storage_class, tier, state, size, modified, deleted, "
        f"CASE {' '.join(checks)} END AS wrong{also} FROM ({cells})"
    )
