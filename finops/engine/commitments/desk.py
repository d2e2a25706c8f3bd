"""The question that a selection answers, and an offer that stands in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from finops.engine.commitments.evaluate import Evaluation, Market, Rival
from finops.engine.commitments.pools import PoolBook, PoolUse
from finops.engine.commitments.portfolio import Limits
from finops.engine.commitments.scenarios import Future
from finops.frames.offers import Offer, OfferKey

# Prices of a unit-hour of a pool beside on-demand; `units` of one instance of the offer's key.
Rivals = Callable[[OfferKey, Decimal], tuple[Rival, ...]]


@dataclass(frozen=True)
class Considered:
    """An offer that finds use and would save by itself: its pool, its hours to come, its best quantity
    alone.
    """

    offer: Offer
    units: Decimal
    pool: PoolUse
    future: Future
    market: Market
    alone: Evaluation


@dataclass(frozen=True)
class Desk:
    """What a question about offers rests on. `limits` as in `portfolio`; `currency`: that of the list
    prices.
    """

    book: PoolBook
    now: datetime
    currency: str
    rivals: Rivals = lambda _key, _units: ()
    limits: Limits = field(default_factory=Limits)
