"""Types of the catalog that hold what was measured, each priced on demand, with own commitments and on Spot.

    hours           = instance-hours of the judged days, as those of a month
    price an hour   = uncovered cost / uncovered hours x list price of the target / own list price
    on demand       = hours x price an hour
    kept share      = part of the target's hours that what pays now would still pay:
        reserved    of the same family, regional, sizes flexible: reserved share x own units / target's units
        plan        for all compute, or for the target's family: plan share x own list price / target's
    with commitments = on demand x (1 - kept share - spare reservations / hours), at least 0
    saving          = uncovered cost - on demand x (1 - kept share)

What pays for the resource now and would not pay for the target stays paid and frees nothing until it has
other use; that is why the saving can be smaller than the difference of two prices, or nothing. Spare
reservations are shown and not counted: several findings may want the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal

from finops.engine.waste.measuring import measured_facts, metric_of, needed
from finops.engine.waste.model import (
    Candidate,
    Kept,
    Outcome,
    Params,
    Target,
    Unjudged,
    World,
    amount_text,
    settled,
    uncovered,
)
from finops.engine.waste.unpriced import place_of, unpriced_types
from finops.frames.sizes import family_of, size_table
from finops.frames.waste import ZERO, Measured, OwnedPart, Rule, TypeFacts, Use, burst_baselines

MOST_TARGETS = 6
ONE = Decimal(1)
_FLEXIBLE_PLATFORM = "Linux/UNIX"


def too_large(world: World, rule: Rule) -> Iterator[Outcome]:
    """The cheapest type of the catalog that holds p99 of each metric with the head-room.

    Without memory figures the target keeps the memory that is there, and the confidence is halved.
    """
    missing = 0
    unpriced: set[tuple[str, str]] = set()
    for use in world.of("instance"):
        params = world.params(rule, use.key)
        if not params.enabled or not use.key.resource:
            continue
        cpu = metric_of(world, params, use, "cpu")
        types = world.types.get((use.key.region, use.platform), {})
        own = types.get(use.instance_type)
        if cpu is None:
            missing += not world.gone(use)
            continue
        if own is None or not own.price or not own.vcpus or not own.memory_mib:
            unpriced.add(place_of(use))
            continue
        found = {"cpu": cpu, "memory": metric_of(world, params, use, "memory"),
                 "network": metric_of(world, params, use, "network")}  # fmt: skip
        outcome = _resized(world, rule, params, use, own, types, found)
        if outcome is not None:
            yield outcome
    if missing:
        yield Unjudged(rule.id, "no-metrics", {"n": str(missing)})
    yield from unpriced_types(rule, "no-list-price", unpriced)


def fitting(
    own: TypeFacts, types: Mapping[str, TypeFacts], need: tuple[float, float, float], cpu_p95: float
) -> list[TypeFacts]:
    """Types below the own price that hold the need, by price.

    `cpu_p95`: vCPUs of p95 with head-room. A burstable type replaces only a burstable one, and only where
    its credits are earned as fast as p95 spends them; GPUs stay as many.
    """
    fits = [
        one
        for one in types.values()
        if one.price
        and own.price
        and one.price < own.price
        and one.currency == own.currency
        and one.vcpus is not None
        and one.memory_mib is not None
        and one.vcpus >= need[0]
        and one.memory_mib >= need[1]
        and (one.network_mbps is None or one.network_mbps >= need[2])
        and one.gpus == own.gpus
        and (own.later or not one.later)
        and (not one.burstable or (own.burstable and holds_burst(one.name, one.vcpus, cpu_p95)))
    ]
    return sorted(fits, key=lambda one: (one.price or ZERO, one.name))


def fitting_same_size(own: TypeFacts, types: Mapping[str, TypeFacts]) -> list[TypeFacts]:
    """Types that do not burst with as many vCPUs and as much memory, of the own architecture."""
    return [
        one
        for one in types.values()
        if one.price
        and not one.burstable
        and one.vcpus is not None
        and one.memory_mib is not None
        and one.vcpus >= (own.vcpus or 0)
        and one.memory_mib >= (own.memory_mib or 0)
        and one.gpus == own.gpus
        and set(one.architectures) & set(own.architectures)
        and (own.later or not one.later)
    ]


def holds_burst(name: str, vcpus: int, cpu_p95: float) -> bool:
    """Whether a burstable type's baseline is at or above p95; False where its baseline is not known."""
    share = burst_baselines().get(name)
    return share is not None and cpu_p95 <= vcpus * share / 100


def kept_share(world: World, use: Use, own: TypeFacts, target: TypeFacts) -> Decimal:
    """The part of the target's hours that what pays for the use now would still pay; 0 where that is not
    known.
    """
    if use.quantity <= 0 or not use.covered:
        return ZERO
    paying = next((one for one in world.commitments if one.id == use.commitment), None)
    if paying is None:
        return ZERO
    plan = use.plan_covered / use.quantity
    reserved = (use.covered - use.plan_covered) / use.quantity
    share = ZERO
    if plan > 0 and own.price and target.price and _plan_pays(paying, target):
        share += plan * own.price / target.price
    if reserved > 0 and paying.kind == "reserved":
        units = _units(paying, target)
        mine = size_table("aws").factor(own.name)
        if units is not None and mine is not None:
            share += reserved * mine / units
    return min(share, ONE)


