"""Objects and reads of one bucket, in bands: the SQL that makes `finops.frames.storage` rows of facts.

Ages and idle times count UTC dates, as lifecycle rules do. Relations are SQL: objects (prefix, key_id,
storage_class, tier, state, size, modified) and reads (key_id, prefix, day, requests, bytes), a row per object
and day.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import duckdb

from finops.frames.storage import (
    AGE_EDGES,
    CURRENT,
    IDLE_EDGES,
    NO_PREFIX,
    OTHER_PREFIX,
    PREFIXES_KEPT,
    SIZE_EDGES,
)
from finops.lake.sql import quote

# A histogram is read by pages and advice as a whole; with fewer prefixes it is as exact, only coarser.
MOST_CELLS = 50_000
_FEWER_PREFIXES = (PREFIXES_KEPT, 20, 5, 0)
Rows = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Span:
    """Days whose reads are known, both included."""

    first: date
    last: date


def bands_of(
    con: duckdb.DuckDBPyConnection,
    objects: str,
    listed_on: date,
    *,
    reads: str = "",
    span: Span | None = None,
) -> Rows:
    """(prefix, class, tier, state, size from, to, age from, to, idle from, to, objects, bytes) of a listing.

    `span`: the days of reads up to the listing. Idle times count from its last day or the listing's day,
    whichever is earlier; without it, and for noncurrent versions, they are not known.
    """
    con.execute(f"CREATE OR REPLACE TEMP TABLE st_bands AS {_bands_sql(objects, listed_on, reads, span)}")
    for keep in _FEWER_PREFIXES:
        rows = con.execute(
            f"SELECT {_kept_prefix('st_bands', 'sum(bytes)', keep)} AS kept, storage_class, tier, state, "
            "size_band, age_band, idle_band, CAST(sum(objects) AS BIGINT), CAST(sum(bytes) AS BIGINT) "
            "FROM st_bands GROUP BY ALL ORDER BY ALL"
        ).fetchall()
        if len(rows) <= MOST_CELLS:
            break
    con.execute("DROP TABLE st_bands")
    return [_cell(row, listed_on, span) for row in rows]


def _bands_sql(objects: str, listed_on: date, reads: str, span: Span | None) -> str:
    """One look at every object: the bands of each prefix."""
    # greatest() passes over null, which would make an unknown age 0.
    age = f"CASE WHEN modified IS NOT NULL THEN greatest({_day(listed_on)} - modified, 0) END"
    joined, idle = objects, "NULL"
    if span is not None:
        as_of = _day(min(span.last, listed_on))
        joined = (
            f"(SELECT o.*, r.last_read FROM {objects} o LEFT JOIN (SELECT key_id, max(day) AS last_read "
            f"FROM {reads} WHERE day BETWEEN {_day(span.first)} AND {as_of} GROUP BY key_id) r "
            f"ON o.key_id = r.key_id AND o.state = {quote(CURRENT)})"
        )
        # -1: not read since the log began, and older than it.
        idle = (
            f"CASE WHEN state != {quote(CURRENT)} THEN NULL "
            f"WHEN last_read IS NOT NULL "
            f"THEN greatest({as_of} - greatest(last_read, coalesce(modified, last_read)), 0) "
            f"WHEN modified >= {_day(span.first)} THEN greatest({as_of} - modified, 0) ELSE -1 END"
        )
    # Numbers first, bands of them above: a band is a chain of comparisons with its number.
    numbers = f"SELECT prefix, storage_class, tier, state, size, {age} AS age, {idle} AS idle FROM {joined}"
    return (
        "SELECT prefix, storage_class, tier, state, "
        f"{_band('size', SIZE_EDGES)} AS size_band, {_band('age', AGE_EDGES)} AS age_band, "
        f"{_band('idle', IDLE_EDGES)} AS idle_band, count(*) AS objects, CAST(sum(size) AS BIGINT) AS bytes "
        f"FROM ({numbers}) GROUP BY ALL"
    )


def _kept_prefix(relation: str, weight: str, keep: int) -> str:
    if not keep:
        return quote(NO_PREFIX)
    kept = f"SELECT prefix FROM {relation} GROUP BY prefix ORDER BY {weight} DESC, prefix LIMIT {keep}"
    return f"CASE WHEN prefix IN ({kept}) THEN prefix ELSE {quote(OTHER_PREFIX)} END"


def _band(value: str, edges: Sequence[int]) -> str:
    """The number of a value's band; -1 and null stay."""
    cases = " ".join(f"WHEN {value} < {edge} THEN {i}" for i, edge in enumerate(edges[1:]))
    return f"CASE WHEN {value} IS NULL THEN NULL WHEN {value} < 0 THEN -1 {cases} ELSE {len(edges) - 1} END"


def _ends(number: int | None, edges: Sequence[int], since: int = 0) -> tuple[int | None, int | None]:
    if number is None:
        return None, None
    if number < 0:
        return since, None
    return edges[number], edges[number + 1] if number + 1 < len(edges) else None


def _cell(row: tuple[Any, ...], listed_on: date, span: Span | None) -> tuple[Any, ...]:
    prefix, storage_class, tier, state, size, age, idle, count, total = row
    since = (min(span.last, listed_on) - span.first).days if span else 0
    return (
        prefix, storage_class, tier, state, *_ends(size, SIZE_EDGES), *_ends(age, AGE_EDGES),
        *_ends(idle, IDLE_EDGES, since), count, total,
    )  # fmt: skip


def _day(day: date) -> str:
    return f"DATE '{day.isoformat()}'"


