"""What only one worker does at a time: a lock of the database, which ends with its connection."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

# The first number of two-number locks: "opm" in ASCII.
_KIND = 0x6F706D
MOVES = 1


@contextmanager
def alone(what: int) -> Iterator[bool]:
    """False where another worker does it; a worker that is gone holds nothing."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [_KIND, what])
        taken = bool(cursor.fetchone()[0])
    try:
        yield taken
    finally:
        if taken:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s, %s)", [_KIND, what])
