"""Maps of texts by content, spread over rows and put together without a text being looked at again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from finops.providers.files.bill_text import ranges

Ids = npt.NDArray[np.integer[Any]]


class MapValues:
    """Maps by content: keys and values as numbers of two dictionaries."""

    def __init__(self, values: pa.MapArray) -> None:
        self.starts = values.offsets.to_numpy()[:-1]
        self.counts = np.diff(values.offsets.to_numpy())
        self.valid = values.is_valid().to_numpy(zero_copy_only=False) if values.null_count else None
        self.keys = values.keys.dictionary_encode()
        self.items = values.items.dictionary_encode()


def spread_maps(
    parts: Sequence[tuple[MapValues, Ids]], loose: Mapping[str, pa.Array] | None = None
) -> pa.MapArray:
    """A map a row of all that the parts say of it, each by its content, and of texts under their keys.

    A null text is no entry; a null map is null only where it is the one part.
    """
    rows = len(parts[0][1]) if parts else len(next(iter((loose or {}).values())))
    pieces = [
        (values.keys, values.items, values.starts[ids], values.counts[ids]) for values, ids in parts
    ] + [_loose(key, texts) for key, texts in (loose or {}).items()]
    counts = [count for *_, count in pieces]
    offsets = np.zeros(rows + 1, np.int32)
    np.cumsum(np.sum(counts, axis=0), out=offsets[1:])
    keys, items = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], np.int32)
    all_keys, key_of = _joined([piece[0] for piece in pieces])
    all_items, item_of = _joined([piece[1] for piece in pieces])
    at = offsets[:-1].copy()
    for place, (_, _, starts, count) in enumerate(pieces):
        source, target = ranges(starts, count), ranges(at, count)
        keys[target] = key_of[place][source]
        items[target] = item_of[place][source]
        at += count
    mask = None
    if len(parts) == 1 and not loose and parts[0][0].valid is not None:
        mask = pa.array(~parts[0][0].valid[parts[0][1]])
    nulls = items < 0
    told = pa.array(np.where(nulls, 0, items), mask=nulls) if nulls.any() else pa.array(items)
    return pa.MapArray.from_arrays(
        pa.array(offsets),
        pa.DictionaryArray.from_arrays(pa.array(keys), all_keys),
        pa.DictionaryArray.from_arrays(told, all_items),
        mask=mask,
    )


def _loose(key: str, texts: pa.Array) -> tuple[pa.Array, pa.Array, Ids, Ids]:
    """Texts, one a row, as if they were maps of one entry, none where null."""
    count = texts.is_valid().to_numpy(zero_copy_only=False).astype(np.int32)
    one = pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(texts), np.int32)), pa.array([key]))
    return one, texts.dictionary_encode(), np.arange(len(texts), dtype=np.int32), count


def _joined(pieces: Sequence[pa.Array]) -> tuple[pa.Array, list[Ids]]:
    """(one dictionary, for each piece the number of each of its texts; -1 for null)."""
    told = pa.concat_arrays([piece.dictionary.cast(pa.string()) for piece in pieces]).dictionary_encode()
    numbers = told.indices.to_numpy()
    found = []
    before = 0
    for piece in pieces:
        codes = piece.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        own = np.append(numbers[before : before + len(piece.dictionary)], -1).astype(np.int32)
        found.append(own[codes])
        before += len(piece.dictionary)
    return told.dictionary, found
