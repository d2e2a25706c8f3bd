"""Properties of costed policies: never below the optimum, cells add up, brute force on one object."""

from __future__ import annotations

from datetime import date, timedelta
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from finops.engine.storage.advise import advise
from finops.engine.storage.candidates import Wishes, candidates
from finops.engine.storage.optimum import optimum
from finops.engine.storage.outlook import (
    DAYS,
    constant,
    dispersion,
    learn,
    look_ahead,
    never_read,
)
from finops.engine.storage.rates import rates
from finops.engine.storage.reads import Reads
from finops.engine.storage.tiering import (
    MONTHS,
    Policy,
    Step,
    Use,
    courses,
    idle_starts,
    lot,
)
from finops.frames.storage import AGE_EDGES, GIB, IDLE_EDGES, SIZE_EDGES, ReadsCell, StorageCell, band
from finops.frames.storage_terms import StorageTerms, storage_terms
from tests.support.storage_cells import ON, cell, reads

CLASSES = ("STANDARD", "INTELLIGENT_TIERING", "STANDARD_IA", "GLACIER_IR")


@cache
def terms() -> StorageTerms:
    found = storage_terms("aws", "us-east-1", ON)
    assert found is not None
    return found


@st.composite
def cells(draw: st.DrawFn) -> StorageCell:
    each = draw(st.integers(1, 60 * GIB))
    age = draw(st.integers(0, 900))
    return cell(
        draw(st.sampled_from(CLASSES[:3])),
        objects=draw(st.integers(1, 10**6)),
        each=each,
        size=band(each, SIZE_EDGES),
        age=band(age, AGE_EDGES),
        idle=band(draw(st.integers(0, age)), IDLE_EDGES),
    )


FEW = [
    Policy(),
    Policy((Step(0, "INTELLIGENT_TIERING"),)),
    Policy((Step(90, "GLACIER_IR"),)),
    Policy((Step(30, "STANDARD_IA"), Step(180, "GLACIER_IR"))),
    Policy((Step(365, "DEEP_ARCHIVE"),)),
]
chances = st.sampled_from([0.0, 1e-4, 0.01, 0.3, 1.0])


@settings(max_examples=10, deadline=None)
@given(st.integers(131_072, 10 * GIB), st.sampled_from(CLASSES[:3]))
def test_no_policy_costs_less_than_the_optimum_of_objects_never_read(each: int, place: str) -> None:
    """Exact dynamic programming over the same classes: it may write the object to any class first."""
    found = rates(terms().classes, terms().tiers["INTELLIGENT_TIERING"], terms().moves, each)
    days = 365
    nothing = Reads(("a",), date(2026, 1, 1), np.zeros((1, days), dtype=bool), np.zeros(1, dtype=np.int64))
    least = float(optimum(nothing, found)[0] - found.upload.max()) * each / GIB
    one = cell(place, objects=1, each=each, size=band(each, SIZE_EDGES), age=(0, 1), idle=(0, 1))
    wishes = Wishes()
    known = [
        policy
        for policy in candidates([place], "current", wishes, terms())
        if all(step.to in CLASSES for step in policy.steps)
    ]
    answer = advise({place: [one]}, state="current", hazard=never_read(), terms=terms(), policies=known)
    assert len(answer.policies) > 1
    assert all(policy.bills.sum() >= least - 1e-12 for policy in answer.policies)


@settings(max_examples=25, deadline=None)
@given(st.lists(cells(), min_size=2, max_size=5), chances)
def test_cells_cost_together_what_they_cost_alone(found: list[StorageCell], chance: float) -> None:
    steps = (Step(30, "STANDARD_IA"), Step(90, "GLACIER_IR"))
    for place in {one.storage_class for one in found}:
        here = [one for one in found if one.storage_class == place]

        def total(some: list[StorageCell], place: str = place) -> float:
            starts = idle_starts(some)
            use = Use(look_ahead(constant(chance).expected, starts, (30, 90)), 1.0, 1.0)
            return float(courses(lot(place, some, starts), steps, use, terms()).sum().total[-1])

        assert total(here) == pytest.approx(sum(total([one]) for one in here), rel=1e-9)


@settings(max_examples=25, deadline=None)
@given(cells(), chances)
def test_curve_bills_and_savings_say_the_same(one: StorageCell, chance: float) -> None:
    place = one.storage_class
    found = advise({place: [one]}, state="current", hazard=constant(chance), terms=terms(), policies=FEW)
    stay = next(policy for policy in found.policies if not policy.policy.steps)
    assert stay.bills == pytest.approx(found.stay)
    assert (stay.saving, stay.one_time, stay.break_even) == (0, 0, 0)
    for policy in found.policies:
        assert policy.saving_low <= policy.saving <= policy.saving_high
        assert policy.cash[-1] == pytest.approx(policy.saving, abs=1e-6)
        assert found.stay.sum() - policy.bills.sum() == pytest.approx(policy.saving, abs=1e-6)
        assert policy.worst == pytest.approx(min(0.0, policy.cash.min()))
        if policy.break_even:
            assert policy.cash[policy.break_even - 1] < 0
            assert (policy.cash[policy.break_even :] >= -1e-6).all()
    if found.verdict == "move":
        assert found.best is not None
        free = [policy for policy in found.policies if policy.policy.steps and not policy.refused]
        assert found.best.saving_low >= 0
        assert found.best in free


