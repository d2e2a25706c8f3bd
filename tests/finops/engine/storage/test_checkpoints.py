"""Checkpoints: the claim about Intelligent-Tiering by keep time, keeping the last ones, reads."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.engine.storage.bill import StorageError
from finops.engine.storage.checkpoints import Kept, Run, by_class, claim, in_class, keep_plans
from finops.engine.storage.outlook import constant, look_ahead
from finops.engine.storage.rates import MONTH_DAYS
from finops.engine.storage.tiering import Use, courses, idle_starts, lot
from finops.frames.storage_terms import StorageTerms, storage_terms
from tests.support.storage_cells import ON, cell

IT = "INTELLIGENT_TIERING"


@cache
def terms() -> StorageTerms:
    found = storage_terms("aws", "us-east-1", ON)
    assert found is not None
    return found


def months(number: float) -> float:
    return number * MONTH_DAYS


def test_68_percent_is_not_saved_by_what_is_kept_for_three_months() -> None:
    """1,000 GiB for 3 months: 69.00 in Standard; 30 days at 0.023, 60 at 0.0125, 1.31 days at 0.004."""
    kept = Kept(1000, 100, months(3))
    there = in_class(kept, IT, terms())
    by_hand = (30 * 23 + 60 * 12.5 + (months(3) - 90) * 4) / MONTH_DAYS + 3 * 100 / 1000 * 0.0025
    assert there.storage == pytest.approx(by_hand)
    assert there.reads == 0
    found = claim(kept, terms(), claimed=0.68, name=IT)
    assert found.saving == pytest.approx(1 - (by_hand + 0.0005) / (69 + 0.0005))
    assert not found.holds


def test_68_percent_is_saved_by_what_is_kept_for_eleven_months_and_never_read() -> None:
    found = claim(Kept(1000, 100, months(12)), terms(), claimed=0.68, name=IT)
    assert found.holds
    assert found.saving == pytest.approx(0.6974, abs=1e-3)
    assert found.from_months == pytest.approx(10.55, abs=0.1)
    read = claim(Kept(1000, 100, months(12), read_chance=1 / 60), terms(), claimed=0.68, name=IT)
    assert (read.holds, read.from_months) == (False, None)


def test_a_month_in_the_archive_is_billed_as_three() -> None:
    short = in_class(Kept(10, 1, 30), "GLACIER_IR", terms())
    assert short.storage == in_class(Kept(10, 1, 90), "GLACIER_IR", terms()).storage
    ranked = by_class(Kept(10, 1, 20), terms())
    assert ranked[0].storage_class == "ONEZONE_IA"
    assert "GLACIER" not in [one.storage_class for one in ranked]
    assert [one.total for one in ranked] == sorted(one.total for one in ranked)


def test_keeping_the_last_checkpoints_is_most_of_the_saving() -> None:
    """240 checkpoints of 100 GiB, one an hour: all kept a month are 24,000 GiB, the last three 300."""
    run = Run(100, 10, every_hours=1, hours=240, keep_last=3, keep_days=30)
    plans = {(one.keep, one.storage_class): one for one in keep_plans(run, terms(), [IT, "GLACIER_IR"])}
    last, everything = plans["last", "STANDARD"], plans["all", "STANDARD"]
    assert (last.deleted, everything.deleted, everything.saving_share) == (237, 0, 0.0)
    days = sum((240 - i) / 24 + 30 for i in range(1, 241))
    assert everything.gib_months == pytest.approx(100 * days / MONTH_DAYS)
    days = 237 * 3 / 24 + sum((240 - i) / 24 + 30 for i in (238, 239, 240))
    assert last.gib_months == pytest.approx(100 * days / MONTH_DAYS)
    assert last.saving_share > 0.97
    assert plans["last", "GLACIER_IR"].cost < plans["all", "GLACIER_IR"].cost


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Kept(0, 1, 1), lambda: Kept(1, 0, 1), lambda: Kept(1, 1, 0), lambda: Kept(1, 1, 1e9),
        lambda: Kept(1, 1, 1, 2), lambda: Run(1, 1, 10, 5, 1, 1), lambda: Run(1, 1, 1, 5, 0, 1),
        lambda: Run(1, 1, 1e-4, 1000, 1, 1), lambda: in_class(Kept(1, 1, 1), "ICE", terms()),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(wrong) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(StorageError):
        wrong()


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(["STANDARD", IT, "STANDARD_IA", "GLACIER_IR"]), st.sampled_from([0.0, 0.004, 0.05]))
def test_a_year_of_a_checkpoint_is_a_year_of_an_object(name: str, chance: float) -> None:
    """The same as the engine of groups, for objects written today."""
    one = cell(name, objects=5, age=(0, 1), idle=(0, 1))
    starts = idle_starts([one])
    use = Use(look_ahead(constant(chance).expected, starts, (30, 90)), 1.0, 1.0)
    year = courses(lot(name, [one], starts), (), use, terms()).sum().total[-1]
    kept = in_class(Kept(5, 5, months(12), chance), name, terms())
    assert kept.storage + kept.reads == pytest.approx(year, rel=1e-9)
