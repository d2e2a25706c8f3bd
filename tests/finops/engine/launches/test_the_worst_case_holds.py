"""What a launch costs at most: exact by hand, and never passed however often Spot is taken."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.engine.launches.worst_case import (
    Prospect,
    losses_within,
    may_start_spot_within,
    stated_high,
    worst_if_on_demand,
    worst_if_spot,
)

WHOLE = Prospect(
    left=Decimal(2),
    unsaved=Decimal(2),
    start=Decimal("0.1"),
    spot=Decimal("0.04"),
    on_demand=Decimal("0.096"),
)
SAVED = replace(WHOLE, unsaved=Decimal("0.25"))


@pytest.mark.parametrize(
    ("ahead", "losses", "high"),
    [
        (WHOLE, 0, "0.2016"),  # 2.1 h x 0.096
        (WHOLE, 1, "0.2856"),  # and 2.1 h x 0.04
        (WHOLE, 3, "0.4536"),
        (SAVED, 1, "0.2156"),  # 0.35 h x 0.04
        (replace(WHOLE, lost=Decimal("0.5")), 1, "0.2216"),  # only half an hour may be lost
        (replace(WHOLE, lost=Decimal("0.5")), 9, "0.2216"),  # in all
        (replace(WHOLE, lost=Decimal(0)), 3, "0.2036"),  # a minute each is paid all the same
        (replace(WHOLE, spot=Decimal("0.2")), 1, "0.84"),  # Spot may be the dearer one: 4.2 h x 0.2
        (replace(WHOLE, spot=None), 5, "0.2016"),
    ],
    ids=["none", "one", "three", "saved", "short", "short_9", "least", "dear_spot", "no_spot"],
)
def test_by_hand(ahead: Prospect, losses: int, high: str) -> None:
    assert stated_high(ahead, losses=losses) == Decimal(high)


def test_what_is_not_priced_is_not_bounded() -> None:
    no_ground = replace(WHOLE, on_demand=None)
    assert worst_if_on_demand(Decimal(1), no_ground) is None
    assert worst_if_spot(Decimal(1), no_ground) is None
    assert stated_high(no_ground) is None
    assert not may_start_spot_within(Decimal(99), Decimal(0), no_ground)
    assert losses_within(Decimal(99), Decimal(0), no_ground) == 0


def test_how_often_spot_may_be_lost() -> None:
    assert losses_within(Decimal("0.2856"), Decimal(0), SAVED) == 6  # 0.084 / (0.35 h x 0.04)
    assert losses_within(Decimal("0.2855"), Decimal(0), SAVED) == 5
    assert losses_within(Decimal("0.2015"), Decimal(0), SAVED) == 0
    assert may_start_spot_within(Decimal("0.2156"), Decimal(0), SAVED)
    assert not may_start_spot_within(Decimal("0.2156"), Decimal("0.0001"), SAVED)
    assert losses_within(Decimal(1000), Decimal(0), replace(SAVED, spot=Decimal(0))) == 1000


def test_work_that_is_done_costs_nothing_more() -> None:
    assert worst_if_on_demand(Decimal(3), replace(WHOLE, left=Decimal(0), unsaved=Decimal(0))) == Decimal(3)


@settings(max_examples=50, deadline=None)
@given(
    work=st.integers(1, 600), between=st.integers(1, 600), start=st.integers(0, 20),
    spot=st.integers(0, 500), demand=st.integers(1, 300), room=st.integers(0, 50_000),
    cuts=st.lists(st.integers(1, 700), max_size=60),
)  # fmt: skip
def test_however_often_spot_is_taken_the_high_holds(
    work: int, between: int, start: int, spot: int, demand: int, room: int, cuts: list[int]
) -> None:
    """Minutes; each machine is taken after `cuts` minutes. Asked before each start, the sum stays below."""
    left, spent, cut = work, Fraction(0), iter(cuts)

    def ahead() -> Prospect:
        hours = [Decimal(one) / 60 for one in (left, min(between, left), start)]
        return Prospect(hours[0], hours[1], hours[2], Decimal(spot), Decimal(demand))

    floor = stated_high(ahead(), losses=0)
    assert floor is not None
    high = floor + room
    while left:
        money = Decimal(spent.numerator) / Decimal(spent.denominator)
        taken = next(cut, None)
        if taken is None or not may_start_spot_within(high, money, ahead()):
            spent += Fraction(max(1, left + start) * demand, 60)
            break
        ran = min(taken, start + left)
        spent += Fraction(max(1, ran) * spot, 60)
        done = max(0, ran - start)
        left = 0 if done == left else left - done // between * between
    assert spent <= Fraction(high) + Fraction(1, 10**20)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 9), st.integers(0, 400), st.integers(0, 400))
def test_more_losses_cost_more_and_the_high_pays_for_them(losses: int, spot: int, demand: int) -> None:
    ahead = replace(SAVED, spot=Decimal(spot) / 100, on_demand=Decimal(demand) / 100)
    high, next_high = stated_high(ahead, losses=losses), stated_high(ahead, losses=losses + 1)
    assert high is not None
    assert next_high is not None
    assert high <= next_high
    assert losses_within(high, Decimal(0), ahead) >= losses
    assert may_start_spot_within(next_high, Decimal(0), ahead)


@pytest.mark.parametrize(
    "wrong",
    [{"left": Decimal(-1)}, {"spot": Decimal("NaN")}, {"unsaved": Decimal(3)}, {"lost": Decimal("Inf")}],
    ids=str,
)
def test_what_cannot_be_is_refused(wrong: dict[str, Decimal]) -> None:
    with pytest.raises(ValueError, match=r"not below 0|no more than"):
        replace(WHOLE, **wrong)
