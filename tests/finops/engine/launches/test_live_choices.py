"""What a live launch does next, from what was seen of its pools."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.engine.launches.deadline import Market
from finops.engine.launches.last_moment import Pace, may_start_spot, may_wait
from finops.engine.launches.live import (
    AS_LONG_AGAIN,
    LOOK,
    Hour,
    Sighting,
    cost_of_pool,
    next_market,
    past_of,
    worth_moving,
)
from finops.engine.launches.plan_ahead import PRIOR_SECONDS

HOURS = 3600.0
HOUR = Hour(spot=1.0, on_demand=3.15)


def pace(work: float = 10, left: float = 20, *, between: float | None = 600.0) -> Pace:
    return Pace(work=work * HOURS, left=left * HOURS, overhead=360.0, between=between)


def away(at: float) -> Sighting:
    return Sighting(at, at, there=False)


def test_sightings_become_ticks_of_known_and_unknown_time() -> None:
    """There 0-1800, away at 1800 and 3000 (the tick between is bridged), two hours of nothing, there."""
    pools = [[Sighting(0, 1800, True), away(1800), away(3000), Sighting(10200, 11400, True)]]
    past = past_of(pools, now=11400)
    kept = 0.5 ** (600 / (72 * 3600))
    # Ticks 0-2 there (the first two in the first band of age), 3-5 away, 17-18 there.
    assert past.seconds[1].sum() == pytest.approx(600 * sum(kept**n for n in (18, 17, 16, 1, 0)))
    assert past.seconds[0].sum() == pytest.approx(600 * sum(kept**n for n in (15, 14, 13)))
    # One end of a run was seen: what ended the time without Spot was not.
    assert past.ended[1].sum() == pytest.approx(kept**15)
    assert past.ended[0].sum() == 0
    assert past.there is True


def test_a_market_is_there_where_one_of_its_pools_is() -> None:
    both = past_of([[Sighting(0, 1800, True)], [away(600), away(1800)]], now=2400)
    assert both.there is False
    assert both.ended[1].sum() == 1
    assert both.seconds[0].sum() == 600


def test_the_tick_of_now_is_not_yet_the_past() -> None:
    past = past_of([[Sighting(0, 1000, True)]], now=1000)
    assert past.seconds.sum() == 600


def test_without_sightings_the_given_hazard_counts() -> None:
    past = past_of([], now=0, hazard_per_hour=0.5)
    # Of no run that was seen: one ends in two hours.
    cost = cost_of_pool(HOUR, past, pace(), hazard_per_hour=0.5)
    assert cost == pytest.approx(1 + 660 / 7200 * 3.15)
    past.see(True)
    assert past.rate() == pytest.approx(1 / (600 + 7200 / (1 / (600 / 7200 + 1))))


def test_without_a_hazard_a_run_lasts_about_as_long_again() -> None:
    assert AS_LONG_AGAIN.round().tolist() == [1800, 2078, 6235, 18706, 56118]
    past = past_of([[away(0)]], now=600)
    assert past.rate() == pytest.approx(1 / (600 + 1800 / (1 / (600 / 1800 + 1))))
    # Spot that is met has been there for an hour.
    past = past_of([], now=0)
    past.see(True)
    assert past.rate() == pytest.approx(1 / (600 + 6235.38290725 / (1 / (600 / 6235.38290725 + 1))))


def test_spot_that_is_there_is_taken_and_waited_for() -> None:
    empty = past_of([], now=0)
    assert next_market(pace(), HOUR, empty, there=True) is Market.SPOT
    assert next_market(pace(), HOUR, empty, there=False) is Market.NONE
    assert next_market(pace(10, 10.2), HOUR, empty, there=True) is Market.ON_DEMAND


def test_with_little_slack_on_demand_begins_now_and_keeps_it_for_spot_that_comes_back() -> None:
    """Eight hours of slack are waited with; of 90 minutes nothing would be left for a change to Spot."""
    empty = past_of([], now=0)
    assert next_market(pace(40, 48), HOUR, empty, there=False) is Market.NONE
    tight = pace(40, 41.5)
    assert may_wait(tight, wait=LOOK)
    assert next_market(tight, HOUR, empty, there=False) is Market.ON_DEMAND
    assert next_market(tight, HOUR, empty, there=True) is Market.SPOT


def test_spot_dearer_than_on_demand_is_not_taken() -> None:
    for there in (True, False):
        assert next_market(pace(), Hour(2.0, 1.0), past_of([], now=0), there=there) is Market.ON_DEMAND


def test_a_machine_on_demand_gives_way_where_that_earns_a_start() -> None:
    empty = past_of([], now=0)
    assert worth_moving(pace(10, 20), HOUR, empty, done_since=0.0)
    # By hand, work w and a start of 360 s: w + 360 < 3.15 w from 168 s on.
    assert worth_moving(pace(180 / HOURS, 20), HOUR, empty, done_since=0.0)
    assert not worth_moving(pace(160 / HOURS, 20), HOUR, empty, done_since=0.0)
    # Not safe for the deadline.
    assert not worth_moving(pace(10, 10.3), HOUR, empty, done_since=0.0)
    # All but a minute was done since the last checkpoint.
    assert not worth_moving(pace(0.5, 20, between=1800), HOUR, empty, done_since=1740.0)
    assert not worth_moving(pace(10, 20), Hour(1.0, 1.001), empty, done_since=590.0)


@pytest.mark.parametrize("between", [600, 1800, 3600, 7200])
def test_work_since_a_checkpoint_is_done_again_where_the_next_one_is_far(between: float) -> None:
    """By hand: a move does `d` again at 1; staying costs 2.15 more for `between` - d, and moves then.

    So d < 2.15 / 3.15 of `between` moves, or a bit less for what a start and losses cost either way. A
    checkpoint that is late takes as long again as it is late: d < 2.15 (d - `between`) from about twice on.
    """
    seen = past_of([[Sighting(0, 6 * HOURS, True)]], now=6 * HOURS)
    at = pace(40, 60, between=between)
    moves = {
        part: worth_moving(at, HOUR, seen, done_since=part * between)
        for part in (0.0, 0.25, 0.5, 0.75, 0.95, 1.0, 1.05, 1.5, 3.0, 4.0)
    }
    assert moves == {
        0.0: True, 0.25: True, 0.5: True, 0.75: False, 0.95: False, 1.0: False, 1.05: False, 1.5: False,
        3.0: True, 4.0: True,
    }  # fmt: skip


def test_a_pool_that_is_taken_back_often_costs_more_than_its_price() -> None:
    """24 runs of half an hour in a day against one of a day: each loss is 6 min and half a checkpoint."""
    odd = [one for at in range(0, 86400, 3600) for one in (Sighting(at, at + 1800, True), away(at + 1800))]
    calm = [Sighting(0, 86400, True)]
    price = [cost_of_pool(HOUR, past_of([seen], now=86400), pace()) for seen in (calm, odd)]
    keep = 0.5 ** (600 / (72 * 3600))
    faded = 600 * sum(keep**n for n in range(144))
    assert price[0] == pytest.approx(1 + 660 * 3.15 / (faded + PRIOR_SECONDS))
    assert 1.7 < price[1] < 1.9


@given(
    work=st.floats(0.1, 30), slack=st.floats(0.0, 10), between=st.floats(60, 7200), there=st.booleans(),
    spot=st.floats(0.1, 3), seen=st.lists(st.booleans(), max_size=40),
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_what_is_chosen_is_safe_for_the_deadline(
    work: float, slack: float, between: float, there: bool, spot: float, seen: list[bool]
) -> None:
    at = pace(work, work + slack, between=between)
    looks = [Sighting(n * 600.0, (n + 1) * 600.0, flag) for n, flag in enumerate(seen)]
    past = past_of([looks], now=len(seen) * 600.0)
    before = np.copy(past.seconds)
    chosen = next_market(at, Hour(spot, 1.0), past, there=there)
    assert chosen is not Market.SPOT or (there and may_start_spot(at))
    assert chosen is not Market.NONE or may_wait(at, wait=LOOK)
    assert (past.seconds == before).all()
