"""Manifests of Azure's cost exports: which blobs one run wrote, with their rows and bytes.

Source: Microsoft, "Improved exports: manifest file" (manifestVersion 2024-04-01), read 2026-11. Quirks:
- The file is always called `manifest.json` and lies in the folder of the run.
- `byteCount` is of the blob as it is stored, `dataRowCount` without its header.
- Actual and amortised exports have other names and are one report here, so the name is not taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from finops.providers.base import PermanentError


@dataclass(frozen=True)
class Blob:
    """One data file: its name in the container; None where the manifest does not count."""

    key: str
    size: int | None
    rows: int | None


@dataclass(frozen=True)
class AzureManifest:
    """The blobs of one run, the run's id and when it was asked for."""

    blobs: tuple[Blob, ...]
    run: str
    delivered_at: datetime | None


def is_azure(document: object) -> bool:
    """Whether a JSON document is a manifest of Azure."""
    return isinstance(document, dict) and isinstance(document.get("blobs"), list)


def azure_manifest(document: Mapping[str, Any]) -> AzureManifest:
    """The manifest's content. Raises PermanentError for what it contradicts itself in."""
    blobs = tuple(_blob(entry) for entry in document["blobs"])
    if not blobs:
        raise PermanentError("the manifest names no data files (blobs)")
    stated = _count(document, "blobCount")
    if stated is not None and stated != len(blobs):
        raise PermanentError(f"the manifest lists {len(blobs)} blobs and counts {stated}")
    rows, total = [blob.rows for blob in blobs], _count(document, "dataRowCount")
    known = [count for count in rows if count is not None]
    if total is not None and len(known) == len(rows) and sum(known) != total:
        raise PermanentError(f"the manifest's blobs have {sum(known)} rows, and it counts {total}")
    run = document.get("runInfo")
    run = run if isinstance(run, dict) else {}
    return AzureManifest(blobs, str(run.get("runId") or ""), _moment(run.get("submittedTime")))


def _blob(entry: object) -> Blob:
    told = entry if isinstance(entry, dict) else {}
    name = told.get("blobName")
    if not isinstance(name, str) or not name or {"..", "."} & set(name.split("/")):
        raise PermanentError("the manifest has a blob without a name inside of its export (blobName)")
    return Blob(name.lstrip("/"), _count(told, "byteCount"), _count(told, "dataRowCount"))


def _count(document: Mapping[str, Any], name: str) -> int | None:
    found = document.get(name)
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else None


def _moment(text: object) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(text).replace("Z", "+00:00")) if text else None
    except ValueError:
        return None
    if found is None:
        return None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
