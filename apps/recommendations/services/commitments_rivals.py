"""Other ways to pay for the hours of a pool: Spot as measured, new terms, savings plans.

Each rival is always named beside an offer; where its price is not known the reason stands in its place.
Spot: the mean by time over the look-back of the cheapest zone of the region, for each type that makes up the
pool, weighted by its use; known for at least half of the period or not known.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from apps.recommendations.services.spot_measured import zone_means
from finops.engine.commitments.evaluate import Rival
from finops.engine.commitments.pools import PoolBook, PoolUse
from finops.engine.commitments.refusal import Refusal, refuse
from finops.frames.offers import Offer, OfferKey, OfferKind

SPOT = "spot"
# Names of rivals in the order in which they are told, with what they stand for.
LISTED: tuple[tuple[str, OfferKind, int], ...] = (
    ("new-1y", OfferKind.NEW, 12),
    ("new-3y", OfferKind.NEW, 36),
    ("savings-plan-1y", OfferKind.SAVINGS_PLAN, 12),
    ("savings-plan-3y", OfferKind.SAVINGS_PLAN, 36),
)
NAMES = ("on-demand", SPOT, *(name for name, _kind, _months in LISTED))
KNOWN_SHARE = 0.5
MONTH_HOURS = 730
# (mean price, zone, share of the period that is known) of a (region, type, platform); None: no series.
SpotMean = Callable[[str, str, str], "tuple[float, str, float] | None"]


@dataclass(frozen=True)
class Known:
    """A rival's price of a unit-hour with what it is called, or the reason why there is none."""

    name: str
    price: float | None
    detail: str = ""
    reason: Refusal | None = None


class Rivals:
    """Rivals of each pool, worked out once."""

    def __init__(self, book: PoolBook, offers: Sequence[Offer], spot: SpotMean, currency: str) -> None:
        self._book, self._spot, self._currency = book, spot, currency
        self._new: dict[OfferKey, list[Offer]] = {}
        for offer in offers:
            if offer.kind is not OfferKind.SECOND_HAND and offer.currency == currency:
                self._new.setdefault(offer.key, []).append(offer)
        self._pools: dict[OfferKey, tuple[Known, ...]] = {}

    def __call__(self, key: OfferKey, units: Decimal) -> tuple[Rival, ...]:
        """The rivals with a price: what the engine compares with."""
        return tuple(
            Rival(one.name, one.price, one.name != SPOT) for one in self.of(key) if one.price is not None
        )

    def of(self, key: OfferKey) -> tuple[Known, ...]:
        """All rivals of the pool that an offer of this key draws on, known or not."""
        place = OfferKey(key.provider, key.region, key.zone, key.platform, key.tenancy, key.instance_type)
        found = self._pools.get(place)
        if found is None:
            use = self._book.find(key)
            found = () if isinstance(use, Refusal) else (self._measured(use), *self._listed(use))
            self._pools[place] = found
        return found

    def for_key(self, key: OfferKey) -> list[Known]:
        """New terms and plans for what a commitment of this key applies to, whatever use there is."""
        own = self._book.pool(key)
        candidates = [
            (offer, float(self._book.units(offer.key)))
            for other, offers in self._new.items()
            if self._book.pool(other) == replace(own, zone="")
            for offer in offers
        ]
        return self._cheapest(candidates, key.region)

    def _measured(self, use: PoolUse) -> Known:
        """Spot for the same types, weighted by use."""
        total, weight, zones = 0.0, 0.0, []
        by_type: dict[tuple[str, str, str], float] = {}
        for key, part in zip(use.keys, use.parts, strict=True):
            name = (key.region, key.instance_type, key.platform)
            by_type[name] = by_type.get(name, 0.0) + part
        for (region, kind, platform), part in sorted(by_type.items()):
            if part <= 0:
                continue
            found = self._spot(region, kind, platform)
            shared = " of shared hours" if len(by_type) > 1 else ""
            if found is None:
                return Known(SPOT, None, reason=refuse(f"no spot price{shared}", type=kind, region=region))
            mean, zone, share = found
            if share < KNOWN_SHARE:
                told = f"{share * 100:.0f}"
                reason = refuse(f"spot known too little{shared}", type=kind, share_pct=told)
                return Known(SPOT, None, reason=reason)
            size = self._book.size(kind) if use.pool.flexible else 1.0
            total, weight = total + part * mean / size, weight + part
            zones.append(f"{kind} {zone}")
        return Known(SPOT, total / weight, ", ".join(zones))

    def _listed(self, use: PoolUse) -> list[Known]:
        """The cheapest new term and plan of each length, a unit-hour at full use."""
        candidates = [
            (offer, units)
            for key, offers in self._new.items()
            if (units := self._units_for(key, use)) is not None
            for offer in offers
        ]
        return self._cheapest(candidates, use.pool.region)

    def _cheapest(self, candidates: Sequence[tuple[Offer, float]], region: str) -> list[Known]:
        found = []
        for name, kind, months in LISTED:
            prices = [
                (float(offer.total / offer.duration_hours) / units, offer.offer)
                for offer, units in candidates
                if offer.kind is kind and round(offer.duration_hours / MONTH_HOURS) == months
            ]
            if prices:
                price, detail = min(prices)
                found.append(Known(name, price, detail))
            else:
                reason = refuse("no listed price", what=name, region=region)
                found.append(Known(name, None, reason=reason))
        return found

    def _units_for(self, key: OfferKey, use: PoolUse) -> float | None:
        """Units of the pool that one instance of this key pays for; None: it does not draw on that use."""
        other = self._book.find(key)
        if isinstance(other, Refusal) or not set(use.keys) <= set(other.keys):
            return None
        units = float(self._book.units(key))
        if other.pool.flexible and not use.pool.flexible:
            return units / self._book.size(use.keys[0].instance_type)
        return units if other.pool.flexible == use.pool.flexible else None


def spot_means(
    *,
    used: Collection[OfferKey],
    start: datetime,
    end: datetime,
    snapshots: Mapping[str, int],
    currency: str,
) -> SpotMean:
    """Reads Spot as it was in [start, end); one book a region and platform, read when first asked for."""
    types: dict[tuple[str, str], set[str]] = {}
    for key in used:
        types.setdefault((key.region, key.platform), set()).add(key.instance_type)
    provider = next((key.provider for key in used), "")
    places: dict[tuple[str, str], dict[str, tuple[float, str, float]]] = {}

    def mean(region: str, kind: str, platform: str) -> tuple[float, str, float] | None:
        place = (region, platform)
        if place not in places:
            names = sorted(types.get(place, {kind}))
            places[place] = _means(provider, region, names, platform, (start, end), snapshots, currency)
        return places[place].get(kind)

    return mean


def _means(
    provider: str,
    region: str,
    types: Sequence[str],
    platform: str,
    period: tuple[datetime, datetime],
    snapshots: Mapping[str, int],
    currency: str,
) -> dict[str, tuple[float, str, float]]:
    """(mean, zone, known share) by type; the cheapest zone among those that are known long enough."""
    best: dict[str, tuple[bool, float, str, float]] = {}
    for one in zone_means(
        provider=provider, region=region, types=types, platform=platform, start=period[0], end=period[1],
        snapshots=snapshots,
    ):  # fmt: skip
        if one.currency == currency:
            row = (one.known_share < KNOWN_SHARE, one.price, one.zone, one.known_share)
            best[one.instance_type] = min(best.get(one.instance_type, row), row)
    return {kind: (price, zone, share) for kind, (_short, price, zone, share) in best.items()}
