"""Doors for Celery: ids in, one service call."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from apps.ingest import services
from apps.ingest.models import Feed
from apps.ingest.services import live
from finops.providers.base import TransientError


@shared_task(name="ingest.run_execute", acks_late=True)
def ingest_run_execute(run_id: int) -> None:
    """Work off one waiting run; a second hand-out finds it begun and does nothing."""
    services.ingest_run_execute(run_id=run_id)


@shared_task(name="ingest.runs_reconcile")
def ingest_runs_reconcile() -> None:
    """End runs whose worker is gone."""
    services.runs_reconcile(now=timezone.now())


@shared_task(name="ingest.lake_upkeep")
def ingest_lake_upkeep() -> None:
    """Join small files, then forget old snapshots."""
    services.lake_compact()
    services.lake_expire(now=timezone.now())


@shared_task(name="ingest.feeds_collect_due")
def feeds_collect_due() -> None:
    """Hand out the live feeds whose time has come; a second beat at the same moment finds them claimed."""
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
    """Collect one live feed; harmless when it runs twice."""
    live.feed_collect(feed=Feed.objects.get(pk=feed_id), now=live.database_now())
