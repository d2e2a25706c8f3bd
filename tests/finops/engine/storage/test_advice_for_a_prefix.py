"""Advice for the objects of a prefix: field cases, dear first months, what blocks, what is left alone."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import numpy as np
import pytest

from finops.engine.storage.advise import BLOCKED, DO_NOT_MOVE, MOVE, Advised, Costed, advise
from finops.engine.storage.bill import Cell, StorageError, monthly
from finops.engine.storage.candidates import Wishes
from finops.engine.storage.outlook import Hazard, learn, never_read
from finops.engine.storage.rates import MONTH_DAYS
from finops.engine.storage.tiering import DELETE, Policy, Step
from finops.frames.storage import GIB, KIB, MIB
from finops.frames.storage_terms import StorageTerms, storage_terms
from tests.support.storage_cells import ON, cell, reads

IT, IA, INSTANT, ARCHIVE = "INTELLIGENT_TIERING", "STANDARD_IA", "GLACIER_IR", "GLACIER"


def terms() -> StorageTerms:
    found = storage_terms("aws", "us-east-1", ON)
    assert found is not None
    return found


def learnt(days: int, each_day: int, *, exposure: int = 1000, every: int = 1) -> Hazard:
    rows = reads(days, each_day, exposure=exposure, every=every)
    return learn(rows, first=ON - timedelta(days=days), last=ON - timedelta(days=1), mean_bytes=GIB)


def of(found: Advised, *steps: tuple[int, str]) -> Costed:
    wanted = tuple(Step(*step) for step in steps)
    return next(one for one in found.policies if one.policy.steps == wanted)


def test_ten_million_small_files_stay_where_they_are() -> None:
    """Case t4-01: one-time 300, 1.75 a month before, 3.13 after, never paid back."""
    small = cell(objects=10_000_000, each=8 * KIB, size=(8 * KIB, 32 * KIB))
    found = advise({"STANDARD": [small]}, state="current", hazard=never_read(), terms=terms())
    assert (found.verdict, found.reason) == (DO_NOT_MOVE, "dearer")
    archive = of(found, (90, ARCHIVE))
    assert round(archive.one_time, 2) == 300.00
    assert (round(found.stay[0], 4), round(archive.after, 4)) == (1.7548, 3.1281)
    assert archive.break_even is None
    assert archive.refused == "wait"
    assert all(one.saving < 0 for one in found.policies if one.policy.steps)
    assert [round(part.costed.saving, 9) for part in found.parts] == [0.0]


def test_infrequent_access_data_pays_for_its_first_months_in_intelligent_tiering() -> None:
    """1,000 GiB at 0.0125 begin anew at 0.023, then 0.0125, and reach 0.004 after 90 days."""
    data = cell(IA, objects=1000)
    only = [Policy((Step(0, IT),))]
    found = advise({IA: [data]}, state="current", hazard=never_read(), terms=terms(), policies=only)
    there = of(found, (0, IT))
    fee = 1000 / 1000 * 0.0025
    assert there.one_time == pytest.approx(0.01)
    first = (23 * 30 + 12.5 * (MONTH_DAYS - 30)) / MONTH_DAYS + fee + 0.01
    assert there.bills[0] == pytest.approx(first)
    assert there.bills[1] == pytest.approx(12.5 + fee)
    assert there.bills[11] == there.after == pytest.approx(4 + fee)
    assert found.stay == pytest.approx(np.full(12, 12.5))
    assert there.cash[1] == pytest.approx(12.5 - first)
    assert there.worst == pytest.approx(min(there.cash))
    assert (round(there.worst, 2), there.worst_month, there.break_even) == (-10.36, 2, 5)
    assert (found.verdict, found.best) == (MOVE, there)


def test_reads_make_the_archive_dear_and_intelligent_tiering_the_best() -> None:
    """Read every ten days, Glacier Instant costs more for reading (0.03 a GiB) than it saves."""
    data = [cell(objects=1000)]
    rare = advise({"STANDARD": data}, state="current", hazard=learnt(364, 1), terms=terms())
    often = advise({"STANDARD": data}, state="current", hazard=learnt(364, 100), terms=terms())
    assert rare.best is not None
    assert rare.best.policy.steps[-1].to == INSTANT
    assert of(often, (0, INSTANT)).saving < 0 < rare.best.saving_low
    # 100 of 1,000 objects a day: only the automatic class, which asks nothing for reads, is left.
    assert often.best is not None
    assert (often.verdict, often.best.policy.steps[0].to) == (MOVE, IT)
    assert often.best.saving < 0.1 * rare.best.saving


def test_the_interval_holds_the_expected_saving_and_grows_with_bursts() -> None:
    steady, bursts = (
        advise({"STANDARD": [cell()]}, state="current", hazard=hazard, terms=terms())
        for hazard in (learnt(364, 2), learnt(364, 182, every=91))
    )
    one, other = of(steady, (0, INSTANT)), of(bursts, (0, INSTANT))
    assert one.saving == pytest.approx(other.saving, rel=0.02)
    assert one.saving_low < one.saving < one.saving_high
    assert other.saving_low < one.saving_low - 100


def test_without_a_log_only_what_no_read_can_change_is_said() -> None:
    data = {"STANDARD": [cell(idle=(None, None))]}
    found = advise(data, state="current", hazard=None, terms=terms())
    assert (found.verdict, found.reason) == (BLOCKED, "no reads known")
    tiny = {"STANDARD": [cell(each=4 * KIB, size=(1, 8 * KIB), idle=(None, None))]}
    assert advise(tiny, state="current", hazard=None, terms=terms()).verdict == DO_NOT_MOVE
    uploads = {"STANDARD": [cell(state="incomplete", idle=(None, None), age=(None, None), size=(0, 1))]}
    given_up = advise(uploads, state="incomplete", hazard=None, terms=terms())
    assert (given_up.verdict, given_up.best and given_up.best.policy) == (
        MOVE, Policy((Step(7, DELETE),))
    )  # fmt: skip
    assert given_up.best is not None
    assert given_up.best.saving == pytest.approx(1000 * 0.023 * (12 - 7 / MONTH_DAYS))
    assert given_up.best.after == 0


def test_small_objects_are_left_where_a_move_makes_them_dearer() -> None:
    """1 GiB in 131,072 objects of 8 KiB beside 1,000 GiB in large ones: the rule begins at 128 KiB."""
    small = cell(objects=131_072, each=8 * KIB, size=(8 * KIB, 32 * KIB))
    large = cell()
    found = advise({"STANDARD": [small, large]}, state="current", hazard=never_read(), terms=terms())
    assert found.best is not None
    assert found.best.policy.from_bytes == GIB
    alone = advise({"STANDARD": [large]}, state="current", hazard=never_read(), terms=terms())
    assert found.best.saving == pytest.approx(alone.best.saving if alone.best else 0)


def test_the_smallest_billable_size_is_exact_at_its_edge() -> None:
    """An object of 128 KiB is billed as itself, one byte less as 128 KiB."""
    ia = [Policy((Step(30, IA),))]
    below, at = (
        of(
            advise(
                {"STANDARD": [cell(objects=1 << 20, each=each, size=size)]},
                state="current", hazard=never_read(), terms=terms(), policies=ia,
            ),
            (30, IA),
        ).after
        for each, size in ((128 * KIB - 1, (64 * KIB, 128 * KIB)), (128 * KIB, (128 * KIB, 256 * KIB)))
    )  # fmt: skip
    assert below == at == pytest.approx(128 * 0.0125)
    odd = {"STANDARD": [cell(each=100 * KIB, size=(64 * KIB, 256 * KIB))]}
    with pytest.raises(StorageError, match="a size band holds 131072 bytes"):
        advise(odd, state="current", hazard=never_read(), terms=terms())


def test_a_month_equals_the_exact_bill_of_the_class() -> None:
    groups = [cell(objects=500, each=3 * MIB, size=(MIB, 16 * MIB)), cell(objects=7)]
    found = advise({"STANDARD": groups}, state="current", hazard=never_read(), terms=terms())
    exact = [Cell(one.objects, Decimal(one.bytes) / one.objects / KIB) for one in groups]
    for to in (IA, INSTANT, ARCHIVE, "DEEP_ARCHIVE"):
        by_hand = monthly(exact, terms().classes[to], terms().standard).total
        policy = of(found, (90, to))
        if policy.policy.from_bytes == 0:
            assert policy.after == pytest.approx(float(by_hand), rel=1e-12)


def test_a_rule_wants_objects_that_have_lived_so_long() -> None:
    """Nothing here is older than 60 days: whether it lives to the end of the 90 days is not known."""
    young = {"STANDARD": [cell(age=(30, 60), idle=(30, 60))]}
    found = advise(young, state="current", hazard=never_read(), terms=terms())
    assert found.best is not None
    assert found.best.policy.steps[0].to not in (INSTANT, ARCHIVE)
    younger = {"STANDARD": [cell(age=(7, 14), idle=(7, 14))]}
    unknown = advise(younger, state="current", hazard=never_read(), terms=terms())
    assert (unknown.verdict, unknown.reason) == (DO_NOT_MOVE, "life unknown")


def test_a_known_short_life_is_dearer_in_a_class_with_minimum_days() -> None:
    """As case t4-03 without its read: moved at 15 days, deleted at 20, billed to 90."""
    fresh = {"STANDARD": [cell(age=(0, 1), idle=(0, 1))]}
    found = advise(
        fresh, state="current", hazard=never_read(), terms=terms(), wishes=Wishes(life_days=20),
        policies=[Policy(), Policy((Step(15, INSTANT),))],
    )  # fmt: skip
    stay, move = of(found), of(found, (15, INSTANT))
    assert stay.bills.sum() == pytest.approx(1000 * 0.023 * 20 / MONTH_DAYS)
    days = (0.023 * 15 + 0.004 * 90) / MONTH_DAYS
    assert move.bills.sum() == pytest.approx(1000 * days + 0.02)
    assert found.verdict == DO_NOT_MOVE


def test_deleting_needs_the_owners_word() -> None:
    old = {"STANDARD": [cell(state="noncurrent")]}
    silent = advise(old, state="noncurrent", hazard=never_read(), terms=terms())
    assert not any(one.policy.deletes for one in silent.policies)
    told = advise(old, state="noncurrent", hazard=never_read(), terms=terms(), wishes=Wishes(delete_after=30))
    assert told.best is not None
    assert told.best.policy == Policy((Step(30, DELETE),))
    assert told.best.saving == pytest.approx(1000 * 0.023 * 12)
    blind = advise(old, state="noncurrent", hazard=None, terms=terms(), wishes=Wishes(delete_after=30))
    assert (blind.verdict, blind.best and blind.best.policy) == (MOVE, told.best.policy)


def test_classes_of_a_prefix_are_decided_together() -> None:
    """A rule cannot name a class: what it does to Standard-IA counts too, and parts add up."""
    groups = {"STANDARD": [cell()], IA: [cell(IA, objects=10)]}
    found = advise(groups, state="current", hazard=never_read(), terms=terms())
    assert found.best is not None
    assert sum(part.costed.saving for part in found.parts) == pytest.approx(found.best.saving)
    assert [part.bytes for part in found.parts] == [1000 * GIB, 10 * GIB]
    mixed = advise(
        groups, state="current", hazard=never_read(), terms=terms(), policies=[Policy((Step(0, IT),))]
    )
    assert [round(part.costed.cash[1]) for part in mixed.parts] == [0, 0]


def test_what_waits_for_a_restore_or_lies_in_one_zone_is_shown_and_not_taken() -> None:
    data = {"STANDARD": [cell()]}
    found = advise(data, state="current", hazard=never_read(), terms=terms())
    assert of(found, (180, "DEEP_ARCHIVE")).refused == "wait"
    assert of(found, (180, "ONEZONE_IA")).refused == "one zone"
    assert found.best is not None
    # Objects here are 180 days old: at 90 days and 90 more they reach the end of the minimum.
    assert found.best.policy.steps == (Step(90, INSTANT),)
    slow = advise(data, state="current", hazard=never_read(), terms=terms(), wishes=Wishes(instant=False))
    assert slow.best is not None
    assert slow.best.policy.steps == (Step(0, "DEEP_ARCHIVE"),)


def test_uploads_of_a_report_of_totals_need_no_sizes() -> None:
    """Storage Lens tells bytes and number of unfinished uploads, nothing of single ones."""
    uploads = cell(state="incomplete", size=(0, None), age=(None, None), idle=(None, None))
    found = advise({"STANDARD": [uploads]}, state="incomplete", hazard=None, terms=terms())
    assert (found.verdict, found.best and found.best.policy.steps) == (MOVE, (Step(7, DELETE),))


def test_an_open_size_band_cannot_be_judged() -> None:
    with pytest.raises(StorageError, match="a size band holds"):
        advise({"STANDARD": [cell(size=(0, None))]}, state="current", hazard=never_read(), terms=terms())
