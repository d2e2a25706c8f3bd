"""The worker and beat say that they live: a row each, written from their own loops."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import structlog
from celery.beat import PersistentScheduler
from django.db import DatabaseError, connection
from django.db.models.functions import Now

from apps.api.models import Heartbeat

log = structlog.get_logger(__name__)
EVERY_SECONDS = 30
# Three beats may be lost before somebody is called.
LATE_AFTER = timedelta(seconds=4 * EVERY_SECONDS)
_last: dict[str, float] = {}


def beat(name: str) -> None:
    """Write the heartbeat of `name` at the database's time, at most every 30 s; a database that is away is
    logged.

    The connection is closed again: a worker's parent process must not hand it to the children it forks.
    """
    if time.monotonic() - _last.get(name, -EVERY_SECONDS) < EVERY_SECONDS:
        return
    _last[name] = time.monotonic()
    try:
        Heartbeat.objects.update_or_create(name=name, defaults={"at": Now()})
    except DatabaseError as error:
        log.warning("heartbeat_not_written", name=name, error=str(error))
    finally:
        connection.close()


def worker_beat(**_signal: Any) -> None:
    """Receiver of Celery's `heartbeat_sent`, which a worker sends every two seconds."""
    beat("worker")


class HeartbeatScheduler(PersistentScheduler):
    """Celery's scheduler, writing a heartbeat from its loop (CELERY_BEAT_MAX_LOOP_INTERVAL bounds its
    sleep).
    """

    def tick(self, *args: Any, **kwargs: Any) -> Any:
        """One turn of the loop."""
        beat("beat")
        return super().tick(*args, **kwargs)
