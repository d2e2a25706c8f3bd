"""Cache keys of the pages: the code, what is kept, and what it depends on."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from django.core.cache import cache
from pydantic import TypeAdapter

from finops.fingerprint import code_fingerprint

DAY = 24 * 3600
Kept = TypeVar("Kept")


def snapshot_key(snapshots: Mapping[str, int]) -> str:
    """The part of a key that names the data."""
    return "-".join(str(snapshots[table]) for table in sorted(snapshots))


def cache_key(name: str, snapshots: Mapping[str, int], *parts: Any) -> str:
    """A key that changes with the code, so that a correction is not answered from before it."""
    raw = "|".join([code_fingerprint(), snapshot_key(snapshots), *map(str, parts)])
    return f"face:{name}:{hashlib.sha256(raw.encode()).hexdigest()[:40]}"


def kept(key: str, make: Callable[[], Kept], seconds: int, kind: Any) -> Kept:
    """What is kept under the key, else made and kept. `kind`: the type that is made; it is kept as JSON."""
    adapter: TypeAdapter[Kept] = _adapter(kind)
    found = cache.get(key)
    if found is not None:
        return adapter.validate_python(found["kept"])
    made = make()
    cache.set(key, {"kept": adapter.dump_python(made, mode="json")}, seconds)
    return made


_ADAPTERS: dict[str, TypeAdapter[Any]] = {}


def _adapter(kind: Any) -> TypeAdapter[Any]:
    name = repr(kind)
    if name not in _ADAPTERS:
        _ADAPTERS[name] = TypeAdapter(kind)
    return _ADAPTERS[name]
