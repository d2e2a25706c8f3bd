"""Offers of a plan in the order in which they are tried, and what a turn costs: low, expected, high."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from math import isfinite
from typing import Any, NamedTuple

from apps.accounts.models import Organisation
from apps.launches.models import LaunchTarget
from apps.prices.selectors.list_prices import on_demand_price
from finops.engine.launches.worst_case import Prospect, stated_high

# Spot places of a plan; the rest of the advice would hardly ever be reached.
SPOT_OFFERS = 12
OFFER_KEYS = (
    "market", "region", "zone", "zone_name", "type", "price", "currency", "cost", "cost_low", "cost_high",
    "start", "reason",
)  # fmt: skip


class Costs(NamedTuple):
    """Of one turn with all machines. `high_is` says what the worst case is made of."""

    low: Decimal | None
    expected: Decimal | None
    high: Decimal | None
    currency: str
    high_is: str


def offers_from_advice(
    advice: Mapping[str, Any], question: Mapping[str, Any], organisation: Organisation, now: datetime, *,
    fixed_start: bool = False,
) -> list[dict[str, Any]]:  # fmt: skip
    """The advised plan first, then each other place once, Spot by cost, then on demand by cost.

    On demand is there for each type of the plan, also where advice did not rank it: it is the fallback.
    With `fixed_start` the ranks count as they are; a plan that would wait longer is the same place.
    """
    spots: list[dict[str, Any]] = []
    others: list[dict[str, Any]] = []
    seen: set[tuple[Any, ...]] = set()
    ranked = list(advice.get("plans") or [])
    for one in ranked:
        key = (one["market"], one["region"], one["zone"] if one["market"] == "spot" else None, one["type"])
        if key in seen or one["price"] is None:
            continue
        seen.add(key)
        offer = {name: one.get(name) for name in OFFER_KEYS}
        if one["market"] == "spot":
            spots.append(offer)
        else:
            others.append({**offer, "zone": None, "zone_name": None})
    others += _fallbacks(spots, others, question, now)
    if not ranked:
        return []
    first = ranked[0]["market"]
    others.sort(key=lambda one: Decimal(str(one["cost"] or one["price"])))
    spots = [spots[0], *sorted(spots[1:], key=_cost)][:SPOT_OFFERS] if spots else []
    return [*others[:1], *spots, *others[1:]] if first != "spot" else [*spots, *others]


def own_offer(target: LaunchTarget, question: Mapping[str, Any]) -> dict[str, Any]:
    """The one offer of a place of one's own: its price an hour where the target says it."""
    price, count = target.settings.get("price"), int(question.get("count") or 1)
    cost = None if price is None else Decimal(str(price)) * Decimal(repr(float(question["hours"]))) * count
    return {
        "market": "on-demand", "region": "", "zone": None, "zone_name": None,
        "type": str(target.settings.get("type") or ""), "price": None if price is None else str(price),
        "currency": target.settings.get("currency") or None, "cost": None if cost is None else str(cost),
        "cost_low": None, "cost_high": None, "start": None, "reason": None,
    }  # fmt: skip


def own_offers(target: LaunchTarget, question: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Offers of a place of one's own: nodes of a Spot pool first, where the target says their price."""
    plain, price = own_offer(target, question), target.settings.get("spot_price")
    if price is None:
        return [plain]
    cost = Decimal(str(price)) * Decimal(repr(float(question["hours"]))) * int(question.get("count") or 1)
    return [{**plain, "market": "spot", "price": str(price), "cost": str(cost)}, plain]


def costs_of(
    offers: Sequence[Mapping[str, Any]], *, hours: float, restart_hours: float, slack_hours: float
) -> Costs:
    """Costs of the first offer; the worst case is the dearer of its own high end and of losing a whole run on
    Spot, its start included, and doing all of the work on demand (once: a second loss is less likely than the
    90 % interval, and asks before it passes what was approved).

    `slack_hours` bounds what can be lost before on-demand takes over.
    """
    first = offers[0]
    currency = str(first.get("currency") or "")
    expected = _money(first.get("cost"))
    if expected is None or not currency:
        return Costs(None, None, None, "", "no price is known")
    low = min(_money(first.get("cost_low")) or expected, expected)
    high = max(_money(first.get("cost_high")) or expected, expected)
    if first["market"] != "spot":
        return Costs(low, expected, high, currency, "on demand")
    fallback = next(
        (one for one in offers if one["market"] != "spot" and one.get("currency") == currency), None
    )
    if fallback is None:
        return Costs(low, expected, high, currency, "Spot only: nothing else has a price")
    work = Decimal(repr(hours))
    worst = stated_high(
        Prospect(
            left=work,
            unsaved=work,
            start=Decimal(repr(restart_hours)),
            spot=expected / work,
            on_demand=(_money(fallback.get("cost")) or Decimal(0)) / work,
            lost=Decimal(repr(max(0.0, slack_hours))) if isfinite(slack_hours) else None,
        )
    )
    if worst is None or worst <= high:
        return Costs(low, expected, high, currency, "the high end of the interval")
    return Costs(low, expected, worst, currency, "a run lost on Spot, then all of it on demand")


def _fallbacks(
    spots: Sequence[Mapping[str, Any]], others: Sequence[Mapping[str, Any]], question: Mapping[str, Any],
    now: datetime,
) -> list[dict[str, Any]]:  # fmt: skip
    """On-demand offers of the Spot places' types that have none yet, by the list."""
    found: list[dict[str, Any]] = []
    have = {(one["region"], one["type"]) for one in others}
    hours = Decimal(repr(float(question["hours"]))) * int(question.get("count") or 1)
    discount = 1 - Decimal(repr(float(question.get("discount_pct") or 0.0))) / 100
    for one in spots:
        key = (one["region"], one["type"])
        if key in have:
            continue
        have.add(key)
        listed = on_demand_price(
            provider=str(question.get("provider") or "aws"), region=one["region"], instance_type=one["type"],
            product=str(question.get("product") or ""), at=now,
        )  # fmt: skip
        if listed is None or listed.currency != one["currency"]:
            continue
        price = listed.price * discount
        found.append({
            "market": "on-demand", "region": one["region"], "zone": None, "zone_name": None,
            "type": one["type"], "price": format(price, "f"), "currency": listed.currency,
            "cost": format(price * hours, "f"), "cost_low": None, "cost_high": None, "start": None,
            "reason": None,
        })  # fmt: skip
    return found


def _cost(offer: Mapping[str, Any]) -> Decimal:
    return Decimal(str(offer["cost"] if offer["cost"] is not None else offer["price"]))


def _money(value: Any) -> Decimal | None:
    return None if value is None else Decimal(str(value))
