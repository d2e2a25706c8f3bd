"""Spot prices as change points. Grain: one row per series and instant at which its price changed.

A series is (provider, region, zone_key, instance_type, product, currency). `zone_key` is the zone id where it
is known ("use1-az1"), else the zone name, prefixed with "account:" where the account is known, for names are
shuffled per account. `product` is the text as delivered. `price` is an exact decimal above zero with at most
ten decimals, in `currency` per instance-hour; `at` is an aware UTC instant in microseconds, from which the
price holds.

Invariants: no empty text but `account`; price > 0; (series, at) once in the lake, though a delivery may
repeat it. `check` holds them for a batch: it is the door between every provider and the lake.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

PRICE_DIGITS = 18
PRICE_DECIMALS = 10
PRICE_TYPE = pa.decimal128(PRICE_DIGITS, PRICE_DECIMALS)
INSTANT = pa.timestamp("us", tz="UTC")
_LABEL = pa.dictionary(pa.int32(), pa.string())

SERIES_COLUMNS = ("region", "account", "zone", "zone_key", "instance_type", "product", "currency")
SCHEMA = pa.schema(
    [
        pa.field("row", pa.int64(), nullable=False),
        *(pa.field(column, _LABEL, nullable=False) for column in SERIES_COLUMNS),
        pa.field("at", INSTANT, nullable=False),
        pa.field("price", PRICE_TYPE, nullable=False),
    ]
)
MAY_BE_EMPTY = frozenset({"account"})


@dataclass(frozen=True)
class Rejection:
    """A record that is no price. `row` is its 1-based number in `file`, None for a whole file.

    `region` and `instance_type`: whose price it would have been, where only the price was wrong (no part
    of what names the record).
    """

    file: str
    row: int | None
    field: str
    reason: str
    region: str = dataclasses.field(default="", compare=False)
    instance_type: str = dataclasses.field(default="", compare=False)


class FrameError(ValueError):
    """A batch breaks an invariant of the frame: a mistake of its provider, not of the data."""


def check(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch itself when its columns, types and invariants are right; raises FrameError naming the column.

    Plain strings are accepted in place of dictionary-encoded ones.
    """
    missing = [column for column in SCHEMA.names if column not in batch.schema.names]
    if missing:
        raise FrameError(f"missing columns: {', '.join(missing)}")
    columns = []
    for wanted in SCHEMA:
        column = batch.column(wanted.name)
        if column.type != wanted.type:
            column = _convert(column, wanted)
        if column.null_count:
            raise FrameError(f"{wanted.name} is null in {column.null_count} rows")
        if pa.types.is_dictionary(column.type):
            _check_label(column, wanted.name)
        columns.append(column)
    price = columns[SCHEMA.get_field_index("price")]
    if len(price) and pc.min(price).as_py() <= 0:
        raise FrameError("a price is not above zero")
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _convert(column: pa.Array, wanted: pa.Field) -> pa.Array:
    if pa.types.is_dictionary(wanted.type) and not pa.types.is_dictionary(column.type):
        return column.cast(pa.string()).dictionary_encode()
    try:
        return column.cast(wanted.type)
    except pa.ArrowInvalid as error:
        raise FrameError(f"{wanted.name} is {column.type}, not {wanted.type}: {error}") from error


def _check_label(column: pa.DictionaryArray, name: str) -> None:
    def wrong(text: str | None) -> bool:
        return text is None or text != text.strip() or (not text and name not in MAY_BE_EMPTY)

    if not any(map(wrong, column.dictionary.to_pylist())):
        return
    # Rejected rows leave their labels in the dictionary: only those that a row still points at count.
    for text in column.dictionary.take(column.indices.unique()).to_pylist():
        if wrong(text):
            raise FrameError(f"{name} holds {text!r}")
