"""What it costs to bring data to another region: amount times a dated price per GB of that pair of regions.

The provider bills "GB" of 2**30 bytes, so GiB in, no conversion. The data is copied once for the run,
whatever the number of instances. Inside a region the copy between a bucket and an instance is free; traffic
between zones of one region, volumes, machine images and public IPv4 addresses are not part of this figure
(docs/algorithms/advice.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TransferPrice:
    """Price of one GB from one region to another, in `currency`, with the date and source it was read at."""

    per_gb: float
    currency: str
    source: str


TransferPrices = Mapping[tuple[str, str], TransferPrice]


def transfer_cost(
    data_gib: float | None, data_region: str, run_region: str, prices: TransferPrices, *, currency: str
) -> float | None:
    """Cost in `currency` of having the data where the run is; None when it is unknown.

    Unknown: no amount was given, or the price of this pair of regions is not loaded or in another currency.
    No data or the same region: 0.
    """
    if data_gib is None:
        return None
    if data_gib == 0 or data_region == run_region:
        return 0.0
    price = prices.get((data_region, run_region))
    if price is None or price.currency != currency:
        return None
    return data_gib * price.per_gb
