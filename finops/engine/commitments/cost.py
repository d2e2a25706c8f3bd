"""What an offer costs with everything in it, and when it pays. Exact decimals; nothing is rounded here.

An offer has a price paid once and often a charge for every hour of the term, used or not. Both belong to
each hour: effective = (fixed + hourly x hours) / hours used. The fee of a marketplace is the seller's.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class TermPrice:
    """Price of one unit over the term that is left: `fixed` once, `hourly` in each of `hours` hours."""

    fixed: Decimal
    hourly: Decimal
    hours: Decimal

    def __post_init__(self) -> None:
        if self.hours <= 0 or self.fixed < 0 or self.hourly < 0:
            raise ValueError("a term price needs hours above zero and no negative price")

    @property
    def total(self) -> Decimal:
        """All that one unit costs to the end of the term."""
        return self.fixed + self.hourly * self.hours

    def effective(self, used_hours: Decimal | None = None) -> Decimal | None:
        """Price of an hour that is used; of every hour of the term without `used_hours`; None for no use."""
        used = self.hours if used_hours is None else used_hours
        return self.total / used if used > 0 else None

    def saving(self, rate: Decimal, used_hours: Decimal | None = None) -> Decimal:
        """What is saved against paying `rate` for each used hour; negative where the offer costs more."""
        used = self.hours if used_hours is None else used_hours
        return rate * used - self.total

    def break_even_hours(self, rate: Decimal) -> Decimal | None:
        """Hours of use from which the offer pays against `rate`; None for a rate of zero."""
        return self.total / rate if rate > 0 else None

    def break_even_share(self, rate: Decimal) -> Decimal | None:
        """The share of the term's hours that must be used; above 1: the offer never pays."""
        hours = self.break_even_hours(rate)
        return None if hours is None else hours / self.hours

    def break_even_at(
        self, rate: Decimal, start: datetime, used_share: Decimal = Decimal(1)
    ) -> datetime | None:
        """When the sum of what use saved has paid the fixed price back, at a steady use; None: not within the
        term.

        An hour earns rate x used share and costs `hourly`: fixed / (rate x share - hourly) hours.
        """
        earned = rate * used_share - self.hourly
        if self.fixed == 0:
            return start if earned >= 0 else None
        if earned <= 0 or self.fixed / earned > self.hours:
            return None
        return start + timedelta(hours=float(self.fixed / earned))


def fixed_that_pays(
    *, rate: Decimal, hourly: Decimal, hours: Decimal, used_share: Decimal, saving_share: Decimal = Decimal(0)
) -> Decimal:
    """The highest one-time price at which an offer saves `saving_share` of what its used hours cost at
    `rate`.

    Not above zero: at that use no price pays, the hourly charge alone costs more.
    """
    return hours * (rate * used_share * (1 - saving_share) - hourly)
