"""Prices of volumes, gateways, balancers, addresses and databases. Grain: one row per provider, region,
service, name, detail and day (`data/resource_prices.csv`, with the sources); buckets are in
`storage_classes`. Exact decimals in `currency` per `unit`.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache
from pathlib import Path

from finops.frames.cost_items import Sku
from finops.frames.storage_classes import price_bands, storage_classes

_TABLE = Path(__file__).parent / "data" / "resource_prices.csv"


@dataclass(frozen=True, slots=True)
class ResourcePrice:
    """`up_to`: the most units of one resource for which it holds; None: any number. `later`: it is dated
    after the day that was asked for. `bands`: (from so many units on, price) of what lies beyond the first
    band.
    """

    price: Decimal
    currency: str
    up_to: Decimal | None
    as_of: date
    source: str
    later: bool = False
    bands: tuple[tuple[Decimal, Decimal], ...] = ()


@cache
def _rows() -> dict[tuple[str, Sku], tuple[ResourcePrice, ...]]:
    found: dict[tuple[str, Sku], list[ResourcePrice]] = {}
    with _TABLE.open(newline="", encoding="utf-8") as handle:
        for row in csv.DictReader(line for line in handle if not line.startswith("#")):
            sku = Sku(row["service"], row["region"], row["name"], row["detail"])
            price = ResourcePrice(
                price=Decimal(row["price"]),
                currency=row["currency"],
                up_to=Decimal(row["up_to"]) if row["up_to"] else None,
                as_of=date.fromisoformat(row["as_of"]),
                source=row["source"],
            )
            found.setdefault((row["provider"], sku), []).append(price)
    return {key: tuple(sorted(prices, key=lambda p: p.as_of)) for key, prices in found.items()}


def resource_price(provider: str, sku: Sku, on: date) -> ResourcePrice | None:
    """The newest price dated at or before a day, else the nearest later one, marked; None for none."""
    if sku.service == "s3":
        return _bucket_price(provider, sku, on)
    prices = _rows().get((provider, sku), ())
    earlier = [price for price in prices if price.as_of <= on]
    if earlier:
        return earlier[-1]
    if not prices:
        return None
    first = prices[0]
    return ResourcePrice(first.price, first.currency, first.up_to, first.as_of, first.source, later=True)


def _bucket_price(provider: str, sku: Sku, on: date) -> ResourcePrice | None:
    """`detail`: storage, put or get (per 1,000)."""
    found = storage_classes(provider, sku.region, on).get(sku.name)
    if found is None:
        return None
    price = {
        "storage": found.per_gib_month,
        "put": found.put_per_1000,
        "get": found.get_per_1000,
    }[sku.detail]
    if sku.detail != "storage":
        return ResourcePrice(price, found.currency, None, found.valid_from, found.source)
    bands, up_to = price_bands(provider, sku.region, sku.name, on)
    return ResourcePrice(price, found.currency, up_to, found.valid_from, found.source, bands=bands)
