"""Facts: Iceberg tables with their catalog in PostgreSQL, written and read through DuckDB."""

from finops.lake.bill_tables import BILL_DAILY, BILL_LINES
from finops.lake.duck import Limits, open_duckdb
from finops.lake.errors import LakeConflictError, LakeError, SnapshotMissingError
from finops.lake.lake import Lake
from finops.lake.storage_tables import STORAGE_OBJECTS, STORAGE_READS
from finops.lake.tables import PRICE_PRECISION, PRICE_SCALE, SPOT_CHANGES, SPOT_KNOWN, TABLES, TableSpec

__all__ = [
    "BILL_DAILY",
    "BILL_LINES",
    "PRICE_PRECISION",
    "PRICE_SCALE",
    "SPOT_CHANGES",
    "SPOT_KNOWN",
    "STORAGE_OBJECTS",
    "STORAGE_READS",
    "TABLES",
    "Lake",
    "LakeConflictError",
    "LakeError",
    "Limits",
    "SnapshotMissingError",
    "TableSpec",
    "open_duckdb",
]
