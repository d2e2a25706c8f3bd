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
from typing import NamedTuple

import numpy as np

from finops.engine.commitments.cost import TermPrice
from finops.engine.commitments.levels import LevelSums
from finops.engine.commitments.refusal import Refusal, refuse
from finops.engine.commitments.scenarios import ExpectedCover, Floats, Future
from finops.engine.commitments.terms import hours_between, months_later
from finops.frames.offers import Offer, OfferKind

LOW, HIGH = 0.05, 0.95
# Savings are sums over thousands of hours: a loss begins beyond what adding floats may be off.
PENNY_DUST = 1e-9
# Levels tried at once: their sums by hour of a week are 11 MB.
MOST_LEVELS = 8192


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
    saving_low: float
    saving: float
    saving_high: float
    loss_probability: float
    versus: tuple[tuple[str, float], ...]
    decided_at: datetime

    @property
    def break_even_at(self) -> datetime | None:
        """When steady use at the expected share has paid the price back; None: not within the term."""
        price = TermPrice(self.offer.fixed, self.offer.hourly, self.hours_left)
        used = Decimal(repr(min(1.0, self.utilisation)))
        return price.break_even_at(Decimal(repr(self.on_demand_hourly)), self.decided_at, used)

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


@dataclass(frozen=True, slots=True)
class Asked:
    """An offer that draws on a pool: the exact hours left of it, units of the pool in one of its instances,
    and the prices there.
    """

    offer: Offer
    hours: Decimal
    units: Decimal
    market: Market


def evaluate(
    offer: Offer,
    *,
    units: Decimal,
    future: Future,
    market: Market,
    now: datetime,
    quantity: int | None = None,
) -> Evaluation | Refusal:
    """The offer at `quantity`, else at its best one by itself; where no quantity saves, the reason.

    A given quantity is evaluated whatever it saves (the calculator and portfolios ask so).
    """
    return evaluate_all(
        [Asked(offer, offer_hours_left(offer, now), units, market)], future=future, now=now, quantity=quantity
    )[0]


def evaluate_all(
    asked: Sequence[Asked], *, future: Future, now: datetime, quantity: int | None = None
) -> list[Evaluation | Refusal]:
    """Offers of one pool, each by itself as `evaluate` says, in their order. Those of one size are judged
    together, for their levels are multiples of the same units.
    """
    answers: dict[int, Evaluation | Refusal] = {}
    sizes: dict[Decimal, list[int]] = {}
    prices: dict[int, TermPrice] = {}
    for place, one in enumerate(asked):
        if one.hours <= 0:
            ended = one.offer.seen_at + timedelta(hours=float(one.offer.duration_hours))
            answers[place] = refuse("over", ended=ended.isoformat())
        else:
            prices[place] = TermPrice(one.offer.fixed, one.offer.hourly, one.hours)
            sizes.setdefault(one.units, []).append(place)
    for places in sizes.values():
        offers = [(asked[place], prices[place]) for place in places]
        found = _of_one_size(offers, future, now, quantity)
        answers.update(zip(places, found, strict=True))
    return [answers[place] for place in range(len(asked))]


def _of_one_size(
    offers: Sequence[tuple[Asked, TermPrice]], future: Future, now: datetime, quantity: int | None
) -> list[Evaluation | Refusal]:
    size = float(offers[0][0].units)
    chosen = _known_quantities(offers, size, future, quantity)
    levels = np.arange(1 + _most(offers, size, future)) if chosen is None else np.unique([0, 1, *chosen])
    sums = LevelSums(future, levels * size, [float(price.hours) for _, price in offers])
    expected = sums.expected()
    rates = np.array([one.market.on_demand for one, _ in offers])
    costs = np.array([float(price.total) for _, price in offers])
    if chosen is None:
        counts = [levels.size if one.offer.count is None else one.offer.count for one, _ in offers]
        chosen = best_quantities(costs, rates[:, None] * np.diff(expected), np.array(counts))
    places = np.searchsorted(levels, chosen).tolist()
    savings = rates[:, None] * sums.covered(places) - (costs * chosen)[:, None]
    return [
        _evaluation(one, price, count, float(cover[place]), risk, now)
        if count
        else _why_not(price, size, one.market.on_demand, float(cover[1]))
        for (one, price), count, cover, place, risk in zip(
            offers, chosen, expected, places, _risks(savings), strict=True
        )
    ]


