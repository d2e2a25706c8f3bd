"""Deadline policies: the optimum equals brute force, nobody misses, nobody looks ahead."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.engine.launches.compare import compare, starts_of
from finops.engine.launches.deadline import Job, Market, Standing, greedy, on_demand, run, uniform_progress
from finops.engine.launches.optimum import optimum
from finops.engine.launches.plan_ahead import advice
from finops.frames.availability import AvailabilityTrace

POLICIES: dict[str, Any] = {
    "advice": lambda job, gap: advice(job, gap, np.zeros(0, dtype=bool)),
    "greedy": greedy,
    "uniform_progress": uniform_progress,
    "on_demand": on_demand,
}
TINY = st.tuples(
    st.lists(st.booleans(), min_size=6, max_size=6),
    st.integers(1, 9),  # work
    st.integers(0, 3),  # overhead
    st.integers(1, 2),  # length of a tick
    st.sampled_from([0.8, 1.0, 3.15]),
    st.integers(0, 3),  # what is cut from the last tick
)


def _tiny(drawn: Any) -> tuple[Job, int, Any] | None:
    flags, work, overhead, gap, ratio, cut = drawn
    deadline = 6 * gap - min(cut, gap - 1)
    if work + overhead > deadline:
        return None
    return Job(work, deadline, overhead, ratio), gap, np.array(flags)


def _brute(job: Job, gap: int, flags: Any) -> float:
    costs = []
    for choices in product(Market, repeat=len(flags)):

        def choose(at: Standing, there: bool, to: tuple[Market, ...] = choices) -> Market:
            return to[at.tick]

        outcome = run(job, gap, flags, choose)
        if not outcome.missed:
            costs.append(outcome.cost)
    return min(costs)


@settings(max_examples=25, deadline=None)
@given(TINY)
def test_the_optimum_is_what_trying_everything_finds(drawn: Any) -> None:
    tiny = _tiny(drawn)
    if tiny is not None:
        assert optimum(*tiny) == pytest.approx(_brute(*tiny), abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.booleans(), st.integers(1, 12)), min_size=1, max_size=12),
    st.integers(1, 40),
    st.sampled_from([0, 250, 360, 720, 1300]),
    st.integers(0, 7000),
)
def test_no_policy_misses_and_none_beats_the_optimum(
    runs: list[tuple[bool, int]], ticks_of_work: int, overhead: int, slack: int
) -> None:
    gap = 600
    job = Job(ticks_of_work * gap - 7, ticks_of_work * gap + overhead + slack, overhead, 3.15)
    needed = -(-job.deadline // gap)
    flags = np.resize(np.concatenate([[there] * length for there, length in runs]), needed).astype(bool)
    best = optimum(job, gap, flags)
    for name, policy in POLICIES.items():
        outcome = run(job, gap, flags, policy(job, gap))
        assert not outcome.missed, name
        assert outcome.cost >= best - 1e-6, name


@pytest.mark.parametrize("name", POLICIES)
def test_what_comes_later_changes_nothing_before(name: str) -> None:
    gap, job = 600, Job(8 * 3600, 11 * 3600, 360, 3.15)
    past = np.array(([True] * 7 + [False] * 5) * 6)[:66]
    for cut in (5, 20, 41):
        other = past.copy()
        other[cut:] = ~other[cut:]
        chosen = []
        for flags in (past, other):
            seen: list[Market] = []
            policy = POLICIES[name](job, gap)

            def noted(at: Any, there: bool, policy: Any = policy, seen: list[Market] = seen) -> Market:
                seen.append(policy(at, there))
                return seen[-1]

            run(job, gap, flags, noted)
            chosen.append(seen[:cut])
        assert chosen[0] == chosen[1]


def test_a_run_is_paid_by_the_second_with_its_start() -> None:
    """Two ticks of Spot, lost, two waited, then on-demand: 20 + 10 Spot seconds and 6 + 4 on-demand ones."""
    job = Job(work=20, deadline=60, overhead=4, ratio=3.0)
    flags = np.array([True, True, False, False, False, False])
    plan = [Market.SPOT, Market.SPOT, Market.NONE, Market.NONE, Market.ON_DEMAND, Market.ON_DEMAND]
    # Work after Spot: 6 + 10 = 16; on-demand does the last 4 after 4 of starting: 8 seconds at 3.
    assert run(job, 10, flags, lambda at, there: plan[at.tick]).cost == 20 + 8 * 3.0


def test_greedy_waits_to_the_last_safe_moment_and_uniform_progress_does_not() -> None:
    """No Spot at all, 2 ticks of work, 6 of time: on-demand must start with 2 ticks and the overhead left."""
    job = Job(work=1200, deadline=3600, overhead=300, ratio=3.0)
    flags = np.zeros(6, dtype=bool)
    begun: dict[str, int] = {}
    for name, policy in (("greedy", greedy), ("uniform_progress", uniform_progress)):
        choose = policy(job, 600)

        def noted(at: Any, there: bool, choose: Any = choose, name: str = name) -> Market:
            market: Market = choose(at, there)
            if market is Market.ON_DEMAND:
                begun.setdefault(name, at.tick)
            return market

        assert run(job, 600, flags, noted).cost == 1500 * 3.0
    assert begun == {"greedy": 3, "uniform_progress": 1}


def test_the_policy_learns_a_market_that_never_fails() -> None:
    gap, job = 600, Job(10 * 3600, 12 * 3600, 360, 3.15)
    flags = np.ones(72, dtype=bool)
    outcome = run(job, gap, flags, advice(job, gap, np.ones(500, dtype=bool)))
    assert outcome.cost == 10 * 3600 + 360


def test_the_table_has_all_five_on_the_same_starts() -> None:
    trace = AvailabilityTrace(600, np.array(([True] * 9 + [False] * 4) * 20))
    job = Job(6 * 3600, 8 * 3600, 360, 3.15)
    table, starts = compare(trace, job, starts=3)
    assert starts == 3
    assert set(table) == {"advice", "greedy", "uniform_progress", "on_demand", "optimum"}
    assert table["on_demand"].cost_share == 1.0
    assert all(one.missed == 0 for one in table.values())
    assert table["optimum"].cost_share == min(one.cost_share for one in table.values())
    with pytest.raises(ValueError, match=r"the trace lasts 43\.3 h, the deadline is 50 h"):
        starts_of(trace, Job(40 * 3600, 50 * 3600, 360, 3.15), 3)


@pytest.mark.parametrize("wrong", [(0, 10, 0, 3.0), (10, 10, 1, 3.0), (10, 20, -1, 3.0), (10, 20, 1, 0.0)])
def test_a_job_that_cannot_be_is_refused(wrong: tuple[int, int, int, float]) -> None:
    with pytest.raises(ValueError, match=r"work|on-demand|ratio"):
        Job(*wrong)
