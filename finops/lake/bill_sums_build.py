"""Making the sums of bill_sums.py: one partition at a time, checked against its lines before it is there.

A folder appears whole, by a rename, after its files are on the disk: a process that is killed leaves only
work in the spill folder, which the next one clears.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from finops.lake.bill_sums import (
    DAY,
    FACTS,
    FOLDER,
    LEVELS,
    MEASURES,
    MIXED,
    PLAIN_DIMENSIONS,
    QUANTITY,
    RESOURCE,
    UNIT,
    UNIT_PREFIX,
    USAGE_TYPE,
    by_partition,
    column_of,
    key_of,
    sums_of,
)
from finops.lake.bill_tables import BILL_LINES
from finops.lake.duck import open_duckdb
from finops.lake.errors import LakeError, unwritten
from finops.lake.lake import Lake
from finops.lake.sql import name, quote

# Keys with a column of their own, most lines first; a file of more columns takes long to open.
MOST_KEYS = 200
# A level that is hardly smaller than a finer one is left out: the finer one answers as fast.
WORTH = 0.6
_FINER = {"month": ("day", "usage", "resource"), "day": ("usage",), "resource": (), "usage": ()}
_NARROW = ("DECIMAL(18,10)", "DECIMAL(18,12)", "DECIMAL(18,6)")
_WIDE = "DECIMAL(38,18)"
_MOST_VALUES = 50
_ROW_GROUP = 122_880
_WORK = "sums-"
# What another process cannot still be writing.
STALE_SECONDS = 24 * 3600
_FIXED = ("x_month", "x_delivery")
_GROUPED = ("tags", "x_cost_categories")


@contextmanager
def _alone(folder: Path) -> Iterator[bool]:
    """Whether this process is the one that makes sums; the lock ends with the process."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def missing_sums(lake: Lake, snapshot_id: int) -> list[list[str]]:
    """Line files of the partitions that have no sums yet, newest month first."""
    parts = by_partition(lake.files(BILL_LINES, snapshot_id))
    wanted = [files for _, files in sorted(parts.items(), key=lambda item: item[0][::-1], reverse=True)]
    return [files for files in wanted if sums_of(lake.warehouse, files) is None]


def make_sums(lake: Lake, snapshot_id: int) -> int:
    """Make what is missing at this snapshot; returns how many partitions. 0 while another process does.

    Raises LakeError where the disk is full or sums differ from their lines (which nothing should do).
    """
    root = lake.warehouse / FOLDER
    if not missing_sums(lake, snapshot_id):
        return 0
    with _alone(root) as ours:
        if not ours:
            return 0
        spill = lake.limits.spill or Path(tempfile.gettempdir())
        spill.mkdir(parents=True, exist_ok=True)
        for left in spill.glob(f"{_WORK}*"):
            shutil.rmtree(left, ignore_errors=True)
        made = 0
        for files in missing_sums(lake, snapshot_id):
            _make(lake, files, root, spill)
            made += 1
        return made


def forget_sums(lake: Lake, snapshot_id: int) -> int:
    """Remove sums of files that are no longer read and were made a day ago; returns how many."""
    root = lake.warehouse / FOLDER
    if not root.is_dir():
        return 0
    kept = {key_of(files) for files in by_partition(lake.files(BILL_LINES, snapshot_id)).values()}
    gone = 0
    for folder in root.iterdir():
        old = folder.is_dir() and time.time() - folder.stat().st_mtime > STALE_SECONDS
        if old and folder.name not in kept:
            shutil.rmtree(folder, ignore_errors=True)
            gone += 1
    return gone


def _make(lake: Lake, files: Sequence[str], root: Path, spill: Path) -> None:
    work = Path(tempfile.mkdtemp(prefix=_WORK, dir=spill))
    try:
        with open_duckdb(lake.limits) as con:
            facts = _write(con, files, work)
        (work / FACTS).write_text(json.dumps(facts), encoding="utf-8")
        for path in [*work.iterdir(), work]:
            _sync(path)
        target = root / key_of(files)
        if target.exists():
            # Not whole, else nobody had asked for it.
            shutil.rmtree(target)
        os.rename(work, target)
        _sync(root)
    except (OSError, duckdb.IOException) as error:
        raise unwritten(error, lake.warehouse) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write(con: duckdb.DuckDBPyConnection, files: Sequence[str], work: Path) -> dict[str, Any]:
    listed = ", ".join(quote(file) for file in files)
    con.execute(
        f"CREATE VIEW lines AS SELECT * FROM read_parquet([{listed}], union_by_name = true, "
        "hive_partitioning = false)"
    )
    code = (
        f"CASE WHEN x_unit IS NOT NULL THEN {quote(UNIT_PREFIX)} || x_unit "
        f"WHEN {QUANTITY} <> 0 THEN {quote(MIXED)} END AS {UNIT}"
    )
    sums = [f"sum({c}) AS {c}" for c in MEASURES]
    sums += [f"count(*) FILTER ({c} IS NULL) AS no_{c}" for c in MEASURES]
    again = [f"sum({c}) AS {c}" for c in MEASURES]
    again += [f"CAST(sum(no_{c}) AS BIGINT) AS no_{c}" for c in MEASURES]
    base = (*_FIXED, *PLAIN_DIMENSIONS, *_GROUPED)
    for level, source in (("usage", "lines"), ("resource", "lines"), ("day", "usage"), ("month", "day")):
        dims = ", ".join(name(c) for c in (*base, *LEVELS[level]))
        what = (
            [code, *sums, "count(*) AS n"]
            if source == "lines"
            else [UNIT, *again, "CAST(sum(n) AS BIGINT) AS n"]
        )
        con.execute(f"CREATE TABLE {level} AS SELECT {dims}, {', '.join(what)} FROM {source} GROUP BY ALL")
        _check(con, level)
    rows = {level: _count(con, level) for level in LEVELS}
    tags, dropped_tags = _keys(con, "tags", "tag")
    categories, dropped_categories = _keys(con, "x_cost_categories", "category")
    levels: dict[str, Any] = {}
    for level in ("usage", "resource", "day", "month"):
        if any(finer in levels and rows[level] > WORTH * rows[finer] for finer in _FINER[level]):
            continue
        levels[level] = _level(con, level, rows[level], {**tags, **categories}, work)
    return {
        "levels": levels,
        "tags": [key for _, key in tags.values()],
        "categories": [key for _, key in categories.values()],
        "dropped_tags": dropped_tags,
        "dropped_categories": dropped_categories,
    }


