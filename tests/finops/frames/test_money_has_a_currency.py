"""Money: exact, with a currency, and two currencies never in one sum."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finops.frames.money import CurrencyError, Money, currency_code, total

AMOUNTS = st.decimals(allow_nan=False, allow_infinity=False, places=18, min_value=-(10**20), max_value=10**20)


def usd(text: str) -> Money:
    return Money(Decimal(text), "USD")


@given(st.lists(AMOUNTS, min_size=1, max_size=20))
def test_a_sum_keeps_every_digit_in_any_order(amounts: list[Decimal]) -> None:
    from fractions import Fraction

    there = total(Money(a, "USD") for a in amounts)
    back = total(Money(a, "USD") for a in reversed(amounts))
    assert there is not None
    assert back is not None
    assert there.amount == back.amount
    assert Fraction(there.amount) == sum(Fraction(a) for a in amounts)


def test_two_currencies_never_meet_in_a_sum_a_difference_or_a_comparison() -> None:
    yuan = Money(Decimal("720.00"), "CNY")
    for meet in (lambda: usd("100") + yuan, lambda: usd("100") - yuan, lambda: usd("100") < yuan):
        with pytest.raises(CurrencyError, match="USD and CNY are never added"):
            meet()
    with pytest.raises(TypeError):
        usd("1") + Decimal("1")  # type: ignore[operator]
    with pytest.raises(CurrencyError):
        total([usd("1"), yuan])
    assert issubclass(CurrencyError, TypeError)
    assert total([]) is None


@pytest.mark.parametrize("word", ["", " ", "$", "12", "U S", "usd-x"])
def test_a_blank_is_no_currency(word: str) -> None:
    with pytest.raises(CurrencyError):
        currency_code(word)


def test_a_binary_float_is_no_amount() -> None:
    with pytest.raises(TypeError):
        Money(0.1, "USD")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not an amount"):
        Money(Decimal("NaN"), "USD")
    with pytest.raises(CurrencyError, match="write the currency as 'USD'"):
        Money(Decimal(1), "usd")


def test_signs_and_differences() -> None:
    assert usd("3.30") - usd("1.10") == usd("2.20")
    assert -usd("1.5") == usd("-1.5")
    assert usd("1") < usd("2")
