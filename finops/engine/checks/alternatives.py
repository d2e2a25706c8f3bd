"""Cheaper ways to do the same, each beside its saving a month: low, expected, high. They are never added up.

Spot for machines that may be interrupted: on-demand cost minus Spot cost, at the interval of the Spot price.
gp3 for gp2 of the same size and speed: what gp2 gives by its size (3 operations a second for each GiB, 100 to
16,000; 128 MiB/s up to 170 GiB, 250 MiB/s from 334 GiB on) is bought with gp3, which has 3,000 operations and
125 MiB/s of its own. Between 170 and 334 GiB gp2 reaches 250 MiB/s in bursts: the higher speed is taken.
What launch advice, offers and storage classes say is in the modules beside this one.

Source of the volume rules: "Amazon EBS volume types", Amazon EBS user guide, read 2026-11.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal

from finops.engine.checks.policies import spot_eligible
from finops.engine.checks.pricing import Price, PriceKey, Prices
from finops.frames.cost_items import MACHINE, ON_DEMAND, SPOT, Item, Range, Resource, Sku

GP2_PER_GIB, GP2_LEAST, GP2_MOST = Decimal(3), Decimal(100), Decimal(16000)
GP2_SLOW_UP_TO, GP2_SLOW, GP2_FAST = Decimal(170), Decimal(128), Decimal(250)
GP3_IOPS, GP3_MIBPS = Decimal(3000), Decimal(125)
# Kinds whose amount of GiB is that of one volume; a group's is the sum over its machines.
ONE_VOLUME = frozenset({"aws_ebs_volume", "aws_instance", "PersistentVolumeClaim"})


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a saving rests on. `source` in words, `as_of` its day or instant, `sample` of what (decisions,
    offers, objects); `page` and `query`: where the product shows it; `facts`: further numbers by name.
    """

    source: str
    as_of: str
    sample: int | None = None
    sample_of: str = ""
    page: str = ""
    query: tuple[tuple[str, str], ...] = ()
    facts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Alternative:
    """`kind`: spot, zone, window, second-hand, volume type or storage class. `instead`, `of`: the new and the
    old. The saving is a month's, in `currency`; "": that of the check.
    """

    kind: str
    address: str
    instead: str
    of: str
    saving: Range
    evidence: Evidence
    currency: str = ""


@dataclass(frozen=True, slots=True)
class NotOffered:
    """A way that was looked at. `judged`: it is known and does not save; else `code` says what is missing."""

    kind: str
    address: str
    judged: bool
    code: str
    told: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Cheaper:
    """Ways that save, the greatest expected saving first, and the others with their reasons."""

    offered: tuple[Alternative, ...] = ()
    others: tuple[NotOffered, ...] = field(default=())


Way = Alternative | NotOffered


def machine_items(one: Resource) -> Iterator[tuple[Item, Sku]]:
    """The items of a resource after the change that are machines of one type, each with its sku."""
    for item in one.after.items if one.after is not None else ():
        if item.amount is not None and len(item.skus) == 1 and item.skus[0].service == MACHINE:
            yield item, item.skus[0]


def spot_keys(resources: Iterable[Resource]) -> set[PriceKey]:
    """The Spot prices that `alternatives` would use."""
    return {
        (sku, SPOT)
        for one in resources
        if spot_eligible(one)
        for item, sku in machine_items(one)
        if item.market == ON_DEMAND
    }


def volume_keys(resources: Iterable[Resource]) -> set[PriceKey]:
    """The prices of gp3 that `alternatives` would use."""
    return {
        (sku._replace(name="gp3", detail=detail), ON_DEMAND)
        for one in resources
        if one.after is not None
        for item in one.after.items
        for sku in item.skus
        if sku.service == "ebs" and sku.name == "gp2"
        for detail in ("storage", "iops", "throughput")
    }


