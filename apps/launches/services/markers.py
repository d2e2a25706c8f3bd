"""Checkpoints count once their marker is there: for those in S3 we look ourselves."""

from __future__ import annotations

from datetime import datetime, timedelta

import structlog
from django.db import transaction

from apps.launches.models import Attempt, Checkpoint, Executor, Launch
from apps.launches.services.executors import aws_access
from apps.launches.services.timeline import launch_event
from finops.providers.aws.launching_signs import marker_there
from finops.providers.base import ProviderError

log = structlog.get_logger(__name__)
# A marker that is not there by then was never written.
PATIENCE = timedelta(hours=6)


def looked_for(launch: Launch) -> bool:
    """Whether the markers of a launch are looked for by us: its word alone then counts for nothing."""
    plan = launch.plan
    return bool(
        plan.target.executor == Executor.AWS
        and plan.checkpoint_marker
        and plan.checkpoint_location.startswith("s3://")
    )


def markers_look(attempt: Attempt, now: datetime) -> int:
    """Look for the markers of checkpoints that an attempt told of; how many were found.

    The marker of checkpoint `name` is `location/name/marker`. The newest work first: with its marker the
    older ones do not matter.
    """
    launch = attempt.launch
    if not looked_for(launch):
        return 0
    waiting = Checkpoint.objects.filter(
        attempt=attempt, marked_at__isnull=True, at__gt=now - PATIENCE, work_hours__gt=launch.done_hours
    ).order_by("-work_hours")
    for mark in waiting:
        parts = (
            launch.plan.checkpoint_location.rstrip("/"),
            mark.name.strip("/"),
            launch.plan.checkpoint_marker,
        )
        where = "/".join(part for part in parts if part)
        try:
            there = marker_there(aws_access(launch.plan.target), where, region=attempt.region or "us-east-1")
        except ProviderError as error:
            log.warning("marker_not_looked_for", attempt=attempt.pk, error=str(error))
            return 0
        if there:
            return int(checkpoint_mark(mark, now))
    return 0


def checkpoint_mark(mark: Checkpoint, now: datetime) -> bool:
    """A checkpoint counts from now on; False where it did already."""
    with transaction.atomic():
        launch = Launch.objects.select_for_update().get(attempts=mark.attempt_id)
        changed = Checkpoint.objects.filter(pk=mark.pk, marked_at__isnull=True).update(marked_at=now)
        if changed:
            launch.done_hours = max(launch.done_hours, mark.work_hours)
            launch.save(update_fields=["done_hours"])
            launch_event(launch, "checkpoint", name=mark.name, hours=mark.work_hours)
    mark.refresh_from_db()
    return bool(changed)
