"""What can be had together: claims on the same hours exclude each other, sums of intervals are computed.

Rows that claim the same thing at the same time are alternatives. The best set of those that do not conflict
is found exactly: a vertex whose neighbours all know each other (every vertex of an interval graph gives way
to one in the end) is settled at once by moving its weight onto its neighbours (A. Frank, "Some polynomial
algorithms for certain graphs and hypergraphs", 1976); what is left is branched on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, localcontext

from finops.frames.money import EXACT

Graph = Mapping[int, set[int]]

LOW, HIGH = Decimal("0.05"), Decimal("0.95")


@dataclass(frozen=True, slots=True)
class Claim:
    """What one row uses up: keys of hours or resources, during the half-open [start, end)."""

    keys: frozenset[str]
    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class Amount:
    """An amount with its 90 % interval; `scenarios` are its values in the worlds of `scenario_set`."""

    low: Decimal
    expected: Decimal
    high: Decimal
    scenario_set: str = ""
    scenarios: tuple[Decimal, ...] = ()


@dataclass(frozen=True, slots=True)
class Total:
    """A sum and its 90 % interval. `method`: "none" (nothing to add), "single", "scenarios" (added world by
    world), "independent" (distances to the ends added in quadrature) or "scenarios and independent".
    """

    low: Decimal
    expected: Decimal
    high: Decimal
    method: str


def conflict_graph(claims: Sequence[Claim]) -> dict[int, set[int]]:
    """For each claim the positions of those that share a key with it at some instant."""
    graph: dict[int, set[int]] = {i: set() for i in range(len(claims))}
    by_key: dict[str, list[int]] = defaultdict(list)
    for i, claim in enumerate(claims):
        for key in claim.keys:
            by_key[key].append(i)
    for members in by_key.values():
        members.sort(key=lambda i: claims[i].start)
        running: list[int] = []
        for i in members:
            running = [j for j in running if claims[j].end > claims[i].start]
            for j in running:
                graph[i].add(j)
                graph[j].add(i)
            running.append(i)
    return graph


def components(graph: Graph) -> list[list[int]]:
    """Connected groups, each in order, in the order of their first member."""
    seen: set[int] = set()
    found = []
    for first in sorted(graph):
        if first in seen:
            continue
        group, waiting = {first}, [first]
        while waiting:
            for near in graph[waiting.pop()] - group:
                group.add(near)
                waiting.append(near)
        seen |= group
        found.append(sorted(group))
    return found


def best_set(weights: Mapping[int, Decimal], graph: Graph) -> set[int]:
    """The vertices of greatest total weight of which no two are joined; none of weight 0 or less. Exact."""
    chosen: set[int] = set()
    for group in components(graph):
        chosen |= _best({i: weights[i] for i in group if weights[i] > 0}, graph)
    return chosen


def _best(weights: dict[int, Decimal], graph: Graph) -> set[int]:
    """`best_set` of the part of the graph that `weights` names."""
    left = dict(weights)
    near = {i: graph[i] & left.keys() for i in left}
    settled: list[tuple[int, set[int]]] = []
    while left:
        vertex = _simplicial(left, near)
        if vertex is None:
            break
        weight, around = left[vertex], near[vertex]
        settled.append((vertex, set(around)))
        gone = {vertex} | {u for u in around if left[u] <= weight}
        for u in around - gone:
            left[u] -= weight
        _drop(gone, left, near)
    chosen = _branch(left, near) if left else set()
    for vertex, around in reversed(settled):
        if not around & chosen:
            chosen.add(vertex)
    return chosen


def _simplicial(left: Collection[int], near: Graph) -> int | None:
    """A vertex whose neighbours are all joined to each other, the one with the fewest; None without one."""
    for vertex in sorted(left, key=lambda i: (len(near[i]), i)):
        around = near[vertex]
        if all(around - {u} <= near[u] for u in around):
            return vertex
    return None


def _branch(left: dict[int, Decimal], near: Graph) -> set[int]:
    """With and without the vertex of most neighbours; each part of the rest by itself."""
    groups = components({i: set(near[i]) for i in left})
    if len(groups) > 1:
        return set().union(*(_best({i: left[i] for i in group}, near) for group in groups))
    vertex = max(left, key=lambda i: (len(near[i]), left[i], -i))
    without = _best({i: w for i, w in left.items() if i != vertex}, near)
    kept = {i: w for i, w in left.items() if i != vertex and i not in near[vertex]}
    with_it = {vertex} | _best(kept, near)
    return with_it if _weight(with_it, left) >= _weight(without, left) else without


def _weight(chosen: Collection[int], weights: Mapping[int, Decimal]) -> Decimal:
    return sum((weights[i] for i in chosen), Decimal(0))


def _drop(gone: set[int], left: dict[int, Decimal], near: dict[int, set[int]]) -> None:
    for i in gone:
        del left[i]
        for u in near.pop(i):
            if u in near:
                near[u].discard(i)


def total(amounts: Sequence[Amount]) -> Total:
    """The sum of amounts that can be had together, with the interval of the sum.

    Amounts of one `scenario_set` are added world by world and the sum's 5 % and 95 % quantiles taken. What
    has no common worlds counts as independent: distances from expected to low, and to high, are added in
    quadrature. The ends are never summed.
    """
    if not amounts:
        return Total(Decimal(0), Decimal(0), Decimal(0), "none")
    with localcontext(EXACT):
        return _total(amounts)


def _total(amounts: Sequence[Amount]) -> Total:
    parts, joint = _joint(amounts)
    expected = sum((part.expected for part in parts), Decimal(0))
    if len(parts) == 1:
        method = "scenarios" if joint else "single"
        return Total(parts[0].low, expected, parts[0].high, method)
    down = sum(((p.expected - p.low) ** 2 for p in parts), Decimal(0)).sqrt()
    up = sum(((p.high - p.expected) ** 2 for p in parts), Decimal(0)).sqrt()
    method = "scenarios and independent" if joint else "independent"
    return Total(expected - down, expected, expected + up, method)


def _joint(amounts: Sequence[Amount]) -> tuple[list[Amount], bool]:
    """Amounts of the same worlds as one each; whether there were any."""
    sets: dict[tuple[str, int], list[Amount]] = defaultdict(list)
    parts = []
    for amount in amounts:
        if amount.scenario_set and amount.scenarios:
            sets[amount.scenario_set, len(amount.scenarios)].append(amount)
        else:
            parts.append(amount)
    joint = False
    for members in sets.values():
        if len(members) == 1:
            parts.append(members[0])
            continue
        joint = True
        worlds = sorted(
            sum(values, Decimal(0)) for values in zip(*(m.scenarios for m in members), strict=True)
        )
        expected = sum((m.expected for m in members), Decimal(0))
        low, high = quantile(worlds, LOW), quantile(worlds, HIGH)
        # A mean may lie outside of its quantiles where the worlds are very uneven.
        parts.append(Amount(min(low, expected), expected, max(high, expected)))
    return parts, joint


def quantile(ordered: Sequence[Decimal], share: Decimal) -> Decimal:
    """Linear between the two nearest of the values in rising order."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