def cheaper(ways: Iterable[Way]) -> Cheaper:
    """In the order they are told; what does not save at its expected value goes to the others."""
    offered: list[Alternative] = []
    others: list[NotOffered] = []
    for way in ways:
        if isinstance(way, NotOffered):
            others.append(way)
        elif way.saving.expected > 0:
            offered.append(way)
        else:
            others.append(NotOffered(way.kind, way.address, True, "dearer"))
    return Cheaper(
        tuple(sorted(offered, key=lambda a: (-a.saving.expected, a.address, a.kind, a.instead))),
        tuple(sorted(others, key=lambda one: (one.kind, one.code, one.address, one.told))),
    )


def alternatives(resources: Iterable[Resource], prices: Prices) -> Iterator[Way]:
    """Spot for what runs on demand, gp3 for gp2."""
    for one in resources:
        eligible = spot_eligible(one)
        for item, sku in machine_items(one):
            if item.market == ON_DEMAND and eligible:
                yield _spot(one.address, item, sku, prices)
        if one.kind not in ONE_VOLUME or one.after is None:
            continue
        for item in one.after.items:
            if item.amount is None or len(item.skus) != 1:
                continue
            sku = item.skus[0]
            if (sku.service, sku.name, sku.detail) == ("ebs", "gp2", "storage"):
                yield _gp3(one.address, item.amount, sku, prices)


def _spot(address: str, item: Item, sku: Sku, prices: Prices) -> Way:
    listed, spot = prices.get((sku, ON_DEMAND)), prices.get((sku, SPOT))
    if listed is None or spot is None or item.amount is None:
        code = "no spot price" if spot is None else "no list price"
        return NotOffered("spot", address, False, code, (("type", sku.name), ("region", sku.region)))
    # The interval is the price's: hours are the same on both sides.
    prices_then = (spot.amount.high, spot.amount.expected, spot.amount.low)
    ends = [item.amount.expected * (listed.amount.expected - price) for price in prices_then]
    return Alternative(
        "spot", address, f"{sku.name} Spot", f"{sku.name} on demand", Range(*ends), of_price(spot, sku)
    )


def of_price(price: Price, sku: Sku) -> Evidence:
    """What a Spot price of launch advice rests on."""
    query = (("types", sku.name), ("regions", sku.region), ("product", sku.detail))
    return Evidence(price.source, price.listed_on, price.sample, "decisions", "run", query)


def gp3_of_gp2(gib: Decimal) -> tuple[Decimal, Decimal]:
    """Operations and MiB/s to buy so that gp3 is as fast as gp2 of a size.

    >>> gp3_of_gp2(Decimal(500)), gp3_of_gp2(Decimal(2000))
    ((Decimal('0'), Decimal('125')), (Decimal('3000'), Decimal('125')))
    """
    iops = min(max(gib * GP2_PER_GIB, GP2_LEAST), GP2_MOST)
    speed = GP2_SLOW if gib <= GP2_SLOW_UP_TO else GP2_FAST
    return max(iops - GP3_IOPS, Decimal(0)), max(speed - GP3_MIBPS, Decimal(0))


def _gp3(address: str, amount: Range, sku: Sku, prices: Prices) -> Way:
    parts = {
        detail: prices.get((sku._replace(name="gp3", detail=detail), ON_DEMAND))
        for detail in ("storage", "iops", "throughput")
    }
    old = prices.get((sku, ON_DEMAND))
    storage, iops, speed = (parts[name] for name in ("storage", "iops", "throughput"))
    if old is None or storage is None or iops is None or speed is None:
        return NotOffered("volume type", address, False, "no volume price", (("region", sku.region),))

    def saving(gib: Decimal) -> Decimal:
        extra, more = gp3_of_gp2(gib)
        new = gib * storage.amount.expected + extra * iops.amount.expected + more * speed.amount.expected
        return gib * old.amount.expected - new

    values = [saving(gib) for gib in (amount.low, amount.expected, amount.high)]
    ends = Range(min(values), values[1], max(values))
    evidence = Evidence(storage.source, storage.listed_on)
    return Alternative("volume type", address, "gp3", "gp2", ends, evidence)
