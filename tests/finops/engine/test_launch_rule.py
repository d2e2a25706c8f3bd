"""The launch rule: when it waits, when it does not, and that it never looks ahead."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.engine.policy import DEFAULT, choose, decide, plan_costs
from finops.engine.series import US_PER_HOUR as H
from tests.support.price_books import START_US, book_of, spiky_steps, walk_steps

ZONES = np.array([0, 1])


def at(hour: float) -> int:
    return START_US + round(hour * H)


def test_a_flat_price_has_no_window():
    book = book_of({("a", "m"): [(0, 0.2)], ("b", "m"): [(0, 0.1)]}, hours=1500)
    got = decide(book, ZONES, home=0, hours=4, now_us=at(1000), slack_us=24 * H)
    assert (got.verdict, got.series, got.start_us) == ("now", 1, at(1000))
    assert got.expected_cost == pytest.approx(0.4)
    assert (got.low, got.high) == (pytest.approx(0.4), pytest.approx(0.4))
    assert got.probability_cheaper > 0.99
    assert got.why.startswith("no window")


def test_home_is_kept_where_it_costs_no_more():
    book = book_of({("a", "m"): [(0, 0.1)], ("b", "m"): [(0, 0.1)]}, hours=1500)
    got = decide(book, ZONES, home=1, hours=4, now_us=at(1000), slack_us=0)
    assert (got.series, got.probability_cheaper) == (1, 0.0)


def test_a_price_that_keeps_falling_is_waited_for():
    falling = [(h, 1.0 * 0.97 ** max(0, (h - 900) / 6)) for h in range(0, 1500, 6)]
    got = decide(
        book_of({("a", "m"): falling}, hours=1500), [0], home=0, hours=1, now_us=at(960), slack_us=24 * H
    )
    assert (got.verdict, got.kind) == ("wait", "falling")
    assert at(960) < got.start_us <= at(984)
    assert got.recheck_us == at(961)


def test_a_spike_is_waited_out_until_its_threshold():
    steps = [*spiky_steps(1, hours=900), (1000, 3.0), (1006, 1.0)]
    book = book_of({("a", "m"): steps}, hours=1500)
    got = decide(book, [0], home=0, hours=1, now_us=at(1002), slack_us=24 * H)
    assert (got.verdict, got.kind, got.threshold) == ("wait", "spike", pytest.approx(1.25))
    series, start = choose(book, np.array([0]), np.array([at(1002)]), length_us=H, slack_us=24 * H)
    assert (series.tolist(), start.tolist()) == ([0], [at(1006)])


def test_spikes_that_lasted_are_no_longer_waited_out():
    # Every three days the price doubles and stays: waiting for the old level lost each time.
    level, steps = 1.0, [(0.0, 1.0)]
    for day in range(3, 60, 3):
        level *= 1.6
        steps.append((day * 24.0, level))
    book = book_of({("a", "m"): steps}, hours=1600)
    early = decide(book, [0], home=0, hours=1, now_us=at(3 * 24 + 1), slack_us=4 * H)
    cautious = DEFAULT.__class__(trust=0.0)
    rising = [*spiky_steps(3, hours=600), *[(600 + 80 * i, 1.4**i) for i in range(1, 12)]]
    late = decide(
        book_of({("a", "m"): rising}, hours=1600),
        [0],
        home=0,
        hours=24,
        now_us=at(600 + 80 * 11 + 2),
        slack_us=72 * H,
        config=cautious,
    )
    assert early.kind == "spike"
    assert late.verdict == "now"


def nightly(hours: int, until: int) -> list[tuple[float, float]]:
    """Half price from 00:00 to 06:00 each day up to hour `until`, flat afterwards."""
    steps: list[tuple[float, float]] = []
    for day in range(until // 24):
        steps += [(day * 24.0, 0.5), (day * 24.0 + 6, 1.0)]
    return steps + ([(float(until), 1.0)] if until < hours else [])


def test_a_daily_window_that_has_paid_is_used():
    book = book_of({("a", "m"): nightly(1500, 1488)}, hours=1500)
    got = decide(book, [0], home=0, hours=4, now_us=at(50 * 24 + 12), slack_us=24 * H)
    assert (got.verdict, got.kind, got.start_us) == ("wait", "pattern", at(51 * 24))
    assert got.expected_cost == pytest.approx(2.0, rel=0.05)


def test_a_window_that_is_gone_is_not_sold():
    book = book_of({("a", "m"): nightly(2000, 720)}, hours=2000)
    assert decide(book, [0], home=0, hours=4, now_us=at(29 * 24 + 12), slack_us=24 * H).verdict == "wait"
    gone = decide(book, [0], home=0, hours=4, now_us=at(50 * 24 + 12), slack_us=24 * H)
    assert (gone.verdict, gone.expected_saving) == ("now", 0.0)


@given(seed=st.integers(0, 10_000), hour=st.integers(200, 700), slack=st.sampled_from([0, 4, 24, 72]))
@settings(max_examples=25, deadline=None)
def test_changing_the_future_changes_no_decision(seed, hour, slack):
    past = [(h, p) for h, p in walk_steps(seed, hours=800) if h <= hour]
    other = [(h, p) for h, p in spiky_steps(seed, hours=800) if h <= hour]
    real = book_of({("a", "m"): past, ("b", "m"): other}, hours=1200)
    crash = book_of(
        {("a", "m"): [*past, (hour + 0.5, 0.01)], ("b", "m"): [*other, (hour + 1, 50.0)]}, hours=1300
    )
    ask = {"home": 0, "hours": 4.0, "now_us": at(hour), "slack_us": slack * H}
    first, second = decide(real, ZONES, **ask), decide(crash, ZONES, **ask)
    assert first == second or (np.isnan(first.low) and first.kind == second.kind)
    assert at(hour) <= first.start_us <= at(hour + slack)


@given(seed=st.integers(0, 10_000), slack=st.sampled_from([1, 4, 24, 72]))
@settings(max_examples=20, deadline=None)
def test_every_start_fits_the_slack(seed, slack):
    book = book_of(
        {("a", "m"): walk_steps(seed, hours=700), ("b", "m"): spiky_steps(seed, hours=700)}, hours=900
    )
    times = at(0) + H * np.arange(100, 600, 7)
    series, start = choose(book, ZONES, times, length_us=4 * H, slack_us=slack * H)
    assert set(series.tolist()) <= {0, 1}
    assert ((start >= times) & (start <= times + slack * H)).all()


def test_plan_costs_gives_each_candidate_its_interval():
    book = book_of({("a", "m"): [(0, 0.2)], ("b", "m"): spiky_steps(2, hours=1400)}, hours=1500)
    table = plan_costs(book, ZONES, hours=4, now_us=at(1200))
    assert table["series"].tolist() == [0, 1]
    assert table.loc[0, ["expected", "low", "high"]].tolist() == pytest.approx([0.8, 0.8, 0.8])
    assert table.loc[1, "low"] <= table.loc[1, "expected"] <= table.loc[1, "high"]


def test_without_a_price_there_is_no_decision():
    book = book_of({("a", "m"): [(10, 0.2)]}, hours=100)
    with pytest.raises(ValueError, match="no candidate has a price"):
        decide(book, [0], home=None, hours=1, now_us=at(5), slack_us=0)


def test_a_decision_over_ninety_days_is_fast():
    book = book_of({(zone, "m"): walk_steps(i, hours=2160) for i, zone in enumerate("abcdef")}, hours=2200)
    begun = time.perf_counter()
    decide(book, np.arange(6), home=0, hours=4, now_us=at(2150), slack_us=24 * H)
    assert time.perf_counter() - begun < 0.5
