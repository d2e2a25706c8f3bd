"""A cache server that is away is a miss, never a failed page; what it keeps is JSON."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import orjson
import pytest
from django.core.cache import cache

from finops.cache import ForgivingCache, JsonSerializer


def test_a_server_that_is_away_is_a_miss(tmp_path: Path) -> None:
    cache = ForgivingCache(f"unix://{tmp_path}/none.sock", {})
    cache.set("a", 1)
    assert cache.get("a", "other") == "other"
    assert cache.get_many(["a"]) == {}
    assert cache.set_many({"a": 1}) == []
    assert cache.add("a", 1) is True
    assert cache.touch("a") is False
    assert cache.delete("a") is False
    assert ("a" in cache) is False
    assert cache.get_or_set("a", lambda: 2) in (2, None)


def test_values_are_kept_as_json_never_pickled() -> None:
    serializer = JsonSerializer()
    for value in (None, True, 0, 7, 1.5, "7", "a\u202f%", [1, "b"], {"kept": {"x": [None, False]}}):
        kept = serializer.dumps(value)
        data = str(kept).encode() if isinstance(kept, int) else kept
        assert serializer.loads(data) == value
        assert type(serializer.loads(data)) is type(value)
    with pytest.raises(TypeError):
        serializer.dumps(object())
    with pytest.raises(orjson.JSONDecodeError):
        serializer.loads(pickle.dumps({"a": 1}))


def test_the_server_of_the_tests_holds_json(settings: Any) -> None:
    assert settings.CACHES["default"]["OPTIONS"] == {"serializer": "finops.cache.JsonSerializer"}
    cache.set("as-json", {"a": [1, "ü"]}, 30)
    raw = cache._cache.get_client().get(cache.make_key("as-json"))
    assert raw == '{"a":[1,"ü"]}'.encode()
    assert cache.get("as-json") == {"a": [1, "ü"]}
    cache.set("count", 1, 30)
    assert cache.incr("count") == 2
