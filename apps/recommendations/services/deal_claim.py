"""The claim of a second-hand bargain, and any other price and term: when such a deal pays.

"30 % of the list price with 8 months left" has two readings (`finops.engine.commitments.popular`); a price
that is given outright has one. Prices of the list, of Spot and of plans are those known at the decision; each
may be given instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.ingest.selectors import current_snapshots
from apps.prices.selectors import on_demand_price
from apps.recommendations.commitments_wording import refusal_sentence, rival_words
from apps.recommendations.services.commitments_offers import on_offer
from apps.recommendations.services.commitments_rivals import KNOWN_SHARE, LISTED, SPOT, spot_means
from apps.recommendations.services.document import (
    Document,
    check_moment,
    decimal_text,
    evidence,
    iso,
    rounded,
)
from finops.engine.commitments.popular import Deal, ListTerm, popular_claim
from finops.engine.commitments.refusal import Refusal, refuse
from finops.engine.workload import WorkloadError
from finops.frames.offers import Offer, OfferingClass, OfferKey, OfferKind, platform_of
from finops.frames.sizes import size_table

YEAR_HOURS = 8760
SMALLEST_PRICE = Decimal("0.01")
MONTH_HOURS = 730
SPOT_DAYS = 30
HUNDRED = Decimal(100)


@dataclass(frozen=True)
class Claim:
    """What is asked. `share_pct` of the list price, or `price` of one; `hours_left` of the term; `used_pct`
    of those hours are used. Without `list_fixed` the list's own term is taken.
    """

    instance_type: str = ""
    region: str = ""
    platform: str = "Linux/UNIX"
    provider: str = "aws"
    share_pct: Decimal = Decimal(30)
    price: Decimal | None = None
    hours_left: Decimal = Decimal(8 * MONTH_HOURS)
    used_pct: Decimal = HUNDRED
    term_months: int = 12
    offering_class: str = "standard"
    payment: str = "all-upfront"
    list_fixed: Decimal | None = None
    list_hourly: Decimal | None = None
    on_demand: Decimal | None = None
    spot: Decimal | None = None
    currency: str = ""


@dataclass(frozen=True)
class _Rival:
    name: str
    price: Decimal | None
    every_hour: bool
    detail: str = ""
    reason: Refusal | None = None


def deal_claim(
    claim: Claim, *, at: datetime | None = None, snapshots: Mapping[str, int] | None = None
) -> Document:
    """Each reading with its price, beside every rival. Raises WorkloadError (field, message)."""
    moment = (at or timezone.now()).astimezone(UTC)
    _check(claim)
    check_moment(moment)
    chosen = dict(current_snapshots() if snapshots is None else snapshots)
    key = _key(claim)
    market = on_offer(
        used=[key] if key else [], sizes=size_table(claim.provider), at=moment, provider=claim.provider
    )
    mine = [offer for offer in market.offers if key is not None and offer.kind is not OfferKind.SECOND_HAND]
    scale = _scale(claim, mine)
    listed, currency = _listed(claim, mine, scale)
    rivals, later = _rivals(claim, mine, scale, moment, chosen, currency)
    if claim.hours_left > listed.hours:
        most = decimal_text(listed.hours)
        raise WorkloadError("hours_left", _("The term has %(most)s hours.") % {"most": most})
    share = claim.share_pct / HUNDRED if claim.price is None else claim.price / listed.fixed
    found = popular_claim(
        listed, share=share, hours_left=claim.hours_left, used_share=claim.used_pct / HUNDRED,
        rivals=[(r.name, r.price, r.every_hour) for r in rivals if r.price is not None],
    )  # fmt: skip
    deals = found if claim.price is None else found[:1]
    return {
        "claim": {
            "type": claim.instance_type or None,
            "region": claim.region or None,
            "platform": claim.platform,
            "share_pct": rounded(float(share * HUNDRED)),
            "hours_left": rounded(float(claim.hours_left)),
            "months_left": rounded(float(claim.hours_left / MONTH_HOURS)),
            "used_pct": rounded(float(claim.used_pct)),
        },
        "list": {
            "fixed": decimal_text(listed.fixed),
            "hourly": decimal_text(listed.hourly),
            "hours": rounded(float(listed.hours)),
            "effective_hourly": decimal_text(float(listed.effective)),
        },
        "deals": [_deal(deal, rivals, priced=claim.price is not None) for deal in deals],
        "currency": currency,
        "evidence": evidence(
            chosen, moment, later_prices=later or market.later_prices,
            price_lists=[iso(date) for date in market.listed_on], spot_days=SPOT_DAYS,
        ),
    }  # fmt: skip


def _check(claim: Claim) -> None:
    for name, low, high in (
        ("share_pct", 0, 1000), ("used_pct", 0, 100), ("price", 0, 10**9), ("list_fixed", 0, 10**9),
        ("list_hourly", 0, 10**6), ("on_demand", 0, 10**6), ("spot", 0, 10**6), ("hours_left", 1, 26_280),
    ):  # fmt: skip
        value = getattr(claim, name)
        if value is not None and not (value.is_finite() and low <= value <= high):
            raise WorkloadError(name, _("Out of range: %(value)s") % {"value": value})
    if claim.term_months not in (12, 36):
        raise WorkloadError("term_months", _("Out of range: %(value)s") % {"value": claim.term_months})
    if not claim.instance_type and (claim.list_fixed is None or claim.on_demand is None):
        raise WorkloadError(
            "type", _("Name an instance type and a region, or give the list price and the on-demand price.")
        )
    if claim.instance_type and not claim.region:
        raise WorkloadError("region", _("Name the region."))


def _key(claim: Claim) -> OfferKey | None:
    if not claim.instance_type:
        return None
    platform = platform_of(claim.platform, claim.provider)
    if not platform:
        raise WorkloadError("platform", _("Not known: %(value)s") % {"value": claim.platform})
    return OfferKey(claim.provider, claim.region, "", platform, "default", claim.instance_type)


def _scale(claim: Claim, offers: list[Offer]) -> dict[str, Decimal]:
    """Instances of the listed type that one of the asked type counts as (lists name the smallest size)."""
    sizes = size_table(claim.provider)
    own = sizes.factor(claim.instance_type)
    scale = {}
    for offer in offers:
        other = sizes.factor(offer.key.instance_type)
        same = offer.key.instance_type == claim.instance_type or own is None or other is None
        scale[offer.offer] = Decimal(1) if same or own is None or other is None else own / other
    return scale


def _listed(claim: Claim, offers: list[Offer], scale: Mapping[str, Decimal]) -> tuple[ListTerm, str]:
    hours = Decimal(MONTH_HOURS * claim.term_months)
    if claim.list_fixed is not None:
        if claim.list_fixed < SMALLEST_PRICE:
            raise WorkloadError("list_fixed", _("Out of range: %(value)s") % {"value": claim.list_fixed})
        return ListTerm(claim.list_fixed, claim.list_hourly or Decimal(0), hours), claim.currency or "USD"
    for offer in offers:
        kind = (offer.kind, offer.payment, offer.duration_hours, offer.offering_class)
        if kind == (OfferKind.NEW, claim.payment, hours, OfferingClass(claim.offering_class)) and offer.fixed:
            factor = scale[offer.offer]
            return ListTerm(offer.fixed * factor, offer.hourly * factor, hours), offer.currency
    raise WorkloadError(
        "type",
        _("No price list has a term of %(type)s in %(region)s that is paid at once: give its list price.")
        % {"type": claim.instance_type, "region": claim.region},
    )


def _rivals(
    claim: Claim,
    offers: list[Offer],
    scale: Mapping[str, Decimal],
    at: datetime,
    snapshots: Mapping[str, int],
    currency: str,
) -> tuple[list[_Rival], bool]:
    listed = on_demand_price(
        provider=claim.provider, region=claim.region, instance_type=claim.instance_type,
        product=claim.platform, at=at,
    )  # fmt: skip
    later = listed is not None and listed.later_prices and claim.on_demand is None
    demand = claim.on_demand if claim.on_demand is not None else (listed.price if listed else None)
    if demand is None:
        raise WorkloadError(
            "on_demand",
            _("No price list has %(type)s in %(region)s: give the on-demand price.")
            % {"type": claim.instance_type, "region": claim.region},
        )
    rivals = [_Rival("on-demand", demand, every_hour=False), _spot(claim, at, snapshots, currency)]
    for name, kind, months in LISTED:
        prices = [
            (offer.total / offer.duration_hours * scale[offer.offer], offer.offer)
            for offer in offers
            if offer.kind is kind and offer.duration_hours == MONTH_HOURS * months
        ]
        if prices:
            price, detail = min(prices)
            rivals.append(_Rival(name, price, True, detail))
        else:
            asked = claim.instance_type and claim.region
            why = refuse("no listed price", region=claim.region) if asked else refuse("no place asked")
            rivals.append(_Rival(name, None, True, reason=why))
    return rivals, later


def _spot(claim: Claim, at: datetime, snapshots: Mapping[str, int], currency: str) -> _Rival:
    if claim.spot is not None:
        return _Rival(SPOT, claim.spot, every_hour=False)
    key = _key(claim)
    reason = refuse("no spot price", type=claim.instance_type or "—", region=claim.region or "—")
    if key is None:
        return _Rival(SPOT, None, False, reason=reason)
    means = spot_means(
        used=[key], start=at - timedelta(days=SPOT_DAYS), end=at, snapshots=snapshots, currency=currency
    )
    found = means(key.region, key.instance_type, key.platform)
    if found is None:
        return _Rival(SPOT, None, False, reason=reason)
    mean, zone, share = found
    if share < KNOWN_SHARE:
        told = f"{share * 100:.0f}"
        few = refuse("spot known too little", type=claim.instance_type, share_pct=told)
        return _Rival(SPOT, None, False, reason=few)
    return _Rival(SPOT, Decimal(repr(mean)), False, zone)


def _deal(deal: Deal, rivals: list[_Rival], *, priced: bool) -> Document:
    against = {one.rival: one for one in deal.against}
    rows = []
    for rival in rivals:
        one = against.get(rival.name)
        rows.append(
            {
                "rival": rival.name,
                "name": rival_words(rival.name),
                "hourly": None if rival.price is None else decimal_text(float(rival.price)),
                "detail": rival.detail or None,
                "saving": None if one is None else decimal_text(float(one.saving)),
                "pays": None if one is None else one.pays,
                "from_use_pct": _pct(None if one is None else one.from_share),
                "up_to_list_pct": _pct(None if one is None else one.up_to_list_share),
                "reason": None if rival.reason is None else refusal_sentence(rival.reason),
            }
        )
    return {
        "reading": "price" if priced else deal.reading.value,
        "price": decimal_text(float(deal.price.fixed)),
        "hourly": decimal_text(float(deal.price.hourly)),
        "total": decimal_text(float(deal.price.total)),
        "effective_hourly": decimal_text(float(deal.effective)),
        "against": rows,
    }


def _pct(share: Decimal | None) -> float | None:
    return None if share is None else rounded(float(share * HUNDRED))
