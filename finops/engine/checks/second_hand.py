"""Second-hand reservations for machines that run on demand: offers that stand, at their own price and term.

An offer of the exact type, platform and place costs fixed / hours left + hourly in each hour, used or not
(`finops.engine.commitments.cost`). Against on demand it saves a month

    used hours x on-demand price - (fixed / hours left + hourly) x 730

for each machine that it covers. The cheapest offers are filled first, up to the least number of machines that
the plan runs; one that does not save at the expected use is not taken. The interval is that of the hours of
use. The saving holds while the machine runs: `pays_from_hours` is how long until the price is paid back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from typing import NamedTuple

from finops.engine.checks.alternatives import Alternative, Evidence, NotOffered, Way, machine_items
from finops.engine.checks.pricing import Prices
from finops.engine.commitments.cost import TermPrice
from finops.frames.cost_items import HOURS_PER_MONTH, ON_DEMAND, Item, Range, Resource, Sku

ZERO = Decimal(0)


class OfferPlace(NamedTuple):
    """What offers are looked up by; the platform is a product text without its network part."""

    region: str
    instance_type: str
    product: str


@dataclass(frozen=True, slots=True)
class StandingOffer:
    """`zone` "" for a regional one; `count` None: not limited; `as_of`: when it was last seen."""

    id: int
    zone: str
    price: TermPrice
    currency: str
    count: int | None
    as_of: str


Offers = Mapping[OfferPlace, Sequence[StandingOffer]]


def offer_places(resources: Iterable[Resource]) -> set[OfferPlace]:
    """Where `second_hand` looks."""
    return {
        OfferPlace(sku.region, sku.name, sku.detail)
        for one in resources
        for item, sku in machine_items(one)
        if _machines(item)
    }


def _machines(item: Item) -> int:
    """The least number of whole machines on demand."""
    if item.market != ON_DEMAND or item.count is None:
        return 0
    return int(item.count.low.to_integral_value(ROUND_FLOOR))


def second_hand(resources: Iterable[Resource], prices: Prices, offers: Offers) -> Iterator[Way]:
    """An answer for each machine on demand whose number is known."""
    for one in resources:
        for item, sku in machine_items(one):
            if _machines(item):
                yield _way(one.address, item, sku, prices, offers.get(OfferPlace(*sku[1:])) or ())


@dataclass(frozen=True, slots=True)
class _Taken:
    offer: StandingOffer
    machines: int
    saving: Range


def _way(address: str, item: Item, sku: Sku, prices: Prices, standing: Sequence[StandingOffer]) -> Way:
    told = (("type", sku.name), ("region", item.zone or sku.region))
    listed = prices.get((sku, ON_DEMAND))
    if listed is None or item.amount is None or item.count is None:
        return NotOffered("second-hand", address, False, "no list price", told)
    fitting = [
        one
        for one in standing
        if one.currency == listed.currency and (not one.zone or one.zone == item.zone or not item.zone)
    ]
    if not fitting:
        return NotOffered("second-hand", address, False, "no offers", told)
    rate = listed.amount.expected
    # The hours of one machine: the same at each number of machines.
    used = Range(*(
        amount / count if count else ZERO
        for amount, count in zip(_ends(item.amount), _ends(item.count), strict=True)
    ))  # fmt: skip
    taken = _filled(fitting, used, rate, _machines(item))
    if not taken:
        best = min(one.price.total / one.price.hours for one in fitting)
        more = (("effective", f"{best.quantize(Decimal('0.0001')):f}"), ("rate", f"{rate.normalize():f}"))
        return NotOffered("second-hand", address, True, "offers dearer", (*told, *more))
    covered = sum(one.machines for one in taken)
    saving = Range(
        *(sum((getattr(t.saving, end) for t in taken), ZERO) for end in ("low", "expected", "high"))
    )
    instead = f"{covered} x {sku.name} second-hand reservation"
    return Alternative(
        "second-hand", address, instead, f"{sku.name} on demand", saving,
        _evidence(taken, standing, rate, used),
    )  # fmt: skip


def _ends(found: Range) -> tuple[Decimal, Decimal, Decimal]:
    return (found.low, found.expected, found.high)


def _filled(standing: Sequence[StandingOffer], used: Range, rate: Decimal, machines: int) -> list[_Taken]:
    taken: list[_Taken] = []
    left = machines
    for offer in sorted(standing, key=lambda one: (one.price.total / one.price.hours, one.id)):
        each = [_saving(offer.price, hours, rate) for hours in _ends(used)]
        if each[1] <= 0 or not left:
            break
        count = left if offer.count is None else min(left, offer.count)
        ends = (min(each), each[1], max(each))
        taken.append(_Taken(offer, count, Range(*(end * count for end in ends))))
        left -= count
    return taken


def _saving(price: TermPrice, hours: Decimal, rate: Decimal) -> Decimal:
    """A month's saving of one machine that is used `hours` of it."""
    months = price.hours / HOURS_PER_MONTH
    return price.saving(rate, min(hours, HOURS_PER_MONTH) * months) / months


def _evidence(
    taken: Sequence[_Taken], standing: Sequence[StandingOffer], rate: Decimal, used: Range
) -> Evidence:
    first = taken[0].offer
    share = min(used.expected / HOURS_PER_MONTH, Decimal(1))
    earned = rate * share - first.price.hourly
    upfront = sum((one.offer.price.fixed * one.machines for one in taken), ZERO)
    facts = [
        ("upfront", f"{upfront.normalize():f}"),
        ("hours_left", f"{min(one.offer.price.hours for one in taken).quantize(Decimal(1)):f}"),
    ]
    if earned > 0:
        facts.append(("pays_from_hours", f"{(first.price.fixed / earned).quantize(Decimal(1)):f}"))
    return Evidence(
        "offers seen", min(one.offer.as_of for one in taken), len(standing), "offers", "deal-offer",
        (("", str(first.id)),), tuple(facts),
    )  # fmt: skip
