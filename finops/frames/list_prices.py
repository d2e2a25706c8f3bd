"""On-demand list prices. Grain: one row per price list date and priced kind of instance hour.

Key: (provider, region, instance_type, operating_system, licence, tenancy, currency, effective_from); a key
has one price. `price` is an exact decimal in `currency` per instance-hour, above zero: a list that says 0
names no price. `effective_from` is the date of the list (aware UTC): the price holds from there to the next
list that names the key.
"""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import NamedTuple

from finops.frames.money import currencies

PRICE_DIGITS = 18
PRICE_DECIMALS = 10
SHARED = "shared"


class ListPriceKey(NamedTuple):
    """What is priced, and by which list."""

    provider: str
    region: str
    instance_type: str
    operating_system: str
    licence: str
    tenancy: str
    currency: str
    effective_from: datetime


class ListPrice(NamedTuple):
    """One price of one list."""

    key: ListPriceKey
    price: Decimal


def check(row: ListPrice) -> str:
    """The reason why a row is not a list price, or an empty text."""
    key = row.key
    for name in ("provider", "region", "instance_type", "operating_system", "licence", "tenancy", "currency"):
        if not getattr(key, name):
            return f"{name} is empty"
    if key.currency not in currencies():
        return f"currency is none of ISO 4217: {key.currency[:60]!r}"
    if key.effective_from.tzinfo is not UTC:
        return "effective_from is not in UTC"
    return price_problem(row.price)


def price_problem(price: Decimal) -> str:
    """Why a number cannot be a price per instance-hour, or an empty text."""
    if not price.is_finite():
        return "price is not a number"
    if price <= 0:
        return "price is not above zero"
    if price >= 10 ** (PRICE_DIGITS - PRICE_DECIMALS):
        return "price has too many digits"
    exponent = price.normalize().as_tuple().exponent
    if isinstance(exponent, int) and -exponent > PRICE_DECIMALS:
        return f"price has more than {PRICE_DECIMALS} decimals"
    return ""
