"""Doors for Celery: one service call each."""

from __future__ import annotations

import structlog
from celery import shared_task
from django.conf import settings
from django.utils import timezone

from apps.recommendations.services.retention import advice_forget

log = structlog.get_logger(__name__)


@shared_task(name="recommendations.advice_forget")
def recommendations_advice_forget() -> None:
    """Delete advice older than ADVICE_KEEP_DAYS that nothing cites."""
    gone = advice_forget(now=timezone.now(), keep_days=settings.ADVICE_KEEP_DAYS)
    log.info("advice_forgotten", rows=gone, keep_days=settings.ADVICE_KEEP_DAYS)