def _plan_pays(paying: OwnedPart, target: TypeFacts) -> bool:
    return paying.plan == "compute" or (
        paying.plan == "ec2-instance" and paying.family == family_of(target.name)
    )


def _units(paying: OwnedPart, target: TypeFacts) -> Decimal | None:
    """Units of the target for a reservation; None where its sizes are not flexible or families differ."""
    sizes, family = size_table("aws"), family_of(target.name)
    flexible = (
        not paying.zone
        and paying.platform == _FLEXIBLE_PLATFORM
        and paying.tenancy in ("", "default")
        and family_of(paying.instance_type) == family
        and family not in sizes.inflexible
    )
    return sizes.factor(target.name) if flexible else None


def spare_of(world: World, use: Use, target: TypeFacts) -> Decimal:
    """Instances of the target that reservations pay for and nothing uses."""
    found = ZERO
    for one in world.commitments:
        if one.kind != "reserved" or one.region != use.key.region or one.platform != use.platform:
            continue
        if one.instance_type == target.name and not one.zone:
            found += one.spare
            continue
        units, own = _units(one, target), size_table("aws").factor(one.instance_type)
        if units and own:
            found += one.spare * own / units
    return found


def priced(world: World, use: Use, own: TypeFacts, one: TypeFacts) -> Target | None:
    """What the use would cost a month on another type; None where that cannot be told."""
    free, bare = uncovered(use), use.quantity - use.covered
    if free is None or bare <= 0 or not own.price or not one.price or own.currency != one.currency:
        return None
    whole = world.monthly(use, use.quantity * free / bare * one.price / own.price)
    kept = kept_share(world, use, own, one)
    running = use.quantity / world.span_hours(use)
    spare = min(ONE - kept, spare_of(world, use, one) / running) if running > 0 else ZERO
    spot = None
    if one.spot is not None and use.currency == one.currency:
        spot = world.monthly(use, one.spot * use.quantity)
    return Target(
        one.name, one.vcpus or 0, one.memory_mib or 0, whole, whole * (ONE - kept - spare), spot, kept, spare,
        bool(one.architectures and own.architectures) and not set(one.architectures) & set(own.architectures),
        one.burstable, one.later,
    )  # fmt: skip


def saving_of(world: World, use: Use, target: Target) -> Decimal:
    """What a month would cost less, without spare reservations."""
    free = world.monthly(use, uncovered(use) or ZERO)
    return free - target.on_demand * (ONE - target.kept_share)


def _resized(
    world: World,
    rule: Rule,
    params: Params,
    use: Use,
    own: TypeFacts,
    types: Mapping[str, TypeFacts],
    found: Mapping[str, Measured | None],
) -> Outcome | None:
    cpu, memory = found["cpu"], found["memory"]
    assert cpu is not None  # noqa: S101 - asked before
    room = float(params.number("head_room"))
    need = needed(own, cpu, memory, found["network"], room)
    fits = fitting(own, types, need, (own.vcpus or 0) * cpu.p95 / 100 * (1 + room))
    if not fits:
        return None
    targets = [one for one in (priced(world, use, own, fit) for fit in fits) if one is not None]
    if not targets:
        return settled(world, rule, [use], None, facts=measured_facts(use, **found))
    targets.sort(key=lambda one: (-saving_of(world, use, one), one.on_demand, one.name))
    same = [one for one in targets if not one.architecture]
    best = (same or targets)[0]
    saving = saving_of(world, use, best)
    if saving <= 0:
        cost = world.monthly(use, use.cost or ZERO)
        return Kept(rule.id, use.key, use.currency, cost, "covered", measured_facts(use, **found))
    confidence = float(params.number("no_memory_factor")) if memory is None else 1.0
    notes = tuple(
        name
        for name, held in (
            ("no-memory", memory is None), ("architecture", best.architecture), ("later-prices", best.later),
            ("burst", best.burst), ("kept", best.kept_share > 0),
        )
        if held
    )  # fmt: skip
    best_facts = types[best.name]
    facts = {
        **measured_facts(use, **found),
        "target": best.name, "price": amount_text(own.price or ZERO, 6),
        "target_price": amount_text(best_facts.price or ZERO, 6),
        "share": amount_text((1 - (best_facts.price or ZERO) / (own.price or ONE)) * 100, 1),
        "head_room": params.values["head_room"], "confidence": f"{confidence:g}",
        **({"spot": amount_text(best_facts.spot, 6)} if best_facts.spot is not None else {}),
    }  # fmt: skip
    days = saving * world.span_hours(use) / 730 * Decimal(repr(confidence))
    outcome = settled(
        world, rule, [use], days, facts=facts, notes=notes, target={"type": best.name}, confidence=confidence,
        effort="high" if best.architecture else "", targets=_shown(targets, best),
    )  # fmt: skip
    if isinstance(outcome, Candidate) and confidence < 1:
        return replace(outcome, high=saving)
    return outcome


def _shown(targets: list[Target], best: Target) -> tuple[Target, ...]:
    """The chosen one first, then the others by saving."""
    return (best, *(one for one in targets if one is not best))[:MOST_TARGETS]
