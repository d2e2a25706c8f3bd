"""How likely the next read is: a hazard per day, learnt from reads that have happened.

State of an object: days since its last read (`idle`, since its writing when there was none), the gap before
that read, and its reads per day so far. The hazard of a state is reads / days seen in it, drawn towards the
hazard of coarser states where few days were seen: (idle, gap, rate) towards (idle, rate) towards (idle).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

# States are bands: fine where reads follow each other, coarse where they are months apart.
IDLE_BANDS = np.array([1, 2, 3, 4, 6, 8, 11, 15, 22, 31, 46, 61, 91, 121])
GAP_BANDS = np.array([1, 3, 8, 21, 60])
RATE_BANDS = np.array([0.003, 0.015, 0.06, 0.25])
NO_GAP = len(GAP_BANDS) + 1
IDLES, GAPS, RATES = len(IDLE_BANDS) + 1, len(GAP_BANDS) + 2, len(RATE_BANDS) + 1

# Days that a coarser state counts for in a finer one. A tenth or ten times as many change the costs of the
# archive's back-test by less than 0.5 %.
PRIOR_DAYS = 20.0
# What is believed before anything was seen: a read in 50 days, worth 50 days of seeing.
FIRST_RATE, FIRST_DAYS = 1 / 50, 50.0


def idle_band(idle: Ints) -> Ints:
    """Band of the days since the last read."""
    return np.searchsorted(IDLE_BANDS, idle, side="right").astype(np.int64)


def gap_band(gap: Ints) -> Ints:
    """Band of the days between the last two reads; `NO_GAP` stands for an object without a read."""
    return np.searchsorted(GAP_BANDS, gap, side="right").astype(np.int64)


def rate_band(reads: Ints, age: Ints) -> Ints:
    """Band of an object's own reads per day, drawn to half a read in 30 days while it is young."""
    return np.searchsorted(RATE_BANDS, (reads + 0.5) / (age + 30), side="right").astype(np.int64)


@dataclass
class AccessModel:
    """Counts of days and reads per state; `see` adds a day, `hazard` gives what follows from all so far."""

    days: Floats
    reads: Floats

    @classmethod
    def empty(cls) -> AccessModel:
        """Nothing seen."""
        return cls(np.zeros((IDLES, GAPS, RATES)), np.zeros((IDLES, GAPS, RATES)))

    def see(self, idle: Ints, gap: Ints, rate: Ints, read: NDArray[np.bool_]) -> None:
        """One day of objects whose states (bands) it began with, and which of them were read."""
        np.add.at(self.days, (idle, gap, rate), 1.0)
        np.add.at(self.reads, (idle[read], gap[read], rate[read]), 1.0)

    def hazard(self) -> Floats:
        """Chance of a read per day, for (idle band, gap band, rate band)."""
        base = (self.reads.sum() + FIRST_RATE * FIRST_DAYS) / (self.days.sum() + FIRST_DAYS)
        by_idle = _drawn(self.reads.sum((1, 2)), self.days.sum((1, 2)), base)
        by_rate = _drawn(self.reads.sum(1), self.days.sum(1), by_idle[:, None])
        return _drawn(self.reads, self.days, by_rate[:, None, :])


def _drawn(reads: Floats, days: Floats, towards: Floats | float) -> Floats:
    return np.asarray((reads + PRIOR_DAYS * towards) / (days + PRIOR_DAYS))
