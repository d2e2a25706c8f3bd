"""Where an import of bills works: a folder for what is unpacked and spilled, and DuckDB held to its memory.

The folder goes when the import is over; that of a process that was killed goes with the next import.
"""

from __future__ import annotations

import fcntl
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import duckdb

from finops.lake import Limits, open_duckdb
from finops.lake.sql import quote

# The service around it takes 350 MB; with both an import of any length stays below 1.2 GB.
MOST_MEMORY = "750MB"
_PREFIX, _LOCK = "bills-", "lock"
# A folder without a lock is just being made, or was left by a process killed at that.
_STALE_SECONDS = 3600


@contextmanager
def workplace(limits: Limits) -> Iterator[tuple[Path, duckdb.DuckDBPyConnection]]:
    """(folder, connection) for one import; both are gone afterwards. Raises OSError when the disk is full."""
    spill = Path(limits.spill or tempfile.gettempdir())
    spill.mkdir(parents=True, exist_ok=True)
    for left in spill.glob(f"{_PREFIX}*"):
        if _is_left(left):
            shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=spill))
    try:
        with (folder / _LOCK).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with open_duckdb(replace(limits, spill=folder)) as con:
                _hold(con)
                yield folder, con
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _hold(con: duckdb.DuckDBPyConnection) -> None:
    """Lower the connection's memory where it may take more."""
    limit = f"parse_formatted_bytes({quote(MOST_MEMORY)})"
    row = con.execute(f"SELECT parse_formatted_bytes(current_setting('memory_limit')) > {limit}").fetchone()
    if row and row[0]:
        con.execute(f"SET memory_limit = {quote(MOST_MEMORY)}")


def _is_left(folder: Path) -> bool:
    """Whether no process works in a folder: a lock ends with its process."""
    try:
        with (folder / _LOCK).open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
    except BlockingIOError:
        return False
    except FileNotFoundError:
        return folder.is_dir() and time.time() - folder.stat().st_mtime > _STALE_SECONDS
    except OSError:
        return False
