"""The best set of what does not conflict equals brute force; sums of intervals are computed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from finops.engine.alternatives import Amount, Claim, Total, best_set, components, conflict_graph, total

T0 = datetime(2026, 1, 1, tzinfo=UTC)


def claim(keys: str, start: int, end: int) -> Claim:
    return Claim(frozenset(keys), T0 + timedelta(hours=start), T0 + timedelta(hours=end))


def brute_force(weights: dict[int, Decimal], graph: dict[int, set[int]]) -> Decimal:
    best = Decimal(0)
    for size in range(1, len(weights) + 1):
        for some in combinations(weights, size):
            if all(b not in graph[a] for a, b in combinations(some, 2)):
                best = max(best, sum((weights[i] for i in some), Decimal(0)))
    return best


claims = st.lists(
    st.builds(
        lambda keys, start, length: claim(keys, start, start + length),
        st.text("abcde", min_size=1, max_size=3),
        st.integers(0, 8),
        st.integers(1, 6),
    ),
    max_size=11,
)


@settings(max_examples=500, deadline=None)
@given(claims, st.data())
def test_the_best_set_is_that_of_brute_force(rows: list[Claim], data: st.DataObject) -> None:
    amounts = st.decimals("-5", "50", places=2)
    weights = {i: data.draw(amounts) for i in range(len(rows))}
    graph = conflict_graph(rows)
    for i, a in enumerate(rows):
        for j, b in enumerate(rows):
            meet = i != j and a.keys & b.keys and a.start < b.end and b.start < a.end
            assert (j in graph[i]) == bool(meet)
    chosen = best_set(weights, graph)
    assert all(not graph[i] & chosen and weights[i] > 0 for i in chosen)
    assert sum((weights[i] for i in chosen), Decimal(0)) == brute_force(weights, graph)


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 12), st.data())
def test_also_where_the_conflicts_are_of_no_shape(size: int, data: st.DataObject) -> None:
    pairs = list(combinations(range(size), 2))
    joined = data.draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    graph: dict[int, set[int]] = {i: set() for i in range(size)}
    for a, b in joined:
        graph[a].add(b)
        graph[b].add(a)
    weights = {i: data.draw(st.decimals("0.01", "9", places=2)) for i in range(size)}
    chosen = best_set(weights, graph)
    assert all(not graph[i] & chosen for i in chosen)
    assert sum((weights[i] for i in chosen), Decimal(0)) == brute_force(weights, graph)


def test_one_large_plan_against_many_small_ones_that_it_excludes() -> None:
    rows = [claim("abc", 0, 10), claim("a", 0, 10), claim("b", 0, 10), claim("c", 0, 5), claim("c", 5, 10)]
    graph = conflict_graph(rows)
    assert components(graph) == [[0, 1, 2, 3, 4]]
    weights = {0: Decimal(10), 1: Decimal(4), 2: Decimal(3), 3: Decimal(1), 4: Decimal(2)}
    assert best_set(weights, graph) == {0}  # 10 = 10: the one that conflicts most is settled last
    assert best_set({**weights, 3: Decimal("1.01")}, graph) == {1, 2, 3, 4}
    assert best_set({**weights, 0: Decimal("10.01")}, graph) == {0}


def test_a_thousand_rows_of_a_hundred_pools_and_plans_over_all_of_them() -> None:
    pools = [Claim(frozenset({f"p{i % 100}"}), T0, T0 + timedelta(hours=1 + i % 7)) for i in range(1000)]
    plans = [Claim(frozenset(f"p{k}" for k in range(100)), T0, T0 + timedelta(hours=9))] * 15
    rows = pools + plans
    weights = {i: Decimal(i % 13 + 1) for i in range(len(rows))}
    by_pool = {k: max(weights[i] for i in range(k, 1000, 100)) for k in range(100)}
    assert sum(weights[i] for i in best_set(weights, conflict_graph(rows))) == sum(by_pool.values())


def test_a_sum_of_independent_amounts_is_narrower_than_the_sum_of_the_ends() -> None:
    found = total(
        [Amount(Decimal(7), Decimal(10), Decimal(14)), Amount(Decimal(16), Decimal(20), Decimal(23))]
    )
    # Down: sqrt(3^2 + 4^2) = 5; up: sqrt(4^2 + 3^2) = 5.
    assert (found.low, found.expected, found.high, found.method) == (25, 30, 35, "independent")


def test_amounts_of_the_same_worlds_are_added_world_by_world() -> None:
    up = tuple(Decimal(i) for i in range(101))
    down = tuple(reversed(up))
    rising = Amount(Decimal(5), Decimal(50), Decimal(95), "demand", up)
    assert total([rising, rising]) == Total(Decimal(10), Decimal(100), Decimal(190), "scenarios")
    against = total([rising, Amount(Decimal(5), Decimal(50), Decimal(95), "demand", down)])
    assert (against.low, against.high) == (100, 100)  # what one loses the other wins in every world
    alone = Amount(Decimal(96), Decimal(100), Decimal(103))
    mixed = total([rising, rising, alone])
    assert mixed.method == "scenarios and independent"
    assert round(mixed.low, 20) == round(200 - (Decimal(90) ** 2 + 16).sqrt(), 20)


def test_nothing_and_one_amount() -> None:
    assert total([]).method == "none"
    one = total([Amount(Decimal(1), Decimal(2), Decimal(4))])
    assert (one.low, one.expected, one.high, one.method) == (1, 2, 4, "single")
