"""Objects of a delivery onto this machine, checked, and taken up again where a kill stopped them."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from finops.providers.aws.bill_bucket import BillBucket, BillObject, ChangedError
from finops.providers.base import PermanentError, TransientError

_MD5 = re.compile(r"[0-9a-f]{32}")
# Room that must stay free on the disk beside what is fetched.
SPARE_BYTES = 256 * 2**20


@dataclass(frozen=True)
class Limits:
    """Largest object and delivery that are fetched, in bytes."""

    object_bytes: int
    delivery_bytes: int


def check_sizes(items: list[BillObject], limits: Limits, folder: Path) -> None:
    """Raises PermanentError for what is too large, TransientError when the disk is too full for it."""
    for item in items:
        if item.size > limits.object_bytes:
            raise PermanentError(
                f"{item.key} has {item.size >> 20} MiB, more than the limit of "
                f"{limits.object_bytes >> 20} MiB (setting BILL_OBJECT_MAX_BYTES)."
            )
    whole = sum(item.size for item in items)
    if whole > limits.delivery_bytes:
        raise PermanentError(
            f"The delivery has {whole >> 20} MiB, more than the limit of {limits.delivery_bytes >> 20} MiB "
            "(setting BILL_DELIVERY_MAX_BYTES)."
        )
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    free = shutil.disk_usage(folder).free
    if free < whole + SPARE_BYTES:
        raise TransientError(
            f"The disk of {folder} has {free >> 20} MiB free; the delivery needs {whole >> 20} MiB and "
            f"{SPARE_BYTES >> 20} MiB to spare."
        )


def target_of(bucket: BillBucket, item: BillObject, folder: Path) -> Path:
    """Where an object goes: its key below the prefix. Raises PermanentError for a key that is no path."""
    inside = item.key.removeprefix(f"{bucket.place.prefix}/") if bucket.place.prefix else item.key
    parts = inside.split("/")
    if any(part in {"", ".", ".."} or "\0" in part or len(part.encode()) > 200 for part in parts):
        raise PermanentError(f"{item.key!r} cannot be a file here.")
    return folder.joinpath(*parts)


def fetch(bucket: BillBucket, item: BillObject, folder: Path) -> str:
    """Write the object to its place, whole or not at all, with the time it has in S3; returns its SHA-256.

    What a broken fetch left is kept under the ETag's name and continued. Raises ChangedError when size or
    content are not what was listed; then nothing is kept.
    """
    target = target_of(bucket, item, folder)
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    part = target.with_name(f".{hashlib.sha256(item.etag.encode()).hexdigest()[:16]}-{target.name}.part")
    sha, md5 = hashlib.sha256(), hashlib.md5(usedforsecurity=False)
    there = _taken_up(part, item.size, sha, md5)
    is_md5 = False
    if there < item.size or not part.exists():
        body = bucket.read(item, start=there)
        is_md5 = body.etag_is_md5
        with part.open("ab") as handle:
            for chunk in body.chunks:
                there += len(chunk)
                if there > item.size:
                    break
                handle.write(chunk)
                sha.update(chunk)
                md5.update(chunk)
            handle.flush()
            os.fsync(handle.fileno())
    if there != item.size:
        part.unlink(missing_ok=True)
        raise ChangedError(f"{item.key} came with {there} bytes, {item.size} were listed.")
    if is_md5 and _MD5.fullmatch(item.etag) and md5.hexdigest() != item.etag:
        part.unlink(missing_ok=True)
        raise ChangedError(f"{item.key} came with other content than its ETag says.")
    moment = item.modified.timestamp()
    os.utime(part, (moment, moment))
    os.replace(part, target)
    return sha.hexdigest()


def is_fetched(path: Path, *, size: int, sha256: str) -> bool:
    """Whether the file is there with this content."""
    try:
        if path.stat().st_size != size:
            return False
        with path.open("rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest() == sha256
    except FileNotFoundError:
        return False


def _taken_up(part: Path, size: int, *hashes: Any) -> int:
    """Bytes that an earlier try left, put through the hashes; as many as the object has are thrown away."""
    if not part.exists():
        return 0
    if part.stat().st_size >= size:
        # A whole one was not proven before the kill: read again, it is the rare case.
        part.unlink()
        return 0
    there = 0
    with part.open("rb") as handle:
        while chunk := handle.read(1 << 20):
            there += len(chunk)
            for own in hashes:
                own.update(chunk)
    return there
