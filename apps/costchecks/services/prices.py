"""The prices that a check asks for: list prices, the launch advice's Spot prices, the dated tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from apps.accounts.models import Organisation
from apps.catalog.models import InstanceType
from apps.prices.selectors.list_prices import on_demand_prices
from apps.recommendations.services import advise_launch
from apps.storage.selectors.prices import own_prices
from finops.engine.checks.pricing import Price, PriceKey
from finops.engine.checks.tables import table_price
from finops.engine.workload import WorkloadError
from finops.frames.cost_items import MACHINE, MachineFacts, Range, Sku, spot_zone

# Launch advice takes a second or so each; a plan with more kinds of Spot machines is told what was left out.
MOST_SPOT = 12
# A Spot price is that of a day's run begun now, with the interval that advice gives it.
SPOT_HOURS = 24
PROVIDER = "aws"
# The item of the organisation's own storage prices behind each component of a bucket.
STORAGE_ITEMS = {"storage": "per_gib_month", "put": "put_per_1000", "get": "get_per_1000"}


def check_prices(
    keys: Collection[PriceKey], *, at: datetime, organisation: Organisation
) -> tuple[dict[PriceKey, Price], list[str]]:
    """Every price there is, and what was not looked up."""
    found: dict[PriceKey, Price] = {}
    by_region: dict[tuple[str, str], list[Sku]] = {}
    spot = sorted((sku, market) for sku, market in keys if spot_zone(market) is not None)
    for sku, market in sorted(keys):
        if spot_zone(market) is not None:
            continue
        if sku.service == MACHINE:
            by_region.setdefault((sku.region, sku.detail), []).append(sku)
        elif (listed := table_price(PROVIDER, sku, at.date())) is not None:
            found[(sku, market)] = listed
    for (region, product), skus in by_region.items():
        rows = on_demand_prices(
            provider=PROVIDER, region=region, product=product, at=at,
            instance_types=[sku.name for sku in skus],
        )  # fmt: skip
        for sku in skus:
            if (row := rows.get(sku.name)) is not None:
                found[(sku, "on-demand")] = Price(
                    Range.of(row.price), row.currency, row.source, row.listed_on.date().isoformat(),
                    row.later_prices,
                )  # fmt: skip
    for sku, market in spot[:MOST_SPOT]:
        price = spot_price(sku, at=at, organisation=organisation, zone=spot_zone(market) or "")
        if price is not None:
            found[(sku, market)] = price
    _own_storage_prices(found, keys, at.date(), organisation)
    return found, [f"{sku.name} in {spot_zone(market) or sku.region}" for sku, market in spot[MOST_SPOT:]]


def _own_storage_prices(
    found: dict[PriceKey, Price], keys: Collection[PriceKey], on: date, organisation: Organisation
) -> None:
    """The organisation's own prices of buckets in the place of the tables'; an own price has no bands.

    A bucket whose prices are not all in one currency, or not in that of all else, has none: an unpriced part
    is counted, amounts of two currencies are never added.
    """
    buckets = [(sku, market) for sku, market in keys if sku.service == "s3"]
    for region in {sku.region for sku, _ in buckets}:
        newest = {
            (row.storage_class, row.item): row
            for row in sorted(own_prices(organisation, PROVIDER, region), key=lambda row: row.on)
            if row.on <= on
        }
        for sku, market in buckets:
            if sku.region != region:
                continue
            mine = {item: newest.get((sku.name, item)) for item in STORAGE_ITEMS.values()}
            own, listed = mine[STORAGE_ITEMS[sku.detail]], found.get((sku, market))
            if own is not None:
                found[(sku, market)] = Price(
                    Range.of(own.price), own.currency, own.source, own.on.isoformat()
                )
            elif listed is not None and any(row and row.currency != listed.currency for row in mine.values()):
                del found[(sku, market)]
    others = {price.currency for (sku, _), price in found.items() if sku.service != "s3"}
    if len(others) == 1:
        for key in buckets:
            if key in found and found[key].currency not in others:
                del found[key]


def spot_price(sku: Sku, *, at: datetime, organisation: Organisation, zone: str = "") -> Price | None:
    """The hourly Spot price of a type in a zone, else in the cheapest one of its region, as launch advice has
    it.
    """
    try:
        advice = advise_launch(
            hours=SPOT_HOURS, types=[sku.name], regions=[sku.region], product=sku.detail, slack_hours=0.0,
            home_zone=zone or None, at=at, organisation=organisation,
        )  # fmt: skip
    except WorkloadError:
        return None
    home = [advice["home"]] if advice["home"] is not None else []
    plans = [
        plan
        for plan in (home if zone else advice["plans"])
        if plan["market"] == "spot" and plan["type"] == sku.name and plan["cost"] is not None
    ]
    if not plans:
        return None
    best: dict[str, Any] = min(plans, key=lambda plan: Decimal(plan["cost"]))
    return Price(
        hourly(best, Decimal(SPOT_HOURS)),
        best["currency"],
        f"launch advice, {best['zone_name'] or best['region']}",
        best["price_at"],
        sample=advice["backtest"]["decisions"] or None,
    )


def hourly(plan: Mapping[str, Any], hours: Decimal) -> Range:
    """The price of an hour of a plan, with its interval."""
    low, expected, high = (
        Decimal(plan[name] or plan["cost"]) / hours for name in ("cost_low", "cost", "cost_high")
    )
    return Range(min(low, expected), expected, max(high, expected))


def machine_facts(name: str) -> MachineFacts | None:
    """The size of an instance type; None where the catalogue does not know it."""
    found = InstanceType.objects.filter(provider=PROVIDER, name=name).first()
    if found is None or not found.vcpus or not found.memory_mib:
        return None
    return MachineFacts(Decimal(found.vcpus), Decimal(found.memory_mib))
