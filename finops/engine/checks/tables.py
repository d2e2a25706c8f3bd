"""What the dated tables that come with the product say: prices of resources, grid intensity of regions."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from decimal import Decimal

from finops.engine.checks.pricing import Price
from finops.frames.cost_items import Range, Resource, Sku
from finops.frames.region_carbon import region_carbon
from finops.frames.resource_prices import resource_price


def table_price(provider: str, sku: Sku, on: date) -> Price | None:
    """The price of a sku that is no machine, per unit; None where no table has it."""
    listed = resource_price(provider, sku, on)
    if listed is None:
        return None
    return Price(
        Range.of(listed.price), listed.currency, listed.source, listed.as_of.isoformat(), listed.later,
        listed.up_to, bands=listed.bands,
    )  # fmt: skip


def carbon_of(provider: str, resources: Iterable[Resource], on: date) -> dict[str, list[tuple[str, Decimal]]]:
    """(publisher, g of CO2e per kWh) of the regions that are there after the change."""
    regions = {one.after.region for one in resources if one.after is not None}
    return {
        region: [(one.publisher, one.g_per_kwh) for one in region_carbon(provider, region, on)]
        for region in regions
    }
