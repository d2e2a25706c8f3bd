"""The claim that a second-hand reservation is a bargain at some share of the list price with some months
left.

What it says depends on which list price is meant: that of the whole term, or what is left of it (list x
hours left / hours of the term). Both readings are priced; each says from which share of the hours used
it beats each rival, and up to which share of the list it would. Exact decimals. Somebody who counts in
months gives hours = months x 730.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from finops.engine.commitments.cost import TermPrice, fixed_that_pays


class Reading(StrEnum):
    """Which list price the share is of."""

    WHOLE = "whole term"
    REMAINING = "remaining term"


@dataclass(frozen=True, slots=True)
class ListTerm:
    """A reservation as the list sells it: paid once, paid hourly, for `hours`."""

    fixed: Decimal
    hourly: Decimal
    hours: Decimal

    @property
    def effective(self) -> Decimal:
        """Price of every hour of the term."""
        return self.fixed / self.hours + self.hourly


@dataclass(frozen=True, slots=True)
class Against:
    """The deal against one rival at the use that was asked. `from_share`: the share of hours that must
    be used for the deal to be no dearer, None where it is none at any use; `up_to_list_share`: the share
    of the list at which both cost the same, negative where no price pays.
    """

    rival: str
    price: Decimal
    saving: Decimal
    from_share: Decimal | None
    up_to_list_share: Decimal | None

    @property
    def pays(self) -> bool:
        """Whether the deal is cheaper at that use."""
        return self.saving > 0


@dataclass(frozen=True, slots=True)
class Deal:
    """One reading of the claim: the price it means and what follows."""

    reading: Reading
    price: TermPrice
    effective: Decimal
    against: tuple[Against, ...]


def popular_claim(
    listed: ListTerm,
    *,
    share: Decimal,
    hours_left: Decimal,
    used_share: Decimal,
    rivals: Sequence[tuple[str, Decimal, bool]],
) -> tuple[Deal, ...]:
    """Both readings of "`share` of the list price with `hours_left` to go", at `used_share` of those
    hours.

    `rivals`: (name, price of an hour, whether it is paid for unused hours too). ValueError: a share
    below zero, a use outside 0 to 1, or more hours than the term has.
    """
    if share < 0 or not 0 <= used_share <= 1:
        raise ValueError("a share of the price is not negative, a share of use is 0 to 1")
    if not 0 < hours_left <= listed.hours:
        raise ValueError(f"hours left are above 0 and at most the {listed.hours} of the term")
    bases = {Reading.WHOLE: listed.fixed, Reading.REMAINING: listed.fixed * hours_left / listed.hours}
    deals = []
    for reading, base in bases.items():
        price = TermPrice(base * share, listed.hourly, hours_left)
        against = tuple(_against(price, base, used_share, *rival) for rival in rivals)
        deals.append(Deal(reading, price, price.total / hours_left, against))
    return tuple(deals)


def _against(
    price: TermPrice, base: Decimal, used_share: Decimal, rival: str, rate: Decimal, every_hour: bool
) -> Against:
    paid = Decimal(1) if every_hour else used_share
    ceiling = fixed_that_pays(rate=rate, hourly=price.hourly, hours=price.hours, used_share=paid)
    from_share: Decimal | None
    if every_hour:
        from_share = Decimal(0) if price.total <= rate * price.hours else None
    else:
        needed = price.break_even_share(rate)
        from_share = needed if needed is not None and needed <= 1 else None
    return Against(
        rival=rival,
        price=rate,
        saving=rate * price.hours * paid - price.total,
        from_share=from_share,
        up_to_list_share=ceiling / base if base > 0 else None,
    )
