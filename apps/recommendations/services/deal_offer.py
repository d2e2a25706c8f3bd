"""One offer: its figures against the use, its history, and what if its price, term or use were other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal

import numpy as np
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.billing.models import SeenOffer
from apps.recommendations.services.commitments_advice import Gathered, gather
from apps.recommendations.services.commitments_offers import seen_offer
from apps.recommendations.services.document import Document, decimal_text, iso, rounded
from finops.engine.commitments.cost import TermPrice, fixed_that_pays
from finops.engine.commitments.desk import Considered
from finops.engine.commitments.evaluate import Evaluation, Market, evaluate, offer_hours_left
from finops.engine.commitments.refusal import Refusal, refuse
from finops.engine.commitments.scenarios import draw, future_of
from finops.engine.workload import WorkloadError
from finops.frames.offers import Offer

LONGEST_HOURS = 26_280


@dataclass(frozen=True)
class WhatIf:
    """Values in place of an offer's own; None: its own. `used_pct`: a steady use of each instance bought."""

    price: Decimal | None = None
    hours_left: Decimal | None = None
    used_pct: Decimal | None = None
    quantity: int | None = None

    @property
    def asks(self) -> bool:
        """Whether anything is asked."""
        return any(v is not None for v in (self.price, self.hours_left, self.used_pct, self.quantity))

    def check(self) -> None:
        """Raises WorkloadError."""
        for name, low, high in (("price", 0, 10**9), ("hours_left", 1, LONGEST_HOURS), ("used_pct", 0, 100)):
            value: Decimal | None = getattr(self, name)
            if value is not None and not (value.is_finite() and low <= value <= high):
                raise WorkloadError(name, _("Out of range: %(value)s") % {"value": value})


def offer_detail(
    *,
    offer_id: int,
    organisation: Organisation | None,
    lookback_days: int = 30,
    at: datetime | None = None,
    price: Decimal | None = None,
    hours_left: Decimal | None = None,
    used_pct: Decimal | None = None,
    quantity: int | None = None,
    snapshots: Mapping[str, int] | None = None,
) -> Document:
    """The document of a stored offer; empty where there is none of this id. Raises WorkloadError."""
    row = SeenOffer.objects.filter(pk=offer_id).first()
    if row is None:
        return {}
    asked = WhatIf(price, hours_left, used_pct, quantity)
    asked.check()
    gathered = gather(
        lookback_days=lookback_days, at=at, organisation=organisation, provider=row.provider,
        snapshots=snapshots,
    )  # fmt: skip
    offer, now = seen_offer(row), gathered.desk.now
    gone = row.gone_at is not None and row.gone_at <= now
    found = refuse("gone", at=iso(row.gone_at)) if gone and row.gone_at else judged(gathered, offer)
    return {
        "offer": {**gathered.rows.offered(offer), "id": row.pk},
        "seen": _seen(row),
        "judged": _judged(gathered, found),
        "refused": gathered.rows.refused(offer, found) if isinstance(found, Refusal) else None,
        "what_if": what_if(gathered, offer, asked),
        "evidence": gathered.evidence(),
    }


def judged(gathered: Gathered, offer: Offer) -> Considered | Refusal:
    """The offer by itself at its best quantity."""
    desk = gathered.desk
    use = desk.book.find(offer.key)
    if offer.currency != desk.currency:
        return refuse("other currency", offered=offer.currency, used=desk.currency)
    if desk.book.known_hours < 2:
        return refuse("no known use")
    if isinstance(use, Refusal):
        return use
    hours = float(offer_hours_left(offer, desk.now))
    try:
        draws = draw(desk.book.known_hours, max(1.0, hours))
    except ValueError:
        return refuse("too short a history", hours=desk.book.known_hours)
    future, units = future_of(use.history, draws), desk.book.units(offer.key)
    market = Market(use.rate, desk.rivals(offer.key, units))
    alone = evaluate(offer, units=units, future=future, market=market, now=desk.now)
    if isinstance(alone, Refusal):
        return alone
    return Considered(offer, units, use, future, market, alone)


