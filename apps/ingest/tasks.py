"""Doors for Celery: ids in, one service call."""

from __future__ import annotations

import structlog
from celery import shared_task
from django.utils import timezone
from kombu.exceptions import OperationalError

from apps.ingest import selectors, services
from apps.ingest.bills.run import bill_run_execute
from apps.ingest.models import Feed, RunSubject
from apps.ingest.services import collecting, live
from apps.ingest.storage.run import storage_run_execute
from finops.providers.base import TransientError

log = structlog.get_logger(__name__)


@shared_task(name="ingest.run_execute", acks_late=True)
def ingest_run_execute(run_id: int) -> None:
    """Work off one waiting run; a second hand-out finds it begun and does nothing."""
    subject = selectors.run_subject(run_id)
    if subject == RunSubject.BILLS:
        bill_run_execute(run_id=run_id)
    elif subject == RunSubject.STORAGE:
        storage_run_execute(run_id=run_id)
    else:
        services.ingest_run_execute(run_id=run_id)


def ingest_run_hand_out(run_id: int) -> None:
    """Give a waiting run to a worker; with the broker out of reach it waits for `ingest_runs_reconcile`."""
    try:
        ingest_run_execute.delay(run_id)
    except OperationalError as error:
        log.warning("ingest_run_not_handed_out", run=run_id, error=str(error))


@shared_task(name="ingest.runs_reconcile")
def ingest_runs_reconcile() -> None:
    """End runs whose worker is gone; hand out again what the broker never got or lost."""
    now = timezone.now()
    services.runs_reconcile(now=now)
    for run_id in selectors.runs_forgotten(now=now):
        ingest_run_hand_out(run_id)


@shared_task(name="ingest.lake_upkeep")
def ingest_lake_upkeep() -> None:
    """Join small files, then forget old snapshots."""
    services.lake_compact()
    services.lake_expire(now=timezone.now())


@shared_task(name="ingest.feeds_collect_due")
def feeds_collect_due() -> None:
    """Hand out the feeds whose time has come; a second beat at the same moment finds them claimed."""
    for feed_id in live.feeds_due_claim():
        feed_collect.delay(feed_id)


@shared_task(
    name="ingest.feed_collect",
    acks_late=True,
    autoretry_for=(TransientError,),
    retry_backoff=30,
    retry_backoff_max=600,
    retry_jitter=True,
    max_retries=3,
)
def feed_collect(feed_id: int) -> None:
    """Collect one feed; harmless when it runs twice."""
    collecting.feed_collect(feed=Feed.objects.get(pk=feed_id), now=live.database_now())


def feed_collect_hand_out(feed_id: int) -> None:
    """Have a feed collected now; with the broker out of reach beat does it at its next turn."""
    try:
        feed_collect.delay(feed_id)
    except OperationalError as error:
        log.warning("feed_not_handed_out", feed=feed_id, error=str(error))
