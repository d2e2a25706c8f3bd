"""Databases, warehouses and tables: idle, stopped, too large, and capacity that nobody uses.

cost of a smaller class = cost x its size units / own units       (engines whose price follows the size)
saving                  = uncovered cost - cost of it x (1 - kept share)
kept share              = reserved share x own units / its units, at most 1: reservations of these engines
                          apply to every size of the family
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from finops.engine.waste.measuring import measured_facts, metric_of, needed
from finops.engine.waste.model import (
    Candidate,
    Outcome,
    Params,
    Unjudged,
    World,
    amount_text,
    settled,
    uncovered,
)
from finops.engine.waste.rightsizing import holds_burst
from finops.engine.waste.volumes import replaced, size_of
from finops.frames.sizes import family_of, size_table
from finops.frames.waste import ZERO, Measured, Rule, TypeFacts, Use, database_engines

STORAGE = ("database-storage", "database-io-storage")
ONE = Decimal(1)


def idle(world: World, rule: Rule) -> Iterator[Outcome]:
    """No connection at any time."""
    missing = 0
    for use in world.of("database", "warehouse"):
        params = world.params(rule, use.key)
        if not params.enabled or not use.key.resource:
            continue
        found = metric_of(world, params, use, "connections")
        if found is None:
            missing += not world.gone(use)
            continue
        if found.high > 0:
            continue
        facts = measured_facts(use, connections=found)
        yield settled(world, rule, [use], None, facts=facts, target={"kind": use.kind})
    yield from _without_metrics(rule, missing)


def _without_metrics(rule: Rule, missing: int) -> Iterator[Outcome]:
    if missing:
        yield Unjudged(rule.id, "no-metrics", {"n": str(missing)})


def stopped(world: World, rule: Rule) -> Iterator[Outcome]:
    """Storage on all of the last days, and no hour of the instance on them."""
    running = [use for use in world.of("database") if use.key.resource]
    last = {use.key: use.last for use in running}
    unnamed = {(use.key.account, use.key.region) for use in world.of("database") if not use.key.resource}
    said: set[tuple[str, str]] = set()
    for use in world.of(*STORAGE):
        params = world.params(rule, use.key)
        days = params.number("days")
        if not params.enabled or world.seen_days(use) < days:
            continue
        place = (use.key.account, use.key.region)
        if not use.key.resource or place in unnamed:
            if place not in said:
                said.add(place)
                yield Unjudged(rule.id, "no-resource", {"account": place[0], "region": place[1]})
            continue
        until = last.get(use.key)
        if until is not None and (world.end - until).total_seconds() < float(days) * 86400:
            continue
        held = world.by_key[use.key]
        uses = [use, *(held[kind] for kind in ("database-iops",) if kind in held)]
        facts = {
            "gib": amount_text(size_of(world, use), 1),
            "since": until.isoformat() if until is not None else "",
            "days": amount_text(days, 0),
        }
        yield settled(world, rule, uses, None, facts=facts, low=ZERO, notes=("last-snapshot",))


def provisioned(world: World, rule: Rule) -> Iterator[Outcome]:
    """io1 and io2 storage whose IOPS gp3 gives without a charge."""
    share = world.shares.get("rds-gp3/rds-io1")
    if share is None:
        if world.by_kind.get("database-io-storage"):
            yield Unjudged(rule.id, "no-price")
        return
    for use in world.of("database-io-storage"):
        params = world.params(rule, use.key)
        iops = world.by_key[use.key].get("database-iops")
        if not params.enabled or not use.key.resource or iops is None or use.cost is None:
            continue
        gib, given = size_of(world, use), size_of(world, iops)
        instance = world.by_key[use.key].get("database")
        engine = database_engines().get(instance.operation if instance is not None else "")
        large = engine is not None and engine[1] and gib >= params.number("large_gib")
        most = params.number("most_iops_large" if large else "most_iops")
        # Sizes come out of rounded hours: a hundredth of an IOPS above is none.
        if gib <= 0 or given > most + Decimal("0.5"):
            continue
        facts = {
            "gib": amount_text(gib, 1), "iops": amount_text(given, 0), "included": amount_text(most, 0),
            "engine": engine[0] if engine is not None else "",
        }  # fmt: skip
        outcome = settled(world, rule, [use, iops], None, facts=facts, target={"kind": "gp3"})
        if not isinstance(outcome, Candidate):
            yield outcome
            continue
        saving = outcome.saving - world.monthly(use, use.cost) * share
        if saving > 0:
            yield replaced(outcome, saving=saving, low=saving, high=saving)


def too_large(world: World, rule: Rule) -> Iterator[Outcome]:
    """The smallest class of the same family that holds p99 of CPU and the memory used."""
    missing = blind = 0
    unknown: set[str] = set()
    for use in world.of("database"):
        params = world.params(rule, use.key)
        if not params.enabled or not use.key.resource or world.gone(use):
            continue
        name = use.instance_type.removeprefix("db.")
        own = world.sizes.get(name)
        cpu = metric_of(world, params, use, "cpu")
        memory = metric_of(world, params, use, "memory") or metric_of(world, params, use, "memory_free")
        if cpu is None:
            missing += 1
        elif memory is None:
            # A smaller class of the family has less memory: without figures nothing can be said.
            blind += 1
        elif use.operation not in database_engines():
            unknown.add(use.operation or "?")
        elif own is not None and own.vcpus and own.memory_mib:
            yield from _smaller(world, rule, params, use, own, cpu, memory)
    yield from _without_metrics(rule, missing)
    if blind:
        yield Unjudged(rule.id, "no-memory", {"n": str(blind)})
    if unknown:
        yield Unjudged(rule.id, "no-engine", {"names": ", ".join(sorted(unknown))})


def _smaller(
    world: World, rule: Rule, params: Params, use: Use, own: TypeFacts, cpu: Measured, memory: Measured
) -> Iterator[Outcome]:
    room = float(params.number("head_room"))
    need = needed(own, cpu, memory, None, room)
    p95 = (own.vcpus or 0) * cpu.p95 / 100 * (1 + room)
    sizes = size_table("aws")
    mine = sizes.factor(own.name)
    if mine is None:
        return
    fits = [
        (units, one)
        for one in world.sizes.values()
        if family_of(one.name) == family_of(own.name)
        and (units := sizes.factor(one.name)) is not None
        and units < mine
        and (one.vcpus or 0) >= need[0]
        and (one.memory_mib or 0) >= need[1]
        and (not one.burstable or holds_burst(one.name, one.vcpus or 0, p95))
    ]
    free, bare = uncovered(use), use.quantity - use.covered
    if not fits:
        return
    units, best = min(fits, key=lambda pair: (pair[0], pair[1].name))
    facts = {
        **measured_facts(use, cpu=cpu, **{memory.metric: memory}),
        "target": f"db.{best.name}",
        "share": amount_text((1 - units / mine) * 100, 1),
        "head_room": params.values["head_room"],
        "engine": database_engines()[use.operation][0],
    }
    if free is None or bare <= 0:
        yield settled(world, rule, [use], None, facts=facts)
        return
    kept = min(ONE, use.covered / use.quantity * mine / units)
    saving = free - use.quantity * free / bare * units / mine * (1 - kept)
    notes = tuple(name for name, held in (("kept", use.covered > 0), ("burst", best.burstable)) if held)
    yield settled(
        world, rule, [use], saving, facts=facts, notes=notes, target={"type": f"db.{best.name}"}
    )  # fmt: skip


def unused_iops(world: World, rule: Rule) -> Iterator[Outcome]:
    """Provisioned IOPS of databases above p99 of what they did, with head-room."""
    yield from above_use(world, rule, "database-iops", "iops")


def above_use(world: World, rule: Rule, kind: str, metric: str) -> Iterator[Outcome]:
    """IOPS of a kind of line above p99 of what was measured, with head-room."""
    missing = 0
    for use in world.of(kind):
        params = world.params(rule, use.key)
        if not params.enabled or not use.key.resource:
            continue
        found = metric_of(world, params, use, metric)
        if found is None:
            missing += not world.gone(use)
            continue
        given = size_of(world, use)
        need = max(Decimal(repr(found.p99)) * (1 + params.number("head_room")), params.number("least_iops"))
        if given <= need or use.cost is None:
            continue
        facts = {"iops": amount_text(given, 0), "needed": amount_text(need, 0), "p99": f"{found.p99:g}"}
        target = {"iops": amount_text(need, 0)}
        yield settled(world, rule, [use], use.cost * (1 - need / given), facts=facts, target=target)
    yield from _without_metrics(rule, missing)


TABLE = (("table-reads", "reads"), ("table-writes", "writes"))


def table_idle(world: World, rule: Rule) -> Iterator[Outcome]:
    """Provisioned capacity of a table of which no unit was consumed."""
    missing = 0
    for uses, found in _tables(world, rule):
        if any(one is None for one in found):
            missing += not world.gone(uses[0])
            continue
        if any(one.high > 0 for one in found if one is not None):
            continue
        names = [metric for kind, metric in TABLE if any(use.kind == kind for use in uses)]
        facts = measured_facts(uses[0], **dict(zip(names, found, strict=True)))
        yield settled(world, rule, uses, None, facts=facts)
    yield from _without_metrics(rule, missing)


def table_capacity(world: World, rule: Rule) -> Iterator[Outcome]:
    """Units that are provisioned above p99 of what is consumed; a table that nobody asks is idle instead."""
    missing = 0
    for uses, found in _tables(world, rule):
        if any(one is None for one in found):
            missing += not world.gone(uses[0])
            continue
        params = world.params(rule, uses[0].key)
        if all(one.high <= 0 for one in found if one is not None):
            continue
        saving = ZERO
        facts: dict[str, str] = {}
        target: dict[str, str] = {}
        for use, one in zip(uses, found, strict=True):
            assert one is not None  # noqa: S101 - told apart before
            given = use.quantity / world.span_hours(use)
            need = max(Decimal(repr(one.p99)) * (1 + params.number("head_room")), ONE).to_integral_value(
                "ROUND_CEILING"
            )
            name = one.metric
            facts |= {f"{name}_given": amount_text(given, 1), f"{name}_p99": f"{one.p99:g}"}
            target[name] = amount_text(min(need, max(given, ONE)), 0)
            if given > need:
                saving += (uncovered(use) or ZERO) * (1 - need / given)
        if world.monthly(uses[0], saving) < params.number("least_monthly"):
            continue
        yield settled(world, rule, uses, saving, facts=facts, target=target)
    yield from _without_metrics(rule, missing)


def _tables(world: World, rule: Rule) -> Iterator[tuple[list[Use], list[Measured | None]]]:
    """Capacity of each table that the rule is asked of, and what was measured of it."""
    seen = set()
    for first in world.of(*(kind for kind, _metric in TABLE)):
        params = world.params(rule, first.key)
        if not params.enabled or not first.key.resource or first.key in seen:
            continue
        seen.add(first.key)
        held = world.by_key[first.key]
        pairs = [(held[kind], metric) for kind, metric in TABLE if kind in held]
        yield [use for use, _name in pairs], [metric_of(world, params, use, name) for use, name in pairs]
