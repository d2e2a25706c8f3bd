"""Small files about storage as AWS writes them."""

from __future__ import annotations

import gzip
import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

SCHEMA = "Bucket, Key, VersionId, IsLatest, IsDeleteMarker, Size, LastModifiedDate, StorageClass"
LISTED = datetime(2026, 11, 29, 1, tzinfo=UTC)


def md5(content: bytes) -> str:
    """As a manifest writes it."""
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def row(
    key: str,
    size: int | str = 100,
    *,
    bucket: str = "data",
    modified: str = "2026-11-01T10:00:00.000Z",
    storage_class: str = "STANDARD",
    latest: str = "true",
    deleted: str = "false",
) -> list[str]:
    """One row of `SCHEMA`."""
    return [bucket, key, "v1", latest, deleted, str(size), modified, storage_class]


def csv_bytes(rows: list[list[str]]) -> bytes:
    """As the inventory writes CSV: every cell quoted, no header."""
    return "".join(",".join(f'"{cell}"' for cell in one) + "\n" for one in rows).encode()


def inventory(
    folder: Path,
    files: dict[str, bytes],
    *,
    bucket: str = "data",
    listed_at: datetime = LISTED,
    form: str = "CSV",
    schema: str = SCHEMA,
    **changed: Any,
) -> Path:
    """A configuration's folder with its data files and one manifest; returns the folder.

    `changed` overwrites keys of the manifest.
    """
    data = folder / bucket / "all" / "data"
    data.mkdir(parents=True, exist_ok=True)
    entries = []
    for name, content in files.items():
        (data / name).write_bytes(content)
        entries.append(
            {
                "key": f"inventories/{bucket}/all/data/{name}",
                "size": len(content),
                "MD5checksum": md5(content),
            }
        )
    manifest = {
        "sourceBucket": bucket,
        "destinationBucket": "arn:aws:s3:::inventories",
        "version": "2016-11-30",
        "creationTimestamp": str(int(listed_at.timestamp() * 1000)),
        "fileFormat": form,
        "fileSchema": schema,
        "files": entries,
    } | changed
    place = folder / bucket / "all" / listed_at.strftime("%Y-%m-%dT%H-%MZ")
    place.mkdir(parents=True, exist_ok=True)
    text = json.dumps(manifest).encode()
    (place / "manifest.json").write_bytes(text)
    (place / "manifest.checksum").write_text(md5(text))
    return folder / bucket / "all"


def listing(folder: Path, rows: list[list[str]], **more: Any) -> Path:
    """`inventory` of one packed CSV file."""
    return inventory(folder, {"a.csv.gz": gzip.compress(csv_bytes(rows))}, **more)


def log_line(
    key: str,
    day: str = "10/Nov/2026",
    *,
    bucket: str = "data",
    operation: str = "REST.GET.OBJECT",
    status: int = 200,
    sent: str = "100",
) -> str:
    """One line of a server access log."""
    return (
        f"79a59df9 {bucket} [{day}:10:00:00 +0000] 192.0.2.3 arn:x 3E57 {operation} {key} "
        f'"GET /{key} HTTP/1.1" {status} - {sent} 100 7 5 "-" "agent, (x; y)" - s9= SigV4 ECDHE '
        "AuthHeader h.s3.amazonaws.com TLSv1.2 - -\n"
    )