def _by_the_day(one: StorageCell, steps: tuple[Step, ...], age: int) -> float:
    """The bill of a year of an object never read, day by day, from the words of the price table."""
    place, entered, cost = one.storage_class, -age, 0.0
    days = 365
    for day in range(days):
        due = [s for s in steps if s.after_days <= age + day and (place, s.to) in terms().moves]
        for step in due[-1:]:
            old = terms().classes[place]
            left = max(old.min_days - (day - entered), 0)
            cost += left * float(old.per_gib_month) * one.bytes / GIB / (365.25 / 12)
            cost += float(terms().classes[step.to].transition_in_per_1000) / 1000 * one.objects
            place, entered = step.to, day
        price = float(terms().classes[place].per_gib_month)
        for tier in terms().tiers.get(place, ()):
            if min(day - entered, age + day) >= tier.after_idle_days:
                price = float(tier.per_gib_month)
        fee = float(terms().classes[place].monitoring_per_1000) / 1000 * one.objects
        cost += (price * one.bytes / GIB + fee) / (365.25 / 12)
    return cost


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 400),
    st.sampled_from(["STANDARD", "STANDARD_IA"]),
    st.lists(
        st.builds(
            Step, st.integers(0, 300), st.sampled_from(["STANDARD_IA", "GLACIER_IR", "INTELLIGENT_TIERING"])
        ),
        max_size=2,
        unique_by=lambda step: step.after_days,
    ),
)
def test_the_bill_equals_counting_day_by_day(age: int, place: str, steps: list[Step]) -> None:
    one = cell(place, objects=3, age=(age, age + 1), idle=(age, age + 1))
    ordered = tuple(sorted(steps))
    # The service refuses a rule whose second move does not lead on from the first.
    assume(all((one.to, two.to) in terms().moves for one, two in pairwise(ordered)))
    starts = idle_starts([one])
    use = Use(look_ahead(never_read().expected, starts, (30, 90)), 1.0, 1.0)
    found = courses(lot(place, [one], starts), ordered, use, terms()).sum()
    part = found.total[-1] - (found.total[-1] - found.total[-2]) / (365.25 / 12) * 0.25
    assert part == pytest.approx(_by_the_day(one, ordered, age), rel=1e-9)


def test_a_constant_chance_reads_every_day_alike() -> None:
    outlook = look_ahead(constant(0.02).expected, (0, 200), (30,))
    assert outlook.read[:, -1] == pytest.approx(np.full(2, 0.02 * DAYS))
    # Without a read for 30 days: chance 0.98 to the 30th, from the 31st day on.
    late = outlook.idle[30][0, -1] - outlook.idle[30][0, -2]
    assert late == pytest.approx(0.98**29, rel=1e-6)
    assert outlook.idle[30][1, 1] == 1.0


def test_the_hazard_is_reads_over_object_days_with_an_interval() -> None:
    first, last = ON - timedelta(days=364), ON - timedelta(days=1)
    found = learn(reads(364, 5, exposure=1000), first=first, last=last, mean_bytes=GIB)
    place = IDLE_EDGES.index(180)
    assert found.expected[place] == pytest.approx(0.005, rel=1e-3)
    assert found.low[place] < found.expected[place] < found.high[place]
    assert (found.reads, found.object_days, found.dispersion) == (1820, 364_000, 1.0)
    # A band without a day of its own is drawn from the band before it, and is known badly.
    wide = found.high[IDLE_EDGES.index(730)] / found.expected[IDLE_EDGES.index(730)]
    assert wide > 5 > found.high[place] / found.expected[place]


def test_bursts_tell_less_than_their_number() -> None:
    first, last = ON - timedelta(days=28), ON - timedelta(days=1)
    weekly = [
        ReadsCell("b", "", ON - timedelta(days=1 + 7 * week), 0, 1, 0, 1, count, count, None, 100)
        for week, count in enumerate([0, 40, 0, 0])
    ]
    assert dispersion(weekly, first=first, last=last) == pytest.approx(400 / 10)
    assert dispersion([], first=first, last=last) == 1.0
    assert dispersion(weekly, first=last, last=last) == 1.0


def test_a_read_takes_the_share_of_an_object_that_the_log_tells() -> None:
    day = ON - timedelta(days=1)
    half = [ReadsCell("b", "", day, 0, 1, 0, 1, 4, 8, 2 * GIB, 100)]
    found = learn(half, first=day, last=day, mean_bytes=GIB)
    assert (found.share, found.requests) == (0.5, 2.0)
    untold = [ReadsCell("b", "", day, 0, 1, 0, 1, 4, 8, None, 100)]
    assert learn(untold, first=day, last=day, mean_bytes=GIB).share is None


def test_policies_that_a_rule_may_not_ask_for_are_no_candidates() -> None:
    found = candidates(["STANDARD"], "current", Wishes(), terms())
    assert found[0] == Policy()
    early = [s for policy in found for s in policy.steps if s.to == "STANDARD_IA" and s.after_days < 30]
    assert early == []
    gaps = [p.steps[1].after_days - p.steps[0].after_days for p in found if len(p.steps) == 2]
    assert min(gaps) >= 30
    assert len(found) == len(set(found))
    assert MONTHS == 12
