"""Doors for Celery: one service call each."""

from __future__ import annotations

import structlog
from celery import shared_task
from django.utils import timezone

from apps.accounts.models import Organisation
from apps.waste.services.collecting import collect_run
from apps.waste.services.rows import waste_rows_all

log = structlog.get_logger(__name__)


@shared_task(name="waste.publish")
def waste_publish() -> None:
    """Make waste rows of the inbox; the same bills, lists, metrics and settings cost a look."""
    published = waste_rows_all(now=timezone.now())
    if published:
        log.info("waste_rows_published", organisations=published)


@shared_task(name="waste.collect")
def waste_collect(organisation_id: int, given: dict[str, str]) -> None:
    """Ask CloudWatch or Prometheus; twice gives the same rows."""
    organisation = Organisation.objects.get(pk=organisation_id)
    outcome = collect_run(organisation=organisation, given=given, now=timezone.now())
    log.info("waste_metrics_collected", organisation=organisation_id, state=outcome["state"])
