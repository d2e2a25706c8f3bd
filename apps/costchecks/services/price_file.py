"""The price file of `offpeak check --offline`: prices and policies of a moment, where there is no way here.

It holds what a check asks the database for: list prices of machines, Spot prices that were asked for, sizes
of machines, the stored policies. Tables of other resources come with the client. Budgets are not in it, so a
policy on them cannot be judged without the server.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.conf import settings

from apps.accounts.models import Organisation, Team
from apps.catalog.models import InstanceType
from apps.costchecks.selectors import stored_policies
from apps.costchecks.services.policies import policy_of
from apps.costchecks.services.prices import MOST_SPOT, PROVIDER, spot_price
from apps.prices.models import ListPrice
from apps.prices.selectors.list_prices import on_demand_prices
from finops.engine.checks.policies import document_of
from finops.frames.cost_items import MACHINE, Sku

FORMAT = 1
LINUX = "Linux/UNIX"


def price_file(
    *,
    organisation: Organisation,
    at: datetime,
    team: Team | None = None,
    regions: Sequence[str] = (),
    products: Sequence[str] = (LINUX,),
    spot_types: Sequence[str] = (),
) -> dict[str, Any]:
    """The document. `regions` (): all that have a list price; `spot_types`: whose Spot prices are looked up,
    at most twelve with their regions. Prices are of `at`, as a check would have them then.
    """
    known = set(ListPrice.objects.filter(provider=PROVIDER).values_list("region", flat=True).distinct())
    asked = sorted(known & set(regions)) if regions else sorted(known)
    return {
        "offpeak_price_file": FORMAT,
        "at": at.isoformat().replace("+00:00", "Z"),
        "engine": settings.OFFPEAK_VERSION,
        "team": team.slug if team else None,
        "policies": [
            {"rule": document_of(policy), "set_by": policy.set_by}
            for policy in (policy_of(row) for row in stored_policies(organisation, team))
        ],
        "machines": [row for region in asked for product in products for row in _listed(region, product, at)],
        "spot": _spot(asked, products, spot_types, at, organisation),
        "sizes": {
            name: [vcpus, memory]
            for name, vcpus, memory in InstanceType.objects.filter(provider=PROVIDER)
            .order_by("name")
            .values_list("name", "vcpus", "memory_mib")
            if vcpus and memory
        },
    }


def _listed(region: str, product: str, at: datetime) -> list[list[Any]]:
    rows = on_demand_prices(provider=PROVIDER, region=region, product=product, at=at)
    return [
        [
            region, name, product, str(row.price), row.currency, row.source,
            row.listed_on.date().isoformat(), row.later_prices,
        ]
        for name, row in sorted(rows.items())
    ]  # fmt: skip


def _spot(
    regions: Sequence[str],
    products: Sequence[str],
    types: Sequence[str],
    at: datetime,
    organisation: Organisation,
) -> list[list[Any]]:
    skus = [
        Sku(MACHINE, region, name, product) for region in regions for product in products for name in types
    ]
    found = []
    for sku in skus[:MOST_SPOT]:
        price = spot_price(sku, at=at, organisation=organisation)
        if price is not None:
            ends = [str(end) for end in (price.amount.low, price.amount.expected, price.amount.high)]
            found.append(
                [sku.region, sku.name, sku.detail, *ends, price.currency, price.source, price.listed_on]
            )
    return found
