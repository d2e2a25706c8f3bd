"""What may be bought at a decision time: offers that were seen, and new terms of the price list."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db.models import Q

from apps.billing.models import SeenOffer
from apps.prices.models import ReservedPrice
from finops.engine.commitments.eligibility import is_flexible
from finops.frames.offers import Offer, OfferingClass, OfferKey, OfferKind, platform_of
from finops.frames.products import products
from finops.frames.sizes import SizeTable, family_of

HOURS_PER_MONTH_OF_TERM = Decimal(730)


@dataclass(frozen=True)
class OnOffer:
    """Offers, the dates of the lists behind the new ones, and whether any list is later than the decision."""

    offers: tuple[Offer, ...]
    listed_on: tuple[datetime, ...]
    later_prices: bool


def on_offer(*, used: Collection[OfferKey], sizes: SizeTable, at: datetime, provider: str) -> OnOffer:
    """Offers standing at `at` in any region, and new terms for what is used.

    Where sizes are flexible the smallest size that the list has stands for the family, as in AWS's own
    advice.
    """
    seen = [_seen(row) for row in _standing(provider, at)]
    terms, dates, later = _terms(used, sizes, at, provider)
    return OnOffer((*seen, *terms), dates, later)


def _standing(provider: str, at: datetime) -> list[SeenOffer]:
    gone = Q(gone_at__isnull=True) | Q(gone_at__gt=at)
    rows = SeenOffer.objects.filter(gone, provider=provider, first_seen_at__lte=at)
    return list(rows.order_by("region", "instance_type", "fixed", "pk"))


def _seen(row: SeenOffer) -> Offer:
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


def _terms(
    used: Collection[OfferKey], sizes: SizeTable, at: datetime, provider: str
) -> tuple[list[Offer], tuple[datetime, ...], bool]:
    keys = {OfferKey(k.provider, k.region, "", k.platform, k.tenancy, k.instance_type) for k in used}
    rows = ReservedPrice.objects.filter(provider=provider, region__in={key.region for key in keys})
    dates = sorted(rows.values_list("effective_from", flat=True).distinct())
    if not dates:
        return [], (), False
    past = [date for date in dates if date <= at]
    listed, later = (past[-1], False) if past else (dates[0], True)
    offers: list[Offer] = []
    done: set[tuple[str, ...]] = set()
    for key in sorted(keys, key=lambda k: (k.region, k.platform, k.instance_type)):
        flexible = is_flexible(key, sizes)
        name = family_of(key.instance_type) if flexible else key.instance_type
        if (key.region, key.platform, key.tenancy, name) in done or key.tenancy != "default":
            continue
        done.add((key.region, key.platform, key.tenancy, name))
        found = list(_rows(rows, key, listed, family=name if flexible else ""))
        if flexible and found:
            smallest = min((sizes.factor(r.instance_type) or 10**6, r.instance_type) for r in found)[1]
            found = [row for row in found if row.instance_type == smallest]
        offers += [_new(row, key, at) for row in found]
    return offers, (listed,), later


def _rows(rows: object, key: OfferKey, listed: datetime, *, family: str) -> list[ReservedPrice]:
    meant = next(p for p in products() if p.provider == key.provider and p.text == key.platform)
    if meant.software:
        return []
    chosen = rows.filter(  # type: ignore[attr-defined]
        region=key.region,
        operating_system=meant.operating_system,
        licence=meant.licence,
        effective_from=listed,
        tenancy="shared",
    )
    same = {"instance_type__startswith": f"{family}."} if family else {"instance_type": key.instance_type}
    return list(chosen.filter(**same).order_by("instance_type", "term_months", "offering_class", "payment"))


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
