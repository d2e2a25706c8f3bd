"""Cache keys of the pages: the version of the code, what is kept, and what it depends on."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from django.conf import settings
from django.core.cache import cache

DAY = 24 * 3600
Kept = TypeVar("Kept")


def snapshot_key(snapshots: Mapping[str, int]) -> str:
    """The part of a key that names the data."""
    return "-".join(str(snapshots[table]) for table in sorted(snapshots))


def cache_key(name: str, snapshots: Mapping[str, int], *parts: Any) -> str:
    """A key that changes with the version: another version pickles other classes."""
    raw = "|".join([settings.OFFPEAK_VERSION, snapshot_key(snapshots), *map(str, parts)])
    return f"face:{name}:{hashlib.sha256(raw.encode()).hexdigest()[:40]}"


def kept(key: str, make: Callable[[], Kept], seconds: int) -> Kept:
    """What is kept under the key, else made and kept."""
    found: Kept | None = cache.get(key)
    if found is None:
        found = make()
        cache.set(key, found, seconds)
    return found
