"""Requests of Kubernetes workloads against what they use, and cost by namespace, workload or label with idle
and shared shown.

    needed of a resource = p99 of use x (1 + head-room)
    saving a month = (cost of CPU x part above needed + cost of memory x part above needed) / hours x 730

What a source gives as the highest use stands for p99. A lower request saves money only once nodes become
fewer: the lower end is nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from finops.engine.spend import split
from finops.frames.clusters import IDLE, SHARED, WORK, Work
from finops.frames.waste import MONTH_HOURS, ZERO


@dataclass(frozen=True)
class Excess:
    """What a workload asks for above what it needs; shares 0-1, amounts of a month."""

    work: Work
    cpu_needed: float | None
    memory_needed: float | None
    cpu_share: Decimal
    memory_share: Decimal
    monthly_cost: Decimal
    saving: Decimal


def needed(p99: float | None, head_room: float) -> float | None:
    """What p99 asks for with head-room."""
    return None if p99 is None else p99 * (1 + head_room)


def above(request: float | None, need: float | None) -> Decimal:
    """The part of a request that is above the need; 0 where either is not known.

    >>> above(4.0, 1.0)
    Decimal('0.75')
    """
    if request is None or need is None or request <= 0:
        return ZERO
    return max(ZERO, 1 - Decimal(repr(need)) / Decimal(repr(request)))


def excess_of(work: Work, head_room: float) -> Excess | None:
    """The excess of a workload; None where it cannot be told or there is none."""
    if work.kind != WORK or work.cpu_cost is None or work.memory_cost is None or work.hours <= 0:
        return None
    cpu, memory = needed(work.cpu_p99, head_room), needed(work.memory_p99, head_room)
    cpu_share, memory_share = above(work.cpu_request, cpu), above(work.memory_request, memory)
    saved = work.cpu_cost * cpu_share + work.memory_cost * memory_share
    if saved <= 0:
        return None
    whole = work.cost if work.cost is not None else work.cpu_cost + work.memory_cost
    scale = MONTH_HOURS / work.hours
    return Excess(work, cpu, memory, cpu_share, memory_share, whole * scale, saved * scale)


@dataclass(frozen=True)
class GroupCost:
    """A group's cost: its own, and its parts of idle and shared cost, divided by own cost. `name` "": what
    carries no such name.
    """

    cluster: str
    name: str
    currency: str
    own: Decimal
    idle: Decimal
    shared: Decimal

    @property
    def total(self) -> Decimal:
        """All of it."""
        return self.own + self.idle + self.shared


def by_namespace(found: Iterable[Work]) -> list[GroupCost]:
    """Cost by namespace."""
    return by_group(found, lambda work: work.namespace)


def by_group(found: Iterable[Work], name: Callable[[Work], str]) -> list[GroupCost]:
    """Cost by what `name` says of a workload; idle and shared cost of a cluster is divided exactly, so that
    parts sum to the whole.

    A cluster without any own cost keeps idle and shared under the name "".
    """
    own: dict[tuple[str, str], dict[str, Decimal]] = {}
    spread: dict[tuple[str, str], dict[str, Decimal]] = {}
    for work in found:
        if work.cost is None:
            continue
        place = (work.cluster, work.currency)
        if work.kind == WORK:
            held = own.setdefault(place, {})
            held[name(work)] = held.get(name(work), ZERO) + work.cost
        else:
            parts = spread.setdefault(place, {IDLE: ZERO, SHARED: ZERO})
            parts[work.kind] += work.cost
    rows = []
    for place in sorted({*own, *spread}):
        names = own.get(place) or {"": ZERO}
        parts = spread.get(place, {IDLE: ZERO, SHARED: ZERO})
        idle, shared = (_divided(parts[kind], names) for kind in (IDLE, SHARED))
        rows += [
            GroupCost(place[0], one, place[1], cost, idle[one], shared[one]) for one, cost in names.items()
        ]
    return sorted(rows, key=lambda row: (-row.total, row.cluster, row.name))


def _divided(amount: Decimal, names: Mapping[str, Decimal]) -> dict[str, Decimal]:
    parts = split(amount, list(names.values()))
    if parts is None:
        return {name: amount if place == 0 else ZERO for place, name in enumerate(names)}
    return dict(zip(names, parts, strict=True))
