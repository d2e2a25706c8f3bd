"""API keys that this process looked up a moment ago: a pipeline's next request asks the database no more.

A kept key counts only while the shared cache still holds the word under which it was kept. Each change of a
key, team or organisation writes a new word, before and after its commit, so a revoked key opens nothing in
any process from then on. With the cache away every request asks the database; should a change fall into such
a moment, a kept key is looked up again after KEPT_SECONDS at the latest. Its expiry is looked at each time.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.db import transaction

from apps.accounts.models import ApiKey
from apps.accounts.selectors import api_key_of_token

WORD = "api-keys-word"
KEPT_SECONDS, MOST = 10.0, 2000
_kept: dict[str, tuple[str, float, ApiKey]] = {}


def cached_key_of_token(token: str, *, now: datetime) -> tuple[ApiKey | None, str]:
    """What `api_key_of_token` answers."""
    word = _word()
    if word is None:
        return api_key_of_token(token, now=now)
    name, moment = hashlib.sha256(token.encode()).hexdigest(), time.monotonic()
    found = _kept.get(name)
    if found is not None and found[0] == word and moment - found[1] < KEPT_SECONDS:
        return found[2], found[2].state(now)
    key, state = api_key_of_token(token, now=now)
    if key is None or state != "active":
        _kept.pop(name, None)
        return key, state
    if len(_kept) >= MOST:
        _kept.clear()
    _kept[name] = (word, moment, key)
    return key, state


def _word() -> str | None:
    """The word of now; None without a cache that all processes share."""
    if not settings.CACHE_URL:
        return None
    found: str | None = cache.get(WORD)
    if found is None:
        cache.add(WORD, secrets.token_hex(8), timeout=None)
        found = cache.get(WORD)
    return found


def keys_changed(**_signal: Any) -> None:
    """Kept keys count no more, in any process: now, and once what is being changed has been committed."""
    _new_word()
    transaction.on_commit(_new_word)


def _new_word() -> None:
    cache.set(WORD, secrets.token_hex(8), timeout=None)
