"""What an hour of a commitment's use costs otherwise: the on-demand list price and the Spot price."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

import numpy as np
from django.utils.translation import gettext as _

from apps.billing.selectors.commitments import Standing
from apps.prices.selectors import on_demand_prices
from apps.recommendations.services.spot_measured import ZoneMean, zone_means

DIGITS = Decimal("0.00000001")


class Place(NamedTuple):
    """What a price is of."""

    provider: str
    region: str
    platform: str
    instance_type: str


@dataclass(frozen=True)
class SpotMean:
    """Time-weighted means over the known part of a period, per instance-hour: of the cheapest zone and of
    all zones; `known_share` of the period is known in that cheapest zone.
    """

    cheapest: Decimal
    zone: str
    mean: Decimal
    zones: int
    known_share: float
    currency: str


@dataclass(frozen=True)
class OtherRates:
    """Of one commitment; a price that is not there has its reason in `reasons`, by field."""

    on_demand: Decimal | None
    on_demand_currency: str
    listed_on: datetime | None
    later_prices: bool
    spot: SpotMean | None
    reasons: Mapping[str, str]


def other_rates(
    found: Sequence[Standing],
    *,
    at: datetime,
    start: datetime,
    end: datetime,
    snapshots: Mapping[str, int],
) -> dict[str, OtherRates]:
    """By commitment id. List prices at `at`, Spot prices over [start, end)."""
    places = {one.id: place_of(one) for one in found}
    spot = spot_means([p for p in places.values() if p is not None], start, end, snapshots)
    return {one.id: _rates(one, places[one.id], spot, at) for one in found}


def place_of(one: Standing) -> Place | None:
    """Where its price stands; None where the type, region or platform is not known, or it is no EC2."""
    values = one.values
    if one.service not in ("", "AmazonEC2") or values["tenancy"] not in (None, "default"):
        return None
    if not (values["region"] and values["platform"] and values["instance_type"]):
        return None
    return Place(one.provider, values["region"], values["platform"], values["instance_type"])


def _rates(one: Standing, place: Place | None, spot: Mapping[Place, SpotMean], at: datetime) -> OtherRates:
    if place is None:
        why = (
            _("A savings plan is for many types: the bill's own on-demand prices are compared.")
            if one.kind == "savings-plan"
            else _("Type, region or platform is not known, or the tenancy is not shared.")
        )
        return OtherRates(None, "", None, False, None, {"on_demand_hourly": why, "spot_hourly": why})
    listed = on_demand_prices(
        provider=place.provider,
        region=place.region,
        product=place.platform,
        at=at,
        instance_types=[place.instance_type],
    ).get(place.instance_type)
    reasons = {}
    if listed is None:
        reasons["on_demand_hourly"] = _("No price list has %(type)s in %(region)s.") % {
            "type": place.instance_type,
            "region": place.region,
        }
    measured = spot.get(place)
    if measured is None:
        reasons["spot_hourly"] = _(
            "No Spot price of %(type)s in %(region)s is known in this period: load Spot prices of it."
        ) % {"type": place.instance_type, "region": place.region}
    return OtherRates(
        None if listed is None else listed.price,
        "" if listed is None else listed.currency,
        None if listed is None else listed.listed_on,
        listed is not None and listed.later_prices,
        measured,
        reasons,
    )


def spot_means(
    places: Sequence[Place], start: datetime, end: datetime, snapshots: Mapping[str, int]
) -> dict[Place, SpotMean]:
    """Means over [start, end) of every place that has a known price in it."""
    groups: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for place in places:
        groups[place.provider, place.region, place.platform].add(place.instance_type)
    found: dict[Place, SpotMean] = {}
    for (provider, region, platform), types in sorted(groups.items()):
        zones: dict[str, list[ZoneMean]] = defaultdict(list)
        for one in zone_means(
            provider=provider, region=region, types=types, platform=platform, start=start, end=end,
            snapshots=snapshots,
        ):  # fmt: skip
            zones[one.instance_type].append(one)
        for kind, each in zones.items():
            mean = _mean(each)
            if mean is not None:
                found[Place(provider, region, platform, kind)] = mean
    return found


def _mean(zones: Sequence[ZoneMean]) -> SpotMean | None:
    if len({zone.currency for zone in zones}) != 1:
        return None
    best = min(zones, key=lambda zone: (zone.price, zone.known_share, zone.zone))
    mean = float(np.mean([zone.price for zone in zones]))
    return SpotMean(_price(best.price), best.zone, _price(mean), len(zones), best.known_share, best.currency)


def _price(value: float) -> Decimal:
    return Decimal(repr(value)).quantize(DIGITS)
