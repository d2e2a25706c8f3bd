"""The policy knows the past only, stays within twice the optimum, and the optimum is one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.engine.commitments.buying import (
    BuyingConfig,
    advice,
    all_on_demand,
    compare,
    cost_of,
    deterministic,
    held,
    optimum,
    randomised,
    relative_price,
    repeated,
    target,
)


def steps(*parts: tuple[int, float]) -> np.ndarray:
    return np.concatenate([np.full(hours, level, dtype=float) for hours, level in parts])


@given(st.lists(st.integers(0, 2), min_size=1, max_size=5), st.integers(1, 4), st.floats(0.3, 3))
@settings(deadline=None, max_examples=60)
def test_the_optimum_equals_trying_all_purchases(hours: list[int], term: int, price: float) -> None:
    demand = np.array(hours, dtype=float)
    best = min(
        cost_of(demand, np.array(buys, dtype=float), term=term, price=price)
        for buys in itertools.product(range(3), repeat=len(hours))
    )
    assert optimum(demand, term=term, price=price).cost == pytest.approx(best, abs=1e-7)


def test_a_purchase_runs_for_its_term() -> None:
    np.testing.assert_array_equal(held(np.array([1.0, 0, 1, 0, 0]), 3), [1, 1, 2, 1, 1])
    assert cost_of(np.array([2.0, 2, 2, 2]), np.array([1.0, 0, 0, 0]), term=2, price=1.5) == 6 + 1.5


def test_the_deterministic_rule_buys_when_on_demand_has_cost_a_commitment() -> None:
    found = deterministic(np.ones(100), term=50, price=20)
    # 21 hours on demand, the 21st covered by the purchase in it; the next one when 20 more were paid
    assert list(np.flatnonzero(found.buys)) == [20, 90]
    assert found.cost == 20 + 20 + 20 + 20


def test_nothing_later_changes_what_was_bought() -> None:
    random = np.random.default_rng(2)
    demand = random.integers(0, 9, 900).astype(float)
    other = demand.copy()
    other[500:] = 40.0
    for policy in (advice, deterministic, randomised):
        one, two = (policy(d, term=200, price=60.0).buys for d in (demand, other))
        np.testing.assert_array_equal(one[:500], two[:500])


@pytest.mark.parametrize("seed", range(40))
def test_it_costs_at_most_twice_the_optimum_on_sudden_steps(seed: int) -> None:
    random = np.random.default_rng(seed)
    demand = steps(
        *(
            (int(random.integers(1, 240)), float(random.integers(0, 13)))
            for _ in range(int(random.integers(1, 9)))
        )
    )
    term = int(random.choice([72, 168, 400]))
    price = float(random.uniform(0.1, 0.9)) * term
    found = advice(demand, term=term, price=price)
    assert found.cost == pytest.approx(cost_of(demand, found.buys, term=term, price=price))
    assert found.cost <= 2 * optimum(demand, term=term, price=price).cost + 1e-6


def test_a_steady_load_is_bought_before_the_rule_would() -> None:
    demand = np.full(2000, 10.0)
    result = compare(demand, term=1000, price=200.0)
    assert result["optimum"].cost == 10 * 2 * 200
    assert result["advice"].cost < result["randomised"].cost < result["deterministic"].cost
    assert result["optimum"].ratio_to_optimum == 1.0
    assert result["all_on_demand"].cost_share == 1.0
    assert result["all_on_demand"].ratio_to_optimum == 5.0


def test_the_target_is_the_level_used_often_enough() -> None:
    past = steps((500, 4.0), (500, 8.0))
    even = BuyingConfig(shortest_half_life=1e9, longest_half_life=1e9)
    assert target(past, 0.6, even) == 4.0
    assert target(past, 0.4, even) == 8.0
    assert target(past, 0.6, BuyingConfig(half_life_of_age=0.1)) == 8.0


def test_no_use_has_no_ratio_and_unknown_use_is_refused() -> None:
    assert compare(np.zeros(10), term=5, price=1.0)["advice"].ratio_to_optimum is None
    assert all_on_demand(np.ones(3)).cost == 3.0
    with pytest.raises(ValueError, match="known hours"):
        compare(np.array([1.0, np.nan]), term=5, price=1.0)


def test_a_trace_is_repeated_to_the_horizon_and_hourly_charges_count() -> None:
    np.testing.assert_array_equal(repeated(np.array([1.0, 2.0]), 5), [1, 2, 1, 2, 1])
    assert relative_price(fixed=100, hourly=0.01, term=1000, on_demand=0.1) == pytest.approx(1100)
