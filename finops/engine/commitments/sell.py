"""Reservations that stand idle: what they are worth to a buyer, what a sale brings, and what keeping
brings.

A buyer pays no more than the cheapest other way to run the same hours:
ceiling = hours left x (its price of an hour - the hourly charge that goes with the reservation).
Keeping is worth what it saves on the use that comes, less the hourly charge that goes on. A sale at a
price brings price x (1 - fee) and ends the hourly charge. The quantity to sell is the one with the most
of both together; the units that go are those that are used least.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

import numpy as np

from finops.engine.commitments.evaluate import HIGH, LOW, Rival
from finops.engine.commitments.refusal import Refusal, refuse
from finops.engine.commitments.resale import (
    NOBODY,
    Proceeds,
    Seller,
    conditions,
    price_schedule,
    proceeds,
    residual,
    sale_refusal,
)
from finops.engine.commitments.scenarios import Floats, Future
from finops.engine.commitments.terms import counted_end, hours_left, whole_months
from finops.frames.commitments import Reserved
from finops.frames.resale import ResaleRules


@dataclass(frozen=True, slots=True)
class MonthPrice:
    """From `at` on, with whole `months` left, a unit is asked for `price` and brings `receives`."""

    months: int
    at: datetime
    price: Decimal
    receives: Decimal


@dataclass(frozen=True)
class Sale:
    """Advice for one reservation, money per unit unless named otherwise. `quantity` of `owned.count` to
    sell; 0: keep all. `gain`: of selling that quantity against keeping all of it, for the whole
    quantity, 90 % interval.
    """

    owned: Reserved
    months: int
    ceiling: Decimal
    cheapest_rival: str
    residual: Decimal | None
    ask: Proceeds
    schedule: tuple[MonthPrice, ...]
    quantity: int
    kept_value: float
    gain_low: float
    gain: float
    gain_high: float
    conditions: tuple[Refusal, ...]


def buyer_ceiling(
    owned: Reserved, rivals: Sequence[Rival], *, units: Decimal, now: datetime
) -> tuple[Decimal, str]:
    """The highest one-time price of a unit that beats every rival at full use, and the rival that sets it.

    Not below zero. ValueError without a rival or where the hourly charge is not known.
    """
    if owned.hourly is None or not rivals:
        raise ValueError("a buyer's ceiling needs the hourly charge and a rival")
    left = hours_left(owned.start, owned.end, now)
    cheapest = min(rivals, key=lambda rival: rival.price)
    price = left * (Decimal(repr(cheapest.price)) * units - owned.hourly)
    return max(Decimal(0), price), cheapest.name


def sale(
    owned: Reserved,
    *,
    units: Decimal,
    future: Future,
    rate: float,
    rivals: Sequence[Rival],
    rules: ResaleRules | None,
    now: datetime,
    seller: Seller = NOBODY,
    ask_share: Decimal = Decimal("0.95"),
) -> Sale | Refusal:
    """Whether and at what price to sell. `future`: use of the reservation's pool after all other
    commitments; `rate`: on-demand price of a unit-hour; `rivals`: a buyer's other ways, on-demand among
    them; `ask_share`: of the ceiling.
    """
    refused = sale_refusal(owned, rules, now=now, seller=seller)
    if refused is not None or rules is None:
        return refused or refuse("no market", provider=owned.key.provider)
    if owned.hourly is None:
        return refuse("hourly charge unknown")
    ceiling, rival = buyer_ceiling(owned, rivals, units=units, now=now)
    ask = proceeds(max(rules.minimum_price, ceiling * ask_share), rules)
    hours = float(hours_left(owned.start, owned.end, now))
    worth = _kept(owned, float(units), future, rate, hours)
    charge = float(owned.hourly) * hours
    totals = [
        float(kept.mean()) - charge * (owned.count - sold) + float(ask.receives) * sold
        for sold, kept in enumerate(reversed(worth))
    ]
    quantity = max(
        range(owned.count + 1), key=lambda sold: (totals[sold] > totals[0] + 1e-9, totals[sold], -sold)
    )
    gain = (float(ask.receives) + charge) * quantity - (worth[-1] - worth[owned.count - quantity])
    low, high = np.quantile(gain, (LOW, HIGH))
    return Sale(
        owned=owned,
        months=whole_months(now, counted_end(owned.start, owned.end)),
        ceiling=ceiling,
        cheapest_rival=rival,
        residual=None if owned.fixed is None else residual(owned.fixed, owned.start, owned.end, now),
        ask=ask,
        schedule=_schedule(ask.price, rules, now, counted_end(owned.start, owned.end)),
        quantity=quantity,
        kept_value=totals[0],
        gain_low=float(low),
        gain=totals[quantity] - totals[0],
        gain_high=float(high),
        conditions=conditions(owned, rules, seller),
    )


def _kept(owned: Reserved, units: float, future: Future, rate: float, hours: float) -> list[Floats]:
    """Money that 0, 1, … all units save by the use they cover, by scenario."""
    return [rate * future.covered(units * kept, hours) for kept in range(owned.count + 1)]


def _schedule(price: Decimal, rules: ResaleRules, now: datetime, end: datetime) -> tuple[MonthPrice, ...]:
    return tuple(
        MonthPrice(months, at, asked, proceeds(asked, rules).receives)
        for months, at, asked in price_schedule(price, now, end)
    )