def _judged(gathered: Gathered, found: Considered | Refusal) -> Document | None:
    if isinstance(found, Refusal):
        return None
    rows = gathered.rows
    return {
        **rows.evaluated(found.alone, found.pool.pool),
        **rows.cash(found.alone, found),
        "one_more_saving": rows.one_more(found.alone, found),
    }


def what_if(gathered: Gathered, offer: Offer, asked: WhatIf) -> Document | None:
    """The offer with other values, at a given quantity whatever it saves; null where nothing is asked or no
    use can be found for it.
    """
    desk = gathered.desk
    use = desk.book.find(offer.key)
    if not asked.asks or isinstance(use, Refusal) or offer.currency != desk.currency:
        return None
    hours = asked.hours_left or offer_hours_left(offer, desk.now)
    if hours <= 0 or desk.book.known_hours < 2:
        return None
    changed = replace(
        offer, fixed=offer.fixed if asked.price is None else asked.price, duration_hours=hours,
        seen_at=desk.now, count=None,
    )  # fmt: skip
    units = desk.book.units(offer.key)
    quantity = asked.quantity
    history = use.history
    if asked.used_pct is not None:
        level = float(units) * (quantity or 1) * float(asked.used_pct) / 100
        history = np.full(use.history.shape, level)
    future = future_of(history, draw(desk.book.known_hours, float(hours)), with_trend=asked.used_pct is None)
    market = Market(use.rate, desk.rivals(offer.key, units))
    found = evaluate(changed, units=units, future=future, market=market, now=desk.now, quantity=quantity)
    if isinstance(found, Refusal):
        found = evaluate(changed, units=units, future=future, market=market, now=desk.now, quantity=1)
    if isinstance(found, Refusal):
        return None
    one = Considered(changed, units, use, future, market, found)
    rows = gathered.rows
    return {
        **rows.evaluated(found, use.pool),
        **rows.cash(found, one),
        **limits(found, one),
    }


def limits(found: Evaluation, one: Considered) -> Document:
    """Up to which price, down to which use and from which term on it pays, the other values as they are."""
    rate = Decimal(repr(one.market.on_demand * float(one.units)))
    share = Decimal(repr(min(1.0, found.utilisation)))
    most = fixed_that_pays(rate=rate, hourly=one.offer.hourly, hours=found.hours_left, used_share=share)
    price = TermPrice(one.offer.fixed, one.offer.hourly, found.hours_left)
    needed = price.break_even_share(rate)
    earned = rate * share - one.offer.hourly
    term = one.offer.fixed / earned if earned > 0 else None
    return {
        "pays_up_to_price": decimal_text(most.quantize(Decimal("0.01"))) if most > 0 else None,
        "pays_from_use_pct": None if needed is None or needed > 1 else rounded(float(needed * 100)),
        "pays_from_hours": None if term is None else rounded(float(term)),
    }


def _seen(row: SeenOffer) -> Document:
    """Its own history, and the prices under the same id."""
    same = SeenOffer.objects.filter(provider=row.provider, region=row.region, offer=row.offer)
    return {
        "first_seen_at": iso(row.first_seen_at),
        "seen_at": iso(row.seen_at),
        "gone_at": None if row.gone_at is None else iso(row.gone_at),
        "source": row.source,
        "prices": [
            {
                "id": one.pk,
                "upfront_each": decimal_text(one.fixed),
                "from": iso(one.first_seen_at),
                "to": None if one.gone_at is None else iso(one.gone_at),
                "ends_at": iso(
                    (one.seen_at + timedelta(hours=float(one.duration_hours))).replace(microsecond=0)
                ),
            }
            for one in same.order_by("first_seen_at", "fixed", "pk")
        ],
    }
