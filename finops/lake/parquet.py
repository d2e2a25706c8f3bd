"""Data files from Arrow batches whose labels are dictionaries: a third of the work of texts row by row."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import schema_to_pyarrow

from finops.lake.errors import LakeError
from finops.lake.tables import TableSpec


def write_batches(path: str, spec: TableSpec, batches: Iterator[pa.RecordBatch]) -> None:
    """One file of the table, a row group a batch; raises LakeError where columns or types are not its own.

    A text column may be a dictionary of text; else the types are those of the table, which PyIceberg's
    `add_files` insists on. Raises OSError when the disk is full.
    """
    wanted = _file_schema(spec)
    # The Arrow schema is left out: with it Arrow would give dictionaries to readers who expect text.
    with pq.ParquetWriter(
        path, wanted, compression="zstd", store_schema=False, store_decimal_as_integer=True
    ) as writer:
        for batch in batches:
            if batch.schema.names != wanted.names:
                raise LakeError(f"{spec.name} has the columns {wanted.names}, not {batch.schema.names}")
            writer.write_batch(batch.cast(wanted), row_group_size=spec.row_group_rows)


def _file_schema(spec: TableSpec) -> pa.Schema:
    """The table's types in Arrow; text as dictionaries."""
    texts = pa.dictionary(pa.int32(), pa.string())
    return pa.schema(
        [
            pa.field(field.name, texts if _is_text(field.type) else field.type)
            for field in schema_to_pyarrow(spec.schema(), include_field_ids=False)
        ]
    )


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
