"""Instances of an older generation, work that could run on Spot, and sizes by what was measured."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from finops.engine.waste.databases import above_use
from finops.engine.waste.measuring import measured_facts, metric_of
from finops.engine.waste.model import Kept, Outcome, Unjudged, World, amount_text, settled, uncovered
from finops.engine.waste.rightsizing import fitting_same_size, priced, saving_of
from finops.engine.waste.unpriced import place_of, unpriced_types
from finops.frames.sizes import family_of, size_of
from finops.frames.waste import ZERO, Rule, TypeFacts, newer_families


def old_generation(world: World, rule: Rule) -> Iterator[Outcome]:
    """The cheapest newer family at the same size, by list prices."""
    unpriced: set[tuple[str, str]] = set()
    for use in world.of("instance"):
        params = world.params(rule, use.key)
        family = family_of(use.instance_type)
        if not params.enabled or not use.key.resource or family not in newer_families():
            continue
        types = world.types.get((use.key.region, use.platform), {})
        own = types.get(use.instance_type)
        if own is None or not own.price:
            unpriced.add(place_of(use))
            continue
        newer = [
            types[name]
            for one in newer_families()[family]
            if (name := f"{one}.{size_of(use.instance_type)}") in types
            and _fits_shape(own, types[name])
            and (own.later or not types[name].later)
        ]
        best = min(newer, key=lambda one: (one.price or ZERO, one.name), default=None)
        if best is None or not best.price:
            continue
        share = 1 - best.price / own.price
        if share < params.number("least_share"):
            continue
        target = priced(world, use, own, best)
        facts = {
            "type": use.instance_type, "newer": best.name, "price": amount_text(own.price, 6),
            "newer_price": amount_text(best.price, 6), "share": amount_text(share * 100, 1),
        }  # fmt: skip
        # Paid in full by a commitment there is no price of its own: `settled` tells so.
        saving = None if target is None else saving_of(world, use, target) * world.span_hours(use) / 730
        notes = (*(("later-prices",) if best.later or own.later else ()),
                 *(("kept",) if target is not None and target.kept_share > 0 else ()))  # fmt: skip
        yield settled(
            world, rule, [use], saving, facts=facts, notes=notes, target={"type": best.name},
            targets=() if target is None else (target,),
        )  # fmt: skip
    yield from unpriced_types(rule, "no-list-price", unpriced)


def _fits_shape(own: TypeFacts, other: TypeFacts) -> bool:
    if not other.price:
        return False
    if own.vcpus is None or other.vcpus is None or own.memory_mib is None or other.memory_mib is None:
        return True
    return other.vcpus >= own.vcpus and other.memory_mib >= own.memory_mib * 0.9


def spot(world: World, rule: Rule) -> Iterator[Outcome]:
    """Tagged as interruptible and paid on demand."""
    tagged = False
    unpriced: set[tuple[str, str]] = set()
    for use in world.of("instance"):
        params = world.params(rule, use.key)
        if not params.enabled or not use.key.resource:
            continue
        values = [world.tag(use.key, name).casefold() for name in sorted(params.words("tag_keys"))]
        if not any(value in params.words("tag_values") for value in values):
            continue
        tagged = True
        if world.seen_days(use) < params.number("days"):
            continue
        own = world.types.get((use.key.region, use.platform), {}).get(use.instance_type)
        free = uncovered(use)
        if own is None or own.spot is None or free is None or own.currency != use.currency:
            unpriced.add(place_of(use))
            continue
        hours = use.quantity - use.covered
        saving = free - own.spot * hours
        facts = {
            "type": use.instance_type, "spot": amount_text(own.spot, 6), "hours": amount_text(hours, 0),
            "tag": next(value for value in values if value in params.words("tag_values")),
        }  # fmt: skip
        if free > 0 and saving <= 0:
            continue
        yield settled(world, rule, [use], saving, facts=facts)
    if not tagged and world.by_kind.get("instance"):
        yield Unjudged(rule.id, "no-tags", {"keys": rule.thresholds["tag_keys"]})
    yield from unpriced_types(rule, "no-spot-price", unpriced)


def instance_idle(world: World, rule: Rule) -> Iterator[Outcome]:
    """CPU and network under the thresholds at p99."""
    missing = 0
    for use in world.of("instance"):
        params = world.params(rule, use.key)
        if not params.enabled or not use.key.resource:
            continue
        cpu, network = metric_of(world, params, use, "cpu"), metric_of(world, params, use, "network")
        if cpu is None or network is None:
            missing += not world.gone(use)
            continue
        if Decimal(repr(cpu.p99)) >= params.number("cpu_p99"):
            continue
        if Decimal(repr(network.p99)) >= params.number("network_p99_mbps"):
            continue
        yield settled(world, rule, [use], None, facts=measured_facts(use, cpu=cpu, network=network))
    if missing:
        yield Unjudged(rule.id, "no-metrics", {"n": str(missing)})


def unused_iops(world: World, rule: Rule) -> Iterator[Outcome]:
    """Provisioned IOPS of volumes above p99 of what they did, with head-room."""
    yield from above_use(world, rule, "volume-iops", "iops")


def burst(world: World, rule: Rule) -> Iterator[Outcome]:
    """Burstable instances whose credits ran out: a warning, not a saving."""
    for use in world.of("instance"):
        params = world.params(rule, use.key)
        if not params.enabled or not use.key.resource or not use.instance_type.startswith("t"):
            continue
        found = metric_of(world, params, use, "credits")
        if found is None or found.low > 0 or world.gone(use):
            continue
        cost = world.monthly(use, use.cost or ZERO)
        yield Kept(rule.id, use.key, use.currency, cost, "credits", {"type": use.instance_type})


def surplus(world: World, rule: Rule) -> Iterator[Outcome]:
    """Surplus credits that a type of the same size which does not burst would not need."""
    unpriced: set[tuple[str, str]] = set()
    for use in world.of("cpu-credits"):
        params = world.params(rule, use.key)
        instance = world.by_key[use.key].get("instance")
        if not params.enabled or not use.key.resource or use.cost is None or instance is None:
            continue
        if world.seen_days(instance) < params.number("days"):
            continue
        credits = world.monthly(instance, use.cost)
        if credits < params.number("least_monthly"):
            continue
        types = world.types.get((use.key.region, instance.platform), {})
        own = types.get(instance.instance_type)
        if own is None or not own.price or not own.vcpus or not own.memory_mib:
            unpriced.add(place_of(instance))
            continue
        targets = [one for fit in fitting_same_size(own, types) if (one := priced(world, instance, own, fit))]
        best = min(targets, key=lambda one: (one.on_demand * (1 - one.kept_share), one.name), default=None)
        if best is None:
            continue
        saving = saving_of(world, instance, best) + credits
        if saving <= 0:
            continue
        facts = {
            "type": instance.instance_type, "target": best.name, "credits": amount_text(credits, 2),
            "hours": amount_text(use.quantity, 0),
        }  # fmt: skip
        days = saving * world.span_hours(instance) / 730
        yield settled(
            world, rule, [instance, use], days, facts=facts, target={"type": best.name}, targets=(best,)
        )
    yield from unpriced_types(rule, "no-list-price", unpriced)
