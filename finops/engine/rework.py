"""Rework: the hours a Spot run is expected to do again because it was interrupted.

Interruptions are taken as a Poisson process with a constant hazard (interruptions an hour of running). Work
since the last checkpoint is lost, a restart takes a fixed time, and the next attempt meets the same hazard.
A piece of work of length c then takes, in expectation,

    T(c) = (exp(hazard * c) - 1) * (1 / hazard + restart)        hours; T(c) -> c for hazard -> 0

and a run of h hours with a checkpoint every c is floor(h / c) pieces of c and one of the rest. Rework is
their sum minus h. Without checkpoints the whole run is one piece: an interruption loses all of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

# The Spot Advisor states the share of instances reclaimed "during the trailing month"; a month of 30 days
# is meant.
BAND_HOURS = 30 * 24.0
# Its last band is open (">20 %"). Its upper edge is an assumption: no source states one.
OPEN_BAND_HIGH = 0.50


@dataclass(frozen=True, slots=True)
class Hazard:
    """Interruptions an hour of running: expected value, bounds, and where they come from."""

    low: float
    expected: float
    high: float
    source: str

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.expected <= self.high < math.inf:
            raise ValueError(f"hazards out of order: {self.low}, {self.expected}, {self.high}")


def hazard_from_band(low_share: float, high_share: float | None, *, source: str) -> Hazard:
    """Hazard of a Spot Advisor band given as shares of instances interrupted in a month; None = open upwards.

    share = 1 - exp(-hazard * 720 h), so hazard = -ln(1 - share) / 720. Expected is the middle of the band.

    >>> round(hazard_from_band(0.05, 0.10, source="5-10%").expected, 7)
    0.0001083
    """
    high = OPEN_BAND_HIGH if high_share is None else high_share
    if not 0 <= low_share <= high < 1:
        raise ValueError(f"a band from {low_share} to {high}")
    rates = [-math.log1p(-share) / BAND_HOURS for share in (low_share, (low_share + high) / 2, high)]
    return Hazard(rates[0], rates[1], rates[2], source)


def measured_hazard(per_hour: float, *, source: str = "measured") -> Hazard:
    """A hazard that was measured: no band around it."""
    return Hazard(per_hour, per_hour, per_hour, source)


def _piece_hours(hours: float, hazard: float, restart: float) -> float:
    exponent = hazard * hours
    if exponent == 0.0:
        return hours
    if exponent > 50.0:  # e**50 h: such a piece never ends, and exp would overflow soon after
        return math.inf
    # The formula above with 1 / hazard multiplied out: for the smallest hazards 1 / hazard is no float.
    lost = math.expm1(exponent)
    return hours * (lost / exponent) + lost * restart


def rework_hours(
    hours: float, hazard: float, *, checkpoint_hours: float | None = None, restart_hours: float = 0.0
) -> float:
    """Expected hours done again; inf when a piece is so long that it is never finished.

    `hours` of work > 0, `hazard` interruptions an hour >= 0, `checkpoint_hours` None = no checkpoints.

    >>> rework_hours(8, 0.0)
    0.0
    >>> round(rework_hours(8, 0.01, checkpoint_hours=1.0, restart_hours=0.1), 4)
    0.0482
    """
    if hazard == 0.0:
        return 0.0
    piece = hours if checkpoint_hours is None else min(checkpoint_hours, hours)
    whole = int(hours / piece + 1e-9)
    rest = max(0.0, hours - whole * piece)
    total = whole * _piece_hours(piece, hazard, restart_hours)
    if rest > 1e-9:
        total += _piece_hours(rest, hazard, restart_hours)
    return max(0.0, total - hours)
