"""Doors for Celery: one service call each."""

from __future__ import annotations

import structlog
from celery import shared_task
from django.conf import settings
from django.utils import timezone
from kombu.exceptions import OperationalError

from apps.recommendations.services.commitments_alerts import commitments_alert_all
from apps.recommendations.services.commitments_rows import commitment_rows_all
from apps.recommendations.services.deal_watch import deals_watch_all
from apps.recommendations.services.inbox_clock import inbox_tick
from apps.recommendations.services.launch_rows import launch_rows_all
from apps.recommendations.services.purchase_clock import purchases_tick
from apps.recommendations.services.purchasing import purchase_run
from apps.recommendations.services.realised import realised_all
from apps.recommendations.services.retention import advice_forget
from apps.recommendations.services.storage_applying import change_run, changes_tick
from apps.recommendations.services.storage_rows import storage_rows_all
from finops.providers.base import TransientError

log = structlog.get_logger(__name__)


@shared_task(name="recommendations.advice_forget")
def recommendations_advice_forget() -> None:
    """Delete advice older than ADVICE_KEEP_DAYS that nothing cites."""
    gone = advice_forget(now=timezone.now(), keep_days=settings.ADVICE_KEEP_DAYS)
    log.info("advice_forgotten", rows=gone, keep_days=settings.ADVICE_KEEP_DAYS)


@shared_task(name="recommendations.commitments_publish")
def recommendations_commitments_publish() -> None:
    """Make what to buy and to sell rows of the inbox; the same bills and offers cost a look."""
    published = commitment_rows_all(now=timezone.now())
    if published:
        log.info("commitment_rows_published", organisations=published)


@shared_task(name="recommendations.inbox_tick")
def recommendations_inbox_tick() -> None:
    """End snoozes whose day has come, expire rows whose period is over."""
    woken, expired = inbox_tick(now=timezone.now())
    if woken or expired:
        log.info("inbox_ticked", woken=woken, expired=expired)


@shared_task(name="recommendations.launch_windows")
def recommendations_launch_windows() -> None:
    """Look for launch windows of repeating workloads; the same prices and workloads cost a look."""
    made = launch_rows_all(now=timezone.now())
    if made:
        log.info("launch_windows_found", new=made)


@shared_task(name="recommendations.realised")
def recommendations_realised() -> None:
    """Compute what accepted recommendations saved; the same bills on the same day cost a look."""
    changed = realised_all(now=timezone.now())
    if changed:
        log.info("realised_savings_computed", months=changed)


@shared_task(name="recommendations.commitments_alert")
def recommendations_commitments_alert() -> None:
    """Raise alerts for commitments that end soon; a second turn raises nothing twice."""
    raised = commitments_alert_all(now=timezone.now())
    if raised:
        log.info("commitment_alerts_raised", new=raised)


@shared_task(name="recommendations.purchase_run")
def recommendations_purchase_run(purchase_id: int) -> None:
    """Carry out one approved purchase; a second hand-out finds it taken and does nothing."""
    try:
        state = purchase_run(purchase_id=purchase_id, now=timezone.now())
    except TransientError as error:
        # It is approved still: the clock tries again.
        log.warning("purchase_waits", purchase=purchase_id, error=str(error))
        return
    log.info("purchase_ran", purchase=purchase_id, state=state)


def recommendations_purchase_hand_out(purchase_id: int) -> None:
    """Give an approved purchase to a worker; with the broker out of reach the clock finds it."""
    try:
        recommendations_purchase_run.delay(purchase_id)
    except OperationalError as error:
        log.warning("purchase_not_handed_out", purchase=purchase_id, error=str(error))


@shared_task(name="recommendations.purchases_tick")
def recommendations_purchases_tick() -> None:
    """Look up open outcomes, end what is late, carry out what waits."""
    changed = purchases_tick(now=timezone.now())
    if changed:
        log.info("purchases_ticked", changed=changed)


@shared_task(name="recommendations.lifecycle_run")
def recommendations_lifecycle_run(change_id: int) -> None:
    """Write one approved change of lifecycle rules; a second hand-out finds it taken and does nothing."""
    try:
        state = change_run(change_id=change_id, now=timezone.now())
    except TransientError as error:
        # It is approved still: the clock tries again.
        log.warning("lifecycle_waits", change=change_id, error=str(error))
        return
    log.info("lifecycle_ran", change=change_id, state=state)


def recommendations_lifecycle_hand_out(change_id: int) -> None:
    """Give an approved change to a worker; with the broker out of reach the clock finds it."""
    try:
        recommendations_lifecycle_run.delay(change_id)
    except OperationalError as error:
        log.warning("lifecycle_not_handed_out", change=change_id, error=str(error))


@shared_task(name="recommendations.lifecycle_tick")
def recommendations_lifecycle_tick() -> None:
    """Write what is approved and due, end what is late."""
    changed = changes_tick(now=timezone.now())
    if changed:
        log.info("lifecycle_ticked", changed=changed)


@shared_task(name="recommendations.storage_publish")
def recommendations_storage_publish() -> None:
    """Make what to move rows of the inbox; the same listings, logs and bills cost a look."""
    published = storage_rows_all(now=timezone.now())
    if published:
        log.info("storage_rows_published", organisations=published)


@shared_task(name="recommendations.deals_watch")
def recommendations_deals_watch() -> None:
    """Judge offers by the rules that watch them; the same offers, bills and prices cost a look."""
    raised = deals_watch_all(now=timezone.now())
    if raised:
        log.info("deal_alerts_raised", alerts=raised)
