"""Manifests of AWS exports on disk: which files belong together, of which report and period.

Legacy reports (`reportKeys`) keep theirs in the period's folder, with copies in assembly folders; CUR 2.0 and
other Data Exports (`dataFiles`) keep theirs under `metadata/BILLING_PERIOD=…`. Neither says when it was
written: the execution's folder (`2026-04-03T05:00:00.000Z-…`) does where there is one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime

import orjson

from finops.providers.base import PermanentError

_MANIFEST = re.compile(r"(?i)manifest\.json$")
_EXECUTION = re.compile(r"(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z)")
_PARTITION = re.compile(r"(?i)BILLING_PERIOD=(\d{4})-(\d{2})")
_DATES = re.compile(r"(\d{4})(\d{2})\d{2}-\d{8}")


@dataclass(frozen=True)
class Manifest:
    """`keys` are object keys without the bucket. `report` is "" and `period` None where it does not say."""

    keys: tuple[str, ...]
    report: str
    assembly: str
    period: date | None
    delivered_at: datetime | None


def is_manifest(file_name: str) -> bool:
    """Whether a file of this name is a manifest of AWS."""
    return bool(_MANIFEST.search(file_name))


def parse_manifest(data: bytes, path: str) -> Manifest:
    """The manifest's content; `path` is where it lies, with slashes. Raises PermanentError."""
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise PermanentError(f"the manifest is no JSON document: {error}") from error
    names = document.get("reportKeys") or document.get("dataFiles") if isinstance(document, dict) else None
    if not isinstance(names, list) or not names or not all(isinstance(n, str) and n for n in names):
        raise PermanentError("the manifest names no data files (reportKeys, dataFiles)")
    keys = tuple(dict.fromkeys(_key(n) for n in names))
    if outside := [key for key in keys if {"..", "."} & set(key.split("/"))]:
        raise PermanentError(f"the manifest names a file outside of its export: {outside[0]}")
    report = document.get("reportName") or document.get("exportName") or _report_of(path, keys[0])
    assembly = document.get("assemblyId") or document.get("executionId") or ""
    return Manifest(
        keys, str(report), str(assembly), _period(document, path, keys[0]), _written(path, keys[0])
    )


def _key(text: str) -> str:
    return text.removeprefix("s3://").partition("/")[2] if text.startswith("s3://") else text.lstrip("/")


def _report_of(path: str, key: str) -> str:
    """The folder above the period's, or the manifest's own name without its ending."""
    parts = key.split("/")
    for place, part in enumerate(parts):
        if _DATES.fullmatch(part) or part == "data":
            return parts[place - 1] if place else ""
    return re.sub(r"(?i)-?manifest\.json$", "", path.rsplit("/", 1)[-1])


def _period(document: dict[str, object], path: str, key: str) -> date | None:
    said = document.get("billingPeriod")
    start = str(said.get("start", "")) if isinstance(said, dict) else ""
    found = (
        re.match(r"(\d{4})-?(\d{2})-?\d{2}", start)
        or _PARTITION.search(path)
        or _PARTITION.search(key)
        or _DATES.search(key)
    )
    try:
        return date(int(found[1]), int(found[2]), 1) if found else None
    except ValueError:
        return None


def _written(path: str, key: str) -> datetime | None:
    found = _EXECUTION.search(path) or _EXECUTION.search(key)
    return datetime.fromisoformat(found[1]).astimezone(UTC) if found else None
