"""What may be bought at a decision time: offers that were seen, new terms of the price list, savings plans.

A savings plan is offered here as a commitment to the plan price of whole instances of one pool: worth what it
saves on that pool. That it may also pay for other use is left out, so its saving is not overstated.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, TypeVar

from django.db.models import Q, QuerySet

from apps.billing.models import SeenOffer
from apps.prices.models import ReservedPrice, SavingsPlanPrice
from finops.engine.commitments.eligibility import is_flexible
from finops.frames.offers import Offer, OfferingClass, OfferKey, OfferKind, platform_of
from finops.frames.products import products
from finops.frames.savings_plans import upfront_share
from finops.frames.sizes import SizeTable, family_of

HOURS_PER_MONTH_OF_TERM = Decimal(730)
# Offers that went within this time are told as gone; older ones are history only.
GONE_WITHIN = timedelta(days=30)
Listed = TypeVar("Listed", ReservedPrice, SavingsPlanPrice)


@dataclass(frozen=True)
class OnOffer:
    """`offers` may be asked for; `gone` were seen lately and no longer stand, with when a look missed them;
    `listed_on`: dates of the lists behind the new ones; `later_prices`: one of them is later than the
    decision.
    """

    offers: tuple[Offer, ...]
    listed_on: tuple[datetime, ...]
    later_prices: bool
    gone: tuple[tuple[Offer, datetime], ...] = ()
    rows: Mapping[tuple[str, str, Decimal], int] = field(default_factory=dict)

    def row_of(self, offer: Offer) -> int | None:
        """The stored row behind an offer that was seen; None for a new term."""
        return self.rows.get((offer.key.region, offer.offer, offer.fixed))


def on_offer(*, used: Collection[OfferKey], sizes: SizeTable, at: datetime, provider: str) -> OnOffer:
    """Offers standing at `at` in any region, and new terms and plans for what is used.

    Where sizes are flexible the smallest size that the list has stands for the family, as in AWS's own
    advice.
    """
    seen = list(standing(provider, at))
    lists = _Lists(used, sizes, at, provider)
    terms = lists.terms()
    return OnOffer(
        (*(seen_offer(row) for row in seen), *terms),
        tuple(sorted(lists.dates)),
        lists.later,
        tuple(_gone(used, at, provider)),
        {(row.region, row.offer, row.fixed): row.pk for row in seen},
    )


def standing(provider: str, at: datetime) -> QuerySet[SeenOffer]:
    """Rows of offers that stood at `at`, as far as looks until then tell."""
    gone = Q(gone_at__isnull=True) | Q(gone_at__gt=at)
    rows = SeenOffer.objects.filter(gone, provider=provider, first_seen_at__lte=at)
    return rows.order_by("region", "instance_type", "fixed", "pk")


def _gone(used: Collection[OfferKey], at: datetime, provider: str) -> Iterable[tuple[Offer, datetime]]:
    families = {family_of(key.instance_type) for key in used}
    rows = SeenOffer.objects.filter(provider=provider, gone_at__lte=at, gone_at__gt=at - GONE_WITHIN)
    for row in rows.order_by("-gone_at", "pk"):
        if row.gone_at is not None and family_of(row.instance_type) in families:
            yield seen_offer(row), row.gone_at


def seen_offer(row: SeenOffer) -> Offer:
    """The offer of a row, as it was last seen."""
    return Offer(
        offer=row.offer,
        kind=OfferKind(row.kind),
        key=OfferKey(row.provider, row.region, row.zone, row.platform, row.tenancy, row.instance_type),
        offering_class=OfferingClass(row.offering_class),
        payment=row.payment,
        duration_hours=row.duration_hours,
        fixed=row.fixed,
        hourly=row.hourly,
        currency=row.currency,
        count=row.count,
        seen_at=row.seen_at,
    )


class _Lists:
    """New terms and plans for the pools of what is used, each from the newest list that names it."""

    def __init__(self, used: Collection[OfferKey], sizes: SizeTable, at: datetime, provider: str) -> None:
        self._sizes, self._at = sizes, at
        self._keys = {
            OfferKey(k.provider, k.region, "", k.platform, k.tenancy, k.instance_type) for k in used
        }
        families = {family_of(key.instance_type) for key in self._keys}
        near = Q()
        for family in families:
            near |= Q(instance_type__startswith=f"{family}.")
        places = {"provider": provider, "region__in": {key.region for key in self._keys}, "tenancy": "shared"}
        self._reserved = self._newest(ReservedPrice.objects.filter(near, **places)) if families else []
        self._plans = self._newest(SavingsPlanPrice.objects.filter(near, **places)) if families else []
        self.dates: set[datetime] = set()
        self.later = False

    def _newest(self, rows: QuerySet[Listed]) -> list[Listed]:
        """Of each key the newest row dated at or before the decision, else the nearest later one."""
        chosen: dict[tuple[Any, ...], Listed] = {}
        for row in rows.order_by("effective_from", "pk"):
            key = tuple(getattr(row, name) for name in _KEYS) + _kind(row)
            if key not in chosen or row.effective_from <= self._at:
                chosen[key] = row
        return list(chosen.values())

    def terms(self) -> list[Offer]:
        """Offers, a pool after another, by what is used."""
        offers: list[Offer] = []
        done: set[tuple[str, ...]] = set()
        for key in sorted(self._keys, key=lambda k: (k.region, k.platform, k.instance_type)):
            flexible = is_flexible(key, self._sizes)
            name = family_of(key.instance_type) if flexible else key.instance_type
            pool = (key.region, key.platform, key.tenancy, name)
            if pool in done or key.tenancy != "default":
                continue
            done.add(pool)
            offers += [_new(row, key, self._at) for row in self._of(self._reserved, key, name, flexible)]
            offers += [_plan(row, key, self._at) for row in self._of(self._plans, key, name, flexible)]
        return offers

    def _of(self, rows: Sequence[Listed], key: OfferKey, name: str, flexible: bool) -> list[Listed]:
        meant = next(p for p in products() if p.provider == key.provider and p.text == key.platform)
        if meant.software:
            return []
        found = [
            row
            for row in rows
            if (row.region, row.operating_system, row.licence)
            == (key.region, meant.operating_system, meant.licence)
            and (family_of(row.instance_type) if flexible else row.instance_type) == name
        ]
        if flexible and found:
            smallest = min((self._sizes.factor(r.instance_type) or 10**6, r.instance_type) for r in found)[1]
            found = [row for row in found if row.instance_type == smallest]
        self.dates |= {row.effective_from for row in found}
        self.later |= any(row.effective_from > self._at for row in found)
        return sorted(found, key=lambda r: (r.instance_type, r.term_months, *_kind(r)))


_KEYS = ("region", "instance_type", "operating_system", "licence", "payment", "term_months", "currency")


def _kind(row: ReservedPrice | SavingsPlanPrice) -> tuple[str, ...]:
    if isinstance(row, ReservedPrice):
        return row.offering_class, row.payment
    return row.plan, row.payment


def _new(row: ReservedPrice, key: OfferKey, at: datetime) -> Offer:
    platform = platform_of(key.platform)
    years = row.term_months // 12
    return Offer(
        offer=f"{row.instance_type} {row.region} {platform} {years}y {row.offering_class} {row.payment}",
        kind=OfferKind.NEW,
        key=OfferKey(key.provider, key.region, "", platform, key.tenancy, row.instance_type),
        offering_class=OfferingClass(row.offering_class),
        payment=row.payment,
        duration_hours=HOURS_PER_MONTH_OF_TERM * row.term_months,
        fixed=row.fixed,
        hourly=row.hourly,
        currency=row.currency,
        count=None,
        seen_at=at,
    )


def _plan(row: SavingsPlanPrice, key: OfferKey, at: datetime) -> Offer:
    """A plan that commits to the rate of one instance an hour. KeyError-free: a payment option without a
    known share is taken as paid hourly, which is what its rate says.
    """
    platform = platform_of(key.platform)
    hours, years = HOURS_PER_MONTH_OF_TERM * row.term_months, row.term_months // 12
    once = upfront_share(row.provider, row.payment) or Decimal(0)
    return Offer(
        offer=f"{row.instance_type} {row.region} {platform} {years}y {row.plan}-savings-plan {row.payment}",
        kind=OfferKind.SAVINGS_PLAN,
        key=OfferKey(key.provider, key.region, "", platform, key.tenancy, row.instance_type),
        offering_class=OfferingClass.UNKNOWN,
        payment=row.payment,
        duration_hours=hours,
        fixed=row.hourly * once * hours,
        hourly=row.hourly * (1 - once),
        currency=row.currency,
        count=None,
        seen_at=at,
    )
