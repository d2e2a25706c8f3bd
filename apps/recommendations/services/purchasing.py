"""Carrying out approved purchases: the only code that spends money on commitments.

One worker at a time has a purchase: it is claimed by a conditional update on the database's clock, and one
order of an account and region is in flight at a time (a constraint), so that what came of an order can be
told from what was there before. The order is stored before it is sent and sent once: where no clear answer
comes, the purchase is `unknown` and is looked up, never sent again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

import structlog
from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from apps.accounts.actors import Actor
from apps.recommendations.models import (
    AttemptOutcome,
    Purchase,
    PurchaseAttempt,
    PurchaseState,
)
from apps.recommendations.services.document import decimal_text, iso
from apps.recommendations.services.purchase_outcome import came_of_purchase, settle_by_reading, wanted_of
from apps.recommendations.services.purchases import approvals_needed, standing_approvals, state_set
from finops.frames.offers import Offer, OfferKind
from finops.frames.owned import Owned
from finops.frames.purchases import Fill, Order, fills, once_of
from finops.providers.aws import reserved_offers
from finops.providers.aws.reserved_purchases import Desk, OutcomeUnknownError, open_desk
from finops.providers.aws.session import Access
from finops.providers.base import PermanentError, ProviderError, TransientError

log = structlog.get_logger(__name__)
State = PurchaseState
ACTOR = Actor.system("purchasing")
# A look and the order are not at the same minute of the term.
TERM_TOLERANCE_HOURS = 24


class StoppedError(Exception):
    """The order must not be sent; the text says why."""


@dataclass(frozen=True)
class Trial:
    """What an order would cost now and whether the account may send it."""

    filled: list[Fill]
    once: Decimal
    allowed: bool


def purchase_run(*, purchase_id: int, now: datetime) -> str:
    """Carry out one approved purchase; the state it is in afterwards, "" when it was not ours to carry out.

    Raises TransientError when nothing was sent and trying later can help: the purchase is approved still.
    """
    row = _claim(purchase_id)
    if row is None:
        return ""
    claimed = row.claimed_at
    try:
        desk = desk_of(row)
        held = desk.held(seen_at=now)
        if _bought_already(row, held, now):
            return row.state
        order, trial = _checked(row, desk, now)
        attempt = _store_attempt(row, claimed, order, trial, held, now)
    except TransientError as error:
        _give_back(row, claimed, str(error), now)
        raise
    except (StoppedError, PermanentError) as error:
        state_set(row, State.REFUSED, now, ACTOR, "refuse", message=str(error))
        return row.state
    if attempt is None:
        return ""
    return _send(row, desk, order, attempt, now)


def purchase_trial(*, purchase: Purchase, actor: Actor, now: datetime) -> Purchase:
    """A dry run: the price as it is now and whether the account may order. Buys nothing.

    What was found is kept in `trial`; a provider's refusal is a finding too.
    """
    trial: dict[str, Any] = {"at": iso(now)}
    try:
        desk = desk_of(purchase)
        order, found = _priced(purchase, desk, now)
        trial |= {
            "once": decimal_text(found.once),
            "limit": None if order.limit is None else decimal_text(order.limit),
            "filled": [{"price": decimal_text(one.price), "count": one.count} for one in found.filled],
            "allowed": found.allowed,
            "reason": "" if found.allowed else _NOT_ALLOWED,
        }
    except (StoppedError, ProviderError) as error:
        trial |= {"allowed": False, "reason": str(error)}
    purchase.tried_at, purchase.trial = now, trial
    with transaction.atomic():
        purchase.save(update_fields=["tried_at", "trial"])
        from_state = PurchaseState(purchase.state)
        state_set(
            purchase, from_state, purchase.stated_at, actor, "try", message=purchase.message, trial=trial
        )
    return purchase


def desk_of(row: Purchase) -> Desk:
    """The provider's desk for a purchase. Raises TransientError or PermanentError."""
    access = Access(row.buyer.credentials, row.buyer.external_id, settings.AWS_ENDPOINT_URL)
    return open_desk(access, region=row.region, account=row.buyer.account, back_off=reserved_offers.BACK_OFF)


