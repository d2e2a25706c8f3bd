"""Reading prices: list prices, interruption bands, transfer prices, Spot price books."""

from apps.prices.selectors.interruption import BandAnswer, interruption_band, interruption_bands
from apps.prices.selectors.list_prices import (
    OnDemandPrice,
    on_demand_price,
    on_demand_prices,
    price_list_dates,
)
from apps.prices.selectors.transfer import transfer_price, transfer_prices

__all__ = [
    "BandAnswer",
    "OnDemandPrice",
    "interruption_band",
    "interruption_bands",
    "on_demand_price",
    "on_demand_prices",
    "price_list_dates",
    "transfer_price",
    "transfer_prices",
]
