"""What the storage lines of a bill count. Grain: one row per provider and end of a usage type
(`data/storage_usage_types.csv`, with the source).
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

STORED, STAGING, OVERHEAD = "stored", "staging", "overhead"
_TABLE = Path(__file__).parent / "data" / "storage_usage_types.csv"


@dataclass(frozen=True, slots=True)
class StorageUsage:
    """`kind`: see the table; `storage_class` and `tier` are "" where the line is of none."""

    kind: str
    storage_class: str
    tier: str


@cache
def _rows(provider: str) -> tuple[tuple[str, StorageUsage], ...]:
    with _TABLE.open(newline="", encoding="utf-8") as handle:
        rows = list(csv.DictReader(line for line in handle if not line.startswith("#")))
    found = [
        (row["suffix"], StorageUsage(row["kind"], row["class"], row["tier"] or ""))
        for row in rows
        if row["provider"] == provider
    ]
    # The longest end that fits decides: Requests-SIA-Tier1 does not end in Requests-Tier1, yet others might.
    return tuple(sorted(found, key=lambda one: -len(one[0])))


def storage_usage(provider: str, usage_type: str, operation: str = "") -> StorageUsage | None:
    """What a line counts; None for what is no storage line.

    >>> storage_usage("aws", "EUC1-TimedStorage-SIA-ByteHrs").storage_class
    'STANDARD_IA'
    """
    for suffix, usage in _rows(provider):
        if usage_type == suffix or usage_type.endswith(f"-{suffix}"):
            if usage.kind == STORED and operation.endswith(("ObjectOverhead", "SizeOverhead")):
                return StorageUsage(OVERHEAD, usage.storage_class, usage.tier)
            return usage
    return None


def is_known(provider: str) -> bool:
    """Whether bills of this provider can be read for storage."""
    return bool(_rows(provider))
