"""A record of Spot availability: one row a tick, in order, ticks of one length.

`available[i]` holds from the start of tick i to its end: whether an instance asked for at that start is
given, and one that runs is kept. A gang of n counts as available where all n are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class AvailabilityTrace:
    """`gap_seconds`: length of a tick, whole seconds; `available`: one flag a tick, the oldest first."""

    gap_seconds: int
    available: Flags

    @property
    def hours(self) -> float:
        """From the start of the first tick to the end of the last."""
        return self.available.size * self.gap_seconds / 3600


def gang_of(trace: AvailabilityTrace, members: int, *, apart_seconds: int) -> AvailabilityTrace:
    """A gang made from a single trace: each member sees it `apart_seconds` later than the one before, and the
    gang is there where all are. Raises ValueError where the trace is too short.

    >>> pair = gang_of(AvailabilityTrace(1, np.array([True, True, False, True])), 2, apart_seconds=1)
    >>> pair.available.tolist()
    [True, False, False]
    """
    apart = max(1, round(apart_seconds / trace.gap_seconds))
    size = trace.available.size - (members - 1) * apart
    if members < 1 or size < 1:
        raise ValueError(f"the trace lasts {trace.hours:.1f} h: too short for a gang of {members}")
    found = trace.available[:size].copy()
    for member in range(1, members):
        found &= trace.available[member * apart : member * apart + size]
    return AvailabilityTrace(trace.gap_seconds, found)
