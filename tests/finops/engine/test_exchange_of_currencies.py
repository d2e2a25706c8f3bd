"""Exchange rates: dated, sourced, one way unless said otherwise, and never guessed."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finops.engine.exchange import NoRateError, Rate, convert, rate_on
from finops.frames.money import Money, total

DAY = date(2026, 5, 31)
CNY = Rate("USD", "CNY", DAY, Decimal("7.20"), "entered by the user", both_ways=True, id=4)


def test_yuan_and_dollars_add_up_only_through_the_rate() -> None:
    got = convert(Decimal("720.00"), "CNY", "USD", on=DAY, rates=[CNY])
    assert (got.amount, got.currency, got.divided) == (Decimal("100"), "USD", True)
    assert got.rate == CNY
    whole = total([Money(Decimal("100.00"), "USD"), Money(got.amount, got.currency)])
    assert whole == Money(Decimal("200.00"), "USD")


def test_a_rate_is_used_the_other_way_only_where_it_says_so() -> None:
    one_way = Rate("USD", "CNY", DAY, Decimal("7.20"), "bank")
    assert convert(Decimal("10"), "USD", "CNY", on=DAY, rates=[one_way]).amount == Decimal("72.0")
    with pytest.raises(NoRateError, match="No exchange rate from CNY to USD on 2026-05-31: none is known"):
        convert(Decimal("10"), "CNY", "USD", on=DAY, rates=[one_way])


def test_a_direct_rate_wins_over_a_newer_one_of_the_other_direction() -> None:
    direct = Rate("CNY", "USD", DAY - timedelta(days=3), Decimal("0.14"), "bank")
    assert rate_on([CNY, direct], base="CNY", quote="USD", on=DAY) == (direct, False)


def test_nothing_is_taken_from_the_future_nor_from_too_long_ago() -> None:
    with pytest.raises(NoRateError, match="none is known at or before that day"):
        rate_on([CNY], base="USD", quote="CNY", on=DAY - timedelta(days=1))
    assert rate_on([CNY], base="USD", quote="CNY", on=DAY + timedelta(days=31)) == (CNY, False)
    with pytest.raises(NoRateError, match="the newest is of 2026-05-31, more than 31 days before"):
        rate_on([CNY], base="USD", quote="CNY", on=DAY + timedelta(days=32))
    assert rate_on([CNY], base="USD", quote="CNY", on=DAY + timedelta(days=32), max_age_days=32)[0] == CNY


def test_no_third_currency_in_between() -> None:
    euro = Rate("EUR", "USD", DAY, Decimal("1.10"), "bank", both_ways=True)
    with pytest.raises(NoRateError):
        convert(Decimal("1"), "EUR", "CNY", on=DAY, rates=[CNY, euro])


def test_the_same_currency_needs_no_rate_and_keeps_its_digits() -> None:
    got = convert(Decimal("0.000000000000000001"), "USD", "USD", on=DAY, rates=[])
    assert (got.amount, got.rate) == (Decimal("0.000000000000000001"), None)


@given(
    st.decimals(min_value=-(10**15), max_value=10**15, places=18, allow_nan=False),
    st.decimals(min_value="0.000001", max_value=10**6, places=6, allow_nan=False),
)
def test_a_product_keeps_every_digit(amount: Decimal, rate: Decimal) -> None:
    from fractions import Fraction

    got = convert(amount, "USD", "CNY", on=DAY, rates=[Rate("USD", "CNY", DAY, rate, "x")])
    assert Fraction(got.amount) == Fraction(amount) * Fraction(rate)


@given(st.lists(st.integers(min_value=-60, max_value=60), min_size=1, max_size=8, unique=True))
def test_the_newest_rate_at_or_before_the_day_is_taken(offsets: list[int]) -> None:
    rates = [Rate("USD", "CNY", DAY + timedelta(days=o), Decimal(7), "x", id=o) for o in offsets]
    usable = [o for o in offsets if -31 <= o <= 0]
    if usable:
        assert rate_on(rates, base="USD", quote="CNY", on=DAY)[0].id == max(usable)
    else:
        with pytest.raises(NoRateError):
            rate_on(rates, base="USD", quote="CNY", on=DAY)


def test_the_largest_amount_at_the_smallest_rate_is_still_a_number() -> None:
    tiny = Rate("USD", "CNY", DAY, Decimal("0.000000000000000001"), "x", both_ways=True)
    most = Decimal("9" * 20)
    assert convert(most, "CNY", "USD", on=DAY, rates=[tiny]).amount == most * 10**18
