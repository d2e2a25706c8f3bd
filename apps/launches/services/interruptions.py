"""Machines that are taken back: notices, the two minutes after them, the last moment before a deadline."""

from __future__ import annotations

from datetime import datetime
from functools import partial

import structlog
from django.db import transaction
from django.db.models import Q

from apps.launches.models import Attempt, AttemptState, Launch, LaunchState, LaunchTarget, Market
from apps.launches.selectors.values import iso
from apps.launches.services.choosing import pace_of
from apps.launches.services.executors import aws_access
from apps.launches.services.gangs import end_all
from apps.launches.services.outcomes import MOVED, attempt_ended, work_left
from apps.launches.services.timeline import launch_event
from finops.engine.launches.last_moment import Pace, may_stay_on_spot
from finops.frames.launches import Ending, Notice, NoticeKind
from finops.providers.aws.launching_signs import take_notices
from finops.providers.base import ProviderError
from finops.providers.launching import Executor

log = structlog.get_logger(__name__)


def notice_keep(target: LaunchTarget, notice: Notice, now: datetime) -> bool:
    """Write a notice down; whether it told news of a machine that runs for us."""
    attempt = (
        Attempt.objects.filter(
            Q(machine=notice.machine) | Q(members__contains=[notice.machine]),
            launch__plan__target=target,
            state=AttemptState.RUNNING,
        )
        .select_related("launch")
        .first()
    )
    return attempt is not None and attempt_noticed(attempt, notice, now)


def attempt_noticed(attempt: Attempt, notice: Notice, now: datetime) -> bool:
    """A notice about the machine of an attempt; False where it was known or the machine has ended."""
    with transaction.atomic():
        # The launch first, as everybody else: two that lock in another order wait for each other for ever.
        Launch.objects.select_for_update().get(pk=attempt.launch_id)
        mine = Attempt.objects.select_for_update(of=("self",)).select_related("launch").get(pk=attempt.pk)
        if mine.state != AttemptState.RUNNING:
            return False
        if notice.kind is NoticeKind.REBALANCE:
            if mine.launch.events.filter(kind="rebalance", document__machine=mine.machine).exists():
                return False
            launch_event(mine.launch, "rebalance", machine=mine.machine)
            return True
        if mine.noticed_at is not None and mine.noticed_at <= notice.at:
            return False
        mine.noticed_at = notice.at
        mine.save(update_fields=["noticed_at"])
        launch_event(mine.launch, "notice", machine=mine.machine, at=iso(notice.at))
    return True


def notices_take(*, now: datetime) -> int:
    """Read the queues of notices of every target; how many messages there were."""
    count = 0
    for target in LaunchTarget.objects.exclude(notices=""):
        try:
            count += take_notices(
                aws_access(target),
                target.notices,
                keep=partial(_keep, target, now),
                unread=partial(log.warning, "notice_not_read", target.pk),
            )
        except ProviderError as error:
            log.warning("notices_not_read", target=target.pk, error=str(error))
        except Exception:  # one queue must not keep machines of other places from being looked at
            log.exception("notices_broken", target=target.pk)
    return count


def _keep(target: LaunchTarget, now: datetime, notice: Notice) -> None:
    notice_keep(target, notice, now)


def interrupted_in_time(attempt: Attempt, executor: Executor, now: datetime) -> str:
    """End a machine whose two minutes are over, or that is no longer safe for the deadline; what was done."""
    launch = attempt.launch
    if attempt.noticed_at is not None and now >= attempt.noticed_at:
        end_all(executor, attempt, now, ending=Ending.INTERRUPTED)
        attempt_ended(attempt, Ending.INTERRUPTED, now)
        return "interrupted"
    if attempt.market != Market.SPOT or launch.state != LaunchState.RUNNING:
        return "running"
    to_do = work_left(launch, attempt, now) * 3600
    if may_stay_on_spot(_pace(attempt, now), to_do=to_do):
        return "running"
    end_all(executor, attempt, now, ending=MOVED)
    with transaction.atomic():
        type(launch).objects.filter(pk=launch.pk).update(on_demand=True)
        launch_event(launch, "fallback", deadline=iso(launch.deadline) if launch.deadline else "")
        attempt_ended(attempt, MOVED, now)
    return "moved"


def _pace(attempt: Attempt, now: datetime) -> Pace:
    """As the checkpoints of this machine hold the work."""
    launch = attempt.launch
    marks = attempt.checkpoints.filter(marked_at__isnull=False).values_list("work_hours", flat=True)
    launch.done_hours = max([launch.done_hours, *marks])
    return pace_of(launch, now)