_NOT_ALLOWED = (
    "The account's role may not buy: ec2:PurchaseReservedInstancesOffering is not allowed to it. "
    "Nothing was bought."
)


def _claim(purchase_id: int) -> Purchase | None:
    """Take an approved purchase for this worker; None when it is not approved, too old, or another order of
    the account and region is in flight.
    """
    try:
        with transaction.atomic():
            taken = Purchase.objects.filter(
                pk=purchase_id, state=State.APPROVED, valid_until__gt=Now()
            ).update(state=State.BUYING, claimed_at=Now(), stated_at=Now())
    except IntegrityError:
        log.info("purchase_waits", purchase=purchase_id)
        return None
    if not taken:
        return None
    return Purchase.objects.select_related("buyer", "organisation", "recommendation").get(pk=purchase_id)


def _checked(row: Purchase, desk: Desk, now: datetime) -> tuple[Order, Trial]:
    """The order to send, after everything that may forbid it was looked at. Raises StoppedError."""
    row.buyer.refresh_from_db()
    if not row.buyer.active:
        raise StoppedError(f"Buying is switched off for account {row.buyer.account}. Nothing was bought.")
    needed = max(row.approvals_needed, approvals_needed(row.committed, row.currency))
    standing = standing_approvals(row)
    if len({one.role for one in standing}) < needed or len({one.user_id for one in standing}) < needed:
        raise StoppedError(
            f"Only {len(standing)} of {needed} approvals stand: somebody who approved has lost the role or "
            "left. Nothing was bought."
        )
    order, trial = _priced(row, desk, now)
    if not trial.allowed:
        raise StoppedError(_NOT_ALLOWED)
    return order, trial


def _priced(row: Purchase, desk: Desk, now: datetime) -> tuple[Order, Trial]:
    """The order at the prices of this moment, and a dry run of it. Raises StoppedError where it changed."""
    listings = desk.listings(row.offer, seen_at=now)
    if not listings:
        raise StoppedError("The offer is gone. Nothing was bought.")
    _same_terms(row, listings, now)
    filled = fills(listings, row.quantity)
    if filled is None:
        there = sum(one.count or 0 for one in listings)
        raise StoppedError(f"Only {there} of {row.quantity} are still on offer. Nothing was bought.")
    once = once_of(filled)
    if once > row.limit:
        raise StoppedError(
            f"The order costs {decimal_text(once)} {row.currency} now, above the limit of "
            f"{decimal_text(row.limit)}. Nothing was bought."
        )
    limit = row.limit if row.kind == OfferKind.SECOND_HAND else None
    order = Order(row.offer, row.quantity, limit, row.currency)
    return order, Trial(filled, once, desk.allowed(order))


def _same_terms(row: Purchase, listings: list[Offer], now: datetime) -> None:
    """Raise StoppedError unless the offering is what was approved, shorter by no more than the time since."""
    passed = Decimal(int((now - row.offer_seen_at).total_seconds())) / 3600 + TERM_TOLERANCE_HOURS
    for one in listings:
        key = one.key
        is_now = (
            str(one.kind),
            key.zone,
            key.platform,
            key.tenancy,
            key.instance_type,
            one.payment,
            one.currency,
        )
        was = (row.kind, row.zone, row.platform, row.tenancy, row.instance_type, row.payment, row.currency)
        if is_now != was or one.hourly > row.hourly or str(one.offering_class) != row.offering_class:
            raise StoppedError("The offer is not what was approved any more. Nothing was bought.")
        if one.duration_hours < row.hours - passed:
            raise StoppedError(
                "The offer's remaining term is shorter than what was approved. Nothing was bought."
            )


