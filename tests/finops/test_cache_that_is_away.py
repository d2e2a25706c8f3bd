"""A cache server that is away is a miss, never a failed page."""

from __future__ import annotations

from pathlib import Path

from finops.cache import ForgivingCache


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
