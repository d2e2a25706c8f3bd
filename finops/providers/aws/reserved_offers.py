"""Offers of Reserved Instances: answers of `DescribeReservedInstancesOfferings`, saved or live.

Quirks: `Duration` is in seconds and converted here once (31,536,000 are a year of 365 days);
`Marketplace` tells second-hand from new; a second-hand offering groups listings of several prices in
`PricingDetails` (price, count), each of them an offer here, `FixedPrice` is then only the lowest; a new
one has one price and no count, or one of PricingDetails without a count; `RecurringCharges` have a
frequency, only hourly is known; `AvailabilityZone` is there only for a zonal offer (`Scope`). Prices are
numbers in the answer: taken as their shortest text. A region is not in the answer: the caller gives it,
or the zone's name tells it. Source: the EC2 API reference, read 2026-11.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any

from tenacity.wait import wait_base

from finops.frames.offers import (
    SECONDS_PER_HOUR,
    Offer,
    OfferingClass,
    OfferKey,
    OfferKind,
    check,
    platform_of,
)
from finops.providers.aws.client import BACK_OFF, patiently
from finops.providers.aws.offers import PROVIDER
from finops.providers.aws.reading import Reading
from finops.providers.aws.session import Access, account_id, ec2, open_session
from finops.providers.aws.values import decimal_of, hourly_of
from finops.providers.base import PermanentError

OFFERINGS = "ReservedInstancesOfferings"
PAGE_ROWS = 100
PAYMENTS = {"All Upfront": "all-upfront", "No Upfront": "no-upfront", "Partial Upfront": "partial-upfront"}
_ZONE = re.compile(r"^([a-z]{2}(?:-[a-z]+)+-\d)[a-z]?")


def is_offerings(document: Any) -> bool:
    """Whether a JSON document is such an answer."""
    return isinstance(document, dict) and isinstance(document.get(OFFERINGS), list)


def read_offerings(
    document: Mapping[str, Any], *, seen_at: datetime, region: str = "", first_row: int = 1
) -> Reading[Offer]:
    """The offers of one answer; `row` is the position of the offering. One bad offering is one refusal."""
    reading: Reading[Offer] = Reading()
    for row, offering in enumerate(document[OFFERINGS], start=first_row):
        found = _offers(offering, seen_at, region) if isinstance(offering, dict) else ("", "no object")
        if isinstance(found, tuple):
            reading.refuse(row, *found)
        else:
            reading.rows += [(row, offer) for offer in found]
    return reading


def _offers(offering: Mapping[str, Any], seen_at: datetime, region: str) -> list[Offer] | tuple[str, str]:
    """The offers of an offering, or (field, reason)."""
    zone = str(offering.get("AvailabilityZone") or "")
    region = region or region_of_zone(zone)
    if not region:
        return "AvailabilityZone", "no region: name it with --region"
    platform = platform_of(str(offering.get("ProductDescription") or ""))
    if not platform:
        return "ProductDescription", f"not known: {offering.get('ProductDescription')!r}"
    hourly = hourly_of(offering.get("RecurringCharges") or [])
    seconds, fixed = decimal_of(offering.get("Duration")), decimal_of(offering.get("FixedPrice"))
    if hourly is None:
        return "RecurringCharges", "a frequency other than Hourly, or no amount"
    if seconds is None or fixed is None:
        return ("Duration" if seconds is None else "FixedPrice"), "no number"
    market = bool(offering.get("Marketplace"))
    listed = _listed(offering.get("PricingDetails") or [], fixed, market=market)
    if listed is None:
        return "PricingDetails", "a price or count that is no number"
    kind = OfferKind.SECOND_HAND if market else OfferKind.NEW
    key = OfferKey(
        PROVIDER,
        region,
        zone,
        platform,
        str(offering.get("InstanceTenancy") or ""),
        str(offering.get("InstanceType") or ""),
    )
    offers = [
        Offer(
            offer=str(offering.get("ReservedInstancesOfferingId") or ""),
            kind=kind,
            key=key,
            offering_class=class_of(offering.get("OfferingClass")),
            payment=PAYMENTS.get(str(offering.get("OfferingType")), "other"),
            duration_hours=seconds / SECONDS_PER_HOUR,
            fixed=price,
            hourly=hourly,
            currency=str(offering.get("CurrencyCode") or ""),
            count=count,
            seen_at=seen_at,
        )
        for price, count in listed
    ]
    problem = (
        "offering id is empty" if not offers[0].offer else next((p for p in map(check, offers) if p), "")
    )
    return (problem.partition(" ")[0], problem) if problem else offers


def region_of_zone(zone: str) -> str:
    """The region that a zone's name tells; an empty text where it tells none."""
    found = _ZONE.match(zone)
    return found[1] if found else ""