def _most(offers: Sequence[tuple[Asked, TermPrice]], size: float, future: Future) -> int:
    """The most instances that one of the offers can be asked for: behind it one more covers nothing, or none
    has more. At least one, for the reason of a refusal.
    """
    useful = max(1, int(np.ceil(future.most() / size)))
    return min(useful, max(useful if one.offer.count is None else one.offer.count for one, _ in offers))


def _known_quantities(
    offers: Sequence[tuple[Asked, TermPrice]], size: float, future: Future, quantity: int | None
) -> list[int] | None:
    """Quantities that are given, or found one by one where the levels are too many to try; else None."""
    if quantity is not None:
        return [quantity] * len(offers)
    most = _most(offers, size, future)
    if most <= MOST_LEVELS:
        return None
    return [
        halved_quantity(
            price,
            size,
            one.market.on_demand,
            future.expected(float(price.hours)),
            most if one.offer.count is None else min(most, one.offer.count),
        )
        for one, price in offers
    ]


def best_quantities(costs: Floats, gained: Floats, counts: np.ndarray) -> list[int]:
    """Each offer's quantity with the highest expected saving, at most its count; the smallest of equals.

    `gained`: what the first, the second, … instance adds to the money of the hours covered; shape (offers,
    most). Each covers no more hours than the one before, so all those before the first that does not save do.
    """
    pays = (gained > costs[:, None] + PENNY_DUST) & (np.arange(gained.shape[1]) < counts[:, None])
    found: list[int] = np.logical_and.accumulate(pays, axis=1).sum(axis=1).tolist()
    return found


def halved_quantity(price: TermPrice, units: float, rate: float, cover: ExpectedCover, most: int) -> int:
    """`best_quantities` for pools of too many levels: the last instance that saves is found by halving."""
    cost = float(price.total)
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        gained = rate * float(cover.at(middle * units) - cover.at((middle - 1) * units))
        low, high = (middle, high) if gained > cost + PENNY_DUST else (low, middle - 1)
    return low


def _why_not(price: TermPrice, size: float, rate: float, used: float) -> Refusal:
    """`used`: unit-hours that one instance would cover."""
    share = float(price.total) / (rate * size * float(price.hours)) if rate > 0 else float("inf")
    if share >= 1:
        return refuse(
            "never pays", effective=f"{float(price.effective() or 0):.6f}", on_demand=f"{rate * size:.6f}"
        )
    used_pct = used / (size * float(price.hours)) * 100
    return refuse("too little use", needed_pct=f"{share * 100:.1f}", used_pct=f"{used_pct:.1f}")


class Risk(NamedTuple):
    """Over the scenarios: the ends of the saving's interval, and the share of them that lose."""

    low: float
    high: float
    loss: float


def _risks(savings: Floats) -> list[Risk]:
    """For savings of shape (offers, draws)."""
    low, high = intervals(savings)
    loss = (savings < -PENNY_DUST).mean(axis=1)
    return [Risk(*three) for three in zip(low.tolist(), high.tolist(), loss.tolist(), strict=True)]


def _evaluation(
    one: Asked, price: TermPrice, quantity: int, used: float, risk: Risk, now: datetime
) -> Evaluation:
    """`used`: unit-hours covered in expectation."""
    size, hours, total = float(one.units), float(price.hours), price.total
    cost, rate = float(total) * quantity, one.market.on_demand
    level = size * quantity
    share = used / (level * hours)
    return Evaluation(
        offer=one.offer,
        units=one.units,
        quantity=quantity,
        hours_left=price.hours,
        upfront=one.offer.fixed * quantity,
        total=total * quantity,
        effective_hourly=total / price.hours,
        effective_used=cost * size / used if used > 0 else None,
        utilisation=share,
        on_demand_hourly=rate * size,
        break_even_share=float(total) / (rate * size * hours),
        saving_low=risk.low,
        saving=rate * used - cost,
        saving_high=risk.high,
        loss_probability=risk.loss,
        versus=versus(one.market, used, level * hours, cost),
        decided_at=now,
    )


def intervals(values: Floats) -> tuple[Floats, Floats]:
    """The 5 % and 95 % quantiles of the last axis, linear between neighbours."""
    ordered = np.sort(values, axis=-1)
    last = values.shape[-1] - 1
    ends = []
    for share in (LOW, HIGH):
        place = share * last
        below = min(int(place), last)
        above = min(below + 1, last)
        ends.append(ordered[..., below] + (place - below) * (ordered[..., above] - ordered[..., below]))
    return ends[0], ends[1]


def interval(values: Floats) -> tuple[float, float]:
    """The interval of one saving; shape (draws,)."""
    low, high = intervals(values)
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
