"""How often Spot is taken away, by published band: the newest at or before an instant, else the first later
one, marked.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import NamedTuple

from apps.prices.models import InterruptionBand
from finops.frames.products import product as product_of


class BandAnswer(NamedTuple):
    """Half-open share of instances interrupted within a month (0-1); a null `high` is an open top band."""

    low: Decimal
    high: Decimal | None
    label: str
    as_of: date
    later: bool
    source: str


def interruption_band(
    *, provider: str, region: str, instance_type: str, product: str, at: datetime
) -> BandAnswer | None:
    """The band of one type; None where none is published."""
    return interruption_bands(
        provider=provider, region=region, product=product, at=at, instance_types=[instance_type]
    ).get(instance_type)


def interruption_bands(
    *,
    provider: str,
    region: str,
    product: str,
    at: datetime,
    instance_types: Collection[str] | None = None,
) -> dict[str, BandAnswer]:
    """The band of each type of a region (or of the given ones). Bands are published for Linux and Windows."""
    asked = product_of(product, provider=provider)
    if asked is None:
        return {}
    # RHEL and SUSE run on the same pools as Linux; only Windows has a band of its own.
    system = "windows" if asked.operating_system == "windows" else "linux"
    bands = InterruptionBand.objects.filter(provider=provider, region=region, operating_system=system)
    if instance_types is not None:
        bands = bands.filter(instance_type__in=list(instance_types))
    day = at.astimezone(UTC).date()
    found: dict[str, BandAnswer] = {}
    rows = bands.order_by("instance_type", "as_of").values_list(
        "instance_type", "low", "high", "label", "as_of", "source"
    )
    for name, low, high, label, as_of, source in rows:
        later = as_of > day
        if not later or name not in found:
            found[name] = BandAnswer(low, high, label, as_of, later, source)
    return found
