"""Offers of a plan at the prices of now: a plan may be weeks old when a turn of it is due."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal

import structlog

from apps.ingest.selectors import current_snapshots
from apps.launches.models import Executor, Launch, LaunchPlan, Market
from apps.launches.services.choosing import offers_of
from apps.launches.services.executors import Offer
from apps.prices.selectors.exact import exact_series
from apps.prices.selectors.list_prices import on_demand_price
from finops.engine.series import to_us

log = structlog.get_logger(__name__)
# The price of an offer that is older says nothing about a turn of today.
FRESH = timedelta(hours=24)


def offers_now(row: Launch, now: datetime) -> tuple[list[Offer], int]:
    """(the plan's offers with the prices of now, how many were left out since no price of them is fresh).

    Where no newer price is known the plan's own holds for a day after it was made; of a plan that does not
    repeat it holds until it is due.
    """
    plan = row.plan
    if plan.target.executor not in {Executor.AWS, Executor.SIMULATED}:
        return offers_of(row), 0
    kept: list[Offer] = []
    snapshots = dict(current_snapshots())
    for offer in offers_of(row):
        price = _price(plan, offer, snapshots, now)
        if price is not None:
            kept.append(_at(offer, price))
        elif not plan.repeat or now - plan.requested_at <= FRESH:
            kept.append(offer)
    return kept, len(offers_of(row)) - len(kept)


def _at(offer: Offer, price: Decimal) -> Offer:
    """The offer at another price of an hour; its cost moves with it."""
    old = Decimal(str(offer["price"]))
    moved = {
        name: None
        if not old or offer.get(name) is None
        else format(Decimal(str(offer[name])) * price / old, "f")
        for name in ("cost", "cost_low", "cost_high")
        if name in offer
    }
    return {**offer, "price": format(price, "f"), **moved}


def _price(plan: LaunchPlan, offer: Offer, snapshots: dict[str, int], now: datetime) -> Decimal | None:
    """A machine's hour at this offer now, in the offer's currency; None for no fresh price."""
    product, currency = str(plan.job.get("product") or ""), offer.get("currency")
    if not product or offer.get("price") is None:
        return None
    if offer["market"] == Market.SPOT:
        return _spot(plan, offer, product, snapshots, now)
    listed = on_demand_price(
        provider=plan.target.provider, region=str(offer.get("region") or ""),
        instance_type=str(offer.get("type") or ""), product=product, at=now,
    )  # fmt: skip
    if listed is None or listed.currency != currency:
        return None
    discount = Decimal(repr(float(plan.job.get("discount_pct") or 0.0)))
    return listed.price * (1 - discount / 100)


def _spot(
    plan: LaunchPlan, offer: Offer, product: str, snapshots: dict[str, int], now: datetime
) -> Decimal | None:
    try:
        series = exact_series(
            provider=plan.target.provider, region=str(offer.get("region") or ""),
            instance_type=str(offer.get("type") or ""), zone_key=str(offer.get("zone") or ""),
            product=product, snapshots=snapshots, currency=offer.get("currency"),
        ).until(to_us(now))  # fmt: skip
    except ValueError as error:
        log.info("offer_not_priced", plan=plan.pk, reason=str(error))
        return None
    if not series.known or series.known[-1][1] < to_us(now - FRESH) or not series.prices:
        return None
    return series.prices[-1]
