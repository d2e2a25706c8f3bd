"""A listing into one file of the lake per bucket, with what its rows came to.

Rows that cannot be used are marked while the file is written and looked up by their number only where there
are any: counting ten million records would hold the reader to one thread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime

import duckdb
import pyarrow as pa

from apps.ingest.storage.sources import MOST_WRONG, File, ListingSource, StorageOptions
from finops.frames.spot import Rejection
from finops.frames.storage import STATES
from finops.lake import STORAGE_OBJECTS, Lake, LakeError
from finops.lake.sql import quote
from finops.providers.aws import storage_inventory
from finops.providers.files.storage_files import Table, broken, csv_relation
from finops.providers.storage import StorageFileError

# A delete marker is a fact of its own; it holds no bytes and is in no band.
DELETED = "deleted"
_WRONG = "wrong"
MOST_BUCKETS = 1_000
_REASONS = {
    "key": "no key",
    "size": "not a whole number of bytes from 0",
    "latest": "neither true nor false",
    "modified": "not a time with Z or an offset",
    "storage_class": "no storage class",
    "bucket": "of another bucket than the listing's",
}


@dataclass
class StagedListing:
    """One bucket's objects in a file that is not part of the lake yet.

    The rows of the listing are those that are good, those that repeat one, and those that were rejected.
    """

    source: ListingSource
    bucket: str
    file: str
    objects: int = 0
    bytes: int = 0
    deleted: int = 0
    noncurrent: int = 0
    repeated: int = 0
    rejections: list[Rejection] = field(default_factory=list)

    @property
    def good(self) -> int:
        """Rows that count, delete markers among them."""
        return self.objects + self.deleted

    @property
    def listed_at(self) -> datetime:
        """When the bucket was listed."""
        return self.source.listed_at

    @property
    def listed_on(self) -> date:
        """The UTC date of the listing."""
        return self.source.listed_at.date()

    @property
    def states(self) -> list[str]:
        """Which kinds of bytes it lists."""
        return storage_inventory.states_of(self.source.names)

    @property
    def relation(self) -> str:
        """SQL of its objects."""
        return objects_relation(f"read_parquet([{quote(self.file)}], hive_partitioning = false)")


def objects_relation(relation: str) -> str:
    """The rows of a relation of the lake's columns that hold bytes."""
    states = ", ".join(quote(state) for state in STATES)
    return f"(SELECT * FROM {relation} WHERE state IN ({states}))"


