"""DuckDB connections with limits: memory, threads, a folder for spilling, and no way out of the machine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import duckdb

from finops.lake.sql import quote


@dataclass(frozen=True)
class Limits:
    """What one connection may use. `memory` in DuckDB's words ("1GB"); `spill` is where larger work goes."""

    memory: str = "1GB"
    threads: int = 2
    spill: Path | None = None


def open_duckdb(limits: Limits) -> duckdb.DuckDBPyConnection:
    """A fresh in-memory database with the limits set; times are shown and read in UTC."""
    con = duckdb.connect(":memory:")
    con.execute(f"SET memory_limit = {quote(limits.memory)}")
    con.execute(f"SET threads = {int(limits.threads)}")
    con.execute("SET TimeZone = 'UTC'")
    # DuckDB draws it on standard output where it takes the process for a shell; JSON documents go there.
    con.execute("SET enable_progress_bar = false")
    con.execute("SET autoinstall_known_extensions = false")
    con.execute("SET autoload_known_extensions = false")
    if limits.spill is not None:
        con.execute(f"SET temp_directory = {quote(str(limits.spill))}")
    return con


def close_outside(
    con: duckdb.DuckDBPyConnection, *, files: Iterable[str] = (), folders: Iterable[str] = ()
) -> None:
    """Leave only the named files and folders reachable, and lock the configuration."""
    file_list = ", ".join(quote(f) for f in files)
    folder_list = ", ".join(quote(f.rstrip("/") + "/") for f in folders)
    con.execute(f"SET allowed_paths = [{file_list}]")
    con.execute(f"SET allowed_directories = [{folder_list}]")
    con.execute("SET enable_external_access = false")
    con.execute("SET lock_configuration = true")
