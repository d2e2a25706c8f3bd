"""What a plan costs a month before and after: items times prices, exact, with every unpriced part counted.

Cost of an item = amount x price, at its low, expected and high; a sum adds the lows, the expecteds and the
highs: what is uncertain is taken to be low together and high together, which is wider than chance would be.
The change of a resource is taken inside each of the three cases, so that the same unknown use before and
after cancels out; the interval of a change runs from the smallest to the largest of the three.

A component that has a price on one side of a resource and none on the other is left out on both: counting it
would read the missing price as 0. So is a resource of which one side has no price at all. Such parts are in
`unpriced` with the reason. The change of all is the sum over the resources whose change is known; where
nothing that costs has a known change, it is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

from finops.engine.spend import EXACT, compare
from finops.frames.cost_items import SPOT, Item, Range, Resource, Side, Sku

ZERO = Decimal(0)
ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Price:
    """Price of one unit as a range (Spot has an interval), with where it comes from. `sample`: how many past
    decisions the interval rests on. `bands`: (from so many units on, price) of what is beyond the first band,
    in their order; each unit costs what its own band says.
    """

    amount: Range
    currency: str
    source: str
    listed_on: str
    later: bool = False
    up_to: Decimal | None = None
    sample: int | None = None
    bands: tuple[tuple[Decimal, Decimal], ...] = ()

    def cost(self, amount: Range) -> Range:
        """What an amount costs: the marginal sum over the bands, exact."""
        found = amount.times(self.amount)
        return Range(
            *(
                EXACT.add(cost, band_change(units, first, self.bands))
                for cost, units, first in (
                    (found.low, amount.low, self.amount.low),
                    (found.expected, amount.expected, self.amount.expected),
                    (found.high, amount.high, self.amount.high),
                )
            )
        )


def band_change(units: Decimal, first: Decimal, bands: Iterable[tuple[Decimal, Decimal]]) -> Decimal:
    """What bands change of `units` x the first price: each one differs from the one before.

    >>> band_change(Decimal(60000), Decimal("0.023"), [(Decimal(51200), Decimal("0.022"))])
    Decimal('-8.800')
    """
    change, before = ZERO, first
    for start, price in bands:
        change = EXACT.add(change, EXACT.multiply(max(units - start, ZERO), price - before))
        before = price
    return change


PriceKey = tuple[Sku, str]
Prices = Mapping[PriceKey, Price]


@dataclass(frozen=True, slots=True)
class Unpriced:
    """A part without a price; `side` is before, after or both. `changed`: its resource is there before and
    after, and this part of it is not the same, so nobody can say what the change costs.
    """

    address: str
    component: str
    side: str
    reason: str
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A resource with its cost; None: nothing of it could be priced. `ABSENT`: it is not there."""

    resource: Resource
    before: Range | str | None
    after: Range | str | None
    delta: Range | None


@dataclass(frozen=True, slots=True)
class Total:
    """Sums over the lines; `before` and `after` as in `Line`. `percent` of expected cost; None: no base."""

    before: Range | str | None
    after: Range | str | None
    delta: Range | None
    percent: Decimal | None
    label: str


@dataclass(frozen=True, slots=True)
class Priced:
    """`used`: the prices that count, by key. `currency` None: nothing has a price."""

    lines: tuple[Line, ...]
    total: Total
    unpriced: tuple[Unpriced, ...]
    used: Mapping[PriceKey, Price]
    currency: str | None


def keys_of(resources: Iterable[Resource]) -> set[PriceKey]:
    """Every price that the resources ask for."""
    return {
        (sku, item.priced_as)
        for resource in resources
        for side in (resource.before, resource.after)
        if side is not None
        for item in side.items
        if item.amount is not None
        for sku in item.skus
    }


def price_resources(resources: Iterable[Resource], prices: Prices) -> Priced:
    """The cost of every resource.

    Raises ValueError for prices in two currencies: they are never added.
    """
    used: dict[PriceKey, Price] = {}
    lines: list[Line] = []
    unpriced: list[Unpriced] = []
    for resource in resources:
        line, missing = _line(resource, prices, used)
        lines.append(line)
        unpriced += missing
    currencies = {price.currency for price in used.values()}
    if len(currencies) > 1:
        raise ValueError(f"prices in several currencies: {', '.join(sorted(currencies))}")
    total = _total(lines)
    return Priced(tuple(lines), total, tuple(unpriced), used, next(iter(currencies), None))


