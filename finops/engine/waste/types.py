"""Instances of an older generation, work that could run on Spot, and sizes by what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal

from finops.engine.waste.model import (
    Candidate,
    Kept,
    Outcome,
    Params,
    Unjudged,
    World,
    amount_text,
    settled,
    uncovered,
)
from finops.frames.sizes import family_of, size_of
from finops.frames.waste import ZERO, Measured, Rule, TypeFacts, Use, newer_families

# Types without a price that a reason names; the others are counted.
MOST_NAMED = 6


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
            unpriced.add((use.key.region, use.instance_type))
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
        facts = {
            "type": use.instance_type, "newer": best.name, "price": amount_text(own.price, 6),
            "newer_price": amount_text(best.price, 6), "share": amount_text(share * 100, 1),
        }  # fmt: skip
        free = uncovered(use)
        saving = None if free is None else free * share
        notes = ("later-prices",) if best.later or own.later else ()
        yield settled(world, rule, [use], saving, facts=facts, notes=notes, target={"type": best.name})
    yield from _unpriced(rule, "no-list-price", unpriced)


def _unpriced(rule: Rule, code: str, found: set[tuple[str, str]]) -> Iterator[Outcome]:
    """One line for all types without a price, by region."""
    if found:
        names = [f"{name} ({region})" for region, name in sorted(found)]
        more = f" +{len(names) - MOST_NAMED}" if len(names) > MOST_NAMED else ""
        yield Unjudged(rule.id, code, {"types": ", ".join(names[:MOST_NAMED]) + more})


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
        if own is None or own.spot is None or free is None:
            unpriced.add((use.key.region, use.instance_type))
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
    yield from _unpriced(rule, "no-spot-price", unpriced)


def _metric(world: World, params: Params, use: Use, name: str) -> Measured | None:
    """A metric that was measured for long enough, at least in part in the judged days."""
    found = world.metrics(use.key).get(name)
    if (
        found is None
        or found.end < world.start
        or Decimal(repr(found.days)) < params.number("days") - Decimal("0.5")
    ):
        return None
    return found


def instance_idle(world: World, rule: Rule) -> Iterator[Outcome]:
    """CPU and network under the thresholds at p99."""
    missing = 0
    for use in world.of("instance"):
        params = world.params(rule, use.key)
        if not params.enabled or not use.key.resource:
            continue
        cpu, network = _metric(world, params, use, "cpu"), _metric(world, params, use, "network")
        if cpu is None or network is None:
            missing += not world.gone(use)
            continue
        if Decimal(repr(cpu.p99)) >= params.number("cpu_p99"):
            continue
        if Decimal(repr(network.p99)) >= params.number("network_p99_mbps"):
            continue
        yield settled(world, rule, [use], None, facts=_measured_facts(use, cpu=cpu, network=network))
    if missing:
        yield Unjudged(rule.id, "no-metrics", {"n": str(missing)})


def database_idle(world: World, rule: Rule) -> Iterator[Outcome]:
    """No connection at any time."""
    missing = 0
    for use in world.of("database"):
        params = world.params(rule, use.key)
        if not params.enabled or not use.key.resource:
            continue
        found = _metric(world, params, use, "connections")
        if found is None:
            missing += not world.gone(use)
            continue
        if found.high > 0:
            continue
        facts = _measured_facts(use, connections=found)
        yield settled(world, rule, [use], None, facts=facts, target={"kind": "database"})
    if missing:
        yield Unjudged(rule.id, "no-metrics", {"n": str(missing)})


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
        cpu = _metric(world, params, use, "cpu")
        types = world.types.get((use.key.region, use.platform), {})
        own = types.get(use.instance_type)
        if cpu is None:
            missing += not world.gone(use)
            continue
        if own is None or not own.price or not own.vcpus or not own.memory_mib:
            unpriced.add((use.key.region, use.instance_type))
            continue
        memory = _metric(world, params, use, "memory")
        network = _metric(world, params, use, "network")
        need = needed(own, cpu, memory, network, float(params.number("head_room")))
        best = cheapest(own, types, need)
        if best is None:
            continue
        yield _resized(
            world, rule, params, use, own, best, {"cpu": cpu, "memory": memory, "network": network}
        )
    if missing:
        yield Unjudged(rule.id, "no-metrics", {"n": str(missing)})
    yield from _unpriced(rule, "no-list-price", unpriced)


def needed(
    own: TypeFacts, cpu: Measured, memory: Measured | None, network: Measured | None, head_room: float
) -> tuple[float, float, float]:
    """(vCPU, MiB, Mbit/s) that p99 asks for with head-room; memory that nobody measured stays as it is.

    >>> own = TypeFacts("m5.4xlarge", 16, 65536, ("x86_64",), False, 0)
    >>> from datetime import UTC, datetime
    >>> day = datetime(2026, 3, 1, tzinfo=UTC)
    >>> needed(own, Measured("cpu", day, day, 9, 10.0, 20.0, 30.0, 1.0), None, None, 0.25)
    (4.0, 65536.0, 0.0)
    """
    vcpus = (own.vcpus or 0) * cpu.p99 / 100 * (1 + head_room)
    held = float(own.memory_mib or 0)
    if memory is not None:
        held = held * memory.p99 / 100 * (1 + head_room)
    return vcpus, held, 0.0 if network is None else network.p99 * (1 + head_room)


def cheapest(
    own: TypeFacts, types: Mapping[str, TypeFacts], need: tuple[float, float, float]
) -> TypeFacts | None:
    """The cheapest type below the own price that holds the need; None where there is none.

    A burstable type replaces only a burstable one; GPUs stay as many; one of another architecture only
    where none of the own is cheaper, since programs have to be built anew.
    """
    fits = [
        one
        for one in types.values()
        if one.price
        and own.price
        and one.price < own.price
        and one.vcpus is not None
        and one.memory_mib is not None
        and one.vcpus >= need[0]
        and one.memory_mib >= need[1]
        and (one.network_mbps is None or one.network_mbps >= need[2])
        and one.gpus == own.gpus
        and (own.burstable or not one.burstable)
        and (own.later or not one.later)
    ]
    same = [one for one in fits if set(one.architectures) & set(own.architectures)]
    return min(same or fits, key=lambda one: (one.price or ZERO, one.name), default=None)


def _resized(
    world: World,
    rule: Rule,
    params: Params,
    use: Use,
    own: TypeFacts,
    best: TypeFacts,
    found: Mapping[str, Measured | None],
) -> Outcome:
    assert own.price is not None  # noqa: S101 - `cheapest` compares them
    assert best.price is not None  # noqa: S101
    share = 1 - best.price / own.price
    free = uncovered(use)
    other = not set(best.architectures) & set(own.architectures)
    notes = tuple(
        name
        for name, held in (
            ("no-memory", found["memory"] is None), ("architecture", other), ("later-prices", best.later),
        )
        if held
    )  # fmt: skip
    confidence = float(params.number("no_memory_factor")) if found["memory"] is None else 1.0
    facts = {
        **_measured_facts(use, **found),
        "target": best.name, "price": amount_text(own.price, 6), "target_price": amount_text(best.price, 6),
        "share": amount_text(share * 100, 1), "head_room": params.values["head_room"],
        "confidence": f"{confidence:g}",
        **({"spot": amount_text(best.spot, 6)} if best.spot is not None else {}),
    }  # fmt: skip
    saving = None if free is None else free * share * Decimal(repr(confidence))
    outcome = settled(
        world, rule, [use], saving, facts=facts, notes=notes, target={"type": best.name},
        confidence=confidence,
    )  # fmt: skip
    if isinstance(outcome, Candidate) and confidence < 1 and free is not None:
        return replace(outcome, high=world.monthly(use, free * share))
    return outcome


def _measured_facts(use: Use, **found: Measured | None) -> dict[str, str]:
    facts = {"type": use.instance_type}
    for name, one in found.items():
        if one is not None:
            facts |= {
                f"{name}_p95": f"{one.p95:g}", f"{name}_p99": f"{one.p99:g}", f"{name}_high":
                f"{one.high:g}", "days": f"{one.days:.0f}", "samples": str(one.samples), "source":
                one.source, }  # fmt: skip
    return facts


def unused_iops(world: World, rule: Rule) -> Iterator[Outcome]:
    """Provisioned IOPS above p99 of what the volume did, with head-room."""
    missing = 0
    for use in world.of("volume-iops"):
        params = world.params(rule, use.key)
        if not params.enabled or not use.key.resource:
            continue
        found = _metric(world, params, use, "iops")
        if found is None:
            missing += not world.gone(use)
            continue
        given = use.quantity / world.span_hours(use) * 730
        need = max(Decimal(repr(found.p99)) * (1 + params.number("head_room")), params.number("least_iops"))
        if given <= need or use.cost is None:
            continue
        facts = {"iops": amount_text(given, 0), "needed": amount_text(need, 0), "p99": f"{found.p99:g}"}
        yield settled(
            world, rule, [use], use.cost * (1 - need / given), facts=facts,
            target={"iops": amount_text(need, 0)},
        )  # fmt: skip
    if missing:
        yield Unjudged(rule.id, "no-metrics", {"n": str(missing)})


def burst(world: World, rule: Rule) -> Iterator[Outcome]:
    """Burstable instances whose credits ran out: a warning, not a saving."""
    for use in world.of("instance"):
        params = world.params(rule, use.key)
        if not params.enabled or not use.key.resource or not use.instance_type.startswith("t"):
            continue
        found = _metric(world, params, use, "credits")
        if found is None or found.low > 0 or world.gone(use):
            continue
        cost = world.monthly(use, use.cost or ZERO)
        yield Kept(rule.id, use.key, use.currency, cost, "credits", {"type": use.instance_type})
