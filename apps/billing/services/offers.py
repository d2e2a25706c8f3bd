"""Keeping offers as they are seen: an offer at one price is one row from its first sight to the look
that misses it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.db import connection, transaction

from apps.billing.models import SeenOffer
from finops.frames.offers import Offer

# "deal" in ASCII: two looks take turns, so that neither takes the other's offers for gone.
_LOCK = 0x6465616C
_BATCH = 2000
_CHANGING = ("duration_hours", "count", "seen_at", "source")


class _Key(NamedTuple):
    provider: str
    region: str
    offer: str
    fixed: str


@dataclass
class OffersStored:
    """`new`: rows made; `refreshed`: seen again later; `same`: nothing new; `gone`: missed by a complete
    look.
    """

    new: int = 0
    refreshed: int = 0
    same: int = 0
    gone: int = 0


@dataclass(frozen=True)
class Looked:
    """A look that showed every offer of a region for which `covers` says yes, at that time."""

    provider: str
    region: str
    at: datetime
    covers: Callable[[SeenOffer], bool] = lambda _row: True


@transaction.atomic
def offers_store(*, offers: Sequence[Offer], source: str, complete: Sequence[Looked] = ()) -> OffersStored:
    """Store a look at the market. Open offers that a complete look covers and does not show get `gone_at`.
    An offer that comes back after it was gone is a new row.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
    result = OffersStored()
    newest: dict[_Key, Offer] = {}
    for offer in offers:
        key = _key_of(offer)
        if key in newest:
            result.same += 1
        if key not in newest or offer.seen_at > newest[key].seen_at:
            newest[key] = offer
    regions = {key.region for key in newest} | {look.region for look in complete}
    open_rows = {
        _Key(row.provider, row.region, row.offer, f"{row.fixed:.6f}"): row
        for row in SeenOffer.objects.filter(region__in=regions, gone_at__isnull=True)
    }
    again: list[SeenOffer] = []
    fresh: list[SeenOffer] = []
    for key, offer in newest.items():
        row = open_rows.get(key)
        if row is None:
            fresh.append(_row(offer, source))
        elif offer.seen_at > row.seen_at:
            row.duration_hours, row.count = offer.duration_hours, offer.count
            row.seen_at, row.source = offer.seen_at, source[-1000:]
            again.append(row)
        else:
            result.same += 1
    SeenOffer.objects.bulk_create(fresh, batch_size=_BATCH)
    SeenOffer.objects.bulk_update(again, _CHANGING, batch_size=_BATCH)
    result.new, result.refreshed = len(fresh), len(again)
    for look in complete:
        missed = [
            row.pk
            for key, row in open_rows.items()
            if (key.provider, key.region) == (look.provider, look.region)
            and key not in newest
            and row.seen_at < look.at
            and look.covers(row)
        ]
        result.gone += SeenOffer.objects.filter(pk__in=missed).update(gone_at=look.at)
    return result


def _key_of(offer: Offer) -> _Key:
    return _Key(offer.key.provider, offer.key.region, offer.offer, f"{offer.fixed:.6f}")


def _row(offer: Offer, source: str) -> SeenOffer:
    key = offer.key
    return SeenOffer(
        provider=key.provider, offer=offer.offer, kind=offer.kind, region=key.region, zone=key.zone,
        platform=key.platform, tenancy=key.tenancy, instance_type=key.instance_type,
        offering_class=offer.offering_class, payment=offer.payment, duration_hours=offer.duration_hours,
        fixed=offer.fixed, hourly=offer.hourly, currency=offer.currency, count=offer.count,
        first_seen_at=offer.seen_at, seen_at=offer.seen_at, source=source[-1000:],
    )  # fmt: skip
