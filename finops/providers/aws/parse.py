"""Spot price pages into the shared frame. Pure: what `client.py` brought goes in, a `SpotBatch` comes out.

Quirks: prices are decimal text; Timestamps are already aware datetimes when botocore parsed the page; a key
that AWS left out makes the row a rejection; a zone name belongs to the account that asked, its id comes
from the account's own zone map.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from finops.frames.spot import INSTANT
from finops.providers.base import SpotBatch
from finops.providers.spot_rows import SpotContext, spot_batch

# Field of the frame -> key of the answer
KEYS = {
    "at": "Timestamp",
    "price": "SpotPrice",
    "zone": "AvailabilityZone",
    "zone_id": "AvailabilityZoneId",
    "instance_type": "InstanceType",
    "product": "ProductDescription",
}


def spot_page(context: SpotContext, rows: Sequence[Mapping[str, Any]], *, file: str) -> SpotBatch:
    """One page; `row` is the 1-based position in SpotPriceHistory."""
    columns = {
        field: pa.array([row.get(key) for row in rows], INSTANT if field == "at" else pa.string())
        for field, key in KEYS.items()
    }
    return spot_batch(context, file, columns, np.arange(1, len(rows) + 1, dtype=np.int64), KEYS)


def zone_map(zones: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Zone name -> zone id, for the zones that have both."""
    return {zone["ZoneName"]: zone["ZoneId"] for zone in zones if zone.get("ZoneName") and zone.get("ZoneId")}
