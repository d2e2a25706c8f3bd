"""Spot price pages into columns. Pure: what `client.py` brought goes in, a table in the shape of the feed
comes out.

Quirks: prices are decimal text; Timestamps are already aware datetimes when botocore parsed the page; a
price is per instance-hour in USD everywhere but in China (CNY); a zone belongs to the account that asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

PROVIDER = "aws"
SPOT_SCHEMA = pa.schema(
    [
        ("at", pa.timestamp("us", tz="UTC")),
        ("price", pa.string()),
        ("zone", pa.string()),
        ("instance_type", pa.string()),
        ("product", pa.string()),
    ]
)
_KEYS = ("Timestamp", "SpotPrice", "AvailabilityZone", "InstanceType", "ProductDescription")


def spot_table(rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """One row per change in the order of delivery; a key that AWS left out is null (the import refuses the
    row).
    """
    listed = list(rows)
    columns = [[row.get(key) for row in listed] for key in _KEYS]
    return pa.table(
        [pa.array(values, field.type) for values, field in zip(columns, SPOT_SCHEMA, strict=True)],
        schema=SPOT_SCHEMA,
    )


def currency_of(region: str) -> str:
    """What AWS charges in."""
    return "CNY" if region.startswith("cn-") else "USD"
