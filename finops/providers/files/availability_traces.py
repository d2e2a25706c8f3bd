"""Traces of Spot availability: JSON with `metadata.gap_seconds` and `data`, one number a tick.

The form of skypilot-org/spot-traces ("Can't Be Late", NSDI 2024). A number is how many instances could be
had or stayed up; 0 is none. The authors' README says so and their simulator reads 0 as available in the
single-node files; the README is right: read so, the one-GPU sizes of p3 are there 72-79 % of the time and
the eight-GPU ones 47-48 %, the other way round the larger size would be easier to get. A trace of n numbers
counts as available where at least `count` are there.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from finops.frames.availability import AvailabilityTrace
from finops.providers.files.archives import NOTHING, Entry, UnreadableError, Walk

MAX_BYTES = 64 * 1024 * 1024


def availability_of(path: str, *, count: int = 1, zero_is_there: bool = False) -> AvailabilityTrace:
    """The trace in a file (xz, gz, zip or plain). Raises UnreadableError with what is wrong and where."""
    found = [_bytes_of(entry) for entry in Walk(path).entries()]
    if len(found) != 1:
        raise UnreadableError(f"one file is needed, {len(found)} are there")
    try:
        text = found[0].decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnreadableError("no text in UTF-8") from None
    return read_availability(text, count=count, zero_is_there=zero_is_there)


def read_availability(text: str, *, count: int = 1, zero_is_there: bool = False) -> AvailabilityTrace:
    """As `availability_of`, of the JSON's text. `zero_is_there`: the other reading, for comparison.

    >>> read_availability('{"metadata": {"gap_seconds": 600}, "data": [1, 0, 2]}').available.tolist()
    [True, False, True]
    """
    try:
        document = json.loads(text)
    except ValueError as error:
        raise UnreadableError(f"no JSON: {error}") from None
    metadata = document.get("metadata") if isinstance(document, dict) else None
    gap = metadata.get("gap_seconds") if isinstance(metadata, dict) else None
    data = document.get("data") if isinstance(document, dict) else None
    if gap is None or not _whole(gap) or gap <= 0:
        raise UnreadableError("metadata.gap_seconds: a whole number of seconds above 0 is needed")
    if not isinstance(data, list) or not data:
        raise UnreadableError("data: a list of numbers, one a tick, is needed")
    for place, value in enumerate(data, start=1):
        if not _number(value):
            raise UnreadableError(f"data, row {place}: no number of instances: {value!r}")
    if zero_is_there:
        return AvailabilityTrace(int(gap), np.array([value == 0 for value in data], dtype=np.bool_))
    return AvailabilityTrace(int(gap), np.array([value >= count for value in data], dtype=np.bool_))


def _number(value: Any) -> bool:
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
    )


def _whole(value: Any) -> bool:
    return _number(value) and value == int(value)


def _bytes_of(entry: Entry) -> bytes:
    if entry.refused is not None or entry.stream is None:
        raise UnreadableError(entry.refused or NOTHING)
    data = entry.stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise UnreadableError(f"larger than {MAX_BYTES >> 20} MiB")
    return bytes(data)
