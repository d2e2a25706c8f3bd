"""Maps by content spread over rows are the maps that they were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from apps.ingest.bills.maps import MapValues, spread_maps

_MAP = st.dictionaries(st.sampled_from(["a", "b", "c"]), st.none() | st.text("xyz", max_size=2), max_size=3)
_KIND = pa.map_(pa.string(), pa.string())


def _values(maps: Sequence[Mapping[str, str | None] | None]) -> MapValues:
    return MapValues(pa.array([None if m is None else list(m.items()) for m in maps], _KIND))


@given(
    maps=st.lists(st.none() | _MAP, min_size=1, max_size=6),
    ids=st.lists(st.integers(0, 100), min_size=1, max_size=20),
)
def test_one_part_comes_out_as_it_is(maps: list[dict[str, str | None] | None], ids: list[int]) -> None:
    wanted = [maps[i % len(maps)] for i in ids]
    found = spread_maps([(_values(maps), np.array([i % len(maps) for i in ids], np.int32))])
    assert [None if row is None else dict(row) for row in found.to_pylist()] == wanted


@given(
    first=st.lists(_MAP, min_size=1, max_size=4),
    second=st.lists(st.dictionaries(st.sampled_from(["d", "e"]), st.text("xyz", max_size=2)), min_size=1),
    ids=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.none() | st.text("xyz")), min_size=1),
)
def test_parts_and_loose_texts_are_one_map(
    first: list[dict[str, str | None]],
    second: list[dict[str, str]],
    ids: list[tuple[int, int, str | None]],
) -> None:
    wanted = [
        first[a % len(first)] | second[b % len(second)] | ({} if text is None else {"own": text})
        for a, b, text in ids
    ]
    found = spread_maps(
        [
            (_values(first), np.array([a % len(first) for a, _, _ in ids], np.int32)),
            (_values(second), np.array([b % len(second) for _, b, _ in ids], np.int32)),
        ],
        {"own": pa.array([text for *_, text in ids], pa.string())},
    )
    assert [dict(row) for row in found.to_pylist()] == wanted
    out = pa.BufferOutputStream()
    pq.write_table(pa.table({"m": found}), out, store_schema=False)
    back = pq.read_table(pa.BufferReader(out.getvalue()))["m"].to_pylist()
    assert [dict(row) for row in back] == wanted
