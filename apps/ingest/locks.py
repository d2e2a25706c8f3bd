"""Advisory locks of the database: they end with their connection, so a dead worker holds none."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import connection

# First numbers of two-number locks: "op" in ASCII and a letter each.
_IMPORT = 0x6F7069
_RUN = 0x6F7072
_FEED = 0x6F7066
_POLL_SECONDS = 0.25
_INT32 = 0x7FFFFFFF


def _ask(function: str, kind: int, number: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(%s, %s)", [kind, number & _INT32])
        row = cursor.fetchone()
    return bool(row and row[0])


@contextmanager
def import_lock(waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """One import compares with the lake and commits at a time; `waiting` is called while another does."""
    while not _ask("pg_try_advisory_lock", _IMPORT, 0):
        waiting()
        time.sleep(_POLL_SECONDS)
    try:
        yield
    finally:
        _ask("pg_advisory_unlock", _IMPORT, 0)


@contextmanager
def run_lock(run_id: int) -> Iterator[bool]:
    """Held while a run is worked on; yields False when another connection holds it."""
    with held(_RUN, run_id) as taken:
        yield taken


@contextmanager
def feed_lock(feed_id: int) -> Iterator[bool]:
    """Held while a feed is collected; yields False when another connection holds it."""
    with held(_FEED, feed_id) as taken:
        yield taken


@contextmanager
def held(kind: int, number: int = 0) -> Iterator[bool]:
    """Held while a thing is worked on; yields False when another connection holds it. `kind` is the first
    number of a lock, one for each kind of thing in the installation.
    """
    taken = _ask("pg_try_advisory_lock", kind, number)
    try:
        yield taken
    finally:
        if taken:
            _ask("pg_advisory_unlock", kind, number)
