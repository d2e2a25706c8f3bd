"""Interruption bands. Grain: one row per provider, region, instance type, operating system and publication
date.

A band is a half-open share of instances interrupted within a month: `low <= share < high`, both in 0..1. It
is published as a band, so nothing finer is stored; the top band ("over 20 %") has no upper end.
`saving_share` is the publisher's own saving against on-demand, for show only;
below 0 where Spot is dearer.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import NamedTuple


class InterruptionBand(NamedTuple):
    """How often a month's instances of one type were interrupted."""

    provider: str
    region: str
    instance_type: str
    operating_system: str
    as_of: date
    low: Decimal
    high: Decimal | None  # None: open, nobody states an upper end
    label: str
    saving_share: Decimal | None


def check(band: InterruptionBand) -> str:
    """The reason why a row is no band, or an empty text."""
    high = Decimal(1) if band.high is None else band.high
    if not (Decimal(0) <= band.low < high <= Decimal(1)):
        return "band does not lie within 0 and 100 %"
    if band.saving_share is not None and band.saving_share > 1:
        return "saving is above 100 %"
    return ""
