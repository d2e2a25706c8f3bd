"""How often to write a checkpoint: Young's and Daly's intervals, and what an interval costs.

With interruptions at random, one in `mean` hours, a checkpoint taking `write` hours after every `interval`
hours of work and `restart` hours to be back, an hour of work takes
`mean * exp(restart / mean) * (exp((interval + write) / mean) - 1) / interval` hours (Daly 2006, eq. 20).
Young (1974): sqrt(2 write mean). Daly's longer series holds also where writing is not short against `mean`.
J. T. Daly, "A higher order estimate of the optimum checkpoint interval", FGCS 22 (2006).
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Interval:
    """`hours` between checkpoints, of work; `stretch`: hours that an hour of work takes with it."""

    hours: float
    stretch: float
    young_hours: float


def stretch(interval: float, *, write: float, mean: float, restart: float) -> float:
    """Hours that an hour of work takes. Infinite where it would never end in any time worth naming."""
    exponent = (interval + write) / mean
    if exponent > 700 or restart / mean > 700:
        return math.inf
    return mean * math.exp(restart / mean) * math.expm1(exponent) / interval


def checkpoint_interval(
    *, write_hours: float, interruptions_per_hour: float, restart_hours: float
) -> Interval:
    """The interval by Daly's estimate.

    Raises ValueError where writing takes no time (then write always) or nothing ever interrupts (never).

    >>> one = checkpoint_interval(write_hours=0.05, interruptions_per_hour=0.1, restart_hours=0.1)
    >>> round(one.young_hours, 4), round(one.hours, 4), round(one.stretch, 4)
    (1.0, 0.9669, 1.1182)
    """
    values = (write_hours, interruptions_per_hour, restart_hours)
    if not all(math.isfinite(value) for value in values) or restart_hours < 0:
        raise ValueError("hours and rates are finite and not below 0")
    if write_hours <= 0:
        raise ValueError("writing a checkpoint takes time: above 0 hours")
    if interruptions_per_hour <= 0:
        raise ValueError("without interruptions no checkpoint is worth its time")
    mean = 1 / interruptions_per_hour
    young = math.sqrt(2 * write_hours * mean)
    hours = mean
    if write_hours < 2 * mean:
        part = write_hours / (2 * mean)
        hours = young * (1 + math.sqrt(part) / 3 + part / 9) - write_hours
    found = stretch(hours, write=write_hours, mean=mean, restart=restart_hours)
    return Interval(hours, found, young)
