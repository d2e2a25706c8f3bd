"""Bands hold every value once, and no minimum size of a class lies inside a band."""

from __future__ import annotations

from datetime import date
from itertools import pairwise

import pytest

from finops.frames.storage import AGE_EDGES, IDLE_EDGES, KIB, SIZE_EDGES, band
from finops.frames.storage_classes import storage_classes


@pytest.mark.parametrize("edges", [SIZE_EDGES, AGE_EDGES, IDLE_EDGES])
def test_edges_grow_from_zero(edges: tuple[int, ...]) -> None:
    assert edges[0] == 0
    assert all(low < high for low, high in pairwise(edges))


def test_an_edge_begins_its_band() -> None:
    assert band(128 * KIB, SIZE_EDGES) == (128 * KIB, 256 * KIB)
    assert band(128 * KIB - 1, SIZE_EDGES) == (64 * KIB, 128 * KIB)
    assert band(29, AGE_EDGES) == (14, 30)
    assert band(730, AGE_EDGES) == (730, None)
    with pytest.raises(ValueError, match="under the first band"):
        band(-1, AGE_EDGES)


def test_minimum_sizes_of_classes_are_ends_of_bands() -> None:
    for found in storage_classes("aws", "us-east-1", date(2026, 11, 1)).values():
        for kib in (found.min_billable_kib, found.min_monitored_kib):
            assert int(kib * KIB) in SIZE_EDGES
