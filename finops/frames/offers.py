"""What may be bought. Grain: one row per offer as a source showed it at one time.

Money is exact, in `currency`: `fixed` is paid once per unit, `hourly` for every hour of the term, used or
not. A duration says its unit: `duration_hours` are whole or exact fractions (AWS gives seconds: converted
once, by the provider). An offer names its zone or has none (regional). `count` is how many the listing
holds, None: not limited.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from functools import cache

from finops.frames.limits import beyond
from finops.frames.money import currencies
from finops.frames.products import product, products

HOURS_PER_DAY = 24
SECONDS_PER_HOUR = 3600


class OfferKind(StrEnum):
    """Who sells, and what."""

    SECOND_HAND = "second-hand"
    NEW = "new"
    SAVINGS_PLAN = "savings-plan"


class OfferingClass(StrEnum):
    """`unknown`: the source does not say; never taken for a class that may be sold."""

    STANDARD = "standard"
    CONVERTIBLE = "convertible"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class OfferKey:
    """What an offer applies to. `zone` is empty for a regional offer; `platform` is a product text without
    its network part; `tenancy` is default, dedicated or host.
    """

    provider: str
    region: str
    zone: str
    platform: str
    tenancy: str
    instance_type: str


@dataclass(frozen=True, slots=True)
class Offer:
    """One offer; see the module. `offer` is the source's id: one id with two prices is two rows."""

    offer: str
    kind: OfferKind
    key: OfferKey
    offering_class: OfferingClass
    payment: str
    duration_hours: Decimal
    fixed: Decimal
    hourly: Decimal
    currency: str
    count: int | None
    seen_at: datetime

    @property
    def total(self) -> Decimal:
        """The price of one unit with all hourly charges to the end of the term."""
        return self.fixed + self.hourly * self.duration_hours


_KEY_LIMITS = ("region", "zone", "platform", "tenancy", "instance_type")
_LIMITS = ("offer", "currency", "fixed", "hourly", "duration_hours", "count")


def check(offer: Offer) -> str:
    """The reason why a row is no offer, or an empty text."""
    key = offer.key
    for name in ("provider", "region", "platform", "tenancy", "instance_type"):
        if not getattr(key, name):
            return f"{name} is empty"
    if offer.currency not in currencies():
        return (
            f"currency is none of ISO 4217: {offer.currency[:60]!r}"
            if offer.currency
            else "currency is empty"
        )
    if problem := _price_problem(offer):
        return problem
    if not offer.duration_hours.is_finite() or offer.duration_hours <= 0:
        return "duration is not above zero"
    if offer.count is not None and offer.count < 1:
        return "count is not above zero"
    if offer.seen_at.tzinfo is not UTC:
        return "seen_at is not in UTC"
    for holder, names in ((key, _KEY_LIMITS), (offer, _LIMITS)):
        for name in names:
            if reason := beyond(name, getattr(holder, name)):
                return f"{name} {reason}"
    return ""


def _price_problem(offer: Offer) -> str:
    for name in ("fixed", "hourly"):
        value: Decimal = getattr(offer, name)
        if not value.is_finite() or value < 0:
            return f"{name} is not a price"
    # As with Spot and list prices: what costs nothing is a price that was not told.
    return "" if offer.fixed or offer.hourly else "fixed and hourly price are both 0"


@cache
def platform_of(text: str, provider: str = "aws") -> str:
    """A product text without its network part; an empty text where it has no meaning here.

    >>> platform_of("Linux/UNIX (Amazon VPC)")
    'Linux/UNIX'
    """
    meant = product(text, provider=provider)
    if meant is None:
        return ""
    same = [p for p in products() if (p.provider, *p[2:5]) == (meant.provider, *meant[2:5])]
    return next((p.text for p in same if p.network == "any"), meant.text)
