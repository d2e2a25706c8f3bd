"""Connections that stay open in a process: opening one takes longer than many a question.

A connection reads an exact list of files and nothing else; files of the lake never change, so it is never
wrong, only old: it goes when others are used instead or nobody used it for a while. After a fork the child
opens its own: DuckDB's threads do not come along, and even closing what the parent opened would wait for
them.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from finops.lake.duck import Limits, close_outside, open_duckdb

MOST = 4
IDLE_SECONDS = 600.0
Key = tuple[Path | None, str, int, str]


@dataclass
class _Open:
    con: duckdb.DuckDBPyConnection
    used: float


_open: dict[Key, _Open] = {}
_lock = threading.Lock()


def _forked() -> None:
    """The parent's connections are never touched and never closed, not even when the child ends."""
    global _lock
    _lock = threading.Lock()
    for one in _open.values():
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(one.con))
    _open.clear()


os.register_at_fork(after_in_child=_forked)


@contextmanager
def reading(limits: Limits, files: Sequence[str]) -> Iterator[duckdb.DuckDBPyConnection]:
    """A cursor that may read these files; temporary tables on it are its own and go with it."""
    digest = hashlib.sha256("\0".join(files).encode()).hexdigest()
    key = (limits.spill, limits.memory, limits.threads, digest)
    now = time.monotonic()
    with _lock:
        found = _open.pop(key, None)
        if found is not None:
            found.used = now
            _open[key] = found
    if found is None:
        found = _Open(_opened(limits, files), now)
        with _lock:
            # Another thread may have opened the same meanwhile; its own goes when nobody uses it.
            _open[key] = found
    cursor = found.con.cursor()
    _let_go(now)
    try:
        yield cursor
    finally:
        cursor.close()


def forget_readers() -> None:
    """Close all; for tests and before files are removed."""
    with _lock:
        _open.clear()


def _let_go(now: float) -> None:
    """Drop what is old or too many; a cursor in use keeps its database until it is closed."""
    with _lock:
        old = [key for key, one in _open.items() if now - one.used > IDLE_SECONDS]
        old += [key for key in list(_open)[: max(0, len(_open) - MOST)] if key not in old]
        for key in old:
            del _open[key]


def _opened(limits: Limits, files: Sequence[str]) -> duckdb.DuckDBPyConnection:
    con = open_duckdb(limits)
    try:
        # Footers of the files: they are of one version for ever.
        con.execute("SET parquet_metadata_cache = true")
        close_outside(con, files=files)
    except BaseException:
        con.close()
        raise
    return con
