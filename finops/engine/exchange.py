"""Which exchange rate holds on a day, and what an amount is worth at it.

A rate says how many units of `quote` one unit of `base` costs (USD/CNY 7.20: one dollar is 7.20 yuan) from
its day on, until a newer one of the same pair. amount(base) * rate = amount(quote). The other way,
amount(quote) / rate, is used only where the rate says that it is meant both ways, and after a rate of the
direct pair. A rate older than `max_age_days` on the day asked for is no rate. Chains over a third currency
are not built.

Source of the case: USD 100.00 and CNY 720.00 at 7.20 (both ways) are 100.00 + 720.00 / 7.20 = USD 200.00.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_EVEN, Context, Decimal

# Two stored numbers of 38 digits give at most 76; quotients end ten places after a bill line.
_EXACT = Context(prec=120, rounding=ROUND_HALF_EVEN)
_SCALE = Decimal(1).scaleb(-28)
MAX_AGE_DAYS = 31


@dataclass(frozen=True, slots=True)
class Rate:
    """One dated rate; `id` is its row, `source` where it came from."""

    base: str
    quote: str
    on: date
    rate: Decimal
    source: str
    both_ways: bool = False
    id: int | None = None


@dataclass(frozen=True, slots=True)
class Converted:
    """An amount in another currency with what made it; `rate` is None when nothing had to be converted.

    `divided`: the amount was divided by the rate, which is quoted the other way round.
    """

    amount: Decimal
    currency: str
    rate: Rate | None = None
    divided: bool = False


class NoRateError(LookupError):
    """There is no rate for the pair at or before the day, or only one that is too old."""

    def __init__(self, message: str, *, base: str, quote: str, on: date) -> None:
        super().__init__(message)
        self.base, self.quote, self.on = base, quote, on


def rate_on(
    rates: Iterable[Rate], *, base: str, quote: str, on: date, max_age_days: int = MAX_AGE_DAYS
) -> tuple[Rate, bool]:
    """(the newest rate at or before `on`, whether to divide by it). Raises NoRateError.

    A direct rate wins over one of the other direction, whichever is newer.
    """
    known = [rate for rate in rates if rate.on <= on]
    direct = [rate for rate in known if (rate.base, rate.quote) == (base, quote)]
    other = [rate for rate in known if rate.both_ways and (rate.base, rate.quote) == (quote, base)]
    stale: Rate | None = None
    for found, divided in ((direct, False), (other, True)):
        newest = max(found, key=lambda rate: rate.on, default=None)
        if newest is None:
            continue
        if (on - newest.on).days <= max_age_days:
            return newest, divided
        stale = newest if stale is None or newest.on > stale.on else stale
    why = (
        f"the newest is of {stale.on.isoformat()}, more than {max_age_days} days before"
        if stale
        else "none is known at or before that day"
    )
    raise NoRateError(
        f"No exchange rate from {base} to {quote} on {on.isoformat()}: {why}.", base=base, quote=quote, on=on
    )


def convert(
    amount: Decimal,
    currency: str,
    to: str,
    *,
    on: date,
    rates: Iterable[Rate],
    max_age_days: int = MAX_AGE_DAYS,
) -> Converted:
    """The amount in `to`. Raises NoRateError; never rounds a product, rounds a quotient at 28 decimals.

    >>> cny = Rate("USD", "CNY", date(2026, 5, 31), Decimal("7.20"), "entered by the user", both_ways=True)
    >>> convert(Decimal("720.00"), "CNY", "USD", on=date(2026, 5, 31), rates=[cny]).amount
    Decimal('100')
    """
    if currency == to:
        return Converted(amount, to)
    rate, divided = rate_on(rates, base=currency, quote=to, on=on, max_age_days=max_age_days)
    if not divided:
        return Converted(_EXACT.multiply(amount, rate.rate), to, rate)
    quotient = _EXACT.divide(amount, rate.rate)
    if quotient.as_tuple().exponent < -28:  # type: ignore[operator]  # finite by now
        quotient = quotient.quantize(_SCALE, context=_EXACT)
    return Converted(quotient, to, rate, divided=True)
