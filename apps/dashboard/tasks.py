"""Doors for Celery: ids in, one call."""

from __future__ import annotations

import structlog
from celery import shared_task
from django.conf import settings
from kombu.exceptions import OperationalError

from apps.dashboard.warm import warm_up

log = structlog.get_logger(__name__)

# Later than this somebody has looked at the pages already, or newer prices are in.
EXPIRES_SECONDS = 600


@shared_task(name="dashboard.warm_up")
def dashboard_warm_up(run_id: int) -> None:
    """Compute the pages after a run ahead of their readers; harmless when it runs twice."""
    log.info("warmed_up", run=run_id, pages=warm_up(run_id=run_id))


def warm_up_hand_out(run_id: int) -> None:
    """Give it to a worker; with the broker out of reach the first readers wait a little longer."""
    if settings.WARM_UP_SECONDS <= 0:
        return
    try:
        dashboard_warm_up.apply_async((run_id,), expires=EXPIRES_SECONDS)
    except OperationalError as error:
        log.warning("warm_up_not_handed_out", run=run_id, error=str(error))
