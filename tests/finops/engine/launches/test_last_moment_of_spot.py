"""Spot only while an interruption at the worst moment still leaves time for on-demand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.engine.launches.last_moment import (
    Pace,
    chance_in_time,
    may_start_spot,
    may_stay_on_spot,
    may_wait,
    seconds_to_fallback,
)

HOUR = 3600.0


def test_without_a_deadline_spot_is_always_safe() -> None:
    pace = Pace(work=48 * HOUR, left=None, overhead=360, between=None)
    assert may_start_spot(pace)
    assert may_stay_on_spot(pace, to_do=48 * HOUR)
    assert may_wait(pace, wait=1e9)
    assert seconds_to_fallback(pace) is None
    assert chance_in_time(pace, rate_per_hour=9.0) == 1.0


def test_work_without_checkpoints_needs_room_for_all_of_it_again() -> None:
    # 2 h of work: lost at the end, started again on demand: 2 + 2 h, two starts and a tick.
    needed = 4 * HOUR + 2 * 360 + 300
    assert may_start_spot(Pace(2 * HOUR, needed, 360, None))
    assert not may_start_spot(Pace(2 * HOUR, needed - 1, 360, None))


def test_checkpoints_lower_what_can_be_lost() -> None:
    needed = 2 * HOUR + 900 + 2 * 360 + 300
    assert may_start_spot(Pace(2 * HOUR, needed, 360, 900))
    assert not may_start_spot(Pace(2 * HOUR, needed - 1, 360, 900))


def test_a_machine_that_is_nearly_done_stays() -> None:
    late = Pace(2 * HOUR, 2 * HOUR + 400, 360, None)
    assert may_stay_on_spot(late, to_do=300)
    assert not may_stay_on_spot(late, to_do=301)
    assert not may_stay_on_spot(Pace(2 * HOUR, 200, 360, None), to_do=300)


def test_the_fallback_is_at_the_last_safe_moment() -> None:
    pace = Pace(HOUR, 3 * HOUR, 360, 900)
    assert seconds_to_fallback(pace) == 2 * HOUR - 360 - 300
    assert may_wait(pace, wait=2 * HOUR - 660)
    assert not may_wait(pace, wait=2 * HOUR - 659)
    assert seconds_to_fallback(Pace(HOUR, 60, 360, 900)) == 0.0


def test_chances_by_hand() -> None:
    # One whole run fits: exp(-0.5 x 1).
    one = Pace(HOUR, 1.5 * HOUR, 0, None)
    assert chance_in_time(one, rate_per_hour=0.5) == pytest.approx(math.exp(-0.5))
    # Three fit: 1 - (1 - exp(-0.5))^3.
    three = Pace(HOUR, 3 * HOUR, 0, None)
    assert chance_in_time(three, rate_per_hour=0.5) == pytest.approx(1 - (1 - math.exp(-0.5)) ** 3)
    # With checkpoints every 15 min: half an hour of slack pays two interruptions.
    marked = Pace(HOUR, 1.5 * HOUR, 0, 900)
    poisson = math.exp(-0.5) * (1 + 0.5 + 0.125)
    assert chance_in_time(marked, rate_per_hour=0.5) == pytest.approx(poisson)
    assert chance_in_time(Pace(HOUR, HOUR - 1, 0, 900), rate_per_hour=0.5) == 0.0
    assert chance_in_time(Pace(HOUR, HOUR - 1, 0, 900), rate_per_hour=0.0) == 0.0


@settings(max_examples=50, deadline=None)
@given(
    st.floats(60, 1e5), st.floats(0, 2e5), st.floats(0, 1800), st.none() | st.floats(60, 1e4),
    st.floats(0, 0.5), st.floats(0, 1e4),
)  # fmt: skip
def test_more_time_never_hurts(
    work: float, left: float, overhead: float, between: float | None, rate: float, more: float
) -> None:
    tight, wide = Pace(work, left, overhead, between), Pace(work, left + more, overhead, between)
    assert may_start_spot(wide) or not may_start_spot(tight)
    assert chance_in_time(wide, rate_per_hour=rate) >= chance_in_time(tight, rate_per_hour=rate) - 1e-9
    # Lost at the worst moment, on demand still meets the deadline.
    if may_start_spot(tight):
        after = left - overhead - tight.unsaved - tight.tick
        assert after >= work + overhead - 1e-6
