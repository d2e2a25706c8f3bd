"""Traces of Spot availability from JSON files."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest

from finops.providers.files.archives import UnreadableError
from finops.providers.files.availability_traces import availability_of, read_availability


def test_a_trace_is_read_also_packed_and_for_gangs(tmp_path: Path) -> None:
    text = '{"metadata": {"gap_seconds": 300}, "data": [4, 0, 3], "prices": []}'
    packed = tmp_path / "zone.json.xz"
    packed.write_bytes(lzma.compress(text.encode()))
    trace = availability_of(str(packed))
    assert (trace.gap_seconds, trace.available.tolist(), trace.hours) == (300, [True, False, True], 0.25)
    assert availability_of(str(packed), count=4).available.tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("no", "no JSON"),
        ("[1, 0]", r"metadata\.gap_seconds"),
        ('{"metadata": {"gap_seconds": 0}, "data": [1]}', r"metadata\.gap_seconds"),
        ('{"metadata": {"gap_seconds": true}, "data": [1]}', r"metadata\.gap_seconds"),
        ('{"metadata": {"gap_seconds": 600}, "data": []}', "data: a list"),
        ('{"metadata": {"gap_seconds": 600}, "data": [1, null]}', "data, row 2"),
        ('{"metadata": {"gap_seconds": 600}, "data": [1, 1, -1]}', "data, row 3"),
        ('{"metadata": {"gap_seconds": 600}, "data": [NaN]}', "data, row 1"),
    ],
)
def test_what_is_no_trace_is_refused_with_its_place(text: str, reason: str) -> None:
    with pytest.raises(UnreadableError, match=reason):
        read_availability(text)


def test_the_other_reading_of_zero_is_there_for_comparison() -> None:
    text = '{"metadata": {"gap_seconds": 600}, "data": [1, 0, 2]}'
    assert read_availability(text).available.tolist() == [True, False, True]
    assert read_availability(text, zero_is_there=True).available.tolist() == [False, True, False]
