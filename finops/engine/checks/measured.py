"""Another zone, or a start in an off-peak window: savings that launch advice measured by its back-test.

What a freedom is worth is a share of the cost at home, the mean over past decisions that the rule had not
seen, with its 90 % interval (`finops.engine.flexibility`). The saving a month is that share of what the plan
pays a month for the machine. It is offered where the lower end is above 0; else the answer is that it does
not save. On-demand prices are the same at any hour and in any zone of a region, so for a machine on demand
that may be interrupted the window is one on Spot: on-demand cost minus Spot cost at home less the share.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from finops.engine.checks.alternatives import Alternative, Evidence, NotOffered, Way, machine_items
from finops.engine.checks.policies import spot_eligible
from finops.engine.checks.pricing import Prices
from finops.frames.cost_items import ON_DEMAND, SPOT, Item, Range, Resource, Sku

# A run whose length nobody stated is taken as a day's, as Spot prices are.
DAY_HOURS = Decimal(24)
HUNDRED = Decimal(100)


class RunKey(NamedTuple):
    """What launch advice is asked: a machine, the zone it starts in, hours of a run, hours it may wait."""

    sku: Sku
    home_zone: str
    hours: Decimal
    slack_hours: Decimal


@dataclass(frozen=True, slots=True)
class Freedom:
    """What one freedom was worth. `pct`: low, expected, high percent of the cost at home; None: `reason`."""

    pct: Range | None
    decisions: int
    wait_hours: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class LaunchFacts:
    """What launch advice said. `home`: the hourly Spot price at home with its interval; `best_zone`: the
    cheapest zone now; `as_of`: the instant of the price.
    """

    home: Range | None
    best_zone: str
    zone: Freedom
    window: Freedom
    as_of: str


Launches = Mapping[RunKey, LaunchFacts]


def run_keys(resources: Iterable[Resource]) -> set[RunKey]:
    """What to ask launch advice, so that `measured` can tell."""
    return {
        key
        for one in resources
        for item, sku in machine_items(one)
        if (key := _key(one, item, sku)) is not None
    }


def _key(one: Resource, item: Item, sku: Sku) -> RunKey | None:
    """None where neither another zone nor another hour can be asked about."""
    run = one.after.run if one.after is not None else None
    home = item.zone or (run.home_zone if run is not None else "")
    slack = run.slack_hours if run is not None else None
    on_spot = item.market == SPOT
    if not (on_spot and home) and (slack is None or not (on_spot or spot_eligible(one))):
        return None
    hours = run.hours if run is not None and run.hours is not None else DAY_HOURS
    return RunKey(sku, home, hours, slack or Decimal(0))


def measured(resources: Iterable[Resource], prices: Prices, launches: Launches) -> Iterator[Way]:
    """Zone and window for each machine of which they can be asked."""
    for one in resources:
        for item, sku in machine_items(one):
            key = _key(one, item, sku)
            movable = item.market == SPOT or spot_eligible(one)
            if movable and (key is None or not key.slack_hours):
                yield NotOffered("window", one.address, False, "no slack")
            if key is None:
                continue
            facts = launches.get(key)
            if item.market == SPOT and key.home_zone:
                yield _zone(one, item, key, prices, facts)
            if key.slack_hours:
                yield _window(one, item, key, prices, facts)


def _zone(one: Resource, item: Item, key: RunKey, prices: Prices, facts: LaunchFacts | None) -> Way:
    paid = prices.get((key.sku, item.priced_as))
    told = (("zone", key.home_zone),)
    if facts is None or paid is None or item.amount is None:
        return NotOffered("zone", one.address, False, "no launch advice", told)
    if facts.best_zone == key.home_zone:
        return NotOffered("zone", one.address, True, "cheapest zone", told)
    share = _share("zone", one.address, facts.zone, told)
    if isinstance(share, NotOffered):
        return share
    cost = item.amount.expected * paid.amount.expected
    name = f"{key.sku.name} Spot"
    return Alternative(
        "zone", one.address, f"{name} {facts.best_zone}", f"{name} {key.home_zone}", _part(cost, share),
        _evidence(facts, facts.zone, key),
    )  # fmt: skip


def _window(one: Resource, item: Item, key: RunKey, prices: Prices, facts: LaunchFacts | None) -> Way:
    told = (("hours", f"{key.slack_hours.normalize():f}"),)
    paid = prices.get((key.sku, item.priced_as))
    if facts is None or paid is None or item.amount is None:
        return NotOffered("window", one.address, False, "no launch advice", told)
    share = _share("window", one.address, facts.window, told)
    if isinstance(share, NotOffered):
        return share
    hours, name = item.amount.expected, key.sku.name
    if item.market == ON_DEMAND:
        if facts.home is None:
            return NotOffered("window", one.address, False, "no spot price",
                              (("type", name), ("region", key.sku.region)))  # fmt: skip
        home = facts.home
        ends = [
            hours * (paid.amount.expected - price * (1 - pct / HUNDRED))
            for price, pct in (
                (home.high, share.low), (home.expected, share.expected), (home.low, share.high)
            )
        ]  # fmt: skip
        saving, of = Range(*ends), f"{name} on demand"
    else:
        saving, of = _part(hours * paid.amount.expected, share), f"{name} Spot at once"
    instead = f"{name} Spot within {facts.window.wait_hours} h"
    return Alternative("window", one.address, instead, of, saving, _evidence(facts, facts.window, key))


def _share(
    kind: str, address: str, freedom: Freedom, told: tuple[tuple[str, str], ...]
) -> Range | NotOffered:
    """The measured percent; the reason where it is not known or not above 0 at its lower end."""
    if freedom.pct is None or not freedom.decisions:
        return NotOffered(kind, address, False, "not measured", (*told, ("why", freedom.reason)))
    if freedom.pct.low <= 0:
        ends = (("pct", _text(freedom.pct.expected)), ("low", _text(freedom.pct.low)),
                ("high", _text(freedom.pct.high)), ("decisions", str(freedom.decisions)))  # fmt: skip
        return NotOffered(kind, address, True, "not worth it", (*told, *ends))
    return freedom.pct


def _part(cost: Decimal, pct: Range) -> Range:
    return Range(*(cost * end / HUNDRED for end in (pct.low, pct.expected, pct.high)))


def _text(value: Decimal) -> str:
    return f"{value.quantize(Decimal('0.01')):f}"


def _evidence(facts: LaunchFacts, freedom: Freedom, key: RunKey) -> Evidence:
    query = [
        ("types", key.sku.name), ("regions", key.sku.region), ("product", key.sku.detail),
        ("hours", f"{key.hours.normalize():f}"), ("slack_hours", f"{key.slack_hours.normalize():f}"),
        ("home_zone", key.home_zone),
    ]  # fmt: skip
    pct = freedom.pct
    measured_pct = () if pct is None else (("saving_pct", _text(pct.expected)),)
    return Evidence(
        "launch advice, back-test", facts.as_of, freedom.decisions, "decisions", "run",
        tuple(pair for pair in query if pair[1]), measured_pct,
    )  # fmt: skip
