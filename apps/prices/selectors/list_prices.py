"""On-demand list prices by instant: the newest list at or before it, else the first later one, marked; else
nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from django.db import connection
from django.db.models import Max

from apps.prices.models import ListPrice
from finops.frames.list_prices import SHARED
from finops.frames.products import product as product_of

# Price tables of one region and product kept per process; a region has about a thousand types and twenty
# lists.
_TABLES_KEPT = 64


class OnDemandPrice(NamedTuple):
    """Price per instance-hour, the date of its list, and whether that list is later than was asked for."""

    price: Decimal
    currency: str
    listed_on: datetime
    later_prices: bool
    source: str


class _Dated(NamedTuple):
    dates: list[datetime]
    prices: list[tuple[Decimal, str, str]]


def on_demand_price(
    *, provider: str, region: str, instance_type: str, product: str, at: datetime
) -> OnDemandPrice | None:
    """The list price of one type; None where no list names it, or the product text is not known."""
    return on_demand_prices(
        provider=provider, region=region, product=product, at=at, instance_types=[instance_type]
    ).get(instance_type)


def on_demand_prices(
    *,
    provider: str,
    region: str,
    product: str,
    at: datetime,
    instance_types: Collection[str] | None = None,
) -> dict[str, OnDemandPrice]:
    """The list price of each type of a region (or of the given ones); a type that no list names is not in it.

    Shared tenancy. `product` is a product text ("Linux/UNIX"); texts of one meaning have one price.
    """
    asked = product_of(product, provider=provider)
    if asked is None or asked.software:
        return {}
    version = ListPrice.objects.aggregate(newest=Max("pk"))["newest"]
    if version is None:
        return {}
    table = _table(provider, region, asked.operating_system, asked.licence, version)
    wanted = table.keys() if instance_types is None else [name for name in instance_types if name in table]
    return {name: _at(table[name], at) for name in wanted}


def price_list_dates(*, provider: str = "aws", region: str = "") -> list[datetime]:
    """The dates of the lists that are loaded, oldest first."""
    lists = ListPrice.objects.filter(provider=provider)
    if region:
        lists = lists.filter(region=region)
    return list(lists.order_by("effective_from").values_list("effective_from", flat=True).distinct())


def _at(dated: _Dated, at: datetime) -> OnDemandPrice:
    position = bisect_right(dated.dates, at) - 1
    later = position < 0
    position = max(position, 0)
    price, currency, source = dated.prices[position]
    return OnDemandPrice(price, currency, dated.dates[position], later, source)


@lru_cache(maxsize=_TABLES_KEPT)
def _table(provider: str, region: str, system: str, licence: str, version: int) -> dict[str, _Dated]:
    """All lists of one region and product; rows are only added, so the newest id names the state of the
    table.
    """
    table: dict[str, _Dated] = {}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT instance_type, effective_from, price, currency, source FROM prices_listprice "
            "WHERE provider = %s AND region = %s AND operating_system = %s AND licence = %s AND tenancy = %s "
            "AND id <= %s ORDER BY instance_type, effective_from, id",
            [provider, region, system, licence, SHARED, version],
        )
        for name, effective_from, price, currency, source in cursor.fetchall():
            dated = table.setdefault(name, _Dated([], []))
            dated.dates.append(effective_from)
            dated.prices.append((price, currency, source))
    return table
