"""What purchases and accepted recommendations cost at once: rises of cost that somebody decided on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.billing.announced import AnnouncedRise, days_between
from apps.recommendations.kinds import kind_for
from apps.recommendations.models import Purchase, PurchaseState, Recommendation, RecommendationState

PURCHASE, ADVICE = "purchase", "recommendation"
# Money went out or may have: an order that was only approved explains nothing yet.
ORDERED = [PurchaseState.BUYING, PurchaseState.UNKNOWN, PurchaseState.PAYING, PurchaseState.BOUGHT]
# A fee stands on the day of the order, in UTC or a day later in the provider's clock, or on the first of
# its billing month as everything that is not spread over one.
AFTER_ORDER = timedelta(days=1)
# Somebody who accepts advice and buys by hand does so within a month, or looks again.
AFTER_ACCEPTANCE = timedelta(days=31)
_FEE = ("charge_category", "Purchase")


def purchase_rises(organisation: Organisation, start: date, end: date) -> list[AnnouncedRise]:
    """The fees of orders that were sent: what was paid, or while that is not known the limit."""
    rows = Purchase.objects.filter(organisation=organisation, state__in=ORDERED, attempts__isnull=False)
    found = []
    for row in rows.filter(attempts__at__lt=_midnight(end)).distinct().select_related("buyer"):
        ordered = max(attempt.at for attempt in row.attempts.all()).astimezone(UTC).date()
        found.append(
            AnnouncedRise(
                key=f"{PURCHASE}:{row.pk}",
                currency=row.currency,
                amount=row.limit if row.paid is None else row.paid,
                days=days_between(ordered, ordered + AFTER_ORDER) | {ordered.replace(day=1)},
                lines=(_FEE, ("account", row.buyer.account)),
                facts={"id": row.pk, "count": row.quantity, "type": row.instance_type},
            )
        )
    return found


def advice_rises(organisation: Organisation, start: date, end: date) -> list[AnnouncedRise]:
    """What kinds say about accepted rows; one with an order of its own is told by that order."""
    rows = Recommendation.objects.filter(
        organisation=organisation,
        state__in=[RecommendationState.ACCEPTED, RecommendationState.DONE],
        accepted_at__lt=_midnight(end),
    )
    return [
        rise
        for row in rows.exclude(purchases__state__in=ORDERED)
        if (announces := kind_for(row.kind).announces) is not None
        for rise in announces(row)
    ]


def commitment_fee(row: Recommendation) -> Sequence[AnnouncedRise]:
    """The fee of a commitment that was accepted and is bought by hand."""
    if row.accepted_at is None:
        return []
    first = row.accepted_at.astimezone(UTC).date()
    return [
        AnnouncedRise(
            key=f"{ADVICE}:{row.pk}",
            currency=row.currency,
            amount=row.one_time,
            days=days_between(first, first + AFTER_ACCEPTANCE) | {first.replace(day=1)},
            lines=(_FEE,),
            facts={"id": row.pk, "count": row.document["quantity"], "type": row.document["type"]},
        )
    ]


def purchase_worded(facts: Mapping[str, Any]) -> str:
    """The decision in the language in use."""
    return _("Announced by purchase %(id)s: %(count)s × %(type)s, paid at once.") % _told(facts)


def advice_worded(facts: Mapping[str, Any]) -> str:
    """Facts of kinds other than commitments may bring a sentence of their own in `text`."""
    if "text" in facts:
        return str(facts["text"])
    return _("Announced by recommendation %(id)s, accepted: %(count)s × %(type)s, paid at once.") % _told(
        facts
    )


def _told(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: facts.get(name, "—") for name in ("id", "count", "type")}


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)
