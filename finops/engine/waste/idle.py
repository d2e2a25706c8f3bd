"""Things that stand there and do nothing: their hours are billed, their traffic is not or next to not.

Traffic of these is metered and never free, so a resource without a traffic line has none, as long as all
traffic lines of its kind in the account and region name their resource.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from finops.engine.waste.model import Outcome, Unjudged, World, amount_text, settled
from finops.frames.waste import ZERO, Key, Rule, Use


@dataclass(frozen=True, slots=True)
class Pair:
    """Hours of a thing and the kind of its traffic."""

    hours: str
    traffic: str
    unit: str


PAIRS: dict[str, Pair] = {
    "balancer-idle": Pair("balancer", "balancer-traffic", "LCU-h or GB"),
    "gateway-idle": Pair("gateway", "gateway-traffic", "GB"),
    "private-endpoint-idle": Pair("private-endpoint", "private-endpoint-traffic", "GB"),
    "transit-idle": Pair("transit", "transit-traffic", "GB"),
    "model-endpoint-idle": Pair("model-endpoint", "model-endpoint-traffic", "GB"),
}


def idle(world: World, rule: Rule) -> Iterator[Outcome]:
    """Hours on all of the last days, traffic a day under `traffic_a_day`."""
    pair = PAIRS[rule.id]
    unnamed = {(use.key.account, use.key.region) for use in world.of(pair.traffic) if not use.key.resource}
    said: set[tuple[str, str]] = set()
    for use in world.of(pair.hours):
        params = world.params(rule, use.key)
        place = (use.key.account, use.key.region)
        if not params.enabled or world.seen_days(use) < params.number("days"):
            continue
        if not use.key.resource or place in unnamed:
            if place not in said:
                said.add(place)
                yield Unjudged(rule.id, "no-resource", {"account": place[0], "region": place[1]})
            continue
        traffic = world.by_key[use.key].get(pair.traffic)
        moved = traffic.quantity if traffic is not None else ZERO
        a_day = moved / world.seen_days(use)
        if a_day >= params.number("traffic_a_day"):
            continue
        facts = {
            "traffic": amount_text(a_day, 6),
            "unit": pair.unit,
            "days": amount_text(world.seen_days(use), 1),
            "threshold": params.values["traffic_a_day"],
        }
        uses = [use, traffic] if traffic is not None else [use]
        yield settled(world, rule, uses, None, facts=facts, target=_target(use))


def _target(use: Use) -> dict[str, str]:
    return {"usage_type": use.usage_type, "operation": use.operation}


def address_idle(world: World, rule: Rule) -> Iterator[Outcome]:
    """Addresses billed as idle. Where lines name no address all of an account and region are one
    finding.
    """
    for use in world.of("address-idle"):
        params = world.params(rule, use.key)
        if not params.enabled or use.quantity < params.number("hours"):
            continue
        a_day = use.last_quantity / 24
        facts = {"hours": amount_text(use.quantity, 0), "count": amount_text(max(a_day, Decimal(1)), 0)}
        yield settled(world, rule, [use], None, facts=facts)


def always(*kinds: str) -> Callable[[World, Rule], Iterable[Outcome]]:
    """A rule whose lines are waste by themselves: billed on at least `days` of the last days."""

    def found(world: World, rule: Rule) -> Iterator[Outcome]:
        for use in world.of(*kinds):
            params = world.params(rule, use.key)
            if params.enabled and use.days >= params.number("days"):
                facts = {"days": str(use.days), "hours": amount_text(use.quantity, 1)}
                yield settled(world, rule, [use], None, facts=facts, target=_target(use))

    return found


def free_tier(world: World, rule: Rule) -> Iterator[Outcome]:
    """Paid now, free before: the free tier of its usage type is over.

    A free tier begins anew with each month, so it has ended where the month of the last day, some days old,
    has no free line and one before had.
    """
    month = (world.end - timedelta(seconds=1)).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    old = Decimal((world.end - month).total_seconds()) / 86400
    for use in world.uses:
        params = world.params(rule, use.key)
        free = world.free.get((use.key.account, use.usage_type))
        if not params.enabled or free is None or not use.key.resource or use.cost is None:
            continue
        if free[0] >= month or old < params.number("days") or _used(world, use.key):
            continue
        if world.monthly(use, use.cost) > params.number("most_monthly"):
            continue
        facts = {"free_until": free[0].isoformat()}
        yield settled(world, rule, [use], None, facts=facts, low=ZERO, target=_target(use))


def _used(world: World, key: Key) -> bool:
    """Whether the resource carries traffic: then it is no leftover."""
    return any("traffic" in kind or "transfer" in kind for kind in world.by_key[key])
