"""Answers kept as JSON under what they depend on: code, snapshots, organisation, rules, question."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from django.core.cache import cache

from finops.fingerprint import code_fingerprint
from finops.lake import BILL_DAILY, BILL_LINES

SECONDS = 24 * 3600
# Larger answers are quicker read again than carried through the cache server.
MOST_ROWS = 5000


def key_of(name: str, snapshots: Mapping[str, int], *parts: Any) -> str:
    """A key that changes with the code and with the bills, not with prices."""
    bills = [snapshots.get(BILL_LINES), snapshots.get(BILL_DAILY)]
    raw = json.dumps([code_fingerprint(), bills, *parts], sort_keys=True, default=str)
    return f"bills:{name}:{hashlib.sha256(raw.encode()).hexdigest()[:40]}"


def found_answer(key: str) -> dict[str, Any] | None:
    """What is kept under the key."""
    found: dict[str, Any] | None = cache.get(key)
    return found


def keep(key: str, answer: dict[str, Any]) -> None:
    """Keep a JSON object."""
    cache.set(key, answer, SECONDS)


def kept(key: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The JSON object kept under the key, else made and kept."""
    found: dict[str, Any] | None = cache.get(key)
    if found is not None:
        return found
    made = make()
    if len(made.get("rows", ())) <= MOST_ROWS:
        cache.set(key, made, SECONDS)
    return made
