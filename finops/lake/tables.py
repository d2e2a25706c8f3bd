"""The tables of the lake: columns with their exact types, partitions, and the order of rows in a file.

A column is added at the end with a new field id and never renamed: DuckDB reads files by column name, Iceberg
by field id, and only an unchanged name is the same column for both.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DecimalType, IcebergType, LongType, NestedField, StringType, TimestamptzType

from finops.frames.focus import LINE_COLUMNS
from finops.lake.bill_tables import BILL_DAILY, BILL_LINES, DAILY_COLUMNS, stored
from finops.lake.storage_tables import OBJECT_COLUMNS, READ_COLUMNS, STORAGE_OBJECTS, STORAGE_READS

# About 10 MB of 18-digit prices with their keys: small enough to prune, large enough to compress.
ROW_GROUP_ROWS = 122_880
# A line of a bill is ten times as wide. Half as many take 190 MB less to write, and 2 % more on disk.
LINE_ROW_GROUP_ROWS = 61_440
PRICE_PRECISION = 18
PRICE_SCALE = 10

SPOT_CHANGES = "prices.spot_changes"
SPOT_KNOWN = "prices.spot_known"


@dataclass(frozen=True)
class TableSpec:
    """One Iceberg table: `name` is `namespace.table`; `columns` are (name, Iceberg type, DuckDB type).

    `row_group_rows`: as many rows are held in memory at once while a file is written. `zstd_level`: how hard
    DuckDB packs.
    """

    name: str
    columns: tuple[tuple[str, IcebergType, str], ...]
    partition_by: tuple[str, ...]
    order_by: tuple[str, ...]
    row_group_rows: int = ROW_GROUP_ROWS
    zstd_level: int = 3

    @property
    def column_names(self) -> tuple[str, ...]:
        """Column names in table order."""
        return tuple(name for name, _, _ in self.columns)

    def schema(self) -> Schema:
        """The Iceberg schema; field ids are the 1-based positions."""
        return Schema(
            *(
                NestedField(field_id=i, name=name, field_type=kind, required=False)
                for i, (name, kind, _) in enumerate(self.columns, start=1)
            )
        )

    def partition_spec(self) -> PartitionSpec:
        """Identity partitions; field ids from 1000 as Iceberg asks."""
        ids = {name: i for i, name in enumerate(self.column_names, start=1)}
        return PartitionSpec(
            *(
                PartitionField(
                    source_id=ids[name], field_id=1000 + i, transform=IdentityTransform(), name=name
                )
                for i, name in enumerate(self.partition_by)
            )
        )


_TEXT = (StringType(), "VARCHAR")
_INSTANT = (TimestamptzType(), "TIMESTAMP WITH TIME ZONE")
_PRICE = (DecimalType(PRICE_PRECISION, PRICE_SCALE), f"DECIMAL({PRICE_PRECISION},{PRICE_SCALE})")

TABLES: dict[str, TableSpec] = {
    spec.name: spec
    for spec in (
        TableSpec(
            name=SPOT_CHANGES,
            columns=(
                ("provider", *_TEXT),
                ("region", *_TEXT),
                ("month", *_TEXT),
                ("account", *_TEXT),
                ("zone", *_TEXT),
                ("zone_key", *_TEXT),
                ("instance_type", *_TEXT),
                ("product", *_TEXT),
                ("at", *_INSTANT),
                ("price", *_PRICE),
                ("currency", *_TEXT),
                ("run_id", LongType(), "BIGINT"),
            ),
            partition_by=("provider", "region", "month"),
            order_by=("instance_type", "product", "zone_key", "at", "currency"),
        ),
        TableSpec(
            name=SPOT_KNOWN,
            columns=(
                ("provider", *_TEXT),
                ("region", *_TEXT),
                ("zone_key", *_TEXT),
                ("zone", *_TEXT),
                ("instance_type", *_TEXT),
                ("product", *_TEXT),
                ("currency", *_TEXT),
                ("known_from", *_INSTANT),
                ("known_to", *_INSTANT),
            ),
            partition_by=("provider", "region"),
            order_by=("instance_type", "product", "zone_key", "currency", "known_from"),
        ),
        TableSpec(
            name=BILL_LINES,
            columns=stored(LINE_COLUMNS),
            partition_by=("x_report", "x_month"),
            order_by=("x_day", "service_name", "x_usage_type", "resource_id", "x_file", "x_row"),
            row_group_rows=LINE_ROW_GROUP_ROWS,
            # A tenth of the time to write, a twentieth more on disk.
            zstd_level=1,
        ),
        TableSpec(
            name=BILL_DAILY,
            columns=stored(DAILY_COLUMNS),
            partition_by=("x_report", "x_month"),
            order_by=("x_day", "service_name", "sub_account_id"),
        ),
        TableSpec(
            name=STORAGE_OBJECTS,
            columns=OBJECT_COLUMNS,
            partition_by=("bucket",),
            order_by=("prefix", "key_id"),
            # Hashes do not get smaller by more work: a quarter less time, the same size.
            zstd_level=1,
        ),
        TableSpec(
            name=STORAGE_READS,
            columns=READ_COLUMNS,
            partition_by=("bucket", "month"),
            order_by=("day", "prefix", "key_id"),
        ),
    )
}
