"""What people do about purchases: ask, approve, cancel, settle an outcome that nobody could read.

Nothing here spends money; `purchasing` does, and reads the approvals again before it does.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Membership, Organisation
from apps.accounts.roles import Action
from apps.accounts.services import audit_record
from apps.billing.models import SeenOffer
from apps.recommendations.models import (
    BuyingAccount,
    Purchase,
    PurchaseApproval,
    PurchaseState,
    Recommendation,
    RecommendationState,
)
from apps.recommendations.selectors.approvals import standing
from apps.recommendations.services.approvals import may_approve, still_needed
from apps.recommendations.services.decisions import recommendation_accept
from apps.recommendations.services.document import decimal_text
from apps.recommendations.services.stated import only_from, reason_of, state_move
from finops.frames.offers import Offer, OfferingClass, OfferKey, OfferKind
from finops.frames.purchases import fills, once_of

State = PurchaseState
MAX_QUANTITY = 10_000


def second_approval_above() -> tuple[Decimal, str]:
    """(amount, currency) up to which one approval is enough. Raises ImproperlyConfigured."""
    amount, _space, currency = settings.PURCHASE_SECOND_APPROVAL_ABOVE.strip().partition(" ")
    try:
        value = Decimal(amount)
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite() or value < 0 or not currency.strip():
        raise ImproperlyConfigured(
            f"PURCHASE_SECOND_APPROVAL_ABOVE is '<amount> <currency>', such as '1000 USD', not "
            f"{settings.PURCHASE_SECOND_APPROVAL_ABOVE!r}."
        )
    return value, currency.strip()


def approvals_needed(committed: Decimal, currency: str) -> int:
    """One up to the limit, two above it or in another currency than the limit's."""
    limit, of = second_approval_above()
    return 1 if currency == of and committed <= limit else 2


def purchase_request(
    *,
    organisation: Organisation,
    actor: Actor,
    buyer: BuyingAccount | None,
    region: str,
    offer: str,
    quantity: int,
    now: datetime,
    limit: Decimal | None = None,
    recommendation: Recommendation | None = None,
    reason: str = "",
) -> Purchase:
    """Ask for a purchase at the prices last seen. Raises ValidationError by field.

    `limit`: what the whole order may cost at once, by default what it costs as last seen.
    """
    if buyer is None or buyer.organisation_id != organisation.pk:
        raise ValidationError({"account": _("No account of this organisation may buy. An admin names one.")})
    if not 1 <= quantity <= MAX_QUANTITY:
        raise ValidationError({"quantity": _("Between 1 and %(most)d.") % {"most": MAX_QUANTITY}})
    if recommendation is not None and recommendation.organisation_id != organisation.pk:
        raise ValidationError({"recommendation": _("There is no such recommendation.")})
    rows = _seen(buyer.provider, region, offer)
    first = rows[0]
    filled = fills([_offer(row) for row in rows], quantity)
    if filled is None:
        there = sum(row.count or 0 for row in rows)
        raise ValidationError({"quantity": _("Only %(n)d were on offer when last seen.") % {"n": there}})
    once = once_of(filled)
    cap = once if limit is None else limit
    if not cap.is_finite() or cap < once:
        raise ValidationError(
            {"limit": _("Below what the order cost when last seen: %(cost)s.") % {"cost": decimal_text(once)}}
        )
    if first.kind == OfferKind.NEW and cap != once:
        raise ValidationError({"limit": _("A new reservation has a fixed price: it takes no other limit.")})
    committed = cap + first.hourly * quantity * first.duration_hours
    if committed <= 0:
        raise ValidationError({"offer": _("It costs nothing: that is no order.")})
    with transaction.atomic():
        row = Purchase.objects.create(
            organisation=organisation, buyer=buyer, recommendation=recommendation,
            offer=offer, kind=first.kind, region=region, zone=first.zone, platform=first.platform,
            tenancy=first.tenancy, instance_type=first.instance_type, offering_class=first.offering_class,
            payment=first.payment, hours=first.duration_hours, quantity=quantity,
            filled=[{"price": decimal_text(one.price), "count": one.count} for one in filled],
            limit=cap, hourly=first.hourly, committed=_cents(committed), currency=first.currency,
            offer_seen_at=max(one.seen_at for one in rows), reason=reason_of(reason), requested_at=now,
            requested_kind=actor.kind, requested_id=actor.id, requested_by=actor.label,
            approvals_needed=approvals_needed(committed, first.currency),
            valid_until=now + timedelta(days=settings.PURCHASE_VALID_DAYS), stated_at=now,
        )  # fmt: skip
        _audit(row, actor, "request", before=None)
    return row


