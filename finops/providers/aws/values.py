"""Cells of AWS's answers, as boto3 gives them and as the command line interface prints them.

Quirks: numbers come as numbers or as text and are taken as their shortest text; times come as datetime
(boto3), as ISO 8601 text or, from old versions of the interface, as seconds since 1970.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from finops.providers.aws.reading import instant

# 1 January 2200: a larger number of seconds is no time of a commitment.
_LAST_SECOND = 7_258_118_400


def decimal_of(value: Any) -> Decimal | None:
    """The exact number; None for anything that is none."""
    if value is None or isinstance(value, bool):
        return None
    try:
        number = Decimal(value.strip() if isinstance(value, str) else repr(value))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def moment_of(value: Any) -> datetime | None:
    """The aware UTC instant, whole seconds; None for anything that is none."""
    if isinstance(value, datetime):
        found: datetime | None = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    elif isinstance(value, str):
        found = instant(value)
    elif isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < _LAST_SECOND:
        found = datetime.fromtimestamp(value, UTC)
    else:
        found = None
    return None if found is None else found.replace(microsecond=0)


def hourly_of(charges: Any) -> Decimal | None:
    """The sum of recurring charges an hour; None where one has another frequency or no amount."""
    if charges is None:
        return Decimal(0)
    if not isinstance(charges, Sequence) or isinstance(charges, str):
        return None
    total = Decimal(0)
    for charge in charges:
        amount = decimal_of(charge.get("Amount")) if isinstance(charge, Mapping) else None
        if amount is None or charge.get("Frequency") != "Hourly":
            return None
        total += amount
    return total
