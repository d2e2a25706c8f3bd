"""Rates of AWS savings plans: answers of `DescribeSavingsPlansOfferingRates`, and the public price list.

Quirks: the API gives one rate a usage type with its properties as a list of name and value, and no date:
the caller says when it was asked. `DescribeSavingsPlansOfferings` has no rates: its rows are only counted.
The price list names a plan's region by its location, a rate's by the prefix of its usage type: the prefix
is learned from the plans for one family in the same file, never guessed. Rates of Fargate, Lambda, of
unused capacity and of dedicated hosts are about something else. Sources: the Savings Plans API reference
and the price list of AWSComputeSavingsPlan, read 2026-11.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from finops.frames.commitments import PlanKind
from finops.frames.list_prices import SHARED
from finops.frames.products import product
from finops.frames.savings_plans import PlanPrice, PlanPriceKey
from finops.frames.sizes import family_of
from finops.providers.aws.locations import currency_problem, region_code
from finops.providers.aws.offers import PROVIDER, decimal_price
from finops.providers.aws.reading import Reading, instant
from finops.providers.aws.reserved_offers import PAYMENTS

RESULTS = "searchResults"
MONTHS_BY_SECONDS = {31_536_000: 12, 94_608_000: 36}
_MONTHS_BY_TERM = {"1yr": 12, "3yr": 36}
_PLANS = {
    "Compute": PlanKind.COMPUTE, "EC2Instance": PlanKind.INSTANCE,
    "ComputeSavingsPlans": PlanKind.COMPUTE, "EC2InstanceSavingsPlans": PlanKind.INSTANCE,
}  # fmt: skip
_BOX = re.compile(r"^(?:([A-Z0-9]+)-)?BoxUsage:([a-z0-9-]+\.[a-z0-9-]+)$")
# Source: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/billing-info-fields.html
_OPERATIONS = {
    "RunInstances": ("linux", "none"), "RunInstances:0002": ("windows", "included"),
    "RunInstances:0010": ("rhel", "none"), "RunInstances:000g": ("suse", "none"),
    "RunInstances:0800": ("windows", "byol"),
}  # fmt: skip
_Found = PlanPrice | tuple[str, str] | str


def is_plan_answer(document: Any) -> bool:
    """Whether a JSON document is an answer about savings plans."""
    return isinstance(document, dict) and isinstance(document.get(RESULTS), list)


def is_plan_list(document: Any) -> bool:
    """Whether a JSON document is a price list of savings plans."""
    terms = document.get("terms") if isinstance(document, dict) else None
    return isinstance(terms, dict) and isinstance(terms.get("savingsPlan"), list)


def read_plan_rates(
    document: Mapping[str, Any], *, seen_at: datetime, first_row: int = 1
) -> Reading[PlanPrice]:
    """Rates of one answer, dated by the day it was given."""
    day = seen_at.replace(hour=0, minute=0, second=0, microsecond=0)
    found = ((row, _of_answer(rate, day)) for row, rate in enumerate(document[RESULTS], start=first_row))
    return _reading(found)


def _reading(found: Iterator[tuple[int, _Found]]) -> Reading[PlanPrice]:
    reading: Reading[PlanPrice] = Reading()
    for row, one in found:
        if isinstance(one, PlanPrice):
            reading.rows.append((row, one))
        elif isinstance(one, str):
            reading.ignored[one] += 1
        else:
            reading.refuse(row, *one)
    return reading


def _of_answer(rate: Any, day: datetime) -> _Found:
    """A rate; or what else it is about; or (field, reason)."""
    if not isinstance(rate, dict):
        return "", "no object"
    offering = rate.get("savingsPlanOffering")
    if not isinstance(offering, dict):
        return "offering without rates" if "offeringId" in rate else ("savingsPlanOffering", "missing")
    if rate.get("productType") != "EC2":
        return f"rate of {rate.get('productType') or 'no product'}"
    told = {str(p.get("name")): str(p.get("value") or "") for p in rate.get("properties") or []}
    box = _BOX.match(str(rate.get("usageType") or ""))
    if box is None:
        return "usage that is not BoxUsage"
    meant = product(told.get("productDescription", ""))
    if meant is None:
        return "productDescription", f"not known: {told.get('productDescription')!r}"
    if meant.software:
        return "preinstalled software"
    if told.get("tenancy", SHARED).casefold() != SHARED:
        return f"tenancy {told['tenancy']}"
    seconds = offering.get("durationSeconds")
    return _price(
        plan=str(offering.get("planType") or ""), region=told.get("region", ""), instance_type=box[2],
        system=(meant.operating_system, meant.licence),
        payment=str(offering.get("paymentOption") or ""),
        months=MONTHS_BY_SECONDS.get(seconds) if isinstance(seconds, int) else None,
        currency=str(offering.get("currency") or ""), price=str(rate.get("rate") or ""), day=day,
        offering=str(offering.get("offeringId") or ""),
    )  # fmt: skip


def _price(
    *, plan: str, region: str, instance_type: str, system: tuple[str, str], payment: str,
    months: int | None, currency: str, price: str, day: datetime, offering: str,
) -> PlanPrice | tuple[str, str]:  # fmt: skip
    kind, code = _PLANS.get(plan), region_code(region)
    if kind is None:
        return "planType", f"not known: {plan!r}"
    if not code:
        return "region", f"no known region: {region!r}"
    if payment not in PAYMENTS:
        return "paymentOption", f"not known: {payment!r}"
    if months is None:
        return "durationSeconds", "neither one year nor three"
    if not currency:
        return "currency", "empty"
    if problem := currency_problem(code, currency):
        return "currency", problem
    hourly = decimal_price(price)
    if not isinstance(hourly, Decimal):
        return "rate", hourly
    family = family_of(instance_type) if kind is PlanKind.INSTANCE else ""
    key = PlanPriceKey(
        PROVIDER, kind.value, code, family, instance_type, *system, SHARED, PAYMENTS[payment], months,
        currency, day,
    )  # fmt: skip
    return PlanPrice(key, hourly, offering)


def read_plan_list(document: Mapping[str, Any]) -> Reading[PlanPrice]:
    """Rates of a price list; `row` counts the rates in the order of the file."""
    published = instant(str(document.get("publicationDate", "")))
    if published is None:
        return Reading.unreadable("no date of publication", "publicationDate")
    products = {str(one.get("sku")): one for one in document.get("products") or [] if isinstance(one, dict)}
    regions = _regions_by_prefix(document, products)
    return _reading(_of_list(document, products, regions, published))


def _rates(document: Mapping[str, Any]) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
    row = 0
    for term in document["terms"]["savingsPlan"]:
        for rate in term.get("rates") or []:
            row += 1
            yield row, str(term.get("sku")), rate


def _regions_by_prefix(document: Mapping[str, Any], products: Mapping[str, Any]) -> dict[str, str]:
    """Prefix of usage types -> region, as plans for one family tell it; what two tell is left out."""
    told: dict[str, set[str]] = {}
    for _row, sku, rate in _rates(document):
        attributes = (products.get(sku) or {}).get("attributes") or {}
        prefix = str(rate.get("discountedUsageType", "")).partition("-")
        code = region_code(str(attributes.get("regionCode") or attributes.get("location") or ""))
        if code:
            name = prefix[0] if prefix[0].isupper() and prefix[2] else ""
            told.setdefault(name, set()).add(code)
    return {prefix: codes.pop() for prefix, codes in told.items() if len(codes) == 1}


def _of_list(
    document: Mapping[str, Any], products: Mapping[str, Any], regions: Mapping[str, str], day: datetime
) -> Iterator[tuple[int, _Found]]:
    for row, sku, rate in _rates(document):
        plan = products.get(sku)
        yield row, ("sku", f"no plan {sku!r}") if plan is None else _of_rate(plan, rate, regions, day)


def _of_rate(
    plan: Mapping[str, Any], rate: Mapping[str, Any], regions: Mapping[str, str], day: datetime
) -> _Found:
    if rate.get("discountedServiceCode") != "AmazonEC2":
        return f"rate of {rate.get('discountedServiceCode') or 'no service'}"
    box = _BOX.match(str(rate.get("discountedUsageType") or ""))
    if box is None:
        return "usage that is not BoxUsage"
    operation = str(rate.get("discountedOperation") or "RunInstances")
    if operation not in _OPERATIONS:
        return f"operation {operation}"
    attributes = plan.get("attributes") or {}
    region = str(rate.get("discountedRegionCode") or attributes.get("regionCode") or "")
    region = region or regions.get(box[1] or "", "")
    if not region:
        return "discountedUsageType", f"no plan of this file tells the region of {box[1] or 'no prefix'}"
    price = rate.get("discountedRate") or {}
    return _price(
        plan=str(plan.get("productFamily") or ""), region=region, instance_type=box[2],
        system=_OPERATIONS[operation], payment=str(attributes.get("purchaseOption") or ""),
        months=_MONTHS_BY_TERM.get(str(attributes.get("purchaseTerm"))),
        currency=str(price.get("currency") or ""), price=str(price.get("price") or ""), day=day,
        offering="",
    )  # fmt: skip
