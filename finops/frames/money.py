"""An amount of money: an exact decimal and its currency. There is no default currency.

Money that is billed, priced or budgeted is in a national currency, by its code of ISO 4217
(`data/currencies.txt`): FOCUS 1.2 wants BillingCurrency so. Its virtual currencies (credits, tokens) are
words of PricingCurrency, which stay as delivered and are never summed.

Adding, subtracting or comparing two currencies is a `CurrencyError` (a TypeError): a sum over currencies
means nothing until somebody names a rate. Nothing is rounded here; rounding happens once, for display.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cache
from pathlib import Path

# Digits kept by sums and products: bills hold DECIMAL(38, 18), and sums of them must stay exact.
EXACT = Context(prec=60)
_DATA = Path(__file__).parent / "data"


class CurrencyError(TypeError):
    """Two currencies met in one sum, or a text is no currency."""


@cache
def currencies() -> frozenset[str]:
    """National currencies of ISO 4217 in 2026, and those that ended since 2023; no funds, metals or tests."""
    return frozenset((_DATA / "currencies.txt").read_text(encoding="ascii").split())


def currency_code(text: str) -> str:
    """The code of ISO 4217 in capital letters. Raises CurrencyError for what is none: a blank is no dollar.

    >>> currency_code(" usd ")
    'USD'
    """
    code = text.strip().upper()
    if code not in currencies():
        raise CurrencyError(f"not a currency: {text[:60]!r}")
    return code


@dataclass(frozen=True, slots=True)
class Money:
    """`amount` in `currency`. Raises CurrencyError for a currency that is none, TypeError for a float.

    >>> Money(Decimal("1.10"), "USD") + Money(Decimal("2.20"), "USD")
    Money(amount=Decimal('3.30'), currency='USD')
    """

    amount: Decimal
    currency: str

    def __post_init__(self) -> None:
        if not isinstance(self.amount, Decimal):
            raise TypeError(f"money is an exact decimal, not {type(self.amount).__name__}")
        if not self.amount.is_finite():
            raise ValueError(f"not an amount: {self.amount}")
        if currency_code(self.currency) != self.currency:
            raise CurrencyError(f"write the currency as {currency_code(self.currency)!r}")

    def _same(self, other: Money) -> Money:
        if not isinstance(other, Money):
            raise TypeError(f"money and {type(other).__name__} do not add up")
        if other.currency != self.currency:
            raise CurrencyError(
                f"{self.currency} and {other.currency} are never added: name an exchange rate"
            )
        return other

    def __add__(self, other: Money) -> Money:
        return Money(EXACT.add(self.amount, self._same(other).amount), self.currency)

    def __sub__(self, other: Money) -> Money:
        return Money(EXACT.subtract(self.amount, self._same(other).amount), self.currency)

    def __neg__(self) -> Money:
        return Money(-self.amount, self.currency)

    def __lt__(self, other: Money) -> bool:
        return self.amount < self._same(other).amount


def total(parts: Iterable[Money]) -> Money | None:
    """The sum of parts of one currency, None for no parts. Raises CurrencyError for two currencies."""
    found: Money | None = None
    for part in parts:
        found = part if found is None else found + part
    return found
