"""Made-up Spot price answers in the shape of the API."""

from __future__ import annotations

import json

Row = dict[str, str]


def row(
    price: str,
    at: str,
    zone: str = "us-east-1a",
    kind: str = "m5.large",
    product: str = "Linux/UNIX",
) -> Row:
    """One element of SpotPriceHistory."""
    return {
        "AvailabilityZone": zone,
        "InstanceType": kind,
        "ProductDescription": product,
        "SpotPrice": price,
        "Timestamp": at,
    }


def answer(*rows: Row, indent: int | None = 4) -> str:
    """What `aws ec2 describe-spot-price-history` prints."""
    return json.dumps({"SpotPriceHistory": list(rows)}, indent=indent)
