"""One offer against the hours that are left of its term: price, saving with its interval, risk, rivals, cash.

All savings are against on-demand for the hours that the offer would take, over the offer's own remaining
term. The interval is 90 %: the 5 % and 95 % quantiles over the scenarios; the probability of a loss is the
share of scenarios in which on-demand would have been cheaper. Units: an offer of q instances covers q x
units of its pool in each hour.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

import numpy as np

from finops.engine.commitments.cost import TermPrice
from finops.engine.commitments.refusal import Refusal, refuse
from finops.engine.commitments.scenarios import ExpectedCover, Floats, Future
from finops.engine.commitments.terms import hours_between, months_later
from finops.frames.offers import Offer, OfferKind

LOW, HIGH = 0.05, 0.95
# Savings are sums over thousands of hours: a loss begins beyond what adding floats may be off.
PENNY_DUST = 1e-9


@dataclass(frozen=True, slots=True)
class Rival:
    """Another way to pay for the same hours: `price` of a unit-hour; `every_hour`: also for hours without
    use.
    """

    name: str
    price: float
    every_hour: bool


@dataclass(frozen=True, slots=True)
class Market:
    """Prices of a unit-hour of a pool: on demand, and the others that are known."""

    on_demand: float
    rivals: tuple[Rival, ...] = ()


@dataclass(frozen=True, slots=True)
class Evaluation:
    """An offer at a quantity. Money for the whole quantity and the whole remaining term, in the offer's
    currency.

    `on_demand_hourly`: one instance on demand; `effective_hourly`: one instance, every hour of the term;
    `effective_used`: per hour that is used, None
    without use. `versus`: expected saving against each rival, on demand first.
    """

    offer: Offer
    units: Decimal
    quantity: int
    hours_left: Decimal
    upfront: Decimal
    total: Decimal
    effective_hourly: Decimal
    effective_used: float | None
    utilisation: float
    on_demand_hourly: float
    break_even_share: float
    break_even_at: datetime | None
    saving_low: float
    saving: float
    saving_high: float
    loss_probability: float
    versus: tuple[tuple[str, float], ...]
    decided_at: datetime

    @property
    def monthly_saving(self) -> float:
        """The expected saving a month of 1/12 year (730 h)."""
        return self.saving / float(self.hours_left) * 730


def offer_hours_left(offer: Offer, now: datetime) -> Decimal:
    """What a buyer gets: a second-hand term runs on while the offer stands, a new one begins with the
    purchase.
    """
    if offer.kind is OfferKind.SECOND_HAND:
        return max(Decimal(0), offer.duration_hours - max(Decimal(0), hours_between(offer.seen_at, now)))
    return offer.duration_hours


def best_quantity(price: TermPrice, units: float, rate: float, cover: ExpectedCover, most: int) -> int:
    """The quantity with the highest expected saving, at most `most`; the smallest of equals.

    The cover is concave in the level: each instance more covers no more hours than the one before, so the
    last one that saves is found by halving.
    """
    cost = float(price.total)
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        gained = rate * float(cover.at(middle * units) - cover.at((middle - 1) * units))
        low, high = (middle, high) if gained > cost + PENNY_DUST else (low, middle - 1)
    return low


def evaluate(
    offer: Offer,
    *,
    units: Decimal,
    future: Future,
    market: Market,
    now: datetime,
    quantity: int | None = None,
    cover: ExpectedCover | None = None,
) -> Evaluation | Refusal:
    """The offer at `quantity`, else at its best one by itself; where no quantity saves, the reason.

    A given quantity is evaluated whatever it saves (the calculator and portfolios ask so).
    """
    hours = offer_hours_left(offer, now)
    if hours <= 0:
        return refuse(
            "over", ended=(offer.seen_at + timedelta(hours=float(offer.duration_hours))).isoformat()
        )
    price = TermPrice(offer.fixed, offer.hourly, hours)
    expected = cover or future.expected(float(hours))
    size = float(units)
    if quantity is None:
        most = int(np.ceil(future.most() / size))
        most = most if offer.count is None else min(most, offer.count)
        quantity = best_quantity(price, size, market.on_demand, expected, most)
        if quantity == 0:
            return _why_not(price, size, market.on_demand, expected)
    return _evaluation(offer, units, quantity, price, future, market, expected, now)


def _why_not(price: TermPrice, units: float, rate: float, cover: ExpectedCover) -> Refusal:
    share = float(price.total) / (rate * units * float(price.hours))
    if share >= 1:
        return refuse(
            "never pays", effective=f"{float(price.effective() or 0):.6f}", on_demand=f"{rate * units:.6f}"
        )
    used = float(cover.at(units)) / (units * cover.hours)
    return refuse("too little use", needed_pct=f"{share * 100:.1f}", used_pct=f"{used * 100:.1f}")


def _evaluation(
    offer: Offer,
    units: Decimal,
    quantity: int,
    price: TermPrice,
    future: Future,
    market: Market,
    cover: ExpectedCover,
    now: datetime,
) -> Evaluation:
    size, hours, cost = float(units), float(price.hours), float(price.total) * quantity
    level = size * quantity
    used = float(cover.at(level))
    savings = market.on_demand * future.covered(level, hours) - cost
    low, high = interval(savings)
    share = used / (level * hours)
    rate = Decimal(repr(market.on_demand * size))
    return Evaluation(
        offer=offer,
        units=units,
        quantity=quantity,
        hours_left=price.hours,
        upfront=offer.fixed * quantity,
        total=price.total * quantity,
        effective_hourly=price.total / price.hours,
        effective_used=cost * size / used if used > 0 else None,
        utilisation=share,
        on_demand_hourly=market.on_demand * size,
        break_even_share=float(price.total) / (market.on_demand * size * hours),
        break_even_at=price.break_even_at(rate, now, Decimal(repr(min(1.0, share)))),
        saving_low=float(low),
        saving=market.on_demand * used - cost,
        saving_high=float(high),
        loss_probability=float((savings < -PENNY_DUST).mean()),
        versus=versus(market, used, level * hours, cost),
        decided_at=now,
    )


def interval(values: Floats) -> tuple[float, float]:
    """The 5 % and 95 % quantiles, linear between neighbours."""
    ordered = np.sort(values)
    low, high = np.interp(
        (LOW * (values.size - 1), HIGH * (values.size - 1)), np.arange(values.size), ordered
    )
    return float(low), float(high)


def versus(market: Market, used: float, all_hours: float, cost: float) -> tuple[tuple[str, float], ...]:
    """Expected saving against each rival for the same unit-hours."""
    return (
        ("on-demand", market.on_demand * used - cost),
        *((r.name, r.price * (all_hours if r.every_hour else used) - cost) for r in market.rivals),
    )


@dataclass(frozen=True, slots=True)
class CashPoint:
    """What has been gained `months` after the decision: expected, and in nine of ten scenarios between."""

    months: int
    at: datetime
    low: float
    expected: float
    high: float


def cash_curve(
    evaluation: Evaluation, *, future: Future, market: Market, now: datetime
) -> tuple[CashPoint, ...]:
    """Gain against on-demand at the decision, after each month and at the end; all charges paid.

    `expected` is that of `Evaluation.saving`, without the noise of the draws: the last point equals it. The
    ends are quantiles over the drawn scenarios.
    """
    hours, level = float(evaluation.hours_left), float(evaluation.units) * evaluation.quantity
    hourly = float(evaluation.offer.hourly) * evaluation.quantity
    fixed = float(evaluation.upfront)
    points = [CashPoint(0, now, -fixed, -fixed, -fixed)]
    months = 0
    while points[-1].at < now + timedelta(hours=hours):
        months += 1
        passed = min(hours, float(hours_between(now, months_later(now, months))))
        paid = hourly * passed + fixed
        low, high = interval(market.on_demand * future.covered(level, passed) - paid)
        expected = market.on_demand * float(future.expected(passed).at(level)) - paid
        at = min(months_later(now, months), now + timedelta(hours=hours))
        points.append(CashPoint(months, at, low, expected, high))
    return tuple(points)


def worst_point(curve: Sequence[CashPoint]) -> CashPoint:
    """The point where most money is out, expected; the earliest of equals."""
    return min(curve, key=lambda point: (point.expected, point.months))


def savings_by_scenario(evaluation: Evaluation, *, future: Future, market: Market) -> Floats:
    """The saving in each scenario; shape (draws,)."""
    level = float(evaluation.units) * evaluation.quantity
    covered: Floats = future.covered(level, float(evaluation.hours_left))
    return market.on_demand * covered - float(evaluation.total)
