"""Jobs played on pools: the books are right, and our policy keeps deadlines that plain ones miss."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.engine.launches.pool_compare import (
    Terms,
    compare_pools,
    jobs_with_terms,
    openings,
    repeated_openings,
)
from finops.engine.launches.pool_policies import Advice, AdviceRules, InOrder, cost_floor
from finops.engine.launches.pool_replay import Replay, ReplayJob, ReplayRules
from finops.frames.pools import PoolKind, PoolOffer

OWN = PoolOffer("own", PoolKind.OWN, 0.5, "USD", units=2)
SPOT = PoolOffer("spot", PoolKind.SPOT, 1.0, "USD", interruptions_per_hour=0.3)
ON_DEMAND = PoolOffer("on demand", PoolKind.ON_DEMAND, 3.0, "USD")
DEVICE = PoolOffer("device", PoolKind.DEVICE, 0.1, "USD", units=1, window="00:00-02:00", zone="UTC")
BEGAN = datetime(2026, 1, 5, tzinfo=UTC)


def test_first_come_first_served_waits_in_order_and_nobody_overtakes() -> None:
    jobs = [ReplayJob(0, 4, 1, 9, 4), ReplayJob(0, 1, 2, 9, 1), ReplayJob(0, 1, 1, 9, 1)]
    result = Replay(jobs, [OWN], ReplayRules()).play(InOrder())
    assert result.waits == (0.0, 4.0, 5.0)
    assert result.cost == pytest.approx((4 + 2 + 1) * 0.5)
    assert result.missed == 0


def test_a_window_that_ends_stops_the_job_and_the_next_one_goes_on() -> None:
    jobs = [ReplayJob(0, 3, 1, 100, 3)]
    opens = openings([DEVICE], began=BEGAN, hours=72)
    result = Replay(jobs, [DEVICE], ReplayRules(restart_hours=0.5), opens).play(InOrder())
    # Two hours of the first night; half an hour to be back and one hour of work of the second.
    assert result.last_hour == pytest.approx(25.5)
    assert result.cost == pytest.approx(0.35)
    assert result.interruptions == 0


def test_a_pool_that_is_always_open_does_not_stop_at_midnight() -> None:
    always = replace(DEVICE, window="00:00-24:00")
    opens = openings([always], began=BEGAN, hours=72)
    assert opens == {"device": [(0.0, 72.0)]}
    rules = ReplayRules(restart_hours=0.5)
    result = Replay([ReplayJob(20, 8, 1, 100, 8)], [always], rules, opens).play(InOrder())
    assert (result.last_hour, result.interruptions) == (28.0, 0)


def test_spot_that_goes_loses_what_no_checkpoint_holds() -> None:
    jobs = [ReplayJob(0, 3, 1, 100, 3)]
    opens = {"spot": [(0.0, 1.0), (5.0, 50.0)]}
    plain = PoolOffer("spot", PoolKind.SPOT, 1.0, "USD")
    result = Replay(jobs, [plain], ReplayRules(restart_hours=0.5), opens).play(InOrder())
    assert (result.interruptions, result.lost) == (1, 1.0)
    assert result.last_hour == pytest.approx(8.5)
    assert result.cost == pytest.approx(4.5)


def test_a_job_that_may_not_wait_longer_goes_on_demand() -> None:
    jobs = [ReplayJob(0, 10, 2, 12, 10), ReplayJob(1, 2, 1, 4.2, 2)]
    result = Replay(jobs, [OWN, ON_DEMAND], ReplayRules()).play(Advice())
    assert result.missed == 0
    assert result.pools["on demand"].unit_hours == pytest.approx(2)
    assert result.pools["own"].unit_hours == pytest.approx(20)


def test_a_job_on_the_market_falls_back_when_own_machines_are_free() -> None:
    jobs = [ReplayJob(0, 4, 2, 5, 4), ReplayJob(0, 20, 1, 21, 20)]
    result = Replay(jobs, [OWN, ON_DEMAND], ReplayRules(restart_hours=0.0)).play(Advice())
    assert (result.moves, result.missed) == (1, 0)
    assert result.pools["own"].unit_hours == pytest.approx(8 + 16, abs=0.2)
    assert result.pools["on demand"].unit_hours == pytest.approx(4, abs=0.2)


def test_a_job_that_fits_nowhere_is_an_error_and_not_a_result() -> None:
    with pytest.raises(ValueError, match="never started"):
        Replay([ReplayJob(0, 1, 5, 9, 1)], [OWN], ReplayRules()).play(InOrder())


JOBS = st.lists(
    st.tuples(st.floats(0, 50), st.floats(0.05, 30), st.integers(1, 3)), min_size=1, max_size=25
)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(JOBS, st.integers(1, 5))
def test_no_deadline_is_missed_while_there_is_on_demand_and_no_cost_is_below_the_floor(
    jobs: list[tuple[float, float, int]], seed: int
) -> None:
    found = compare_pools(
        sorted(jobs),
        [OWN, SPOT, ON_DEMAND, DEVICE],
        began=BEGAN,
        terms=Terms(on_demand_limit=8),
        rules=ReplayRules(seed=seed),
        advice=AdviceRules(),
    )
    advice = found.strategies["advice"].result
    assert advice.missed == 0
    assert advice.cost >= found.floor - 1e-6
    assert advice.cost <= found.base * 1.2 + 1
    done = sum(hours * units for _, hours, units in jobs)
    assert sum(use.unit_hours for use in advice.pools.values()) >= done - 1e-6


def test_the_same_seed_gives_the_same_answer() -> None:
    jobs = [(float(n), 5.0, 1) for n in range(20)]
    told = jobs_with_terms(jobs, Terms(estimate_error=0.3), start_hours=0.1, seed=3)
    assert told == jobs_with_terms(jobs, Terms(estimate_error=0.3), start_hours=0.1, seed=3)
    runs = [Replay(told, [SPOT, ON_DEMAND], ReplayRules(seed=3)).play(Advice()).cost for _ in range(2)]
    assert runs[0] == runs[1]


def test_the_floor_fills_the_cheapest_pools_first() -> None:
    # Ten hours of two own units, the rest on Spot.
    assert cost_floor(25, [OWN, SPOT], {}, 10) == pytest.approx(20 * 0.5 + 5 * 1.0)


def test_openings_of_a_trace_are_joined_and_repeated() -> None:
    assert repeated_openings([True, True, False], 1.0, 6.0) == [(0.0, 2.0), (3.0, 5.0)]


def test_without_on_demand_nothing_can_be_compared() -> None:
    with pytest.raises(ValueError, match="on demand"):
        compare_pools(
            [(0.0, 1.0, 1)], [OWN], began=BEGAN, terms=Terms(), rules=ReplayRules(), advice=AdviceRules()
        )


def test_work_with_time_to_spare_waits_for_the_window_of_tonight_and_buys_nothing() -> None:
    opens = {"device": [(10.0, 18.0), (34.0, 42.0), (58.0, 66.0)]}
    jobs = [ReplayJob(0, 5, 1, 105, 5), ReplayJob(0, 5, 2, 105, 5)]
    result = Replay(jobs[:1], [DEVICE, ON_DEMAND], ReplayRules(), opens).play(Advice())
    assert (result.cost, result.waits, result.missed) == (pytest.approx(0.5), (10.0,), 0)
    # Twice as many hours as a window has: a restart of 0.1 h, and the rest tomorrow night.
    long = Replay([ReplayJob(0, 16, 1, 105, 16)], [DEVICE, ON_DEMAND], ReplayRules(), opens).play(Advice())
    assert (long.cost, long.missed) == (pytest.approx(0.1 * 16.2), 0)
    assert long.last_hour == pytest.approx(58.2)
    # Two units never fit the device: that job buys, the other one waits all the same.
    both = Replay(jobs, [DEVICE, ON_DEMAND], ReplayRules(), opens).play(Advice())
    assert both.pools["device"].unit_hours == pytest.approx(5)
    assert (both.waits, both.cost) == ((10.0, 0.0), pytest.approx(0.5 + 30))


def test_a_window_is_waited_for_only_where_it_is_soon_enough_and_cheaper() -> None:
    opens = {"device": [(10.0, 18.0)]}
    late = Replay([ReplayJob(0, 5, 1, 14, 5)], [DEVICE, ON_DEMAND], ReplayRules(), opens).play(Advice())
    assert (late.waits, late.cost, late.missed) == ((0.0,), pytest.approx(15), 0)
    dear = PoolOffer("device", PoolKind.DEVICE, 3.5, "USD", units=1, window="00:00-02:00", zone="UTC")
    jobs = [ReplayJob(0, 5, 1, 105, 5)]
    result = Replay(jobs, [dear, ON_DEMAND], ReplayRules(), opens).play(Advice())
    assert (result.waits, result.cost) == ((0.0,), pytest.approx(15))


def test_no_more_jobs_wait_for_a_window_than_it_has_units() -> None:
    opens = {"device": [(10.0, 18.0)]}
    jobs = [ReplayJob(0, 5, 1, 105, 5) for _ in range(3)]
    result = Replay(jobs, [DEVICE, ON_DEMAND], ReplayRules(), opens).play(Advice())
    assert sorted(result.waits) == [0.0, 0.0, 10.0]
    assert (result.missed, result.cost) == (0, pytest.approx(30.5))
