"""What no offer or commitment exceeds: texts and numbers beyond it are a broken file, not a bargain."""

from __future__ import annotations

from decimal import Decimal

WIDTHS = {
    "offer": 100, "id": 100, "account": 64, "region": 40, "zone": 40, "platform": 60, "tenancy": 20,
    "instance_type": 60, "family": 60, "offering_class": 20, "currency": 3,
}  # fmt: skip
MOST = {
    "fixed": Decimal(10**12), "hourly": Decimal(10**8), "commitment_per_hour": Decimal(10**8),
    "duration_hours": Decimal(10**6), "count": Decimal(2**31),
}  # fmt: skip


def beyond(name: str, value: object) -> str:
    """Why a value is beyond what its field can be, or an empty text."""
    if isinstance(value, str):
        if "\x00" in value:
            return "has a null character"
        return f"is longer than {WIDTHS[name]} characters" if len(value) > WIDTHS[name] else ""
    too_large = isinstance(value, int | Decimal) and value >= MOST[name]
    return "is too large" if too_large else ""
