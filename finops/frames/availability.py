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
