"""An order of Reserved Instances: how it is filled, and what the provider holds that may have come of it.

Money is exact. A second-hand offering groups listings of several prices; the provider fills an order from
the cheapest on, so an order is priced from all of them, never from the one that was looked at.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from finops.frames.offers import Offer, OfferingClass, OfferKey, OfferKind
from finops.frames.owned import Owned


@dataclass(frozen=True, slots=True)
class Fill:
    """How many units of an order cost `price` each, paid once."""

    price: Decimal
    count: int


@dataclass(frozen=True, slots=True)
class Order:
    """What is ordered. `limit` caps what the whole order costs at once; None: the price is fixed (new)."""

    offer: str
    quantity: int
    limit: Decimal | None
    currency: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an order's reservations look like once they are there."""

    key: OfferKey
    offering_class: str
    payment: str
    currency: str


def fills(listings: Sequence[Offer], quantity: int) -> list[Fill] | None:
    """How an order is filled from one offering's listings, the cheapest first; None: not that many."""
    left, found = quantity, []
    for one in sorted(listings, key=lambda listing: listing.fixed):
        take = left if one.count is None else min(left, one.count)
        if take > 0:
            found.append(Fill(one.fixed, take))
            left -= take
    return None if left > 0 else found


def once_of(filled: Sequence[Fill]) -> Decimal:
    """What an order costs at once."""
    return sum((fill.price * fill.count for fill in filled), Decimal(0))


def is_market(listings: Sequence[Offer]) -> bool:
    """Whether the offering is second-hand: only such an order takes a limit."""
    return any(one.kind == OfferKind.SECOND_HAND for one in listings)


def came_of(
    wanted: Wanted, held: Sequence[Owned], *, before: Collection[str], since: datetime
) -> list[Owned]:
    """The reservations that an order may have brought: not there before, begun since, of its kind.

    A class counts only where both sides say it.
    """
    key = wanted.key
    found = []
    for one in held:
        like = (one.provider, one.region, one.zone, one.platform, one.tenancy, one.instance_type)
        same = like == (key.provider, key.region, key.zone, key.platform, key.tenancy, key.instance_type)
        known = OfferingClass.UNKNOWN not in {wanted.offering_class, one.offering_class}
        if (
            same
            and one.id not in before
            and one.start >= since
            and (one.payment, one.currency) == (wanted.payment, wanted.currency)
            and (not known or one.offering_class == wanted.offering_class)
        ):
            found.append(one)
    return found