def reads_by_day(con: duckdb.DuckDBPyConnection, reads: str, span: Span, *, objects: str = "") -> Rows:
    """(prefix, day, idle from, to, age from, to, objects read, requests, bytes, object-days) of a bucket.

    `objects`: the listing, for ages and for what was never read; without one an object is there from its
    first read to the end of the span, with a listing one that is not listed to its last read.
    """
    _segments(con, reads, span, objects)
    source, weight = (objects, "sum(size)") if objects else ("st_reads", "sum(requests)")
    for keep in _FEWER_PREFIXES:
        kept = _kept_prefix(source, weight, keep)
        rows = con.execute(_days_sql(kept, span)).fetchall()
        if len(rows) <= MOST_CELLS * 2:
            break
    con.execute("DROP TABLE st_reads; DROP TABLE st_segments")
    return [
        (prefix, day, *_ends(idle, IDLE_EDGES), *_ends(age, AGE_EDGES), *sums)
        for prefix, day, idle, age, *sums in rows
    ]


def _segments(con: duckdb.DuckDBPyConnection, reads: str, span: Span, objects: str) -> None:
    """`st_reads`: a row per object and day of a read with its birth and the event before; `st_segments`:
    stretches of days in which no event changes idle time, how many objects share each.
    """
    first, last = _day(span.first), _day(span.last)
    listed = (
        f"(SELECT key_id, any_value(prefix) AS prefix, max(modified) AS born FROM {objects} "
        f"WHERE state = {quote(CURRENT)} AND key_id IN (SELECT key_id FROM {reads}) GROUP BY key_id)"
        if objects
        else "(SELECT NULL::BIGINT AS key_id, NULL::VARCHAR AS prefix, NULL::DATE AS born WHERE false)"
    )
    # A read before the writing was of an earlier version of the object.
    con.execute(
        f"CREATE TEMP TABLE st_reads AS SELECT r.key_id, coalesce(o.prefix, r.prefix) AS prefix, r.day, "
        f"r.requests, r.bytes, o.key_id IS NOT NULL AS listed, "
        f"CASE WHEN r.day >= o.born THEN o.born END AS born, "
        f"lag(r.day) OVER (PARTITION BY r.key_id, r.day >= o.born ORDER BY r.day) AS before, "
        f"lead(r.day) OVER (PARTITION BY r.key_id, r.day >= o.born ORDER BY r.day) AS next, "
        f"coalesce(r.day < o.born, false) AS earlier "
        f"FROM {reads} r LEFT JOIN {listed} o ON r.key_id = o.key_id WHERE r.day BETWEEN {first} AND {last}"
    )
    known = f"CASE WHEN born >= {first} THEN born END"
    end = f"CASE WHEN listed THEN {last} ELSE day END" if objects else last
    pieces = [
        # up to the first read of an object that was there before it
        f"SELECT prefix, born, {known} AS event, greatest(born, {first}) AS start, day AS stop FROM st_reads "
        "WHERE before IS NULL AND born IS NOT NULL",
        # the day of a first read of an object of unknown birth, and of each read of an earlier version
        "SELECT prefix, NULL, NULL, day, day FROM st_reads "
        "WHERE earlier OR (before IS NULL AND born IS NULL)",
        # from one read to the next
        "SELECT prefix, born, day, day + 1, next FROM st_reads WHERE NOT earlier AND next IS NOT NULL",
        # after the last
        f"SELECT prefix, born, day, day + 1, {end} FROM st_reads WHERE NOT earlier AND next IS NULL",
    ]
    if objects:
        pieces.append(
            f"SELECT prefix, modified, CASE WHEN modified >= {first} THEN modified END, "
            f"greatest(modified, {first}), {last} FROM {objects} WHERE state = {quote(CURRENT)} "
            "AND key_id NOT IN (SELECT key_id FROM st_reads WHERE born IS NOT NULL OR NOT earlier)"
        )
    con.execute(
        "CREATE TEMP TABLE st_segments AS SELECT prefix, born, event, start, stop, count(*) AS n "
        f"FROM ({' UNION ALL '.join(pieces)}) AS s(prefix, born, event, start, stop) "
        "WHERE start <= stop GROUP BY ALL"
    )


def _days_sql(kept: str, span: Span) -> str:
    idle, age = _band("(day - event)", IDLE_EDGES), _band("(day - born)", AGE_EDGES)
    # The state on the morning of a read: the event before it, else the writing within the log.
    event = f"coalesce(before, CASE WHEN born >= {_day(span.first)} THEN born END)"
    read_idle = f"CASE WHEN NOT earlier THEN {_band(f'(day - {event})', IDLE_EDGES)} END"
    return (
        "SELECT prefix, day, idle, age, CAST(sum(was_read) AS BIGINT), CAST(sum(requests) AS BIGINT), "
        "CAST(sum(bytes) AS BIGINT), CAST(sum(exposure) AS BIGINT) FROM ("
        f"SELECT {kept} AS prefix, day, {idle} AS idle, {age} AS age, 0 AS was_read, 0 AS requests, "
        "NULL::BIGINT AS bytes, sum(n) AS exposure FROM (SELECT prefix, born, event, n, "
        "unnest(generate_series(start, stop, INTERVAL 1 DAY))::DATE AS day FROM st_segments) GROUP BY ALL "
        f"UNION ALL SELECT {kept} AS prefix, day, {read_idle}, {_band('(day - born)', AGE_EDGES)}, 1, "
        "requests, bytes, 0 FROM st_reads) GROUP BY ALL ORDER BY ALL"
    )
