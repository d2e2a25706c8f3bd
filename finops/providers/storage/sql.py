"""Pieces of DuckDB SQL over text columns: keys, prefixes, days, whole numbers."""

from __future__ import annotations

# A key may be encoded twice by a log and once more by who wrote the file.
_DECODINGS = 3
# The hash of a known text. A DuckDB that gives another one would find no read of any stored object again.
KNOWN_KEY, KEY_HASH = "offpeak", 292_249_586_431_300_872


def key_text(column: str) -> str:
    """The key, decoded as often as something is encoded in it."""
    decoded = column
    for _ in range(_DECODINGS):
        decoded = f"coalesce(try(url_decode({decoded})), {decoded})"
    plus = f"replace({column}, '+', ' ')"
    return (
        f"CASE WHEN contains({column}, '%') OR contains({column}, '+') "
        f"THEN {decoded.replace(column, plus)} ELSE {column} END"
    )


def key_id(column: str) -> str:
    """The number that stands for a key: 63 bits of DuckDB's own hash.

    An MD5 took a quarter of the time of reading an inventory. The hash must stay what it is, for reads are
    found by it again: see `KEY_HASH`.
    """
    return f"CAST(hash({key_text(column)}) >> 1 AS BIGINT)"


def prefix_of(column: str) -> str:
    """The first level of a key with its slash, "" for a key without one."""
    key = key_text(column)
    return (
        f"CASE WHEN contains({column}, '%') THEN regexp_extract({key}, '^[^/]*/') "
        f"ELSE replace(left({column}, strpos({column}, '/')), '+', ' ') END"
    )


def whole_number(column: str) -> str:
    """A count from 0 on as BIGINT, null for anything else.

    Written back it must be the same text: a cast alone rounds 1.5. A regular expression takes five times as
    long.
    """
    number = f"try_cast(nullif({column}, '') AS BIGINT)"
    return f"CASE WHEN {number} >= 0 AND CAST({number} AS VARCHAR) = {column} THEN {number} END"


def day_of(column: str) -> str:
    """The UTC date of a day or of an instant with Z or an offset; null for anything else.

    An instant in UTC is cut to its date: parsing ten million of them takes a second more.
    """
    return (
        f"CASE WHEN length({column}) = 10 OR (length({column}) IN (20, 24) AND suffix({column}, 'Z')) "
        f"THEN try_cast(left({column}, 10) AS DATE) "
        f"ELSE CAST(timezone('UTC', {instant_of(column)}) AS DATE) END"
    )


def instant_of(column: str) -> str:
    """An instant with Z or an offset; null without one: a naive time is nobody's."""
    return (
        f"CASE WHEN regexp_matches({column}, '(Z|[+-][0-9]{{2}}(:?[0-9]{{2}})?)$') AND length({column}) > 10 "
        f"THEN try_cast(nullif({column}, '') AS TIMESTAMPTZ) END"
    )
