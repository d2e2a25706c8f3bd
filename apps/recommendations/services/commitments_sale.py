"""Reservations that could be sold: what a buyer would pay, what a sale brings, against keeping them.

The use to come of a reservation is what it covered in the look-back and what of its pool was on demand beside
it. A buyer's other ways: on demand, a new year, a savings plan of a year, and the cheapest second-hand offer
that stands, each at full use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal

import numpy as np
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.billing.selectors.commitments import Standing
from apps.ingest.selectors import current_snapshots
from apps.recommendations.commitments_wording import refusal_sentence, rival_words
from apps.recommendations.services.commitments_advice import Gathered, gather
from apps.recommendations.services.commitments_hours import hours_of
from apps.recommendations.services.commitments_owned import owned_at
from apps.recommendations.services.commitments_reserved import reserved_of
from apps.recommendations.services.document import Document, decimal_text, evidence, iso, rounded
from finops.engine.commitments.eligibility import pool_of, units_of
from finops.engine.commitments.evaluate import Rival, offer_hours_left
from finops.engine.commitments.refusal import Refusal, refuse
from finops.engine.commitments.resale import Seller, sale_refusal
from finops.engine.commitments.scenarios import Floats, draw, future_of
from finops.engine.commitments.sell import Sale, sale
from finops.engine.commitments.terms import hours_left
from finops.engine.workload import WorkloadError
from finops.frames.commitments import CommitmentKind, Reserved
from finops.frames.offers import OfferKind
from finops.frames.resale import ResaleRules, resale_rules
from finops.frames.sizes import size_table

ASK_SHARE = Decimal("0.95")
BUYERS = ("new-1y", "savings-plan-1y")
SECOND_HAND = "second-hand"


def sell_commitments(
    *,
    lookback_days: int = 30,
    ask_share: Decimal = ASK_SHARE,
    bank_country: str | None = None,
    legal_entity: str | None = None,
    at: datetime | None = None,
    organisation: Organisation | None = None,
    provider: str = "aws",
    snapshots: Mapping[str, int] | None = None,
) -> Document:
    """The document: sales with their schedule, and every reservation that is kept or may not be sold, with
    the reason. Raises WorkloadError (field, message).
    """
    if not (ask_share.is_finite() and 0 < ask_share <= 1):
        raise WorkloadError("ask_share", _("Out of range: %(value)s") % {"value": ask_share})
    now = (at or timezone.now()).astimezone(UTC)
    chosen = dict(current_snapshots() if snapshots is None else snapshots)
    own = owned_at(at=now, organisation=organisation, snapshots=chosen)
    also = [one.key for standing in own.found if isinstance(one := reserved_of(standing), Reserved)]
    gathered = gather(
        lookback_days=lookback_days, at=now, organisation=organisation, provider=provider,
        snapshots=chosen, also=also,
    )  # fmt: skip
    demand = gathered.use.coverage.demand
    used = hours_of(own, organisation, demand.start, demand.end).commitments
    rules = resale_rules(provider, now.date())
    seller = Seller(bank_country, legal_entity)
    judged = [one for one in own.found if one.kind == CommitmentKind.RESERVED]
    found = [
        (one, _judge(one, gathered, used[one.name].settled.used if one.name in used else None, rules, seller,
                     ask_share))
        for one in judged
    ]  # fmt: skip
    return {
        "sales": [_sale(one, result) for one, result in found if isinstance(result, Sale)],
        "refused": [_refused(one, why) for one, why in found if isinstance(why, Refusal)],
        "rules": None if rules is None else _rules(rules),
        "evidence": evidence(
            gathered.snapshots, now, later_prices=gathered.prices.later or gathered.market.later_prices,
            lookback_days=lookback_days, ask_share=decimal_text(ask_share),
            history_hours=gathered.desk.book.known_hours,
        ),
    }  # fmt: skip


def _judge(
    one: Standing,
    gathered: Gathered,
    used: Floats | None,
    rules: ResaleRules | None,
    seller: Seller,
    ask_share: Decimal,
) -> Sale | Refusal:
    owned = reserved_of(one)
    if isinstance(owned, Refusal):
        return owned
    now = gathered.desk.now
    if owned.end <= now:
        return refuse("over", ended=iso(owned.end))
    # The market's rules before what is missing here: a convertible one is never sold, prices or not.
    barred = sale_refusal(owned, rules, now=now, seller=seller)
    if barred is not None:
        return barred
    if owned.currency != gathered.desk.currency:
        return refuse("other currency", offered=owned.currency, used=gathered.desk.currency)
    price = gathered.prices(owned.key)
    if price is None:
        return refuse("no list price", type=owned.key.instance_type, region=owned.key.region)
    history = _history(owned, gathered, used)
    left = float(hours_left(owned.start, owned.end, now))
    try:
        future = future_of(history, draw(history.size, left))
    except ValueError:
        return refuse("too short a history", hours=history.size)
    units = units_of(owned.key, size_table(owned.key.provider))
    return sale(
        owned, units=units, future=future, rate=float(price) / float(units),
        rivals=_buyers(owned, gathered, float(price), float(units)),
        rules=rules, now=now, seller=seller, ask_share=ask_share,
    )  # fmt: skip


def _history(owned: Reserved, gathered: Gathered, used: Floats | None) -> Floats:
    """Known hours of the use that it could cover, in its units: what it covered and what was on demand."""
    book, coverage = gathered.desk.book, gathered.use.coverage
    sizes = size_table(owned.key.provider)
    units = float(units_of(owned.key, sizes))
    covered = np.zeros(coverage.demand.length) if used is None else np.nan_to_num(used) * units
    total = covered[book.hours].copy()
    pool = book.find(owned.key)
    if not isinstance(pool, Refusal) and pool.pool == pool_of(owned.key, sizes):
        total += pool.history
    return total


def _buyers(owned: Reserved, gathered: Gathered, price: float, units: float) -> Sequence[Rival]:
    """A buyer's other ways to run the same hours, by the price of a unit-hour."""
    rivals = [Rival("on-demand", price / units, every_hour=False)]
    for one in gathered.rivals.for_key(owned.key):
        if one.name in BUYERS and one.price is not None:
            rivals.append(Rival(one.name, one.price, every_hour=True))
    now = gathered.desk.now
    standing = [
        float(offer.total / offer.duration_hours) / units
        for offer in gathered.market.offers
        if offer.kind is OfferKind.SECOND_HAND
        and offer.key == owned.key
        and offer.currency == owned.currency
        and offer_hours_left(offer, now) > 0
    ]
    if standing:
        rivals.append(Rival(SECOND_HAND, min(standing), every_hour=True))
    return rivals