def _bought_already(row: Purchase, held: list[Owned], now: datetime) -> bool:
    """Look before buying again: whether an order that was given up as not carried out was, after all.

    Each such order is settled; where it was for the same, this one is refused.
    """
    given_up = Purchase.objects.select_related("buyer", "organisation", "recommendation").filter(
        buyer=row.buyer, region=row.region, state=State.NOT_BOUGHT
    )
    again = None
    for former in given_up:
        attempt = former.attempts.order_by("-number").first()
        found = came_of_purchase(former, attempt, held) if attempt is not None else []
        if attempt is None or sum(one.count or 0 for one in found) != former.quantity:
            continue
        settle_by_reading(former, attempt, found, now)
        if wanted_of(former) == wanted_of(row):
            again = former
    if again is not None:
        told = f"Purchase {again.pk} of the same was carried out after all. Nothing was bought again."
        state_set(row, State.REFUSED, now, ACTOR, "refuse", message=told)
    return again is not None


def _store_attempt(
    row: Purchase, claimed: datetime | None, order: Order, trial: Trial, held: list[Owned], now: datetime
) -> PurchaseAttempt | None:
    """Write down what is about to be sent; None when the purchase is no longer ours."""
    with transaction.atomic():
        ours = (
            Purchase.objects.select_for_update()
            .filter(pk=row.pk, state=State.BUYING, claimed_at=claimed)
            .first()
        )
        if ours is None:
            return None
        return PurchaseAttempt.objects.create(
            purchase=row,
            number=ours.attempts.count() + 1,
            at=now,
            parameters={
                "ReservedInstancesOfferingId": order.offer,
                "InstanceCount": order.quantity,
                "LimitPrice": None if order.limit is None else decimal_text(order.limit),
                "CurrencyCode": order.currency,
                "expected": decimal_text(trial.once),
            },
            held_before=sorted(one.id for one in held),
        )


def _send(row: Purchase, desk: Desk, order: Order, attempt: PurchaseAttempt, now: datetime) -> str:
    """Send the order, once, and keep what came of it."""
    try:
        reservation = desk.purchase(order)
    except OutcomeUnknownError as error:
        return _end(row, attempt, AttemptOutcome.UNKNOWN, State.UNKNOWN, now, str(error))
    except TransientError as error:
        # The provider said that it did not take the order.
        return _end(row, attempt, AttemptOutcome.REFUSED, State.APPROVED, now, str(error))
    except PermanentError as error:
        return _end(row, attempt, AttemptOutcome.REFUSED, State.REFUSED, now, f"{error} Nothing was bought.")
    return _end(row, attempt, AttemptOutcome.DONE, State.PAYING, now, "", [reservation])


def _end(
    row: Purchase,
    attempt: PurchaseAttempt,
    outcome: AttemptOutcome,
    state: PurchaseState,
    now: datetime,
    message: str,
    reservations: Sequence[str] = (),
) -> str:
    """Keep what came of an order, also where the clock took this worker for dead meanwhile."""
    with transaction.atomic():
        attempt.outcome, attempt.message, attempt.finished_at = outcome, message[:1000], now
        attempt.reservations = list(reservations)
        attempt.save(update_fields=["outcome", "message", "finished_at", "reservations"])
        state_set(
            row, state, now, ACTOR, _VERBS[state], message=message,
            fields={"reservations": list(reservations)}, also_from={State.UNKNOWN, State.NOT_BOUGHT},
            attempt=attempt.number,
        )  # fmt: skip
    return row.state


_VERBS = {
    State.UNKNOWN: "lose_sight",
    State.APPROVED: "wait",
    State.REFUSED: "refuse",
    State.PAYING: "order",
}


def _give_back(row: Purchase, claimed: datetime | None, message: str, now: datetime) -> None:
    """Nothing was sent: approved as before, for a later try."""
    Purchase.objects.filter(pk=row.pk, state=State.BUYING, claimed_at=claimed).update(
        state=State.APPROVED, message=message[:1000], stated_at=now
    )
