"""Bands of listings and of reads: worked by hand, and against a walk through every object and day."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.frames.storage import AGE_EDGES, IDLE_EDGES, OTHER_PREFIX, band
from finops.lake import storage_bands
from finops.lake.storage_bands import Span, bands_of, reads_by_day

DAY = date(2026, 11, 30)
FIRST = date(2026, 11, 1)
Object = tuple[int, str, str, str, str, int, date | None]
Read = tuple[int, str, date, int, int | None]


def back(days: int) -> date:
    return DAY - timedelta(days)


def loaded(objects: list[Object], reads: list[Read]) -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    con.execute(
        "CREATE TABLE o(key_id BIGINT, prefix VARCHAR, storage_class VARCHAR, tier VARCHAR, state VARCHAR, "
        "size BIGINT, modified DATE); CREATE TABLE r(key_id BIGINT, prefix VARCHAR, day DATE, "
        "requests BIGINT, bytes BIGINT)"
    )
    for table, rows in (("o", objects), ("r", reads)):
        if rows:
            marks = ", ".join("?" * len(rows[0]))
            con.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
    return con


def thing(
    key: int, *, size: int = 10, age: int | None = 5, state: str = "current", prefix: str = "p/"
) -> Object:
    return (key, prefix, "STANDARD", "", state, size, None if age is None else back(age))


def test_objects_fall_into_bands_of_size_and_age() -> None:
    objects = [thing(1, size=131_071, age=29), thing(2, size=131_072, age=30), thing(3, size=0, age=None)]
    with loaded(objects, []) as con:
        rows = bands_of(con, "o", DAY)
    assert rows == [
        ("p/", "STANDARD", "", "current", 0, 1, None, None, None, None, 1, 0),
        ("p/", "STANDARD", "", "current", 65_536, 131_072, 14, 30, None, None, 1, 131_071),
        ("p/", "STANDARD", "", "current", 131_072, 262_144, 30, 60, None, None, 1, 131_072),
    ]


def test_idle_counts_from_the_last_read_from_the_writing_or_from_the_logs_start() -> None:
    objects = [
        thing(1, age=400),  # read 3 days ago
        thing(2, age=400),  # not read in the 29 days of the log
        thing(3, age=8),  # written within the log, never read
        thing(4, age=2),  # written again after its last read
        thing(5, age=400, state="noncurrent"),
        thing(6, age=-1),  # written while the listing was made
    ]
    reads: list[Read] = [(1, "p/", back(9), 1, 1), (1, "p/", back(3), 1, 1), (4, "p/", back(20), 1, 1)]
    with loaded(objects, reads) as con:
        rows = bands_of(con, "o", DAY, reads="r", span=Span(FIRST, DAY))
    assert sorted((r[3], r[6], r[8], r[9], r[10]) for r in rows if r[8] is not None) == [
        ("current", 0, 0, 1, 1),
        ("current", 1, 2, 4, 1),
        ("current", 7, 7, 14, 1),
        ("current", 365, 2, 4, 1),
        ("current", 365, 29, None, 1),
    ]
    assert [(r[3], r[10]) for r in rows if r[8] is None] == [("noncurrent", 1)]


def test_idle_counts_to_the_logs_end_where_it_ends_before_the_listing() -> None:
    with loaded([thing(1, age=400), thing(2, age=400)], [(1, "p/", back(10), 1, 1)]) as con:
        rows = bands_of(con, "o", DAY, reads="r", span=Span(FIRST, back(5)))
    assert sorted((r[8], r[9]) for r in rows) == [(4, 7), (24, None)]


def test_prefixes_beyond_the_largest_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    objects = [thing(i, prefix=f"p{i}/", size=100 + i) for i in range(60)]
    with loaded(objects, []) as con:
        rows = bands_of(con, "o", DAY)
        assert len(rows) == 51
        assert [(r[10], r[11]) for r in rows if r[0] == OTHER_PREFIX] == [
            (10, sum(100 + i for i in range(10)))
        ]
        monkeypatch.setattr(storage_bands, "MOST_CELLS", 30)
        assert len(bands_of(con, "o", DAY)) == 21
        monkeypatch.setattr(storage_bands, "MOST_CELLS", 2)
        assert [r[0] for r in bands_of(con, "o", DAY)] == [""]


def test_reads_of_one_object_by_hand() -> None:
    # Written on the 3rd, read on the 3rd and the 6th, the log ends on the 8th.
    objects: list[Object] = [(1, "p/", "STANDARD", "", "current", 9, date(2026, 11, 3))]
    reads: list[Read] = [(1, "p/", date(2026, 11, 3), 2, 18), (1, "p/", date(2026, 11, 6), 1, 9)]
    with loaded(objects, reads) as con:
        rows = reads_by_day(con, "r", Span(FIRST, date(2026, 11, 8)), objects="o")
    assert [(r[1].day, r[2:4], r[4:6], *r[6:]) for r in rows] == [
        (3, (0, 1), (0, 1), 1, 2, 18, 1),
        (4, (1, 2), (1, 7), 0, 0, None, 1),
        (5, (2, 4), (1, 7), 0, 0, None, 1),
        (6, (2, 4), (1, 7), 1, 1, 9, 1),
        (7, (1, 2), (1, 7), 0, 0, None, 1),
        (8, (2, 4), (1, 7), 0, 0, None, 1),
    ]


def test_without_a_listing_an_object_is_there_from_its_first_read() -> None:
    with loaded([], [(1, "p/", date(2026, 11, 3), 1, 9)]) as con:
        rows = reads_by_day(con, "r", Span(FIRST, date(2026, 11, 5)))
    assert [(r[1].day, r[2:4], r[4:6], *r[6:]) for r in rows] == [
        (3, (None, None), (None, None), 1, 1, 9, 1),
        (4, (1, 2), (None, None), 0, 0, None, 1),
        (5, (2, 4), (None, None), 0, 0, None, 1),
    ]


def walked(objects: list[Object], reads: list[Read], span: Span) -> Counter[tuple[Any, ...]]:
    """(day, idle from, age from) -> exposure, and with a "read" -> reads: every object, day by day."""
    found: Counter[tuple[Any, ...]] = Counter()
    born_of = {o[0]: o[6] for o in objects}
    days_of: dict[int, set[date]] = {}
    for key, _, day, _, _ in reads:
        if span.first <= day <= span.last:
            days_of.setdefault(key, set()).add(day)
    for key in born_of.keys() | days_of.keys():
        born, days = born_of.get(key), days_of.get(key, set())
        event: date | None = None
        there = False
        later = {d for d in days if born is None or d >= born}
        for number in range((span.last - span.first).days + 1):
            day = span.first + timedelta(number)
            if born is not None and day < born:
                if day in days:
                    found[day, None, None] += 1
                    found["read", day, None, None] += 1
                continue
            if born is not None and (day == born or not there):
                there, event = True, born if born >= span.first else None
            if born is None and day in later and not there:
                there = True
            if not there or (key not in born_of and day > max(later)):
                continue
            idle = None if event is None else band((day - event).days, IDLE_EDGES)[0]
            age = None if born is None else band((day - born).days, AGE_EDGES)[0]
            found[day, idle, age] += 1
            if day in days:
                found["read", day, idle, age] += 1
                event = day
    return found


DATES = st.integers(0, 12).map(lambda n: FIRST + timedelta(n - 3))


@settings(max_examples=40, deadline=None)
@given(
    born=st.dictionaries(st.integers(0, 4), DATES, min_size=1, max_size=5),
    read=st.sets(st.tuples(st.integers(0, 6), DATES), max_size=15),
)
def test_exposure_is_what_a_walk_through_objects_and_days_counts(
    born: dict[int, date], read: set[tuple[int, date]]
) -> None:
    objects: list[Object] = [(k, "p/", "STANDARD", "", "current", 1, d) for k, d in born.items()]
    reads: list[Read] = [(k, "p/", d, 1, 1) for k, d in sorted(read)]
    span = Span(FIRST, FIRST + timedelta(9))
    with loaded(objects, reads) as con:
        rows = reads_by_day(con, "r", span, objects="o")
    counted: Counter[tuple[Any, ...]] = Counter()
    for _, day, idle, _, age, _, was_read, _, _, exposure in rows:
        assert exposure >= was_read
        counted[day, idle, age] += exposure
        counted["read", day, idle, age] += was_read
    assert +counted == walked(objects, reads, span)
