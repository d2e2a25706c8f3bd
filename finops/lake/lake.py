"""The lake: Iceberg tables whose catalog lives in PostgreSQL, written and read through DuckDB.

Quirks the code below is built around:
- PyIceberg's `add_files` takes only Parquet of the table's exact types, so every write casts to `TableSpec`.
- A commit that lost a race raises; the whole change is then tried again on the refreshed table.
- A snapshot is named by the caller and read by its own file list; "the newest" is never read by accident.
- Iceberg stores absolute paths: a warehouse that was only copied elsewhere cannot be read.
"""

from __future__ import annotations

import logging
import os
import random
import threading
import time
import uuid
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote as url_quote

import duckdb
import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import (
    CommitFailedException,
    CommitStateUnknownException,
    NamespaceAlreadyExistsError,
    ValidationException,
)
from pyiceberg.expressions import AlwaysTrue, BooleanExpression
from pyiceberg.table import Table, Transaction
from sqlalchemy import URL, create_engine, make_url, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from finops.lake.duck import Limits, close_outside, open_duckdb
from finops.lake.errors import LakeConflictError, LakeError, SnapshotMissingError, unwritten
from finops.lake.evolution import absent_columns, add_new_columns
from finops.lake.filters import all_of, equals
from finops.lake.parquet import write_batches
from finops.lake.sql import name, quote, row_filter_sql
from finops.lake.tables import TABLES, TableSpec
from finops.lake.transactions import SteadyTransaction

# It says at every table which FileIO it took.
logging.getLogger("pyiceberg.io").setLevel(logging.WARNING)

CATALOG = "offpeak"
CATALOG_SCHEMA = "lake"
# "lake" in ASCII: openers of one catalog take turns, so that two first starts do not race.
_OPEN_LOCK = 0x6C616B65
COMMIT_ATTEMPTS = 6
Rows = TypeVar("Rows")
# A plan takes 10 to 15 ms and is a list of a few dozen names.
KEPT_PLANS = 256
_TABLE_PROPERTIES = {
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
}


def _catalog_url(database_url: str) -> URL:
    """The SQLAlchemy address with psycopg2 and the catalog's own schema first on the search path."""
    url = make_url(database_url)
    options = url.query.get("options", "")
    options = " ".join(options) if isinstance(options, tuple) else options
    return url.set(drivername="postgresql+psycopg2").update_query_dict(
        {"options": f"{options} -csearch_path={CATALOG_SCHEMA}".strip()}
    )