def _keys(
    con: duckdb.DuckDBPyConnection, column: str, kind: str
) -> tuple[dict[str, tuple[str, str]], list[str]]:
    """(columns by name: the map and the key; keys left out)."""
    found = con.execute(
        f"SELECT k, sum(n) AS lines FROM (SELECT unnest(map_keys({column})) AS k, n FROM month) "
        "GROUP BY k ORDER BY lines DESC, k"
    ).fetchall()
    keys = [row[0] for row in found if row[0] is not None]
    return {column_of(kind, key): (column, key) for key in keys[:MOST_KEYS]}, keys[MOST_KEYS:]


def _count(con: duckdb.DuckDBPyConnection, level: str) -> int:
    return int(con.execute(f"SELECT count(*) FROM {level}").fetchall()[0][0])


def _check(con: duckdb.DuckDBPyConnection, level: str) -> None:
    """Raises LakeError unless the level holds all lines and all money."""
    sums = ", ".join(f"sum({c})" for c in MEASURES)
    missing = ", ".join(f"count(*) FILTER ({c} IS NULL)" for c in MEASURES)
    there = ", ".join(f"sum(no_{c})" for c in MEASURES)
    lines = con.execute(
        f"SELECT billing_currency, count(*), {sums}, {missing} FROM lines GROUP BY 1 ORDER BY 1"
    ).fetchall()
    own = con.execute(
        f"SELECT billing_currency, sum(n), {sums}, {there} FROM {level} GROUP BY 1 ORDER BY 1"
    ).fetchall()
    if lines != own:
        raise LakeError(f"sums by {level} differ from their lines; nothing was stored")


def _level(
    con: duckdb.DuckDBPyConnection, level: str, rows: int, keys: dict[str, tuple[str, str]], work: Path
) -> dict[str, Any]:
    types = {c: _type(con, level, c) for c in MEASURES}
    columns = [name(c) for c in (*_FIXED, *PLAIN_DIMENSIONS, *LEVELS[level])]
    columns += [f"{name(source)}[{quote(key)}] AS {column}" for column, (source, key) in keys.items()]
    columns += [UNIT, *(f"CAST({c} AS {kind}) AS {c}" for c, kind in types.items()), "n"]
    columns += [f"no_{c}" for c in MEASURES]
    order = [c for c in ("service_name", USAGE_TYPE, "sub_account_id", DAY, RESOURCE)
             if c not in (DAY, USAGE_TYPE, RESOURCE) or c in LEVELS[level]]  # fmt: skip
    path = work / f"{level}.parquet"
    con.execute(
        f"COPY (SELECT {', '.join(columns)} FROM {level} ORDER BY {', '.join(order)}) "
        f"TO {quote(str(path))} (FORMAT parquet, COMPRESSION lz4_raw, ROW_GROUP_SIZE {_ROW_GROUP})"
    )
    return {
        "bytes": path.stat().st_size,
        "rows": rows,
        "types": types,
        "currencies": _values(con, level, "billing_currency"),
        "units": _values(con, level, UNIT),
        "missing": [c for c in MEASURES if _any(con, f"FROM {level} WHERE no_{c} > 0")],
    }


def _type(con: duckdb.DuckDBPyConnection, level: str, measure: str) -> str:
    """The narrowest decimal that holds every value of the column exactly."""
    for kind in _NARROW:
        back = f"CAST(TRY_CAST({measure} AS {kind}) AS {_WIDE})"
        if not _any(con, f"FROM {level} WHERE {measure} IS NOT NULL AND {back} IS DISTINCT FROM {measure}"):
            return kind
    return _WIDE


def _any(con: duckdb.DuckDBPyConnection, sql: str) -> bool:
    return bool(con.execute(f"SELECT 1 {sql} LIMIT 1").fetchall())


def _values(con: duckdb.DuckDBPyConnection, level: str, column: str) -> list[str | None] | None:
    found = con.execute(
        f"SELECT DISTINCT {column} FROM {level} ORDER BY 1 LIMIT {_MOST_VALUES + 1}"
    ).fetchall()
    return [row[0] for row in found] if len(found) <= _MOST_VALUES else None