@dataclass
class ListingStager:
    """Writes listings; `key_of` gives the lake's key of a bucket by its name."""

    con: duckdb.DuckDBPyConnection
    lake: Lake
    options: StorageOptions
    key_of: Callable[[str], str]
    written: list[str] = field(default_factory=list)

    def stage(self, source: ListingSource) -> list[StagedListing]:
        """One file per bucket of the listing. Raises StorageFileError; nothing is left of it then."""
        before = len(self.written)
        try:
            buckets = [source.bucket] if source.bucket else self._buckets(source)
            return [self._one(source, bucket, alone=len(buckets) == 1) for bucket in buckets]
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            told = broken(error)
            self._discard(before)
            if told is None:
                raise
            raise StorageFileError(str(told)) from error
        except LakeError as error:
            # Packed data shows only while it is read that it is cut: while the lake's file is written.
            told = broken(error.__cause__) if isinstance(error.__cause__, duckdb.Error) else None
            self._discard(before)
            if told is None or "gzip" not in str(told):
                raise
            raise StorageFileError(str(told)) from error
        except StorageFileError:
            self._discard(before)
            raise

    def _discard(self, before: int) -> None:
        self.lake.discard_files(self.written[before:])
        del self.written[before:]

    def _buckets(self, source: ListingSource) -> list[str]:
        column = f"r{storage_inventory.require(source.names)['bucket']}"
        rows = self.con.execute(
            f"SELECT DISTINCT coalesce({column}, '') AS b FROM {self._relation(source)} ORDER BY b"
        ).fetchall()
        names = [str(row[0]) for row in rows if row[0]]
        if not names:
            raise StorageFileError("no row names a bucket", field="Bucket")
        if len(names) > MOST_BUCKETS:
            raise StorageFileError(f"it lists more than {MOST_BUCKETS} buckets", field="Bucket")
        return names

    def _relation(self, source: ListingSource) -> str:
        tables = [table for _, table in source.tables]
        if not tables:
            nothing = ", ".join(f"NULL::VARCHAR AS r{i}" for i in range(len(source.names)))
            return f"(SELECT {nothing} WHERE false)"
        if all(table.form == "csv" for table in tables):
            return csv_relation([table.path for table in tables], len(source.names))
        parts = " UNION ALL BY NAME ".join(
            f"SELECT * FROM {table.relation(self.con, numbered=table.bill is not None)}" for table in tables
        )
        return f"({parts})"

    def _objects(self, source: ListingSource, relation: str, bucket: str, *, also: str = "") -> str:
        """The objects of a relation; `wrong` holds rows of another bucket too, where a manifest names one."""
        columns = {ours: f"r{place}" for ours, place in storage_inventory.require(source.names).items()}
        sql = storage_inventory.objects_sql(relation, columns, also=also)
        if "bucket" not in columns:
            return f"(SELECT * FROM ({sql}))"
        if source.bucket:
            other = f"CASE WHEN bucket_name != {quote(bucket)} THEN 'bucket' ELSE wrong END"
            return f"(SELECT * REPLACE ({other} AS wrong) FROM ({sql}))"
        return f"(SELECT * FROM ({sql}) WHERE bucket_name = {quote(bucket)})"

    def _one(self, source: ListingSource, bucket: str, *, alone: bool) -> StagedListing:
        key = self.key_of(bucket)
        found = StagedListing(source, bucket, self._write(source, bucket, key))
        counts = self._counts(found)
        if any(distinct < count for state, count, _, distinct in counts if state != _WRONG):
            before = sum(count for _, count, _, _ in counts)
            self._replace(found, self._write(source, bucket, key, once=True))
            counts = self._counts(found)
            found.repeated = before - sum(count for _, count, _, _ in counts)
        wrong = 0
        for state, count, size, _ in counts:
            if state == _WRONG:
                wrong = count
            elif state == DELETED:
                found.deleted = count
            else:
                found.objects += count
                found.bytes += size
                found.noncurrent += count if state == "noncurrent" else 0
        if wrong:
            found.rejections = self._rejections(source, bucket)
            if not found.good or wrong > MOST_WRONG:
                first = found.rejections[0]
                told = f"{wrong} rows cannot be used" if found.good else "no row can be used"
                raise StorageFileError(
                    f"{first.file}: {told}: {first.reason}", row=first.row, field=first.field
                )
            self._rewrite(found, key)
        return found

    def _write(self, source: ListingSource, bucket: str, key: str, *, once: bool = False) -> str:
        """The file of a bucket's rows; `once`: each object, or version where versions are told, one time."""
        version = storage_inventory.columns_of(source.names).get("version")
        also = "" if version is None or not once else f", r{version}"
        good = self._objects(source, self._relation(source), bucket, also=also)
        rows = (
            f"SELECT {quote(key)} AS bucket, key_id, prefix, "
            "CASE WHEN wrong IS NULL THEN good.storage_class ELSE wrong END AS storage_class, tier, "
            f"CASE WHEN wrong IS NOT NULL THEN '{_WRONG}' WHEN deleted THEN '{DELETED}' ELSE good.state END "
            f"AS state, coalesce(good.size, 0) AS size, modified FROM {good} AS good"
        )
        if once:
            # Without version ids nothing tells older versions of a key apart.
            kept = (
                "wrong IS NOT NULL" if also else "wrong IS NOT NULL OR deleted OR good.state = 'noncurrent'"
            )
            rows += (
                f" QUALIFY {kept} OR row_number() OVER ("
                f"PARTITION BY wrong, deleted, good.state, key_id{also} "
                "ORDER BY good.size DESC, good.modified DESC, good.storage_class) = 1"
            )
        [path] = self.lake.write_parts(self.con, STORAGE_OBJECTS, {(key,): rows})
        self.written.append(path)
        return path

    def _counts(self, found: StagedListing) -> list[tuple[str, int, int, int]]:
        """(state, rows, bytes, how many of the rows are surely different ones)."""
        return self.con.execute(
            "SELECT state, count(*), CAST(sum(size) AS BIGINT), count(DISTINCT CASE WHEN state = 'current' "
            "THEN CAST(key_id AS UBIGINT) ELSE hash(key_id, size, modified, storage_class, tier) END) "
            f"FROM read_parquet([{quote(found.file)}], hive_partitioning = false) GROUP BY state"
        ).fetchall()

    def _rewrite(self, found: StagedListing, key: str) -> None:
        """The file again without the rows that cannot be used."""
        rows = (
            f"SELECT * FROM read_parquet([{quote(found.file)}], hive_partitioning = false) "
            f"WHERE state != '{_WRONG}'"
        )
        [path] = self.lake.write_parts(self.con, STORAGE_OBJECTS, {(key,): rows})
        self.written.append(path)
        self._replace(found, path)

    def _replace(self, found: StagedListing, path: str) -> None:
        self.lake.discard_files([found.file])
        self.written.remove(found.file)
        found.file = path

    def _rejections(self, source: ListingSource, bucket: str) -> list[Rejection]:
        columns = storage_inventory.require(source.names)
        found = []
        for file, table in source.tables:
            objects = self._objects(source, table.relation(self.con), bucket, also=", rn")
            rows = self.con.execute(
                f"SELECT rn, wrong FROM {objects} WHERE wrong IS NOT NULL ORDER BY rn LIMIT {MOST_WRONG}"
            ).fetchall()
            found += [_rejection(file, table, row, columns, wrong) for row, wrong in rows]
        return found


def _rejection(file: File, table: Table, row: int, columns: dict[str, int], wrong: str) -> Rejection:
    field_name = table.names[columns[wrong]] if wrong in columns else wrong
    return Rejection(file.name, row, field_name, _REASONS[wrong])
