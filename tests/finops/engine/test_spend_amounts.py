"""Amounts compared, explained, rounded and split: field cases by their values, the rest by properties."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finops.engine.spend import (
    Comparison,
    Window,
    compare,
    comparison,
    drivers,
    months_of,
    rounded,
    rounded_parts,
    sorted_by_amount,
    split,
    total,
    week_of,
)

money = st.decimals(min_value=-(10**9), max_value=10**9, places=10, allow_nan=False, allow_infinity=False)
maybe = st.none() | money
sides = st.dictionaries(st.text(max_size=4), maybe, max_size=8)


def amount(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)


@pytest.mark.parametrize(
    ("before", "after", "delta", "percent", "label"),
    [
        (None, "12.00", "12.00", None, "new"),
        ("0.00", "50.00", "50.00", None, ""),
        ("0.00", "0.00", "0.00", None, ""),
        ("40.00", "30.00", "-10.00", "-25.0", ""),
        ("100.00", None, "-100.00", "-100.0", "gone"),
        ("-5.00", "-2.00", "3.00", None, ""),
    ],
)
def test_a_change_against_nothing_has_no_percentage(
    before: str | None, after: str | None, delta: str, percent: str | None, label: str
) -> None:
    change = compare(amount(before), amount(after))
    assert change.delta == Decimal(delta)
    assert change.percent == amount(percent)
    assert change.label == label


@given(maybe, maybe)
def test_a_percentage_is_finite_and_only_over_a_base_above_zero(
    before: Decimal | None, after: Decimal | None
) -> None:
    change = compare(before, after)
    assert change.delta == (after or 0) - (before or 0)
    assert (change.percent is not None) == (before is not None and before > 0)
    assert change.percent is None or change.percent.is_finite()


@given(sides, sides)
def test_drivers_sum_to_the_change_and_stand_by_amount(
    before: dict[str, Decimal | None], after: dict[str, Decimal | None]
) -> None:
    whole, parts = drivers(before, after)
    assert total(part.change.delta for part in parts) == whole.delta
    assert {part.key for part in parts} == {*before, *after}
    sizes = [abs(part.change.delta) for part in parts]
    assert sizes == sorted(sizes, reverse=True)
    assert all((part.share is None) == (whole.delta == 0) for part in parts)


def test_drivers_that_cancel_out_have_amounts_and_no_share() -> None:
    whole, parts = drivers({"a": Decimal(5), "b": Decimal(1)}, {"a": Decimal(1), "c": Decimal(5)})
    assert (whole.delta, whole.percent) == (0, 0)
    assert [(p.key, p.change.delta, p.change.label, p.share) for p in parts] == [
        ("c", 5, "new", None), ("a", -4, "", None), ("b", -1, "gone", None),
    ]  # fmt: skip


def test_rows_stand_by_amount_then_by_name_and_unknown_last() -> None:
    rows = [("b", None), ("z", Decimal(1)), ("a", Decimal(1)), ("c", Decimal(2)), ("d", Decimal(-3))]
    assert [r[0] for r in sorted_by_amount(rows, lambda r: r[1], lambda r: r[0])] == ["c", "a", "z", "d", "b"]


def test_rounded_parts_add_up_to_the_rounded_total() -> None:
    shown, whole = rounded_parts([Decimal("1.005")] * 3)
    assert total([Decimal("1.005")] * 3) == Decimal("3.015")
    assert whole == Decimal("3.02")
    assert shown == [Decimal("1.01"), Decimal("1.01"), Decimal("1.00")]
    tiny, whole = rounded_parts([Decimal("0.004")] * 1000)
    assert whole == Decimal("4.00")
    assert (tiny.count(Decimal("0.01")), tiny.count(Decimal("0.00"))) == (400, 600)


@given(st.lists(money, max_size=40), st.integers(0, 6))
def test_no_shown_part_is_further_than_a_unit_from_its_exact_value(parts: list[Decimal], places: int) -> None:
    shown, whole = rounded_parts(parts, places)
    unit = Decimal(1).scaleb(-places)
    assert sum(shown, Decimal(0)) == whole == rounded(total(parts), places)
    for exact, seen in zip(parts, shown, strict=True):
        assert abs(exact - seen) < unit
        assert exact != rounded(exact, places) or seen == exact


@given(money, st.lists(st.decimals(min_value=-5, max_value=10**6, places=6), max_size=12))
def test_a_split_sums_to_the_whole_exactly(whole: Decimal, weights: list[Decimal]) -> None:
    parts = split(whole, weights)
    positive = [w for w in weights if w > 0]
    if not positive:
        assert parts is None
        return
    assert parts is not None
    assert total(parts) == whole
    for part, weight in zip(parts, weights, strict=True):
        exact = whole * max(weight, Decimal(0)) / sum(positive, Decimal(0))
        assert abs(part - exact) < Decimal("1e-15")
        assert weight > 0 or part == 0


def test_a_third_each_is_exact_to_the_last_digit() -> None:
    parts = split(Decimal("100.00"), [Decimal(1)] * 3)
    assert parts == [Decimal("33.333333333333333334"), *[Decimal("33.333333333333333333")] * 2]
    assert split(Decimal("-0.01"), [Decimal(1), Decimal(3)]) == [Decimal("-0.0025"), Decimal("-0.0075")]
    assert split(Decimal(7), []) is None


@pytest.mark.parametrize(
    ("day", "label", "first", "last"),
    [
        (date(2018, 11, 25), "2018-W47", date(2018, 11, 19), date(2018, 11, 25)),
        (date(2018, 12, 31), "2019-W01", date(2018, 12, 31), date(2019, 1, 6)),
        (date(2021, 1, 1), "2020-W53", date(2020, 12, 28), date(2021, 1, 3)),
    ],
)
def test_weeks_are_those_of_iso(day: date, label: str, first: date, last: date) -> None:
    week = week_of(day)
    assert (week.label, week.first, week.last) == (label, first, last)


def test_months_are_those_that_the_window_touches() -> None:
    assert months_of(Window(date(2018, 12, 31), date(2019, 2, 1))) == [date(2018, 12, 1), date(2019, 1, 1)]
    assert months_of(Window(date(2018, 12, 31), date(2018, 12, 31))) == []


NOVEMBER = Window(date(2018, 11, 1), date(2018, 12, 1))


def test_an_incomplete_month_is_compared_with_the_same_days() -> None:
    found = comparison(NOVEMBER, known_to=date(2018, 11, 19), against="month")
    assert found == Comparison(
        Window(date(2018, 11, 1), date(2018, 11, 19)), Window(date(2018, 10, 1), date(2018, 10, 19)), True
    )
    whole = comparison(NOVEMBER, known_to=None, against="month")
    assert whole == Comparison(NOVEMBER, Window(date(2018, 10, 1), date(2018, 10, 31)), False)
    march = comparison(Window(date(2019, 3, 1), date(2019, 4, 1)), known_to=None, against="month")
    assert march is not None
    assert (march.after.end, march.before.end, march.cut) == (date(2019, 3, 29), date(2019, 3, 1), True)


@given(
    st.dates(date(2018, 1, 1), date(2020, 1, 1)),
    st.integers(1, 100),
    st.none() | st.dates(date(2018, 1, 1), date(2020, 6, 1)),
    st.sampled_from(["previous", "month"]),
)
def test_both_sides_have_the_same_number_of_days_and_do_not_overlap(
    start: date, days: int, known_to: date | None, against: str
) -> None:
    asked = Window(start, start + timedelta(days=days))
    found = comparison(asked, known_to=known_to, against=against)
    if found is None:
        assert (known_to is not None and known_to <= start) or against == "month"
        return
    assert found.after.days == found.before.days >= 1
    assert found.before.end <= found.after.start == start
    assert found.after.end <= asked.end
    assert found.cut == (found.after != asked)
