"""Several zones: the optimum is brute force's, nobody misses or looks ahead, a move has to earn its start."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.engine.launches.compare import UNSEEN, compare, compare_zones
from finops.engine.launches.deadline import Job, Market, Standing, greedy, play, run, uniform_progress
from finops.engine.launches.optimum import optimum
from finops.engine.launches.plan_ahead import advice
from finops.engine.launches.zones import SteadyZone, cheapest, over_zones, zones_advice
from finops.frames.availability import AvailabilityTrace, gang_of

HOUR = 3600
NOTHING = np.zeros((0, 2), dtype=bool)


def _brute(job: Job, gap: int, flags: Any, prices: tuple[float, ...]) -> float:
    every = [(Market.NONE, 0), (Market.ON_DEMAND, 0), (Market.SPOT, 0), (Market.SPOT, 1)]
    found = [
        play(job, gap, flags, prices, lambda at, there, to=to: to[at.tick])  # type: ignore[misc]
        for to in product(every, repeat=len(flags))
    ]
    return min(one.cost for one in found if not one.missed)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.booleans(), st.booleans()), min_size=5, max_size=5), st.integers(1, 8),
    st.integers(0, 3), st.integers(1, 2), st.sampled_from([(1.0, 1.0), (1.0, 1.4), (2.0, 0.5)]),
)  # fmt: skip
def test_the_optimum_is_what_trying_everything_finds(
    flags: list[tuple[bool, bool]], work: int, overhead: int, gap: int, prices: tuple[float, float]
) -> None:
    if work + overhead <= 5 * gap:
        job, seen = Job(work, 5 * gap, overhead, 3.15), np.array(flags)
        assert optimum(job, gap, seen, prices) == pytest.approx(_brute(job, gap, seen, prices), abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(1, 12)), min_size=1, max_size=12),
    st.integers(1, 40), st.sampled_from([0, 250, 360, 1300]), st.integers(0, 7000),
    st.sampled_from([(1.0, 1.0), (1.0, 1.3), (4.0, 1.0)]),
)  # fmt: skip
def test_no_policy_misses_and_none_beats_the_optimum(
    runs: list[tuple[bool, bool, int]], ticks: int, overhead: int, slack: int, prices: tuple[float, float]
) -> None:
    gap = 600
    job = Job(ticks * gap - 7, ticks * gap + overhead + slack, overhead, 3.15)
    rows = [(one, two) for one, two, length in runs for _ in range(length)]
    needed = -(-job.deadline // gap)
    flags = np.array([rows[at % len(rows)] for at in range(needed)], dtype=bool)
    best = optimum(job, gap, flags, prices)
    assert best <= optimum(job, gap, flags[:, :1], prices[:1]) + 1e-6  # another zone never costs
    for policy in (
        over_zones(greedy(job, gap), cheapest(prices)),
        over_zones(uniform_progress(job, gap), cheapest(prices)),
        zones_advice(job, gap, NOTHING, prices),
    ):
        outcome = play(job, gap, flags, prices, policy)
        assert not outcome.missed
        assert outcome.cost >= best - 1e-6


@settings(max_examples=25, deadline=None)
@given(st.lists(st.booleans(), min_size=30, max_size=30), st.integers(0, 9), st.integers(0, 9))
def test_more_time_never_makes_the_optimum_dearer(flags: list[bool], ticks: int, more: int) -> None:
    seen, work, gap = np.array(flags), 6000, 600
    short = Job(work, 7200 + ticks * gap, 360, 3.15)
    longer = Job(work, short.deadline + more * gap, 360, 3.15)
    assert optimum(longer, gap, seen) <= optimum(short, gap, seen) + 1e-6


@pytest.mark.parametrize("cut", [5, 20, 41])
def test_what_comes_later_changes_nothing_before(cut: int) -> None:
    gap, job = 600, Job(8 * HOUR, 11 * HOUR, 360, 3.15)
    rows = np.array([[True, True]] * 7 + [[False, True]] * 4 + [[False, False]] * 5 + [[True, False]] * 6)
    past = np.resize(rows, (66, 2))
    other = past.copy()
    other[cut:] = ~other[cut:]
    chosen = []
    for flags in (past, other):
        seen: list[tuple[Market, int]] = []
        policy = zones_advice(job, gap, past[:20], (1.0, 1.1))

        def noted(at: Any, there: Any, policy: Any = policy, seen: Any = seen) -> tuple[Market, int]:
            seen.append(policy(at, there))
            return seen[-1]

        play(job, gap, flags, (1.0, 1.1), noted)
        chosen.append(seen[:cut])
    assert chosen[0] == chosen[1]


def test_one_zone_is_the_one_market() -> None:
    gap, job = 600, Job(8 * HOUR, 11 * HOUR, 360, 3.15)
    flags = np.resize([True] * 9 + [False] * 4, 66).astype(bool)
    alone = run(job, gap, flags, advice(job, gap, flags[:30]))
    assert play(job, gap, flags[:, None], (1.0,), zones_advice(job, gap, flags[:30, None], (1.0,))) == alone


def test_a_move_is_paid_as_a_start() -> None:
    """Two ticks in the first zone, lost; two in the second at 2 an hour with 4 s of starting."""
    job, flags = (
        Job(work=32, deadline=60, overhead=4, ratio=3.0),
        np.array([[True, False]] * 2 + [[False, True]] * 4),
    )
    outcome = play(job, 10, flags, (1.0, 2.0), over_zones(greedy(job, 10), cheapest((1.0, 2.0))))
    # 16 done in 20 s; the last 16 take 20 s at 2.
    assert (outcome.cost, outcome.missed) == (20 + 20 * 2.0, False)


def test_a_zone_that_lasts_is_taken_before_one_that_does_not() -> None:
    """Both are there at one price; the first was lost every second tick before, the second never."""
    job = Job(10 * HOUR, 14 * HOUR, 360, 3.15)
    history = np.array([[tick % 2 == 1, True] for tick in range(200)])
    policy = zones_advice(job, 600, history, (1.0, 1.0))
    assert policy(Standing(0, job.deadline, job.work), [True, True]) == (Market.SPOT, 1)
    # Where the steady one is much dearer, the other is taken.
    policy = zones_advice(job, 600, history, (1.0, 3.0))
    assert policy(Standing(0, job.deadline, job.work), [True, True]) == (Market.SPOT, 0)


@pytest.mark.parametrize(("price", "zone"), [(0.99, 0), (0.5, 1)])
def test_a_move_to_a_cheaper_zone_has_to_earn_its_start(price: float, zone: int) -> None:
    """10 h of work left on Spot at 1; a start costs 360 s of Spot and of on-demand."""
    job = Job(10 * HOUR, 14 * HOUR, 360, 3.15)
    policy = zones_advice(job, 600, np.ones((500, 2), dtype=bool), (1.0, price))
    at = Standing(0, job.deadline, job.work, Market.SPOT, 0, 0)
    assert policy(at, [True, True]) == (Market.SPOT, zone)


def test_nobody_moves_for_fear_of_a_loss() -> None:
    """The zone it runs in was lost every second tick before, the other never; a move is a start for sure."""
    job = Job(10 * HOUR, 14 * HOUR, 360, 3.15)
    history = np.array([[tick % 2 == 1, True] for tick in range(200)])
    policy = zones_advice(job, 600, history, (1.0, 1.0))
    at = Standing(0, job.deadline, job.work, Market.SPOT, 0, 0)
    assert policy(at, [True, True]) == (Market.SPOT, 0)


def test_it_learns_how_often_a_machine_has_to_move() -> None:
    """The zones are there in turns: after the first tick each one is a loss with the other there."""
    zones = SteadyZone(Job(10 * HOUR, 14 * HOUR, 360, 3.15), 600, (1.0, 1.0))
    assert zones.moves() == 1 / 36  # nothing seen: the prior, a loss in six hours
    for there in ([True, False], [False, True], [True, False], [False, False]):
        zones.see(there)
    kept = 0.5 ** (600 / (72 * HOUR))
    # Two moves, three ticks of Spot; the last loss was no move, as no zone was there.
    moved, ridden = kept + kept**2, kept + kept**2 + kept**3
    assert zones.moves() == pytest.approx((moved + 1) / (ridden + 36))


def test_zones_that_are_there_in_turns_are_left_for_on_demand() -> None:
    """A start takes 500 s of each tick of 600: 100 s of work for 600 of Spot price, 315 on demand. To one who
    sees only that Spot is always there it looks cheaper than on-demand in every tick.
    """
    job = Job(10 * HOUR, 14 * HOUR, 500, 3.15)
    turns = np.array([[tick % 2 == 0, tick % 2 == 1] for tick in range(500)])
    prices = (1.0, 1.0)
    always = advice(job, 600, np.ones(400, dtype=bool))
    knows = play(job, 600, turns[400:], prices, zones_advice(job, 600, turns[:400], prices))
    blind = play(job, 600, turns[400:], prices, over_zones(always, cheapest(prices)))
    assert knows.cost == pytest.approx((10 * HOUR + 500) * 3.15)
    # 27 ticks of Spot, 285 dearer each, until no slack is left.
    assert blind.cost == pytest.approx(knows.cost + 27 * 285)


def test_the_table_of_zones_and_of_a_gang() -> None:
    one = AvailabilityTrace(600, np.array(([True] * 9 + [False] * 4) * 20))
    two = AvailabilityTrace(600, ~one.available)
    job = Job(6 * HOUR, 8 * HOUR, 360, 3.15)
    table, starts = compare_zones([one, two], (1.0, 1.0), job, starts=3, unseen=True)
    assert starts == 3
    assert table["optimum"].cost_share < compare(one, job, starts=3)[0]["optimum"].cost_share
    assert all(found.missed == 0 for found in table.values())
    assert UNSEEN in table
    with pytest.raises(ValueError, match="not of one length"):
        compare_zones([one, AvailabilityTrace(300, one.available)], (1.0, 1.0), job, starts=3)
    gang = gang_of(one, 4, apart_seconds=600)
    # Of 9 ticks there, the last 3 lack a member.
    assert gang.available[:13].tolist() == [True] * 6 + [False] * 7
    assert gang.available.size == 257
    with pytest.raises(ValueError, match="too short for a gang of 300"):
        gang_of(one, 300, apart_seconds=600)


@pytest.mark.parametrize("prices", [(1.0,), (1.0, 0.0), (1.0, 1.0, 1.0)], ids=["few", "nothing", "many"])
def test_zones_need_a_price_each(prices: tuple[float, ...]) -> None:
    job = Job(10, 20, 0, 3.0)
    with pytest.raises(ValueError, match="a price above 0"):
        play(job, 10, np.ones((2, 2), dtype=bool), prices, over_zones(greedy(job, 10), cheapest((1.0, 1.0))))
