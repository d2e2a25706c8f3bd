"""Where a workload may run and what its home is: candidates, and what was set aside with the reason."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from finops.engine.plans import Forecaster, Market, Reason
from finops.engine.series import Floats, Ints, from_us
from finops.engine.workload import Workload, candidate_series

NO_SERIES = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Excluded:
    """A place or type that was allowed and not used. `zone` '' = every zone, `region` '' = every region.

    `reason`: "unknown" (no price), "invalid price", "late" (`detail`: when it was last seen), "flagged"
    (`detail`: the flag), "currency" (`detail`: its own), "never finishes" (interrupted too often).
    """

    region: str
    zone: str
    instance_type: str
    reason: str
    detail: str = ""


@dataclass(frozen=True)
class Places:
    """Series by role; indices into the market's book.

    `usable`: candidates with a price now, `prices` theirs. `home`: the series run today, None when there is
    none (`home_reason` says why). `base_type` is the type run today, `zone` the usable series of that type
    in the home region: those a start now in the cheapest zone chooses from. `trusted`: every series that no
    flag forbids.
    """

    types: tuple[str, ...]
    usable: Ints
    prices: Floats
    base_type: str
    home_region: str
    home: int | None
    home_reason: Reason
    zone: Ints
    trusted: Ints
    currency: str | None
    excluded: tuple[Excluded, ...]


def find_places(workload: Workload, market: Market, forecaster: Forecaster) -> Places:
    """The roles of the market's series for this workload."""
    book = market.book
    types = workload.types or market.fitting
    trusted = np.array([i for i, key in enumerate(book.keys) if key not in market.flags], np.int64)
    allowed = candidate_series(book, types=types, zones=workload.zones, regions=workload.regions)
    prices = forecaster.prices(allowed)
    currency = _currency(workload, market, forecaster, allowed, prices)
    excluded = [*_absent(workload, market, types, allowed)]
    keep = []
    for position, series in enumerate(allowed.tolist()):
        why = _unusable(market, forecaster, series, float(prices[position]), currency)
        if why is None:
            keep.append(position)
        else:
            excluded.append(why)
    usable, prices = allowed[keep], prices[keep]
    home, home_reason = _home(workload, market, forecaster, types, currency)
    home_region = book.keys[home].region if home is not None else _region_of(workload, market)
    base_type = (
        book.keys[home].instance_type
        if home is not None
        else _base_type(workload, market, types, usable, prices, home_region)
    )
    zone = np.array(
        [
            i
            for i in usable.tolist()
            if book.keys[i].region == home_region and book.keys[i].instance_type == base_type
        ],
        np.int64,
    )
    return Places(
        types=types,
        usable=usable,
        prices=prices,
        base_type=base_type,
        home_region=home_region,
        home=home,
        home_reason=home_reason,
        zone=zone,
        trusted=trusted,
        currency=currency,
        excluded=tuple(excluded),
    )


def _region_of(workload: Workload, market: Market) -> str:
    for key in market.book.keys:
        if key.zone == workload.home_zone:
            return key.region
    return workload.regions[0]


def _currency(
    workload: Workload, market: Market, forecaster: Forecaster, allowed: Ints, prices: Floats
) -> str | None:
    """The currency of the answer: that of home, else of most candidates with a price, else of a list
    price.
    """
    keys = market.book.keys
    for key in keys:
        if key.zone == workload.home_zone and (not workload.types or key.instance_type == workload.types[0]):
            return key.currency
    known = [
        keys[i].currency for i, price in zip(allowed.tolist(), prices, strict=True) if np.isfinite(price)
    ]
    if known:
        return max(sorted(set(known)), key=known.count)
    listed = sorted({price.currency for price in market.list_prices.values()})
    return listed[0] if listed else None


def _absent(workload: Workload, market: Market, types: tuple[str, ...], allowed: Ints) -> list[Excluded]:
    """Named types without a single series where they may run; types found by size have no such
    expectation.
    """
    if workload.by_size:
        return []
    present = {market.book.keys[i].instance_type for i in allowed.tolist()}
    absent = [kind for kind in types if kind not in present]
    return [
        Excluded("", "", kind, "invalid price", market.invalid[kind])
        if kind in market.invalid
        else Excluded("", "", kind, "unknown")
        for kind in absent
    ]


def _unusable(
    market: Market,
    forecaster: Forecaster,
    series: int,
    price: float,
    currency: str | None,
    *,
    home: bool = False,
) -> Excluded | None:
    """Why a series is no candidate, or no home: what bars the one need not bar the other."""
    flags = market.flags if not home or market.home_flags is None else market.home_flags
    key = market.book.keys[series]

    def because(reason: str, detail: str = "") -> Excluded:
        return Excluded(key.region, key.zone, key.instance_type, reason, detail)

    if key.currency != currency:
        return because("currency", key.currency)
    if not np.isfinite(price):
        past = forecaster.past
        if past.known_offsets[series + 1] == past.known_offsets[series]:
            return because("unknown")
        return because("late", f"{from_us(forecaster.seen_us(series)):%Y-%m-%dT%H:%M:%SZ}")
    if key in flags:
        return because("flagged", flags[key])
    return None


def _home(
    workload: Workload,
    market: Market,
    forecaster: Forecaster,
    types: tuple[str, ...],
    currency: str | None,
) -> tuple[int | None, Reason]:
    """The series run today: the first named type in the home zone, or the cheapest fitting one there."""
    if not workload.home_zone:
        return None, Reason("not given")
    wanted = types[:1] if workload.types else types
    there = candidate_series(market.book, types=wanted, zones=(workload.home_zone,))
    if not len(there):
        return None, Reason("unknown", (("zone", workload.home_zone), ("type", wanted[0] if wanted else "")))
    prices = forecaster.prices(there)
    order = np.argsort(np.where(np.isfinite(prices), prices, np.inf), kind="stable")
    first: Reason | None = None
    for position in order.tolist():
        series = int(there[position])
        why = _unusable(market, forecaster, series, float(prices[position]), currency, home=True)
        if why is None:
            return series, Reason("")
        first = first or Reason(
            why.reason, (("zone", why.zone), ("type", why.instance_type), ("detail", why.detail))
        )
    return None, first or Reason("unknown")


def _base_type(
    workload: Workload,
    market: Market,
    types: tuple[str, ...],
    usable: Ints,
    prices: Floats,
    region: str,
) -> str:
    """Without a home: the first named type with a price in the region, or the cheapest fitting one there."""
    there = [
        (price, market.book.keys[i].instance_type)
        for i, price in zip(usable.tolist(), prices.tolist(), strict=True)
        if market.book.keys[i].region == region
    ]
    if workload.by_size:
        return min(there)[1] if there else (types[0] if types else "")
    priced = {kind for _, kind in there}
    return next((kind for kind in types if kind in priced), types[0])
