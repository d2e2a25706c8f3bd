"""Prices for tests of cost checks: the dated table of resources, and made-up prices of instances."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from decimal import Decimal

from finops.engine.checks.alternatives import spot_keys, volume_keys
from finops.engine.checks.pricing import Price, PriceKey, keys_of
from finops.frames.cost_items import MACHINE, ON_DEMAND, Range, Resource
from finops.frames.resource_prices import resource_price

MACHINES = {"c5.4xlarge": "0.68", "m5.xlarge": "0.192", "m5.2xlarge": "0.384", "r5.xlarge": "0.252"}
SPOTS = {"c5.4xlarge": ("0.20", "0.25", "0.32"), "m5.xlarge": ("0.07", "0.08", "0.09")}


def prices_of(resources: Iterable[Resource]) -> dict[PriceKey, Price]:
    """Every price that there is for the resources, in US dollars."""
    rows = list(resources)
    found: dict[PriceKey, Price] = {}
    for key in keys_of(rows) | spot_keys(rows) | volume_keys(rows):
        sku, market = key
        if sku.service != MACHINE:
            listed = resource_price("aws", sku, date(2026, 11, 30))
            if listed is not None:
                amount = Range.of(listed.price)
                found[key] = Price(
                    amount,
                    listed.currency,
                    listed.source,
                    "2026-11-30",
                    up_to=listed.up_to,
                    bands=listed.bands,
                )
        elif market == ON_DEMAND and sku.name in MACHINES:
            found[key] = Price(Range.of(Decimal(MACHINES[sku.name])), "USD", "test", "2026-07-20")
        elif market != ON_DEMAND and sku.name in SPOTS:
            low, expected, high = (Decimal(text) for text in SPOTS[sku.name])
            found[key] = Price(Range(low, expected, high), "USD", "test", "2026-11-29")
    return found
