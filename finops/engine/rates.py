"""Negotiated rates: which row of the dated table holds for a priced thing, and its price after it.

A row names what it is for (provider; service, SKU pattern, product and region where stated), from when to
when (half-open days) and either a percentage off the list price or a price of its own. Of the rows that fit,
the most specific wins, compared in this order:

1. SKU: an exact text before a pattern, a pattern with more letters before one with fewer, any before none;
2. service stated before not stated; 3. product; 4. region.

Two rows that are equally specific and can meet on one thing and day are a tie. A tie is refused, when a row
is entered (`conflicts`) and again when a price is asked for (`TieError`): which discount the contract means
is not ours to guess. Spot prices are not negotiable: for them there is never a row.

In a pattern `*` is any text and `?` one character; letter case does not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Context, Decimal
from functools import cache

_EXACT = Context(prec=120)
SPOT = "spot"
ON_DEMAND = "on-demand"


@dataclass(frozen=True, slots=True)
class NegotiatedRate:
    """One row. Exactly one of `percent` (off the list price, 0-100) and `price` (per unit, in `currency`).

    Empty `service`, `sku`, `product` or `region` mean any. Valid on days in [valid_from, valid_until).
    """

    id: int
    provider: str
    valid_from: date
    source: str
    service: str = ""
    sku: str = ""
    product: str = ""
    region: str = ""
    percent: Decimal | None = None
    price: Decimal | None = None
    currency: str = ""
    valid_until: date | None = None

    def holds_on(self, day: date) -> bool:
        """Whether the row is valid on that day."""
        return self.valid_from <= day and (self.valid_until is None or day < self.valid_until)


@dataclass(frozen=True, slots=True)
class Priced:
    """Something with a list price. `skus` and `products` are all the words that it goes by."""

    provider: str
    service: str
    region: str
    on: date
    skus: tuple[str, ...] = ()
    products: tuple[str, ...] = ()
    market: str = ON_DEMAND


class TieError(ValueError):
    """Two rows are equally specific for one thing; `rows` are both."""

    def __init__(self, rows: tuple[NegotiatedRate, NegotiatedRate]) -> None:
        first, second = rows
        super().__init__(
            f"Negotiated rates {first.id} and {second.id} are equally specific: end one of them or make one "
            "more specific."
        )
        self.rows = rows


class CurrencyMismatchError(ValueError):
    """The row's price is in another currency than the list price."""


def rate_for(rates: Iterable[NegotiatedRate], thing: Priced) -> NegotiatedRate | None:
    """The most specific row that fits; None without one and always for Spot. Raises TieError."""
    if thing.market == SPOT:
        return None
    fitting = sorted(
        (rate for rate in rates if _fits(rate, thing)), key=lambda rate: (specificity(rate), -rate.id)
    )
    if not fitting:
        return None
    best = fitting[-1]
    if len(fitting) > 1 and specificity(fitting[-2]) == specificity(best):
        raise TieError((best, fitting[-2]))
    return best


def price_after(rate: NegotiatedRate, list_price: Decimal, currency: str) -> Decimal:
    """The price of one unit under the row, exact. Raises CurrencyMismatchError.

    >>> ten = NegotiatedRate(1, "aws", date(2026, 1, 1), "EDP", percent=Decimal("10"))
    >>> price_after(ten, Decimal("0.0960"), "USD")
    Decimal('0.08640')
    """
    if rate.price is not None:
        if rate.currency != currency:
            raise CurrencyMismatchError(
                f"Negotiated rate {rate.id} is in {rate.currency}, the list price in {currency}."
            )
        return rate.price
    left = _EXACT.divide(_EXACT.subtract(Decimal(100), rate.percent or Decimal(0)), Decimal(100))
    return _EXACT.multiply(list_price, left)


def specificity(rate: NegotiatedRate) -> tuple[int, int, bool, bool, bool]:
    """Comparable: the larger one wins."""
    letters = len(re.sub(r"[*?]", "", rate.sku))
    kind = 0 if not rate.sku else 1 if letters < len(rate.sku) else 2
    return kind, letters if kind == 1 else 0, bool(rate.service), bool(rate.product), bool(rate.region)


def conflicts(new: NegotiatedRate, others: Iterable[NegotiatedRate]) -> list[NegotiatedRate]:
    """The rows that would tie with a new one on some thing and day."""
    return [
        other
        for other in others
        if other.id != new.id
        and other.provider == new.provider
        and specificity(other) == specificity(new)
        and all(_same(getattr(other, name), getattr(new, name)) for name in ("service", "product", "region"))
        and patterns_meet(other.sku, new.sku)
        and (other.valid_until is None or new.valid_from < other.valid_until)
        and (new.valid_until is None or other.valid_from < new.valid_until)
    ]


def patterns_meet(one: str, other: str) -> bool:
    """Whether some text fits both patterns; an empty pattern fits any text.

    >>> patterns_meet("BoxUsage:p3*", "*large"), patterns_meet("BoxUsage:p3*", "BoxUsage:g5*")
    (True, False)
    """
    a, b = (one or "*").casefold(), (other or "*").casefold()

    @cache
    def meet(i: int, j: int) -> bool:
        if i == len(a) and j == len(b):
            return True
        if i < len(a) and a[i] == "*":
            return meet(i + 1, j) or (j < len(b) and meet(i, j + 1))
        if j < len(b) and b[j] == "*":
            return meet(i, j + 1) or (i < len(a) and meet(i + 1, j))
        if i == len(a) or j == len(b):
            return False
        return (a[i] == b[j] or "?" in (a[i], b[j])) and meet(i + 1, j + 1)

    return meet(0, 0)


def _same(one: str, other: str) -> bool:
    return one.casefold() == other.casefold()


def _fits(rate: NegotiatedRate, thing: Priced) -> bool:
    return (
        rate.provider == thing.provider
        and rate.holds_on(thing.on)
        and (not rate.service or _same(rate.service, thing.service))
        and (not rate.region or _same(rate.region, thing.region))
        and (not rate.product or any(_same(rate.product, word) for word in thing.products))
        and (not rate.sku or any(pattern_fits(rate.sku, word) for word in thing.skus))
    )


def pattern_fits(pattern: str, text: str) -> bool:
    """Whether the whole text fits the pattern."""
    parts = (".*" if c == "*" else "." if c == "?" else re.escape(c) for c in pattern.casefold())
    return re.fullmatch("".join(parts), text.casefold(), re.DOTALL) is not None
