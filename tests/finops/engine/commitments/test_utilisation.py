"""Hours of a commitment: what is bought is used or idle, to the second; the ladder holds each one once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from finops.engine.commitments.coverage import cover
from finops.engine.commitments.utilisation import Ending, due, exact_hours, ladder, settle, share_of_hours
from finops.frames.commitments import Reserved
from finops.frames.demand import Demand, Use
from finops.frames.offers import OfferingClass, OfferKey
from finops.frames.sizes import size_table

NOV = datetime(2018, 11, 1, tzinfo=UTC)
amounts = arrays.arrays(np.float64, 48, elements=st.floats(0, 1000, allow_subnormal=False))


@given(amounts, amounts)
def test_units_are_conserved_in_every_hour(bought: np.ndarray, used: np.ndarray) -> None:
    both = settle(bought, used)
    assert np.allclose(both.used + both.idle, both.bought + both.over, atol=2e-6)
    assert (both.idle >= 0).all()
    assert (both.over >= 0).all()
    assert not ((both.idle > 0) & (both.over > 0)).any()


def test_an_unknown_hour_is_neither_idle_nor_used() -> None:
    both = settle(np.array([1.0, np.nan]), np.array([0.25, np.nan]))
    assert both.idle[0] == 0.75
    assert np.isnan(both.idle[1])
    assert np.isnan(both.over[1])


@given(
    st.integers(-72, 72).map(lambda h: timedelta(hours=h)),
    st.integers(1, 72 * 3600).map(lambda s: timedelta(seconds=s)),
)
def test_shares_add_up_to_the_exact_hours(shift: timedelta, length: timedelta) -> None:
    start = NOV + shift
    shares = share_of_hours(start, start + length, NOV, 48)
    exact = exact_hours(1, start, start + length, NOV, NOV + timedelta(hours=48))
    assert float(exact) == pytest.approx(float(shares.sum()), abs=1e-9)
    assert shares.min() >= 0
    assert shares.max() <= 1


def test_hours_to_the_second_as_the_bill_rounds_them() -> None:
    start = datetime(2018, 10, 9, 21, 40, 47, tzinfo=UTC)
    hours = exact_hours(1, start, None, datetime(2018, 10, 1, tzinfo=UTC), NOV)
    assert hours.quantize(Decimal("0.000001")) == Decimal("530.320278")
    assert exact_hours(3, None, None, NOV, NOV + timedelta(hours=2)) == 6
    assert exact_hours(1, NOV, NOV, NOV, NOV + timedelta(hours=2)) == 0


@given(st.lists(st.floats(0, 40), min_size=4, max_size=4), st.integers(1, 5))
def test_a_small_size_pays_for_a_part_of_a_large_one(hours: list[float], count: int) -> None:
    """RIs of t2.micro pay for hours of t2.large in normalised units: used + idle = bought in every hour."""
    key = OfferKey("aws", "us-east-1", "", "Linux/UNIX", "default", "t2.micro")
    large = Use(OfferKey("aws", "us-east-1", "a", "Linux/UNIX", "default", "t2.large"), "1", np.array(hours))
    own = Reserved(
        "r", "1", key, OfferingClass.STANDARD, count, NOV - timedelta(days=9), NOV + timedelta(days=9),
        Decimal(0), Decimal("0.0083"), "USD",
    )  # fmt: skip
    found = cover(Demand(NOV, 4, (large,)), [own], sizes=size_table("aws"))
    # One hour of t2.large is eight of t2.micro.
    assert np.allclose(found.used["r"], np.minimum(count, np.array(hours) * 8))
    both = settle(found.capacity["r"], found.used["r"])
    assert np.allclose(both.used + both.idle, both.bought, atol=2e-6)
    assert np.allclose(found.left[0] + found.by_reserved[0], hours)


def test_thresholds_that_are_reached() -> None:
    end = NOV + timedelta(days=30)
    assert due(end, NOV, (90, 30, 7)) == [90, 30]
    assert due(end, NOV - timedelta(seconds=1), (90, 30, 7)) == [90]
    assert due(end, end - timedelta(seconds=1), (7, 90, 30, 30)) == [90, 30, 7]
    assert due(end, end, (90, 30, 7)) == []
    assert due(end, NOV, ()) == []


def ending(name: str, days: int, on_demand: str | None = "10", cost: str = "6", unit: str = "USD") -> Ending:
    price = None if on_demand is None else Decimal(on_demand)
    return Ending(name, NOV + timedelta(days=days), price, Decimal(cost), unit)


def test_the_ladder_sums_by_currency_and_counts_what_is_not_known() -> None:
    steps = ladder(
        [ending("a", 5), ending("b", 30), ending("c", 31, None), ending("d", 31, unit="EUR"), ending("e", 0)],
        NOV,
    )
    assert [(s.within_days, s.ids) for s in steps if s.ids] == [
        (7, ("a",)), (30, ("b",)), (90, ("c", "d")),
    ]  # fmt: skip
    third = steps[2]
    assert (third.monthly_on_demand, third.increase, third.unknown) == (
        {"EUR": Decimal(10)}, {"EUR": Decimal(4)}, 1,
    )  # fmt: skip


@given(st.lists(st.integers(-10, 4000), max_size=30))
def test_every_commitment_stands_on_one_step(days: list[int]) -> None:
    steps = ladder([ending(str(i), d) for i, d in enumerate(days)], NOV)
    named = [name for step in steps for name in step.ids]
    assert sorted(named) == sorted(str(i) for i, d in enumerate(days) if d > 0)
