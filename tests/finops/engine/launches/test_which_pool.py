"""Which pool a piece of work takes, and why the others lost."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.engine.launches.burst import BurstRule, BurstState, judge_burst
from finops.engine.launches.pool import PoolWork, Why, choose_pool
from finops.frames.pools import PoolKind, PoolOffer, PoolRowError, example_pools, read_pools

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)  # a Monday
OWN = PoolOffer("own", PoolKind.OWN, 0.5, "USD", units=8)
SPARE = PoolOffer("spare", PoolKind.COMMITMENT, 0.0, "USD", units=2, region="us-east-1")
SPOT = PoolOffer("spot", PoolKind.SPOT, 1.0, "USD", interruptions_per_hour=0.1, region="us-east-1")
ON_DEMAND = PoolOffer("on demand", PoolKind.ON_DEMAND, 3.0, "USD", region="us-east-1")
OFFICE = PoolOffer(
    "office", PoolKind.DEVICE, 0.1, "USD", units=4, largest=1, speed=0.5,
    window="20:00-06:00", zone="Asia/Shanghai",
)  # fmt: skip
ALL = [ON_DEMAND, SPOT, OFFICE, OWN, SPARE]


def reasons(work: PoolWork, **more: object) -> dict[str, Why]:
    return {one.offer.name: one.why for one in choose_pool(work, ALL, now=NOW, **more)}  # type: ignore[arg-type]


def test_spare_hours_of_a_commitment_come_first_and_cost_nothing() -> None:
    first = choose_pool(PoolWork(4, checkpoint_hours=0.05), ALL, now=NOW)[0]
    assert (first.offer.name, first.cost, first.cost_per_work) == ("spare", 0.0, 0.0)


def test_every_loser_says_why() -> None:
    work = PoolWork(4, units=3, deadline=NOW + timedelta(hours=4.5))
    assert reasons(work) == {
        "own": Why.TAKEN, "on demand": Why.DEARER, "office": Why.SIZE, "spare": Why.SIZE,
        "spot": Why.DEADLINE,
    }  # fmt: skip


def test_cost_per_unit_of_work_counts_the_speed() -> None:
    slow = PoolOffer("slow", PoolKind.OWN, 1.0, "USD", speed=0.5)
    fast = PoolOffer("fast", PoolKind.OWN, 1.8, "USD", speed=1.0)
    found = choose_pool(PoolWork(10), [slow, fast], now=NOW)
    assert [(one.offer.name, one.cost_per_work, one.why) for one in found] == [
        ("fast", 1.8, Why.TAKEN),
        ("slow", 2.0, Why.DEARER),
    ]


def test_a_device_works_in_its_window_and_goes_on_in_the_next() -> None:
    # Monday 12:00 UTC is 20:00 in Shanghai: the window has just begun. 8 h of work are 16 h at half speed:
    # ten until 22:00 UTC, six more from Tuesday 12:00 UTC.
    choice = choose_pool(PoolWork(8, checkpoint_hours=0.05), [OFFICE], now=NOW)[0]
    assert choice.finish == datetime(2026, 3, 3, 18, tzinfo=UTC)
    assert choice.hours == 16.0
    assert choice.cost == pytest.approx(1.6)


def test_work_without_checkpoints_has_to_fit_in_one_window() -> None:
    assert choose_pool(PoolWork(8), [OFFICE], now=NOW)[0].why is Why.NEVER_DONE
    assert choose_pool(PoolWork(5), [OFFICE], now=NOW)[0].finish == NOW + timedelta(hours=10)


@pytest.mark.parametrize("window", ["00:00-24:00", "08:00-08:00"])
def test_windows_that_touch_are_one_opening(window: str) -> None:
    """From 16:06 in Shanghai 8 h pass midnight: a machine that is always there need not stop for it."""
    always = replace(OFFICE, window=window, speed=1.0)
    at = NOW.replace(hour=8, minute=6)
    [choice] = choose_pool(PoolWork(8), [always], now=at)
    assert (choice.why, choice.finish) == (Why.TAKEN, at + timedelta(hours=8))
    # The five days of a week are 120 h without a break, of which 30 are left now.
    week = replace(always, days="mon-fri")
    thursday = datetime(2026, 3, 5, 10, tzinfo=UTC)
    assert choose_pool(PoolWork(60), [week], now=thursday)[0].hours == 60.0
    assert choose_pool(PoolWork(130), [week], now=thursday)[0].why is Why.NEVER_DONE


def test_what_is_busy_is_full_and_the_next_is_taken() -> None:
    found = reasons(PoolWork(4, checkpoint_hours=0.05), free={"spare": 0, "own": 0, "office": 0})
    assert found["spare"] is Why.FULL
    assert found["own"] is Why.FULL
    assert found["spot"] is Why.TAKEN


def test_spot_needs_time_to_repeat_the_work_on_safe_ground() -> None:
    rush = PoolWork(
        4, deadline=NOW + timedelta(hours=7), kinds=frozenset({PoolKind.SPOT, PoolKind.ON_DEMAND})
    )
    assert reasons(rush)["spot"] is Why.TAKEN
    tight = PoolWork(4, deadline=NOW + timedelta(hours=5), kinds=rush.kinds)
    without = [one for one in ALL if one.kind is not PoolKind.ON_DEMAND]
    assert {o.offer.name: o.why for o in choose_pool(rush, without, now=NOW)}["spot"] is Why.FALLBACK
    assert reasons(tight)["on demand"] is Why.DEARER
    assert reasons(tight)["own"] is Why.KIND


def test_a_region_a_currency_and_a_budget_are_conditions() -> None:
    work = PoolWork(4, regions=frozenset({"eu-west-1"}), most_cost=1.0)
    found = reasons(work)
    assert found["spot"] is Why.REGION
    assert found["own"] is Why.BUDGET
    euro = PoolOffer("euro", PoolKind.OWN, 0.0, "EUR")
    assert choose_pool(PoolWork(1, currency="USD"), [euro], now=NOW)[0].why is Why.CURRENCY


OFFERS = st.builds(
    PoolOffer,
    name=st.text("abcdef", min_size=1, max_size=6),
    kind=st.sampled_from(list(PoolKind)),
    hourly=st.floats(0, 10),
    currency=st.just("USD"),
    units=st.none() | st.integers(1, 20),
    speed=st.floats(0.2, 4),
    interruptions_per_hour=st.floats(0, 1),
)


@settings(max_examples=50)
@given(st.lists(OFFERS, min_size=1, max_size=6, unique_by=lambda o: o.name), OFFERS, st.integers(1, 10))
def test_one_more_pool_never_makes_it_dearer(offers: list[PoolOffer], more: PoolOffer, units: int) -> None:
    work = PoolWork(3, units=units, checkpoint_hours=0.05, restart_hours=0.1)
    before = choose_pool(work, offers, now=NOW)[0]
    after = choose_pool(work, [*offers, more], now=NOW)[0]
    if before.fits:
        assert after.cost is not None
        assert before.cost is not None
        assert after.cost <= before.cost + 1e-6


def test_a_backlog_bursts_above_one_limit_and_ends_below_another() -> None:
    rule = BurstRule(start=2, stop=1, most=15)
    assert judge_burst(rule, waiting=19, units=10, bursting=False) == BurstState(False, 0, 1.9)
    assert judge_burst(rule, waiting=30, units=10, bursting=False) == BurstState(True, 15, 3.0)
    assert judge_burst(rule, waiting=19, units=10, bursting=True) == BurstState(True, 9, 1.9)
    assert judge_burst(rule, waiting=10, units=10, bursting=True) == BurstState(False, 0, 1.0)
    assert judge_burst(rule, waiting=0, units=0, bursting=True) == BurstState(False, 0, 0.0)


def test_the_example_pools_can_be_read() -> None:
    assert [(one.kind, one.hourly) for one in example_pools()] == [
        (PoolKind.OWN, 0.491), (PoolKind.COMMITMENT, 0.0), (PoolKind.DEVICE, 0.058), (PoolKind.SPOT, 0.9753),
        (PoolKind.SPOT, 0.918), (PoolKind.ON_DEMAND, 3.06),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "row", "field"),
    [
        ("a,own,1,USD,x,,", 1, "units"),
        ("a,rented,1,USD,,,", 1, "kind"),
        ("a,own,-1,USD,,,", 1, "hourly"),
        ("a,own,nan,USD,,,", 1, "hourly"),
        ("a,own,1,,,,", 1, "name"),
        ("a,own,1,USD,1,20:00-08:00,", 1, "name"),
    ],
)
def test_a_row_that_says_no_pool_is_refused_by_row_and_field(line: str, row: int, field: str) -> None:
    with pytest.raises(PoolRowError) as refused:
        read_pools(["name,kind,hourly,currency,units,window,zone", line])
    assert (refused.value.row, refused.value.field) == (row, field)


def test_a_file_without_its_columns_or_with_a_name_twice_is_refused() -> None:
    with pytest.raises(PoolRowError, match="hourly"):
        read_pools(["name,kind,currency", "a,own,USD"])
    with pytest.raises(PoolRowError, match="twice"):
        read_pools(["name,kind,hourly,currency", "a,own,1,USD", "a,own,2,USD"])
