"""New columns of a table that is there already: added to its schema, null in files written before.

Columns are only ever added, at the end. Iceberg gives them field ids of its own in an older table, which
nothing here looks at: DuckDB reads by name, and PyIceberg maps a file's columns by name too.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence

import pyarrow.parquet as pq
from pyiceberg.table import Table

from finops.lake.tables import TableSpec

# Files do not change, and a name is a few bytes: what ten thousand files hold is a few megabytes at most.
_KEPT = 10_000
_columns: dict[str, frozenset[str]] = {}
_lock = threading.Lock()


def add_new_columns(table: Table, spec: TableSpec) -> bool:
    """Columns of the spec that the table lacks, added; whether there were any."""
    there = {field.name for field in table.schema().fields}
    new = [(name, kind) for name, kind, _ in spec.columns if name not in there]
    if not new:
        return False
    with table.update_schema() as update:
        for name, kind in new:
            update.add_column(name, kind)
    return True


def absent_columns(files: Sequence[str], wanted: Iterable[str]) -> set[str]:
    """Those of `wanted` that not one of the files has: `union_by_name` knows nothing of them.

    The newest file is looked at first, and mostly it is enough. A file that is gone has none: reading it says
    so in its own words.
    """
    missing = set(wanted)
    for file in sorted(files, key=_rank, reverse=True):
        missing -= _columns_of(file)
        if not missing:
            break
    return missing


def _rank(file: str) -> tuple[bool, float]:
    """What is known already costs nothing and comes first; then the newest file."""
    known = file in _columns
    try:
        return known, 0.0 if known else os.stat(file).st_mtime
    except OSError:
        return known, 0.0


def _columns_of(file: str) -> frozenset[str]:
    found = _columns.get(file)
    if found is None:
        try:
            found = frozenset(pq.read_schema(file).names)
        except OSError:
            return frozenset()
        with _lock:
            _columns[file] = found
            while len(_columns) > _KEPT:
                _columns.pop(next(iter(_columns)))
    return found
