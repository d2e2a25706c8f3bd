"""Doors for Celery: ids in, one service call."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from apps.ingest import services


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
