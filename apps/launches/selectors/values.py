"""Values as documents show them."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal


def decimal_text(value: Decimal | None) -> str | None:
    """A decimal string without an exponent or trailing zeros."""
    if value is None:
        return None
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def iso(moment: datetime) -> str:
    """ISO 8601 UTC ending in Z."""
    return moment.isoformat().replace("+00:00", "Z")


def iso_or_none(moment: datetime | None) -> str | None:
    """As `iso`; null stays null."""
    return None if moment is None else iso(moment)