def purchase_approve(*, purchase: Purchase, membership: Membership, now: datetime) -> Purchase:
    """One person's yes; with the last one that is needed it may be bought. Raises ValidationError.

    The same person again changes nothing. A recommendation that it carries out is accepted with the last
    approval, so that no other purchase claims the same hours.
    """
    may_approve(purchase, membership, Action.APPROVE_SPEND, _("Your role may not approve purchases."))
    actor = Actor.of_user(membership.user)
    with transaction.atomic():
        row = _locked(purchase)
        if not still_needed(row, membership, requested=State.REQUESTED, now=now, other_role=True):
            return row
        PurchaseApproval.objects.create(purchase=row, user=membership.user, role=membership.role, at=now)
        if len(standing_approvals(row)) >= row.approvals_needed:
            if row.recommendation is not None and row.recommendation.state != RecommendationState.DONE:
                recommendation_accept(recommendation=row.recommendation, actor=actor, now=now)
            state_set(row, State.APPROVED, now, actor, "approve", role=membership.role)
        else:
            _audit(row, actor, "approve", before=row.state, role=membership.role)
    return row


def standing_approvals(purchase: Purchase) -> list[PurchaseApproval]:
    """The approvals that count now: of active members who still hold the role they approved in and whose
    role may approve.
    """
    return standing(
        purchase.approvals.select_related("user"),
        organisation_id=purchase.organisation_id,
        action=Action.APPROVE_SPEND,
        in_role=True,
    )


def purchase_cancel(*, purchase: Purchase, actor: Actor, now: datetime, reason: str) -> Purchase:
    """It will not be bought; possible until a worker has it. Raises ValidationError by field."""
    text = reason_of(reason, needed=True)
    with transaction.atomic():
        row = _locked(purchase)
        if row.state == State.CANCELLED:
            return row
        only_from(row, State.REQUESTED, State.APPROVED)
        state_set(row, State.CANCELLED, now, actor, "cancel", message=text)
    return row


def purchase_resolve(
    *, purchase: Purchase, actor: Actor, now: datetime, reservations: list[str], reason: str
) -> Purchase:
    """Settle by a person's word what could not be read: these reservations came of it, or none did."""
    text = reason_of(reason)
    if not text:
        raise ValidationError({"reason": _("Say how you know: others will read it.")})
    ids = sorted({one.strip() for one in reservations if one.strip()})
    with transaction.atomic():
        row = _locked(purchase)
        only_from(row, State.UNKNOWN)
        taken = Purchase.objects.filter(reservations__overlap=ids).exclude(pk=row.pk).first() if ids else None
        if taken is not None:
            raise ValidationError({"reservations": _("Purchase %(id)s brought it.") % {"id": taken.pk}})
        state = State.PAYING if ids else State.NOT_BOUGHT
        state_set(row, state, now, actor, "resolve", message=text, fields={"reservations": ids})
    return row


def _seen(provider: str, region: str, offer: str) -> list[SeenOffer]:
    rows = list(
        SeenOffer.objects.filter(provider=provider, region=region, offer=offer, gone_at__isnull=True).exclude(
            kind=OfferKind.SAVINGS_PLAN
        )
    )
    if not rows:
        raise ValidationError({"offer": _("No such offer is open in %(region)s.") % {"region": region}})
    newest = max(row.seen_at for row in rows)
    return [row for row in rows if row.seen_at == newest]


def _offer(row: SeenOffer) -> Offer:
    key = OfferKey(row.provider, row.region, row.zone, row.platform, row.tenancy, row.instance_type)
    return Offer(
        offer=row.offer, kind=OfferKind(row.kind), key=key, offering_class=OfferingClass(row.offering_class),
        payment=row.payment, duration_hours=row.duration_hours, fixed=row.fixed, hourly=row.hourly,
        currency=row.currency, count=row.count, seen_at=row.seen_at,
    )  # fmt: skip


def _locked(purchase: Purchase) -> Purchase:
    return (
        Purchase.objects.select_for_update(of=("self",))
        .select_related("buyer", "organisation", "recommendation")
        .get(pk=purchase.pk)
    )


def _cents(amount: Decimal) -> Decimal:
    """As stored: ten decimals."""
    return amount.quantize(Decimal("1E-10"))


def _audit(row: Purchase, actor: Actor, verb: str, *, before: str | None, **facts: Any) -> None:
    audit_record(
        organisation=row.organisation,
        actor=actor,
        action=f"purchase.{verb}",
        target=row,
        before=None if before is None else {"state": before},
        after={
            "state": row.state,
            "account": row.buyer.account,
            "region": row.region,
            "offer": row.offer,
            "quantity": row.quantity,
            "limit": decimal_text(row.limit),
            "committed": decimal_text(row.committed),
            "currency": row.currency,
            "reservations": row.reservations,
            "message": row.message,
            **facts,
        },
    )


# Changes with a line of the audit trail each.
state_set = partial(state_move, audit=_audit)
