"""Spot prices as they were over a period: the mean by time of each zone, and what of the period is known."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import NamedTuple

import numpy as np

from apps.ingest.selectors import price_snapshots
from apps.prices.selectors.books import loaded_book
from finops.engine.runs import mean_prices
from finops.engine.series import to_us
from finops.lake import SPOT_CHANGES, SPOT_KNOWN


class ZoneMean(NamedTuple):
    """Mean price of an instance-hour over the known part of the period, and its share of the period."""

    instance_type: str
    price: float
    zone: str
    known_share: float
    currency: str


def zone_means(
    *,
    provider: str,
    region: str,
    types: Collection[str],
    platform: str,
    start: datetime,
    end: datetime,
    snapshots: Mapping[str, int],
) -> list[ZoneMean]:
    """A row for each type and zone that has a known price in [start, end)."""
    if end <= start or SPOT_CHANGES not in snapshots or SPOT_KNOWN not in snapshots:
        return []
    loaded = loaded_book(
        provider=provider, regions=[region], types=sorted(types), product=platform,
        snapshots=price_snapshots(snapshots),
    )  # fmt: skip
    means, known = mean_prices(loaded.book, to_us(start), to_us(end))
    hours = (end - start).total_seconds() / 3600
    return [
        ZoneMean(
            key.instance_type, price, loaded.zone_names.get(key.zone, key.zone), share / hours, key.currency
        )
        for key, price, share in zip(loaded.book.keys, means.tolist(), known.tolist(), strict=True)
        if np.isfinite(price) and share > 0
    ]