def _sale(one: Standing, found: Sale) -> Document:
    ask = found.ask
    return {
        **_told(one),
        "verdict": "sell" if found.quantity else "keep",
        "quantity": found.quantity,
        "months_left": found.months,
        "buyer_ceiling": decimal_text(found.ceiling.quantize(_CENTS)),
        "cheapest_rival": found.cheapest_rival,
        "cheapest_rival_name": rival_words(found.cheapest_rival),
        "residual": None if found.residual is None else decimal_text(found.residual.quantize(_CENTS)),
        "ask": decimal_text(ask.price.quantize(_CENTS)),
        "fee": decimal_text(ask.fee.quantize(_CENTS)),
        "receives": decimal_text(ask.receives.quantize(_CENTS)),
        "kept_value": decimal_text(found.kept_value),
        "gain_low": decimal_text(found.gain_low),
        "gain": decimal_text(found.gain),
        "gain_high": decimal_text(found.gain_high),
        "schedule": [
            {
                "months_left": step.months,
                "from": iso(step.at.replace(microsecond=0)),
                "price": decimal_text(step.price.quantize(_CENTS)),
                "receives": decimal_text(step.receives.quantize(_CENTS)),
            }
            for step in found.schedule
        ],
        "conditions": [
            {"code": c.code, "values": dict(c.values), "text": refusal_sentence(c)} for c in found.conditions
        ],
        "reason": _reason(found),
    }


_CENTS = Decimal("0.01")


def _reason(found: Sale) -> str:
    if not found.quantity:
        return _("Kept, it saves more than a sale at %(ask)s would bring.") % {
            "ask": f"{found.ask.price:.2f} {found.owned.currency}"
        }
    return _("%(n)d of %(all)d would be used too little to be worth keeping.") % {
        "n": found.quantity,
        "all": found.owned.count,
    }


def _told(one: Standing) -> Document:
    values = one.values
    return {
        "id": one.name or one.id,
        "type": values["instance_type"],
        "region": values["region"],
        "zone": values["zone"] or None,
        "platform": values["platform"],
        "offering_class": values["offering_class"],
        "payment": values["payment"],
        "count": values["count"],
        "end": None if one.end is None else iso(one.end),
        "currency": values["currency"],
    }


def _refused(one: Standing, why: Refusal) -> Document:
    return {
        **_told(one),
        "code": why.code,
        "values": dict(why.values),
        "reason": refusal_sentence(why),
    }


def _rules(rules: ResaleRules) -> Document:
    return {
        "day": rules.day.isoformat(),
        "as_of": rules.as_of.isoformat(),
        "seller_fee_pct": rounded(float(rules.seller_fee * 100)),
        "minimum_hold_days": rules.minimum_hold_days,
        "minimum_left_months": rules.minimum_left_months,
        "offering_class": rules.offering_class,
        "sources": list(rules.sources),
    }
