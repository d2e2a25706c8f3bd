"""Cheaper ways to do the same, each beside its saving a month: low, expected, high.

Spot for machines that may be interrupted: on-demand cost minus Spot cost, at the interval of the Spot price.
gp3 for gp2 of the same size and speed: what gp2 gives by its size (3 operations a second for each GiB, 100 to
16,000; 128 MiB/s up to 170 GiB, 250 MiB/s from 334 GiB on) is bought with gp3, which has 3,000 operations and
125 MiB/s of its own. Between 170 and 334 GiB gp2 reaches 250 MiB/s in bursts: the higher speed is taken.

Source of the volume rules: "Amazon EBS volume types", Amazon EBS user guide, read 2026-11.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from finops.engine.checks.policies import spot_eligible
from finops.engine.checks.pricing import PriceKey, Prices
from finops.frames.cost_items import MACHINE, ON_DEMAND, SPOT, Item, Range, Resource, Sku

GP2_PER_GIB, GP2_LEAST, GP2_MOST = Decimal(3), Decimal(100), Decimal(16000)
GP2_SLOW_UP_TO, GP2_SLOW, GP2_FAST = Decimal(170), Decimal(128), Decimal(250)
GP3_IOPS, GP3_MIBPS = Decimal(3000), Decimal(125)
# Kinds whose amount of GiB is that of one volume; a group's is the sum over its machines.
ONE_VOLUME = frozenset({"aws_ebs_volume", "aws_instance", "PersistentVolumeClaim"})


@dataclass(frozen=True, slots=True)
class Alternative:
    """`kind`: spot or volume type. `instead`, `of`: the new and the old sku. The saving is a month's."""

    kind: str
    address: str
    instead: str
    of: str
    saving: Range


def spot_keys(resources: Iterable[Resource]) -> set[PriceKey]:
    """The Spot prices that `alternatives` would use."""
    return {
        (sku, SPOT)
        for one in resources
        if spot_eligible(one) and one.after is not None
        for item in one.after.items
        if item.market == ON_DEMAND and item.amount is not None and len(item.skus) == 1
        for sku in item.skus
        if sku.service == MACHINE
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


def alternatives(resources: Iterable[Resource], prices: Prices) -> list[Alternative]:
    """What saves at its expected value, largest saving first; never two for the same item."""
    found: list[Alternative] = []
    for one in resources:
        items = one.after.items if one.after is not None else ()
        eligible = spot_eligible(one)
        for item in items:
            if item.amount is None or len(item.skus) != 1:
                continue
            sku = item.skus[0]
            made = None
            if sku.service == MACHINE and item.market == ON_DEMAND and eligible:
                made = _spot(one.address, item, sku, prices)
            elif one.kind in ONE_VOLUME and sku[0::2] == ("ebs", "gp2") and sku.detail == "storage":
                made = _gp3(one.address, item, sku, prices)
            if made is not None and made.saving.expected > 0:
                found.append(made)
    return sorted(found, key=lambda a: (-a.saving.expected, a.address, a.instead))


def _spot(address: str, item: Item, sku: Sku, prices: Prices) -> Alternative | None:
    listed, spot = prices.get((sku, ON_DEMAND)), prices.get((sku, SPOT))
    if listed is None or spot is None or item.amount is None:
        return None
    # The interval is the price's: hours are the same on both sides.
    prices_then = (spot.amount.high, spot.amount.expected, spot.amount.low)
    ends = [item.amount.expected * (listed.amount.expected - price) for price in prices_then]
    return Alternative("spot", address, f"{sku.name} Spot", f"{sku.name} on demand", Range(*ends))


def gp3_of_gp2(gib: Decimal) -> tuple[Decimal, Decimal]:
    """Operations and MiB/s to buy so that gp3 is as fast as gp2 of a size.

    >>> gp3_of_gp2(Decimal(500)), gp3_of_gp2(Decimal(2000))
    ((Decimal('0'), Decimal('125')), (Decimal('3000'), Decimal('125')))
    """
    iops = min(max(gib * GP2_PER_GIB, GP2_LEAST), GP2_MOST)
    speed = GP2_SLOW if gib <= GP2_SLOW_UP_TO else GP2_FAST
    return max(iops - GP3_IOPS, Decimal(0)), max(speed - GP3_MIBPS, Decimal(0))


def _gp3(address: str, item: Item, sku: Sku, prices: Prices) -> Alternative | None:
    parts = {
        detail: prices.get((sku._replace(name="gp3", detail=detail), ON_DEMAND))
        for detail in ("storage", "iops", "throughput")
    }
    old = prices.get((sku, ON_DEMAND))
    storage, iops, speed = (parts[name] for name in ("storage", "iops", "throughput"))
    if old is None or storage is None or iops is None or speed is None or item.amount is None:
        return None

    def saving(gib: Decimal) -> Decimal:
        extra, more = gp3_of_gp2(gib)
        new = gib * storage.amount.expected + extra * iops.amount.expected + more * speed.amount.expected
        return gib * old.amount.expected - new

    amounts = (item.amount.low, item.amount.expected, item.amount.high)
    values = [saving(gib) for gib in amounts]
    ends = Range(min(values), values[1], max(values))
    return Alternative("volume type", address, "gp3", "gp2", ends)
