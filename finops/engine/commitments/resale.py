"""Which Reserved Instances may be sold, and what is left of their price.

The rules come from a dated table (`finops.frames.resale`); each refusal names its rule. What is not known
counts as not allowed: a class that the source does not name is not sold.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from finops.engine.commitments.refusal import Refusal, refuse
from finops.engine.commitments.terms import (
    hours_between,
    last_with_months,
    months_begun,
    term_months,
    whole_months,
)
from finops.frames.commitments import Reserved
from finops.frames.owned import FOR_SALE
from finops.frames.resale import ResaleRules

ACTIVE = "active"
UNPAID = frozenset({"payment-pending", "payment-failed", "queued"})


@dataclass(frozen=True, slots=True)
class Seller:
    """Who sells. None: not told; then the rule is named as a condition, it refuses nothing."""

    bank_country: str | None = None
    legal_entity: str | None = None
    opt_in_regions: frozenset[str] = frozenset()


NOBODY = Seller()


def sale_refusal(
    owned: Reserved, rules: ResaleRules | None, *, now: datetime, seller: Seller = NOBODY
) -> Refusal | None:
    """Why this reservation may not be listed at `now`, the first rule that speaks; None: it may."""
    if rules is None:
        return refuse("no market", provider=owned.key.provider)
    if owned.offering_class != rules.offering_class:
        return refuse(owned.offering_class.value + (" class" if owned.offering_class == "unknown" else ""))
    if owned.listing in FOR_SALE:
        return refuse("already listed")
    if owned.state in UNPAID:
        return refuse("not paid yet")
    if owned.state != ACTIVE:
        return refuse("not active", state=owned.state)
    return _of_time(owned, rules, now) or _of_place(owned, rules, seller)


def _of_time(owned: Reserved, rules: ResaleRules, now: datetime) -> Refusal | None:
    if now - owned.start < timedelta(days=rules.minimum_hold_days) and owned.fixed != 0:
        return refuse("younger than the minimum hold", days=rules.minimum_hold_days)
    if whole_months(now, owned.end) < rules.minimum_left_months:
        return refuse("less than one month left", months=rules.minimum_left_months)
    return None


def _of_place(owned: Reserved, rules: ResaleRules, seller: Seller) -> Refusal | None:
    if rules.discounted_barred and owned.discounted:
        return refuse("bought at a discount")
    region = owned.key.region
    if region.startswith(rules.barred_region_prefixes) and rules.barred_region_prefixes:
        return refuse("region without resale", region=region)
    if rules.opt_in_regions_barred and region in seller.opt_in_regions:
        return refuse("opt-in region", region=region)
    if seller.legal_entity in rules.barred_sellers:
        return refuse("seller barred", entity=seller.legal_entity)
    if seller.bank_country is not None and seller.bank_country != rules.bank_country:
        return refuse("bank outside", country=rules.bank_country)
    return None


def conditions(owned: Reserved, rules: ResaleRules, seller: Seller = NOBODY) -> tuple[Refusal, ...]:
    """Rules that could not be checked here, as the conditions under which a sale stands."""
    open_ones = []
    if seller.bank_country is None:
        open_ones.append(refuse("bank outside", country=rules.bank_country))
    if rules.discounted_barred and owned.discounted is None:
        open_ones.append(refuse("bought at a discount"))
    return tuple(open_ones)


@dataclass(frozen=True, slots=True)
class Proceeds:
    """What a sale brings: the one-time price a buyer pays, the fee of it, what the seller receives."""

    price: Decimal
    fee: Decimal
    receives: Decimal


def proceeds(price: Decimal, rules: ResaleRules) -> Proceeds:
    """The seller's side of one unit sold at `price`."""
    fee = price * rules.seller_fee
    return Proceeds(price, fee, price - fee)


def residual(fixed: Decimal, start: datetime, end: datetime, now: datetime) -> Decimal:
    """The part of a one-time price that the whole months left stand for: fixed x months left / months of
    the term.

    The months used count from the start; a month begun is used. The term is as many months as its hours make:
    a provider counts years of 365 days and may name the last second, so that the calendar between start and
    end is short of them by a second, or by a leap day.
    """
    months = term_months(hours_between(start, end))
    if months <= 0 or now >= end:
        return Decimal(0)
    return fixed * max(0, months - months_begun(start, now)) / months


def price_schedule(price: Decimal, now: datetime, end: datetime) -> tuple[tuple[int, datetime, Decimal], ...]:
    """(whole months left, from when, price) as the marketplace lowers it by default: in equal steps to the
    last month.
    """
    months = whole_months(now, end)
    return tuple(
        (left, now if left == months else max(now, last_with_months(end, left + 1)), price * left / months)
        for left in range(months, 0, -1)
    )
