"""What came of orders: looking up the unknown ones, reading back the paid ones, ending the late ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from decimal import Decimal

from django.db import transaction
from django.db.models import F, QuerySet

from apps.accounts.actors import Actor
from apps.recommendations.models import (
    AttemptOutcome,
    Purchase,
    PurchaseAttempt,
    PurchaseState,
    RecommendationState,
)
from apps.recommendations.services.decisions import recommendation_done
from apps.recommendations.services.purchases import state_set
from finops.frames.offers import OfferKey
from finops.frames.owned import Owned
from finops.frames.purchases import Wanted, came_of
from finops.providers.aws.reserved_purchases import Desk

State = PurchaseState
ACTOR = Actor.system("purchasing")
# A worker that took longer is gone: each call of it ends within two minutes.
ABANDONED = timedelta(minutes=15)
# A new reservation may take minutes to be listed. Nothing found in as many looks over as long: not bought.
LOOKS, LOOK_TIME = 4, timedelta(minutes=20)
# The provider's clock and ours may differ.
SKEW = timedelta(minutes=5)


def wanted_of(row: Purchase) -> Wanted:
    """What the reservations of a purchase look like."""
    key = OfferKey(row.buyer.provider, row.region, row.zone, row.platform, row.tenancy, row.instance_type)
    return Wanted(key, row.offering_class, row.payment, row.currency)


def came_of_purchase(row: Purchase, attempt: PurchaseAttempt, held: Sequence[Owned]) -> list[Owned]:
    """The reservations that one try may have brought and that no other purchase names."""
    found = came_of(wanted_of(row), held, before=attempt.held_before, since=attempt.at - SKEW)
    ids = [one.id for one in found]
    taken = {
        name
        for other in Purchase.objects.filter(reservations__overlap=ids).exclude(pk=row.pk)
        for name in other.reservations
    }
    return [one for one in found if one.id not in taken]


def settle_unknown(row: Purchase, desk: Desk, now: datetime) -> str:
    """Look up an order without an answer; the state afterwards.

    Exactly the ordered number found: it was carried out. Nothing found in several looks: it was not. Anything
    else a person decides.
    """
    attempt = row.attempts.order_by("-number").first()
    if attempt is None:
        return row.state
    found = came_of_purchase(row, attempt, desk.held(seen_at=now))
    PurchaseAttempt.objects.filter(pk=attempt.pk).update(looks=F("looks") + 1, looked_at=now)
    attempt.refresh_from_db()
    count = sum(one.count or 0 for one in found)
    if count == row.quantity:
        settle_by_reading(row, attempt, found, now)
    elif not found and attempt.looks >= LOOKS and now - attempt.at >= LOOK_TIME:
        told = f"No reservation came of the order in {attempt.looks} looks. Nothing was bought."
        with transaction.atomic():
            if state_set(row, State.NOT_BOUGHT, now, ACTOR, "settle", message=told):
                _finish(attempt, AttemptOutcome.NOTHING, now)
    elif found and count != row.quantity:
        names = ", ".join(one.id for one in found)
        told = (
            f"{count} reserved instances of this kind are new, {row.quantity} were ordered ({names}): "
            "say which came of this order."
        )
        if row.message != told:
            state_set(row, State.UNKNOWN, now, ACTOR, "settle", message=told)
    return row.state


def settle_by_reading(row: Purchase, attempt: PurchaseAttempt, found: Sequence[Owned], now: datetime) -> None:
    """Reservations that were found are what the order brought."""
    ids = sorted(one.id for one in found)
    told = "The order had no clear answer; its reservations were found."
    with transaction.atomic():
        if state_set(row, State.PAYING, now, ACTOR, "settle", message=told, fields={"reservations": ids}):
            attempt.reservations = ids
            _finish(attempt, AttemptOutcome.FOUND, now)


def read_back(row: Purchase, desk: Desk, now: datetime) -> str:
    """Read a purchase's reservations: bought once all are active, refused once the payment failed.

    An order that was filled at several prices may have brought more than the one reservation it named.
    """
    held = desk.held(seen_at=now)
    ours = [one for one in held if one.id in row.reservations]
    attempt = row.attempts.order_by("-number").first()
    if attempt is not None and sum(one.count or 0 for one in ours) < row.quantity:
        more = [one for one in came_of_purchase(row, attempt, held) if one.id not in row.reservations]
        if sum(one.count or 0 for one in [*ours, *more]) == row.quantity:
            ours += more
    count = sum(one.count or 0 for one in ours)
    if ours and all(one.state == "payment-failed" for one in ours):
        told = "The payment failed: the reservations are void. Nothing was bought."
        state_set(row, State.REFUSED, now, ACTOR, "refuse", message=told)
        return row.state
    if count != row.quantity or not all(one.state == "active" for one in ours):
        return row.state
    with transaction.atomic():
        paid = sum(((one.fixed or Decimal(0)) * (one.count or 0) for one in ours), Decimal(0))
        read = {"reservations": sorted(one.id for one in ours), "paid": paid}
        done = state_set(row, State.BOUGHT, now, ACTOR, "bought", fields=read)
        advice = row.recommendation
        if done and advice is not None and advice.state == RecommendationState.ACCEPTED:
            recommendation_done(recommendation=advice, actor=ACTOR, now=now)
    return row.state


def purchases_end_late(*, now: datetime) -> int:
    """Expire what nobody carried out in time; what a dead worker held goes back or is looked up."""
    ended = 0
    late = Purchase.objects.filter(state__in=[State.REQUESTED, State.APPROVED], valid_until__lte=now)
    for row in _each(late):
        state_set(row, State.EXPIRED, now, ACTOR, "expire", message="It was not carried out in time.")
        ended += 1
    dead = Purchase.objects.filter(state=State.BUYING, claimed_at__lte=now - ABANDONED)
    for row in _each(dead):
        attempt = row.attempts.order_by("-number").first()
        if attempt is None or attempt.outcome != AttemptOutcome.SENT:
            state_set(row, State.APPROVED, now, ACTOR, "wait", message="The worker ended before it ordered.")
        else:
            attempt.outcome = AttemptOutcome.UNKNOWN
            attempt.save(update_fields=["outcome"])
            told = "The worker ended while it ordered: the order may have been carried out."
            state_set(row, State.UNKNOWN, now, ACTOR, "lose_sight", message=told)
        ended += 1
    return ended


def _each(rows: QuerySet[Purchase]) -> Iterator[Purchase]:
    """Each row locked in a transaction of its own, those that changed meanwhile left out."""
    for pk in list(rows.values_list("pk", flat=True)):
        with transaction.atomic():
            row = (
                rows.select_for_update(of=("self",))
                .select_related("buyer", "organisation")
                .filter(pk=pk)
                .first()
            )
            if row is not None:
                yield row


def _finish(attempt: PurchaseAttempt, outcome: AttemptOutcome, now: datetime) -> None:
    attempt.outcome, attempt.finished_at = outcome, now
    attempt.save(update_fields=["outcome", "finished_at", "reservations"])
