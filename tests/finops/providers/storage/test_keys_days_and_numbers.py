"""Pieces of SQL over texts: keys meet whatever their encoding, numbers and days are what they say or null."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any

import duckdb
import pytest

from finops.providers.storage import (
    KEY_HASH,
    KNOWN_KEY,
    Kind,
    day_of,
    key_id,
    nearest_kind,
    prefix_of,
    whole_number,
)


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        opened.execute("SET TimeZone = 'UTC'")
        yield opened


def asked(con: duckdb.DuckDBPyConnection, sql: str, value: str) -> Any:
    found = con.execute(f"SELECT {sql} FROM (SELECT ? AS v)", [value]).fetchone()
    assert found is not None
    return found[0]


@pytest.mark.parametrize(
    "keys",
    [
        ("a/b c.txt", "a/b+c.txt", "a/b%20c.txt", "a/b%2520c.txt"),
        ("你/x", "%E4%BD%A0/x", "%25E4%25BD%25A0%2Fx"),
        ("x%zz", "x%zz"),
    ],
)
def test_a_key_is_one_however_often_it_is_encoded(
    con: duckdb.DuckDBPyConnection, keys: tuple[str, ...]
) -> None:
    assert len({asked(con, key_id("v"), key) for key in keys}) == 1
    assert len({asked(con, prefix_of("v"), key) for key in keys}) == 1


def test_the_hash_is_the_one_that_stored_reads_were_found_by(con: duckdb.DuckDBPyConnection) -> None:
    assert asked(con, key_id("v"), KNOWN_KEY) == KEY_HASH


@pytest.mark.parametrize(
    ("key", "prefix"),
    [("top", ""), ("a/b/c", "a/"), ("/a", "/"), ("a%2Fb", "a/"), ("a+b/c", "a b/"), ("%E4%BD", "")],
)
def test_the_prefix_is_the_first_level(con: duckdb.DuckDBPyConnection, key: str, prefix: str) -> None:
    assert asked(con, prefix_of("v"), key) == prefix


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("12", 12), ("-1", None), ("", None), ("1.5", None), ("1e3", None), (" 7", None),
     ("9" * 20, None)],
)  # fmt: skip
def test_a_count_is_a_whole_number_from_zero(
    con: duckdb.DuckDBPyConnection, text: str, number: int | None
) -> None:
    assert asked(con, whole_number("v"), text) == number


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026-01-02", date(2026, 1, 2)),
        ("2026-01-02T23:59:00Z", date(2026, 1, 2)),
        ("2026-01-02T23:59:00.000Z", date(2026, 1, 2)),
        ("2026-01-02T23:59:00-05:00", date(2026, 1, 3)),
        ("2026-01-02 00:10:00+0530", date(2026, 1, 1)),
        ("2026-01-02 10:00:00", None),
        ("2026-02-30", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_a_day_is_a_date_or_an_instant_with_its_offset(
    con: duckdb.DuckDBPyConnection, text: str, day: date | None
) -> None:
    assert asked(con, day_of("v"), text) == day


def test_the_nearest_kind_is_the_one_that_lacks_least() -> None:
    wanted = {
        Kind.READS: [("key",), ("day", "date")],
        Kind.INVENTORY: [("Key",), ("Size",), ("StorageClass",)],
    }
    assert nearest_kind(["key", "size"], wanted) == (Kind.INVENTORY, "StorageClass")
    assert nearest_kind(["Key"], wanted) == (Kind.READS, "day or date")
