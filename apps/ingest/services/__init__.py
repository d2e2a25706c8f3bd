"""Writing: runs, imports, uploads, upkeep of the lake."""

from apps.ingest.services.imports import (
    ImportOptions,
    demo_load,
    ingest_run_create,
    ingest_run_execute,
    prices_import,
    prices_store,
)
from apps.ingest.services.paths import PathRefusedError, import_path_resolve, upload_store
from apps.ingest.services.upkeep import lake_compact, lake_expire, runs_reconcile

__all__ = [
    "ImportOptions",
    "PathRefusedError",
    "demo_load",
    "import_path_resolve",
    "ingest_run_create",
    "ingest_run_execute",
    "lake_compact",
    "lake_expire",
    "prices_import",
    "prices_store",
    "runs_reconcile",
    "upload_store",
]
