"""Making room for a launch of higher priority: one of lower priority gives its machine up, to go on later."""

from __future__ import annotations

from datetime import datetime

import structlog
from django.db import transaction

from apps.launches.models import Attempt, AttemptState, Launch, LaunchState, Preemption
from apps.launches.services.executors import executor_of
from apps.launches.services.gangs import end_all
from apps.launches.services.outcomes import PREEMPTED, attempt_ended
from apps.launches.services.timeline import launch_event
from finops.providers.base import ProviderError

log = structlog.get_logger(__name__)


def make_room(row: Launch, now: datetime) -> bool:
    """End the machine of the launch on the same target with the lowest priority below this one's.

    Only where this plan may pre-empt and that job may be interrupted; of equals the one that ran least. Its
    launch waits with what its checkpoints hold. False where there is none.
    """
    if row.plan.preemption != Preemption.LOWER:
        return False
    attempt = _victim(row)
    if attempt is None:
        return False
    victim = attempt.launch
    try:
        executor = executor_of(victim.plan.target, attempt.region, now)
        end_all(executor, attempt, now, ending=PREEMPTED)
    except ProviderError as error:
        log.warning("launch_not_preempted", launch=victim.pk, error=str(error))
        return False
    with transaction.atomic():
        attempt_ended(attempt, PREEMPTED, now, values={"launch": row.pk, "priority": row.priority})
        launch_event(row, "preempts", launch_number=victim.pk, priority=victim.priority)
    return True


def _victim(row: Launch) -> Attempt | None:
    running = (
        Attempt.objects.filter(
            state=AttemptState.RUNNING,
            launch__state=LaunchState.RUNNING,
            launch__plan__target_id=row.plan.target_id,
            launch__priority__lt=row.priority,
        )
        .select_related("launch__plan__target")
        .order_by("launch__priority", "-started_at")
    )
    return next((one for one in running if one.launch.plan.job.get("interruptible", True)), None)