def class_of(text: Any) -> OfferingClass:
    """The class a text names; unknown where it names none."""
    known = {one.value: one for one in OfferingClass}
    return known.get(str(text or "").casefold(), OfferingClass.UNKNOWN)


def _listed(
    details: Sequence[Mapping[str, Any]], fixed: Decimal, *, market: bool
) -> list[tuple[Decimal, int | None]] | None:
    """(price, how many) of each listing; a new offer is not limited."""
    if not market or not details:
        return [(fixed, None)]
    if not isinstance(details, list) or not all(isinstance(one, Mapping) for one in details):
        return None
    listed: list[tuple[Decimal, int | None]] = []
    for one in details:
        price, count = decimal_of(one.get("Price")), decimal_of(one.get("Count"))
        if price is None or count is None or count != count.to_integral_value():
            return None
        listed.append((price, int(count)))
    return sorted(listed, key=lambda item: item[0])


# Filters and parameters of the call, of the API reference; a parameter takes one value.
FILTERS = frozenset(
    {
        "availability-zone", "duration", "fixed-price", "instance-type", "marketplace", "product-description",
        "reserved-instances-offering-id", "scope", "usage-price",
    }
)  # fmt: skip
PARAMETERS: dict[str, type] = {
    "InstanceTenancy": str, "OfferingClass": str, "OfferingType": str, "MinDuration": int,
    "MaxDuration": int, "MaxInstanceCount": int,
}  # fmt: skip


def question_problem(asked: Mapping[str, Sequence[str]]) -> str:
    """Why these are no filters or parameters of the call, or an empty text."""
    for name, values in asked.items():
        if name not in FILTERS and name not in PARAMETERS:
            return f"{name}: neither a filter nor a parameter of DescribeReservedInstancesOfferings"
        if not values or not all(isinstance(value, str) and value for value in values):
            return f"{name}: no value"
        if name in PARAMETERS and len(values) > 1:
            return f"{name}: takes one value"
        if PARAMETERS.get(name) is int and not values[0].isdecimal():
            return f"{name}: no whole number: {values[0]!r}"
    return ""


def offering_pages(
    client: Any,
    *,
    region: str,
    filters: Mapping[str, Sequence[str]] | None = None,
    back_off: wait_base = BACK_OFF,
) -> Iterator[Mapping[str, Any]]:
    """All pages with the marketplace, until NextToken is empty; a page may be empty and not the last.

    `filters`: names and values of the API's own, filters and parameters alike. Raises TransientError or
    PermanentError.
    """
    wanted: dict[str, Any] = {"IncludeMarketplace": True, "MaxResults": PAGE_ROWS}
    if problem := question_problem(filters or {}):
        raise PermanentError(problem)
    named = {name: list(values) for name, values in (filters or {}).items() if name in FILTERS}
    if named:
        wanted["Filters"] = [{"Name": name, "Values": values} for name, values in named.items()]
    for name, values in (filters or {}).items():
        if name in PARAMETERS:
            wanted[name] = PARAMETERS[name](values[0])
    seen: set[str] = set()
    token, number = "", 0
    while True:
        number += 1
        answer = patiently(
            partial(
                client.describe_reserved_instances_offerings,
                **wanted,
                **({"NextToken": token} if token else {}),
            ),
            doing=f"reading reservations on offer in {region}, page {number}",
            back_off=back_off,
        )
        yield answer
        token = answer.get("NextToken") or ""
        if not token:
            return
        if token in seen:
            raise PermanentError(f"AWS repeats a page token in {region} (page {number}): stopped.")
        seen.add(token)


def live_offerings(
    access: Access,
    *,
    region: str,
    seen_at: datetime,
    account: str = "",
    filters: Mapping[str, Sequence[str]] | None = None,
    back_off: wait_base | None = None,
) -> Reading[Offer]:
    """All offers of a region as the account sees them. Raises TransientError or PermanentError.

    The marketplace hides an account's own listings from it; with `account` the credentials must be its.
    """
    session = open_session(access, region=region)
    if account and account != (found := account_id(session, access, region=region)):
        raise PermanentError(
            f"The credentials belong to account {found}, the feed is set up for {account}: "
            "correct one of them."
        )
    whole: Reading[Offer] = Reading()
    row = 1
    pages = offering_pages(
        ec2(session, access, region=region), region=region, filters=filters, back_off=back_off or BACK_OFF
    )
    for page in pages:
        part = read_offerings(
            {OFFERINGS: page.get(OFFERINGS) or []}, seen_at=seen_at, region=region, first_row=row
        )
        whole.rows += part.rows
        whole.refused += part.refused
        row += len(page.get(OFFERINGS) or [])
    return whole
