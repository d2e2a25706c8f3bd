"""Data files from Arrow batches whose labels are dictionaries: a third of the work of texts row by row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import schema_to_pyarrow

from finops.lake.errors import LakeError
from finops.lake.tables import TableSpec

# Decimals of so many digits are written as whole numbers.
_INTEGER_DIGITS = 18


def write_batches(path: str, spec: TableSpec, batches: Iterator[pa.RecordBatch]) -> None:
    """One file of the table, a row group a batch; raises LakeError where columns or types are not its own.

    A text column may be a dictionary of text, as the first batch has it; else the types are those of the
    table, which PyIceberg's `add_files` insists on. Raises OSError when the disk is full.
    """
    batch = next(batches, None)
    wanted = _file_schema(spec, batch)
    # The Arrow schema is left out: with it Arrow would give dictionaries to readers who expect text.
    options = {"store_schema": False, "store_decimal_as_integer": True, **_encoding(wanted)}
    with pq.ParquetWriter(path, wanted, compression="zstd", **options) as writer:
        while batch is not None:
            if batch.schema.names != wanted.names:
                raise LakeError(f"{spec.name} has the columns {wanted.names}, not {batch.schema.names}")
            writer.write_batch(batch.cast(wanted), row_group_size=max(spec.row_group_rows, len(batch)))
            # Only one is held at a time.
            del batch
            batch = next(batches, None)


def _file_schema(spec: TableSpec, first: pa.RecordBatch | None) -> pa.Schema:
    """The table's types in Arrow; texts as dictionaries, or as the first batch has them, and so in maps."""
    texts = pa.dictionary(pa.int32(), pa.string())
    fields = []
    given_names = set() if first is None else set(first.schema.names)
    for field in schema_to_pyarrow(spec.schema(), include_field_ids=False):
        kind = texts if _is_text(field.type) else field.type
        # A batch without the column is refused by the caller, which names all of them.
        if (
            first is not None
            and field.name in given_names
            and (_is_text(field.type) or pa.types.is_map(field.type))
        ):
            given = first.schema.field(field.name).type
            kind = given if _alike(given, field.type) else kind
        fields.append(pa.field(field.name, kind))
    return pa.schema(fields)


def _alike(given: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether both are text, or maps of texts, dictionary or not."""
    if pa.types.is_map(given) and pa.types.is_map(wanted):
        return _alike(given.key_type, wanted.key_type) and _alike(given.item_type, wanted.item_type)
    inner = given.value_type if pa.types.is_dictionary(given) else given
    return _is_text(inner) and _is_text(wanted)


def _encoding(wanted: pa.Schema) -> dict[str, Any]:
    """How columns are written: those that repeat by dictionary, counts by their differences.

    A dictionary of wide amounts or of ids, which are there once, costs twice what they do and takes more.
    """
    texts, counts = [], {}
    for field in wanted:
        if pa.types.is_map(field.type):
            texts += [f"{field.name}.key_value.key", f"{field.name}.key_value.value"]
        elif pa.types.is_int64(field.type):
            counts[field.name] = "DELTA_BINARY_PACKED"
        elif not _is_text(field.type) and not _is_wide(field.type):
            texts.append(field.name)
    return {"use_dictionary": texts, "column_encoding": counts}


def _is_wide(kind: pa.DataType) -> bool:
    return bool(pa.types.is_decimal(kind)) and kind.precision > _INTEGER_DIGITS


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