class Lake:
    """Open with `Lake.open`; one object per process, safe to use from several threads."""

    def __init__(self, catalog: SqlCatalog, warehouse: Path, limits: Limits) -> None:
        self._catalog = catalog
        self.warehouse = warehouse
        self.limits = limits
        self._plans: dict[tuple[str, int, str], list[str]] = {}
        self._plans_lock = threading.Lock()

    @classmethod
    def open(
        cls, database_url: str, warehouse: Path | str, *, memory_limit: str = "1GB", threads: int = 2
    ) -> Lake:
        """Open the catalog in `database_url` and create what is missing: schema, namespaces and tables.

        `warehouse` is a local folder. Raises LakeError when it cannot be used.
        """
        if "://" in str(warehouse):
            raise LakeError(f"the warehouse must be a local folder, not {warehouse}")
        folder = Path(warehouse).resolve()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LakeError(f"the lake's folder {folder} cannot be made: {error.strerror}") from error
        url = _catalog_url(database_url)
        engine = create_engine(url, poolclass=NullPool)
        with engine.connect() as connection:
            connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": _OPEN_LOCK})
            connection.execute(text(f"CREATE SCHEMA IF NOT EXISTS {CATALOG_SCHEMA}"))
            connection.commit()
            catalog = SqlCatalog(
                CATALOG,
                uri=url.render_as_string(hide_password=False),
                warehouse=str(folder),
                pool_pre_ping="true",
                **{"py-io-impl": "pyiceberg.io.pyarrow.PyArrowFileIO"},
            )
            lake = cls(catalog, folder, Limits(memory=memory_limit, threads=threads, spill=folder / ".spill"))
            lake._create_tables()
        return lake

    def _create_tables(self) -> None:
        # looked at first: creating a table that is there leaves a metadata file that nothing names
        there: set[str] = set()
        for namespace in dict.fromkeys(spec.name.split(".")[0] for spec in TABLES.values()):
            with suppress(NamespaceAlreadyExistsError):
                self._catalog.create_namespace(namespace)
            there |= {".".join(identifier) for identifier in self._catalog.list_tables(namespace)}
        for spec in TABLES.values():
            if spec.name in there:
                add_new_columns(self._catalog.load_table(spec.name), spec)
                continue
            self._catalog.create_table(
                spec.name,
                schema=spec.schema(),
                partition_spec=spec.partition_spec(),
                location=f"{self.warehouse}/{spec.name.replace('.', '/')}",
                properties=_TABLE_PROPERTIES,
            )

    def close(self) -> None:
        """Give the catalog's database connections back."""
        self._catalog.engine.dispose()

    def table(self, table: str) -> Table:
        """The Iceberg table as it is now; for maintenance and tests."""
        return self._catalog.load_table(table)

    # Reading

    def snapshot_ids(self, tables: Sequence[str] = tuple(TABLES)) -> dict[str, int]:
        """The newest committed snapshot of each table; a table without one is left out.

        Readers do not use this: they read the snapshots that a finished run names.
        """
        found = {}
        for table in tables:
            snapshot = self._catalog.load_table(table).current_snapshot()
            if snapshot is not None:
                found[table] = snapshot.snapshot_id
        return found

    def files(self, table: str, snapshot_id: int, row_filter: BooleanExpression | None = None) -> list[str]:
        """Data files of a snapshot that may hold rows of the filter, sorted. Raises SnapshotMissingError.

        A snapshot never changes, so its plans are kept, until one of its files has expired.
        """
        key = (table, snapshot_id, repr(row_filter))
        with self._plans_lock:
            kept = self._plans.get(key)
        if kept is None or not all(os.path.exists(file) for file in kept):
            kept = self._plan(table, snapshot_id, row_filter)
            with self._plans_lock:
                self._plans[key] = kept
                while len(self._plans) > KEPT_PLANS:
                    self._plans.pop(next(iter(self._plans)))
        return list(kept)

    def _plan(self, table: str, snapshot_id: int, row_filter: BooleanExpression | None) -> list[str]:
        loaded = self._catalog.load_table(table)
        if loaded.snapshot_by_id(snapshot_id) is None:
            raise SnapshotMissingError(f"{table} has no snapshot {snapshot_id}")
        scan = loaded.scan(row_filter=row_filter or AlwaysTrue(), snapshot_id=snapshot_id)
        tasks = list(scan.plan_files())
        if any(task.delete_files for task in tasks):
            raise LakeError(f"{table} holds delete files, which another tool must have written")
        return sorted(task.file.file_path.removeprefix("file://") for task in tasks)

    def connect(
        self,
        snapshots: Mapping[str, int],
        *,
        filters: Mapping[str, BooleanExpression] | None = None,
        columns: Mapping[str, Sequence[str]] | None = None,
    ) -> duckdb.DuckDBPyConnection:
        """A connection that reads exactly these snapshots and nothing else.

        Each table of the lake is a view `namespace.table`; without a snapshot it is an empty one. `filters`
        prune files and select rows; `columns` narrow a view. The caller closes the connection. `at` is a word
        of DuckDB's own: write "at" in quotes.
        """
        con = open_duckdb(self.limits)
        try:
            opened = self.add_views(con, snapshots, filters=filters, columns=columns)
            close_outside(con, files=opened)
        except BaseException:
            con.close()
            raise
        return con

    def add_views(
        self,
        con: duckdb.DuckDBPyConnection,
        snapshots: Mapping[str, int],
        *,
        filters: Mapping[str, BooleanExpression] | None = None,
        columns: Mapping[str, Sequence[str]] | None = None,
    ) -> list[str]:
        """Make the views on a connection of the caller's; returns the files they read."""
        opened: list[str] = []
        for spec in TABLES.values():
            row_filter = (filters or {}).get(spec.name)
            wanted = (columns or {}).get(spec.name, spec.column_names)
            snapshot = snapshots.get(spec.name)
            files = [] if snapshot is None else self.files(spec.name, snapshot, row_filter)
            opened += files
            namespace, table = spec.name.split(".")
            con.execute(f"CREATE SCHEMA IF NOT EXISTS {name(namespace)}")
            con.execute(
                f"CREATE OR REPLACE VIEW {name(namespace)}.{name(table)} AS "
                + _select(spec, files, row_filter, wanted)
            )
        return opened

    # Writing

    def write_files(
        self,
        con: duckdb.DuckDBPyConnection,
        table: str,
        source: str,
        partitions: Sequence[Sequence[str]] | None = None,
    ) -> list[str]:
        """Write the rows of the relation `source` (a name on `con`), one file a partition; returns the paths.

        The files are not part of the table until `commit`.
        """
        spec = TABLES[table]
        keys = ", ".join(name(column) for column in spec.partition_by)
        if partitions is None:
            partitions = con.execute(f"SELECT DISTINCT {keys} FROM {source} ORDER BY ALL").fetchall()
        order = ", ".join(name(column) for column in spec.order_by)
        parts = {}
        for values in partitions:
            where = " AND ".join(
                f"{name(c)} = {quote(str(v))}" for c, v in zip(spec.partition_by, values, strict=True)
            )
            parts[tuple(values)] = f"SELECT * FROM {source} WHERE {where} ORDER BY {order}"
        return self.write_parts(con, table, parts)

    def write_parts(
        self, con: duckdb.DuckDBPyConnection, table: str, parts: Mapping[tuple[str, ...], str]
    ) -> list[str]:
        """As `write_files`, given the SELECT of each partition; it has the table's order already."""

        def write(path: str, rows: str) -> None:
            con.execute(f"COPY (SELECT {casts} FROM ({rows})) TO {quote(path)} ({options})")

        spec = TABLES[table]
        casts = ", ".join(f"CAST({name(c)} AS {kind}) AS {name(c)}" for c, _, kind in spec.columns)
        options = (
            f"FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL {spec.zstd_level}, "
            f"ROW_GROUP_SIZE {spec.row_group_rows}"
        )
        return self._write_each(spec, parts, write, threads=1)

    def write_batches(
        self, table: str, parts: Mapping[tuple[str, ...], Callable[[], Iterator[pa.RecordBatch]]]
    ) -> list[str]:
        """As `write_parts`, given the batches of each partition; they are asked for in several threads."""
        spec = TABLES[table]

        def write(path: str, batches: Callable[[], Iterator[pa.RecordBatch]]) -> None:
            write_batches(path, spec, batches())

        return self._write_each(spec, parts, write, threads=self.limits.threads)

    def _write_each(
        self,
        spec: TableSpec,
        parts: Mapping[tuple[str, ...], Rows],
        write: Callable[[str, Rows], None],
        *,
        threads: int,
    ) -> list[str]:
        """One file a partition; none is left when one could not be written."""
        written: list[str] = []
        try:
            written += [str(self._new_file(spec, values)) for values in parts]
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(write, written, parts.values()))
        except BaseException as error:
            self.discard_files(written)
            if isinstance(error, OSError | duckdb.IOException):
                raise unwritten(error, self.warehouse) from error
            raise
        return written

    def _new_file(self, spec: TableSpec, values: Sequence[str]) -> Path:
        namespace, table = spec.name.split(".")
        folder = self.warehouse / namespace / table / "data"
        for column, value in zip(spec.partition_by, values, strict=True):
            folder = folder / f"{column}={url_quote(str(value), safe='-_.')}"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{uuid.uuid4().hex}.parquet"

    @staticmethod
    def discard_files(paths: Sequence[str]) -> None:
        """Remove files that were written and never committed."""
        for path in paths:
            Path(path).unlink(missing_ok=True)

    def commit(
        self,
        table: str,
        files: Sequence[str],
        *,
        delete: BooleanExpression | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> int:
        """Remove what `delete` selects and add `files` in one transaction; returns the new snapshot id.

        `delete` should select whole partitions: anything else makes PyIceberg rewrite files in memory. Raises
        LakeConflictError when others kept committing first; the files are then still there for another try.
        """

        def change(transaction: Transaction) -> None:
            if delete is not None:
                transaction.delete(delete)
            if files:
                transaction.add_files(
                    list(files), snapshot_properties=dict(properties or {}), check_duplicate_files=False
                )

        return self._commit(table, change)

    def _commit(self, table: str, change: Callable[[Transaction], None]) -> int:
        for attempt in range(1, COMMIT_ATTEMPTS + 1):
            try:
                loaded = self._catalog.load_table(table)
                with warnings.catch_warnings():
                    # deleting from an empty partition is no mistake here
                    warnings.filterwarnings("ignore", message="Delete operation did not match any records")
                    with SteadyTransaction(loaded) as transaction:
                        change(transaction)
            except OSError as error:
                raise unwritten(error, self.warehouse) from error
            except DBAPIError as error:
                raise LakeError(
                    f"the lake's catalog in the database cannot be reached: {error.orig}"
                ) from error
            except (CommitFailedException, ValidationException, CommitStateUnknownException) as error:
                if isinstance(error, CommitStateUnknownException) or attempt == COMMIT_ATTEMPTS:
                    raise LakeConflictError(f"{table}: {error}") from error
                time.sleep(random.uniform(0.02, 0.1) * 2**attempt)  # noqa: S311 - spreads retries, no secret
                continue
            snapshot = loaded.current_snapshot()
            if snapshot is None:
                raise LakeError(f"{table} has no snapshot after a commit")
            return int(snapshot.snapshot_id)
        raise LakeConflictError(table)

    def append(self, table: str, data: Any) -> int:
        """Add the rows of an Arrow table, batch, reader or DuckDB relation; returns the new snapshot id."""
        with open_duckdb(self.limits) as con:
            con.register("incoming", _as_arrow(data))
            files = self.write_files(con, table, "incoming")
        if not files:
            raise LakeError(f"nothing to append to {table}")
        return self._commit_or_discard(table, files, None)

    def replace(self, table: str, row_filter: BooleanExpression, data: Any) -> int:
        """Put `data` in place of all rows of `row_filter` (whole partitions); returns the new snapshot id."""
        with open_duckdb(self.limits) as con:
            con.register("incoming", _as_arrow(data))
            files = self.write_files(con, table, "incoming")
        return self._commit_or_discard(table, files, row_filter)

    def _commit_or_discard(self, table: str, files: list[str], delete: BooleanExpression | None) -> int:
        try:
            return self.commit(table, files, delete=delete)
        except BaseException:
            self.discard_files(files)
            raise

    def compact(self, table: str, snapshot_id: int, *, files: int) -> tuple[int, int]:
        """Write partitions of more than `files` files anew as one file each.

        Returns the snapshot to read from now on and the number of partitions joined; the rows stay the same.
        """
        spec = TABLES[table]
        plan = self._catalog.load_table(table).scan(snapshot_id=snapshot_id).plan_files()
        sizes = Counter(tuple(task.file.partition[i] for i in range(len(spec.partition_by))) for task in plan)
        many = sorted(partition for partition, count in sizes.items() if count > files)
        for partition in many:
            only = all_of(*(equals(c, v) for c, v in zip(spec.partition_by, partition, strict=True)))
            with open_duckdb(self.limits) as con:
                self.add_views(con, {table: snapshot_id}, filters={table: only})
                written = self.write_files(con, table, table, [partition])
            snapshot_id = self._commit_or_discard(table, written, only)
        return snapshot_id, len(many)

    def expire(self, *, older_than: datetime, keep: set[int]) -> int:
        """Forget snapshots made before `older_than` but `keep` and the current ones; then their files.

        A file goes when no snapshot that is left names it and it is older than `older_than` itself, so that
        what another process has written and not committed yet stays. Returns the number of snapshots
        forgotten.
        """
        forgotten = 0
        limit = int(older_than.timestamp() * 1000)
        for table in TABLES:
            loaded = self._catalog.load_table(table)
            current = loaded.current_snapshot()
            heads = keep | ({current.snapshot_id} if current else set())
            old = [
                s.snapshot_id
                for s in loaded.snapshots()
                if s.timestamp_ms < limit and s.snapshot_id not in heads
            ]
            if old:
                loaded.maintenance.expire_snapshots().by_ids(old).commit()
                forgotten += len(old)
                self._remove_orphans(table, before=older_than.timestamp())
        return forgotten

    def _remove_orphans(self, table: str, *, before: float) -> None:
        loaded = self._catalog.load_table(table)
        named = {file for s in loaded.snapshots() for file in self.files(table, s.snapshot_id)}
        for path in (self.warehouse / table.replace(".", "/") / "data").rglob("*.parquet"):
            if str(path) not in named and path.stat().st_mtime < before:
                path.unlink()

    def rollback(self, table: str, snapshot_id: int | None) -> bool:
        """Make `snapshot_id` current again, or empty the table for None; False when it is already so.

        Used at start-up: what a run committed without finishing is no part of any answer. Its rows stay in
        the abandoned snapshots until they expire.
        """
        loaded = self._catalog.load_table(table)
        current = loaded.current_snapshot()
        if (current.snapshot_id if current else None) == snapshot_id:
            return False
        if snapshot_id is None:
            if current is None or not self.files(table, current.snapshot_id):
                return False
            self._commit(table, lambda transaction: transaction.delete(AlwaysTrue()))
            return True
        if loaded.snapshot_by_id(snapshot_id) is None:
            raise SnapshotMissingError(f"{table} has no snapshot {snapshot_id}")
        with loaded.manage_snapshots() as manage:
            manage.set_current_snapshot(snapshot_id=snapshot_id)
        return True


def _as_arrow(data: Any) -> Any:
    if isinstance(data, duckdb.DuckDBPyRelation):
        return data.to_arrow_table()
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    return data


def _select(
    spec: TableSpec, files: Sequence[str], row_filter: BooleanExpression | None, wanted: Sequence[str]
) -> str:
    """The SELECT behind a view. A file older than a column gives NULL for it (`union_by_name`)."""
    kinds = {column: kind for column, _, kind in spec.columns}
    absent = absent_columns(files, wanted)
    listed_columns = (f"CAST(NULL AS {kinds[c]}) AS {name(c)}" if c in absent else name(c) for c in wanted)
    columns = ", ".join(listed_columns)
    if not files:
        return f"SELECT {columns} WHERE false"
    listed = ", ".join(quote(f) for f in files)
    where = "" if row_filter is None else f" WHERE {row_filter_sql(row_filter, spec.schema())}"
    source = f"read_parquet([{listed}], union_by_name = true, hive_partitioning = false)"
    return f"SELECT {columns} FROM {source}{where}"