def item_cost(item: Item, prices: Prices, used: dict[PriceKey, Price]) -> Range | str:
    """Cost a month, or why there is none.

    Of several skus the first is expected; the cheapest and the dearest per unit of capacity are the ends.
    """
    if item.amount is None:
        return item.reason or "amount not known"
    found: list[Price] = []
    for sku in item.skus:
        price = prices.get((sku, item.priced_as))
        if price is None:
            what = f"{sku.name} {sku.detail}".strip()
            kind = "Spot price" if item.market == SPOT else "price"
            return f"no {kind} for {what} in {item.zone or sku.region}"
        if price.up_to is not None and item.amount.high > price.up_to:
            return f"the price of {sku.name} {sku.detail} is known up to {price.up_to} {item.unit} only"
        found.append(price)
    for sku, price in zip(item.skus, found, strict=True):
        used[(sku, item.priced_as)] = price
    if len(found) == 1 and not item.weights:
        return found[0].cost(item.amount)
    weights = item.weights or (Decimal(1),) * len(found)
    each = [
        Range(*(EXACT.divide(a, w) for a in (p.amount.low, p.amount.expected, p.amount.high)))
        for p, w in zip(found, weights, strict=True)
    ]
    unit = Range(min(e.low for e in each), each[0].expected, max(e.high for e in each))
    return item.amount.times(unit)


def _line(resource: Resource, prices: Prices, used: dict[PriceKey, Price]) -> tuple[Line, list[Unpriced]]:
    costs = {
        name: _costs(side, prices, used)
        for name, side in (("before", resource.before), ("after", resource.after))
    }
    before, after = costs["before"], costs["after"]
    missing: list[Unpriced] = []
    for component in {**(before or {}), **(after or {})}:
        sides = [name for name in costs if isinstance((costs[name] or {}).get(component), str)]
        if not sides:
            continue
        reason = str((costs[sides[-1]] or {})[component])
        both = all(component in (costs[name] or {}) for name in costs)
        told = "both" if both else sides[0]
        missing.append(Unpriced(resource.address, component, told, reason, _changed(resource, component)))
        for found in (before, after):
            if found is not None:
                found.pop(component, None)
    emptied = {one.side for one in missing}
    sums = [
        ABSENT if found is None else _sum(found, resource_side, emptied, name)
        for found, resource_side, name in (
            (before, resource.before, "before"),
            (after, resource.after, "after"),
        )
    ]
    if None in sums and ABSENT not in sums:
        # One side is not known at all: the other alone would show as a change that nobody can see.
        sums = [None, None]
    return Line(resource, sums[0], sums[1], _difference(sums[0], sums[1])), missing


def _changed(resource: Resource, component: str) -> bool:
    if resource.before is None or resource.after is None:
        return False
    before, after = (
        [item for item in side.items if item.component == component]
        for side in (resource.before, resource.after)
    )
    return before != after


def _costs(side: Side | None, prices: Prices, used: dict[PriceKey, Price]) -> dict[str, Range | str] | None:
    if side is None:
        return None
    return {item.component: item_cost(item, prices, used) for item in side.items}


def _sum(found: Mapping[str, Range | str], side: Side | None, emptied: set[str], name: str) -> Range | None:
    """The sum of what has a price; None where parts are missing and nothing else is left."""
    ranges = [cost for cost in found.values() if isinstance(cost, Range)]
    if not ranges and side is not None and side.items and emptied & {name, "both"}:
        return None
    return add(ranges)


def add(ranges: Iterable[Range]) -> Range:
    """The sum of the lows, of the expecteds, of the highs."""
    low = expected = high = ZERO
    for one in ranges:
        low, expected = EXACT.add(low, one.low), EXACT.add(expected, one.expected)
        high = EXACT.add(high, one.high)
    return Range(low, expected, high)


def _difference(before: Range | str | None, after: Range | str | None) -> Range | None:
    """After minus before in each of the three cases, in their order; None where a side is unknown."""
    if before is None or after is None:
        return None
    left = before if isinstance(before, Range) else Range.of(0)
    right = after if isinstance(after, Range) else Range.of(0)
    return Range(
        EXACT.subtract(right.low, left.low),
        EXACT.subtract(right.expected, left.expected),
        EXACT.subtract(right.high, left.high),
    )


def ordered(delta: Range) -> Range:
    """The interval of a change: the smallest and the largest of its three cases as its ends."""
    ends = (delta.low, delta.expected, delta.high)
    return replace(delta, low=min(ends), high=max(ends))


def _total(lines: list[Line]) -> Total:
    sides: list[Range | str | None] = []
    for name in ("before", "after"):
        values = [getattr(line, name) for line in lines]
        there = [value for value in values if value != ABSENT]
        ranges = [value for value in there if isinstance(value, Range)]
        if not there:
            sides.append(ABSENT)
        else:
            sides.append(add(ranges) if ranges else None)
    before, after = sides
    delta = _change(lines)
    if delta is None:
        return Total(before, after, None, None, "")
    change = compare(
        before.expected if isinstance(before, Range) else None,
        after.expected if isinstance(after, Range) else None,
    )
    label = change.label if None not in (before, after) else ""
    return Total(before, after, ordered(delta), change.percent, label)


def _change(lines: list[Line]) -> Range | None:
    known = [line for line in lines if line.delta is not None]
    costs = [line for line in known if _has_items(line.resource)]
    if not costs and len(known) < len(lines):
        return None
    return add(line.delta for line in known if line.delta is not None)


def _has_items(resource: Resource) -> bool:
    return any(side is not None and side.items for side in (resource.before, resource.after))
