"""What runs while nobody works: development endpoints and notebooks, and what tags say is not production.

Nights and weekends are the hours outside of [from_hour, to_hour) on Monday to Friday in the
organisation's time zone; the bill's hours are told apart one by one, so bills by day or month cannot be
judged.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from decimal import Decimal

from finops.engine.waste.model import Kept, Outcome, Unjudged, World, amount_text, settled
from finops.frames.waste import ZERO, Rule, Use

STOPPABLE = ("instance", "database", "warehouse")


def always_on(world: World, rule: Rule) -> Iterator[Outcome]:
    """Development endpoints, sessions and notebooks that run through nights and weekends."""
    by_day = False
    for use in world.of("development-endpoint", "notebook"):
        params = world.params(rule, use.key)
        if not params.enabled or not use.key.resource:
            continue
        if use.hours is None:
            by_day = True
            continue
        if world.seen_days(use) < params.number("days"):
            continue
        share = night_share(world, use)
        if share is None or share < params.number("night_share"):
            continue
        yield settled(
            world, rule, [use], use.night_cost, facts=_facts(use, share), high=_all(world, use),
            target={"usage_type": use.usage_type},
            notes=("made-anew",) if ":glue:" in use.key.resource else (),
        )  # fmt: skip
    if by_day:
        yield Unjudged(rule.id, "by-day")


def _all(world: World, use: Use) -> Decimal:
    return world.monthly(use, (use.cost or ZERO) - use.covered_cost)


def nights(world: World, rule: Rule) -> Iterator[Outcome]:
    """Instances and databases that tags call not production."""
    tagged = by_day = False
    for use in world.of(*STOPPABLE):
        params = world.params(rule, use.key)
        if not params.enabled or not use.key.resource:
            continue
        value = next(
            (
                world.tag(use.key, name)
                for name in sorted(params.words("tag_keys"))
                if world.tag(use.key, name).casefold() in params.words("tag_values")
            ),
            "",
        )
        if not value:
            continue
        tagged = True
        if use.hours is None:
            by_day = True
            continue
        if world.seen_days(use) < params.number("days"):
            continue
        share = night_share(world, use)
        if share is None or share < params.number("night_share"):
            continue
        facts = {
            **_facts(use, share), "tag": value, "from_hour": params.values["from_hour"],
            "to_hour": params.values["to_hour"], "timezone": params.values["timezone"],
        }  # fmt: skip
        if use.night_cost <= 0 and use.covered > 0:
            cost = world.monthly(use, use.cost or ZERO)
            yield Kept(rule.id, use.key, use.currency, cost, "covered", facts)
            continue
        yield settled(
            world, rule, [use], use.night_cost, facts=facts,
            target={"usage_type": use.usage_type, "kind": use.kind},
        )  # fmt: skip
    if by_day:
        yield Unjudged(rule.id, "by-day")
    elif not tagged and any(world.by_kind.get(kind) for kind in STOPPABLE):
        yield Unjudged(rule.id, "no-tags", {"keys": rule.thresholds["tag_keys"]})


def night_share(world: World, use: Use) -> Decimal | None:
    """The part of the nights and weekends since its first line that it ran in; None without any."""
    nights = world.nights
    until = use.last if world.gone(use) else world.end
    first = int(max(use.first, world.start).timestamp()) // 3600
    last = -(-int(until.timestamp()) // 3600)
    there = bisect_left(nights, last) - bisect_left(nights, first)
    return Decimal(use.night_hours) / there if there else None


def _facts(use: Use, share: Decimal) -> dict[str, str]:
    return {
        "night_share": amount_text(share * 100, 1),
        "night_hours": str(use.night_hours),
        "hours": str(use.hours),
        "type": use.instance_type,
    }
