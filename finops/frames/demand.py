"""Hourly use of instances. Grain: one row per hour and place of use.

`hours[i]` is the time that instances of one kind ran in the hour starting at `start + i` hours, in
instance-hours (2.5: two ran all of it and one for half). Spot is not in it: no commitment applies to Spot.
An hour without use is zero; an hour that no bill covers is NaN, which is not zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import numpy as np

from finops.frames.offers import OfferKey

Hours = np.ndarray
HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Use:
    """The hours of one key (with its zone) in one account. Arrays are float64, one value an hour."""

    key: OfferKey
    account: str
    hours: Hours


@dataclass(frozen=True)
class Demand:
    """Use of everything over one range of whole hours [start, start + length)."""

    start: datetime
    length: int
    uses: tuple[Use, ...] = field(default=())

    def __post_init__(self) -> None:
        if self.start.tzinfo is not UTC or self.start.minute or self.start.second or self.start.microsecond:
            raise ValueError("demand starts at a whole hour of UTC")
        wrong = [use.key for use in self.uses if use.hours.shape != (self.length,)]
        if wrong:
            raise ValueError(f"{wrong[0]}: not one value for each of {self.length} hours")

    @property
    def end(self) -> datetime:
        """The first instant after the range."""
        return self.start + self.length * HOUR
