"""The cache of a server that may be away: what cannot be kept is computed again, and no page fails for it.

Values are kept as JSON. Django's own serializer pickles, and who can write to the cache server could then run
code here.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import orjson
from django.core.cache.backends.redis import RedisCache
from redis.exceptions import RedisError

log = logging.getLogger(__name__)


class JsonSerializer:
    """JSON in and out: None, booleans, numbers, text, lists, objects with text keys; TypeError for others."""

    def dumps(self, value: Any) -> int | bytes:
        """What goes to the server; whole numbers bare, so that the server can count on them."""
        return value if type(value) is int else orjson.dumps(value, option=orjson.OPT_PASSTHROUGH_DATETIME)

    def loads(self, data: bytes) -> Any:
        """What came from the server."""
        return orjson.loads(data)


class ForgivingCache(RedisCache):
    """Django's Redis cache, in which a server that does not answer is a miss (reads) or nothing (writes)."""

    def _try(self, call: Callable[..., Any], otherwise: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return call(*args, **kwargs)
        except RedisError as error:
            log.warning("cache_away: %s", error)
            return otherwise

    def get(self, key: Any, default: Any = None, version: Any = None) -> Any:
        """The kept value, else `default`."""
        return self._try(super().get, default, key, default, version)

    def get_many(self, keys: Any, version: Any = None) -> dict[Any, Any]:
        """What is kept of `keys`."""
        found: dict[Any, Any] = self._try(super().get_many, {}, keys, version)
        return found

    def has_key(self, key: Any, version: Any = None) -> bool:
        """Whether `key` is kept."""
        return bool(self._try(super().has_key, False, key, version))

    def set(self, *args: Any, **kwargs: Any) -> None:
        """Keep a value, if it can be kept."""
        self._try(super().set, None, *args, **kwargs)

    def set_many(self, *args: Any, **kwargs: Any) -> list[Any]:
        """Keep values; none is reported as failed."""
        self._try(super().set_many, [], *args, **kwargs)
        return []

    def add(self, *args: Any, **kwargs: Any) -> bool:
        """Keep a value that is not there; True also when the server is away, so nobody waits for a lock."""
        return bool(self._try(super().add, True, *args, **kwargs))

    def count(self, key: str, timeout: int) -> int:
        """How often this was called for `key` within `timeout` seconds of the first time, in one question.

        Raises RedisError when the server is away.
        """
        name = self.make_and_validate_key(key)
        asked = self._cache.get_client(name, write=True).pipeline(transaction=False)
        asked.incr(name)
        asked.expire(name, timeout, nx=True)
        return int(asked.execute()[0])

    def touch(self, *args: Any, **kwargs: Any) -> bool:
        """Prolong a value; False when it is not there or cannot be reached."""
        return bool(self._try(super().touch, False, *args, **kwargs))

    def delete(self, *args: Any, **kwargs: Any) -> bool:
        """Forget a value; False when it is not there or cannot be reached."""
        return bool(self._try(super().delete, False, *args, **kwargs))
