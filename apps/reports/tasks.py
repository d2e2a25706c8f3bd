"""Doors for Celery: ids in, one service call. Each may run twice and beside itself."""

from __future__ import annotations

import structlog
from celery import shared_task
from django.utils import timezone
from kombu.exceptions import OperationalError

from apps.reports.models import AlertDelivery, Delivery
from apps.reports.services.alerts import alerts_collect_all, alerts_deliver
from apps.reports.services.deliveries import deliver_due
from apps.reports.services.reports import report_due_make, reports_due
from apps.reports.services.sending import leases_end

log = structlog.get_logger(__name__)


@shared_task(name="reports.reports_make_due")
def reports_make_due() -> None:
    """Hand out each subscription that is due."""
    for subscription_id in reports_due(now=timezone.now()):
        reports_make_one.delay(subscription_id)


@shared_task(name="reports.reports_make_one")
def reports_make_one(subscription_id: int) -> None:
    """Write one report; a second hand-out finds it locked or no longer due."""
    report = report_due_make(subscription_id=subscription_id, now=timezone.now())
    if report is not None:
        log.info("report_made", report=report.pk, week=report.week)
        reports_hand_out()


@shared_task(name="reports.alerts_tick")
def reports_alerts_tick() -> None:
    """Raise what holds and was not raised, send what is due."""
    now = timezone.now()
    raised = alerts_collect_all(now=now)
    count = alerts_deliver(now=now)
    if raised or count:
        log.info("alerts_ticked", raised=raised, sent=count)


@shared_task(name="reports.deliver")
def reports_deliver() -> None:
    """Send what is due, after rows whose worker is gone wait again."""
    now = timezone.now()
    for model in (Delivery, AlertDelivery):
        again, lost = leases_end(model, now=now)
        if again or lost:
            log.warning("sendings_without_worker", kind=model.__name__, again=again, unknown=lost)
    count = deliver_due(now=now)
    if count:
        log.info("reports_delivered", mails=count)


def reports_hand_out() -> None:
    """Have waiting mails sent now; with the broker out of reach the clock does it within a minute."""
    try:
        reports_deliver.delay()
    except OperationalError as error:
        log.warning("mails_not_handed_out", error=str(error))
