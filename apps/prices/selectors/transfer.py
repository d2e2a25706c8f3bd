"""What moving data costs, by provider; the figures are dated data of the provider's package."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from finops.providers.aws import transfer as aws
from finops.providers.aws.transfer import TransferPrice

_TABLES = {"aws": aws.transfer_price}


def transfer_price(
    *, provider: str, from_region: str, to_region: str, at: datetime, other_zone: bool = False
) -> TransferPrice | None:
    """Price per GiB from one region to another; inside one region free, or between zones with `other_zone`.

    None where the provider or the region that the data leaves has no price in the table.
    """
    table = _TABLES.get(provider)
    return table(from_region, to_region, at=at, other_zone=other_zone) if table else None


def transfer_prices(
    *, provider: str, from_region: str, to_regions: Collection[str], at: datetime
) -> dict[str, TransferPrice]:
    """The price to each region; a region without a price is not in it."""
    prices = {
        region: transfer_price(provider=provider, from_region=from_region, to_region=region, at=at)
        for region in to_regions
    }
    return {region: price for region, price in prices.items() if price is not None}
