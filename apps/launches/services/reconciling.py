"""Comparing what should run with what runs: open calls are settled, ends are seen, strangers told or ended.

Everything here may run twice at the same time: each change is one row change from a state that was seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Now

from apps.launches.models import OPEN, OVER, Attempt, AttemptState, Launch, LaunchState, LaunchTarget
from apps.launches.services.calls import call_of
from apps.launches.services.choosing import meaning_of_code
from apps.launches.services.executors import executor_of
from apps.launches.services.gangs import (
    called_gang,
    end_all,
    incomplete,
    machines_of_attempt,
    seen_gang,
)
from apps.launches.services.guards import stop_of
from apps.launches.services.interruptions import interrupted_in_time
from apps.launches.services.markers import markers_look
from apps.launches.services.moving import take_over
from apps.launches.services.outcomes import (
    CANCELLED,
    INCOMPLETE,
    NOT_SENT,
    attempt_ended,
    attempt_refused,
    attempt_running,
)
from apps.launches.services.strays import stray_gone, stray_seen
from apps.launches.services.timeline import launch_event
from finops.engine.launches.failure import settles
from finops.engine.launches.reconcile import Fate, OpenAttempt, orphans, settle
from finops.frames.launches import ATTEMPT, JOB, OWNER, Ending, Machine, MachineState
from finops.providers.base import ProviderError
from finops.providers.launching import Executor, LaunchOutcomeUnknownError, LaunchRefusedError

log = structlog.get_logger(__name__)
# A machine that ran and does not show any more in so many looks is gone.
GONE_AFTER = 3
# A region where nothing was launched for so long is not looked at.
LOOK_BACK = timedelta(days=14)
GONE_LOOKS_APART = timedelta(minutes=1)
# What is counted for a machine beside another one.
TAKEN_OVER = {"moved": "took_over", "ended": "ended"}


def reconcile_all(*, now: datetime) -> Counter[str]:
    """Every target; what was done, by name. One that cannot be reached keeps the others from nothing."""
    done: Counter[str] = Counter()
    done["leases"] = leases_end() + _left_open(now) + _left_unknown(now)
    for target in LaunchTarget.objects.select_related("organisation"):
        for region in _regions(target, now):
            try:
                done += reconcile(target=target, region=region, now=now)
            except ProviderError as error:
                done["away"] += 1
                log.warning("target_not_reached", target=target.pk, region=region, error=str(error))
            except Exception:  # one organisation's odd machine must not hide the machines of all others
                done["broken"] += 1
                log.exception("target_not_looked_at", target=target.pk, region=region)
    return done


def leases_end() -> int:
    """Launches whose worker is gone: without a call they wait again, with one they are open."""
    ended = 0
    late = Launch.objects.filter(state=LaunchState.CLAIMED, lease_until__lt=Now()).values_list(
        "pk", flat=True
    )
    for pk in list(late):
        ended += _lease_end(pk)
    return ended


def _lease_end(launch_id: int) -> int:
    with transaction.atomic():
        row = (
            Launch.objects.select_for_update()
            .filter(pk=launch_id, state=LaunchState.CLAIMED, lease_until__lt=Now())
            .first()
        )
        if row is None:
            return 0
        # Whoever had it finds another number and lets go of it.
        row.claims += 1
        row.lease_until = None
        attempt = row.attempts.filter(state__in=OPEN).first()
        if attempt is not None and attempt.state == AttemptState.CALLED:
            attempt.state = AttemptState.UNKNOWN
            attempt.save(update_fields=["state"])
            row.state, row.why, row.why_values = LaunchState.UNKNOWN, "no_answer", {}
        else:
            if attempt is not None:
                attempt.state, attempt.code = AttemptState.REFUSED, NOT_SENT
                attempt.save(update_fields=["state", "code"])
            first = row.first_started_at is None
            row.state = LaunchState.QUEUED if first else LaunchState.INTERRUPTED
            row.why, row.why_values = "lost_worker", {}
        row.save()
        launch_event(row, "waits", code_why=row.why)
    return 1


def _left_open(now: datetime) -> int:
    """Attempts whose worker is gone: of launches that ended meanwhile, and those beside a machine."""
    late = now - timedelta(seconds=settings.LAUNCH_LEASE_SECONDS)
    gone = Q(launch__state__in=[*OVER, LaunchState.UNKNOWN]) | Q(beside=True)
    left = Attempt.objects.filter(gone, prepared_at__lt=late)
    sent = left.filter(state=AttemptState.CALLED).update(state=AttemptState.UNKNOWN)
    return sent + left.filter(state=AttemptState.PREPARED).update(state=AttemptState.REFUSED, code=NOT_SENT)


def _left_unknown(now: datetime) -> int:
    """Launches whose open call was answered after all by a worker that had lost them: they wait again."""
    open_calls = Attempt.objects.filter(launch=OuterRef("pk"), state__in=OPEN)
    left = Launch.objects.filter(~Exists(open_calls), state=LaunchState.UNKNOWN)
    again = {"next_at": now, "stated_at": now, "why": "lost_worker", "why_values": {}}
    first = left.filter(first_started_at__isnull=True).update(state=LaunchState.QUEUED, **again)
    return first + left.update(state=LaunchState.INTERRUPTED, **again)


def reconcile(*, target: LaunchTarget, region: str, now: datetime) -> Counter[str]:
    """One region of a target. Raises TransientError or PermanentError where it cannot be looked at."""
    executor = executor_of(target, region, now)
    machines = executor.find({OWNER: target.owner}, now=now)
    done: Counter[str] = Counter()
    for attempt in _of(target, region, [AttemptState.UNKNOWN]):
        seen = machines if _shows(attempt, machines) else executor.known("", attempt.token, now=now)
        done[_settle(attempt, seen, executor, now)] += 1
    shown = {one.id: one for one in machines}
    for attempt in _of(target, region, [AttemptState.RUNNING]):
        if attempt.members:
            found = seen_gang(attempt, shown, executor, now)
        else:
            found = shown.get(attempt.machine) or _without_tags(attempt, executor, now)
        done[_watch(attempt, found, executor, now)] += 1
    done += _strangers(target, machines, executor, now)
    return +done


def _shows(attempt: Attempt, machines: list[Machine]) -> bool:
    """Whether a machine of a call is in the list by our tag."""
    job, number = str(attempt.launch_id), str(attempt.number)
    return any(
        one.token == attempt.token or (one.tags.get(JOB), one.tags.get(ATTEMPT)) == (job, number)
        for one in machines
    )


def _without_tags(attempt: Attempt, executor: Executor, now: datetime) -> Machine | None:
    """A machine that is not in the list by our tag, looked up by its id: somebody took its tags away, and
    whoever took it for gone would launch a second one.
    """
    found = next(iter(executor.known(attempt.machine, attempt.token, now=now)), None)
    if found is not None and found.state is MachineState.RUNNING:
        told = attempt.launch.events.filter(kind="tags_gone", document__machine=attempt.machine)
        # The newest machines may show by id before they show by tag.
        if attempt.looks and not told.exists():
            launch_event(attempt.launch, "tags_gone", machine=attempt.machine)
        Attempt.objects.filter(pk=attempt.pk, looks=0).update(looks=1)
    return found


def _settle(attempt: Attempt, machines: list[Machine], executor: Executor, now: datetime) -> str:
    """What became of a call without an answer."""
    called = attempt.called_at or attempt.prepared_at
    asked = OpenAttempt(str(attempt.launch_id), attempt.number, attempt.token, called, attempt.looks)
    parts: list[Machine] = []
    if attempt.count > 1:
        machines, parts = called_gang(attempt, machines)
    settled = settle(asked, machines, now=now)
    if settled.fate is Fate.ADOPT and settled.machine is not None:
        kept = attempt_running(attempt, settled.machine, now, adopted=True)
        for extra in settled.extra:
            executor.end(extra.id, now=now)
            launch_event(attempt.launch, "extra_ended", machine=extra.id)
        return "adopted" if kept else "ended"
    if settled.fate is Fate.ENDED and settled.machine is not None:
        attempt_running(attempt, settled.machine, now, adopted=True)
        attempt_ended(attempt, settled.machine.ending or Ending.UNKNOWN, now, at=settled.machine.ended_at)
        return "found_ended"
    Attempt.objects.filter(pk=attempt.pk, state=AttemptState.UNKNOWN).update(
        looks=F("looks") + 1, looked_at=now
    )
    if settled.fate is Fate.ABSENT:
        for part in parts:
            executor.end(part.id, now=now)
            launch_event(attempt.launch, "extra_ended", machine=part.id)
        _absent(attempt, "Absent", "", now)
        return "absent"
    return _send_again(attempt, executor, now)


def _send_again(attempt: Attempt, executor: Executor, now: datetime) -> str:
    """The same call once more: with the same token it starts nothing twice and tells what came of it."""
    launch = attempt.launch
    if launch.state != LaunchState.UNKNOWN or stop_of(launch, now=now, sent=True) is not None:
        return "open"
    try:
        machine = executor.launch(call_of(attempt), now=now)
    except LaunchOutcomeUnknownError:
        return "open"
    except LaunchRefusedError as error:
        if not settles(meaning_of_code(launch, error.code)):
            return "open"
        _absent(attempt, error.code, str(error), now)
        return "absent"
    except ProviderError:
        return "open"
    launch_event(launch, "sent_again", attempt=attempt.number)
    attempt_running(attempt, machine, now, adopted=True)
    return "adopted"


def _absent(attempt: Attempt, code: str, message: str, now: datetime) -> None:
    """The call had no effect: the launch waits for its next attempt."""
    with transaction.atomic():
        launch = Launch.objects.select_for_update().get(pk=attempt.launch_id)
        attempt.refresh_from_db()
        if attempt.state != AttemptState.UNKNOWN:
            return
        attempt_refused(attempt, code, message)
        launch_event(launch, "absent", attempt=attempt.number, looks=attempt.looks)
        if launch.state == LaunchState.UNKNOWN:
            first = launch.first_started_at is None
            launch.state = LaunchState.QUEUED if first else LaunchState.INTERRUPTED
            launch.stated_at = launch.next_at = now
            launch.why, launch.why_values = "absent", {"looks": attempt.looks}
            launch.save()


def _watch(attempt: Attempt, machine: Machine | None, executor: Executor, now: datetime) -> str:
    """Whether a machine that should run does."""
    launch = attempt.launch
    if markers_look(attempt, now):
        launch.refresh_from_db(fields=["done_hours"])
    if machine is None:
        return _not_shown(attempt, now)
    if attempt.looks and machine.tags.get(OWNER) == launch.plan.target.owner:
        Attempt.objects.filter(pk=attempt.pk).update(looks=0)
    if machine.state is MachineState.ENDED:
        ending = CANCELLED if launch.state in OVER else (machine.ending or Ending.UNKNOWN)
        if attempt.noticed_at is not None and launch.state not in OVER:
            ending = Ending.INTERRUPTED
        attempt_ended(attempt, ending, now, at=machine.ended_at)
        return "ended"
    if incomplete(attempt, machine, now):
        end_all(executor, attempt, now, ending=INCOMPLETE)
        attempt_ended(attempt, INCOMPLETE, now)
        return "incomplete"
    if launch.state in OVER:
        ending = CANCELLED if launch.state == LaunchState.CANCELLED else Ending.DONE
        end_all(executor, attempt, now, ending=ending)
        attempt_ended(attempt, ending, now)
        return "stopped"
    if attempt.beside:
        return TAKEN_OVER.get(take_over(attempt, now), "running")
    return interrupted_in_time(attempt, executor, now)


def _not_shown(attempt: Attempt, now: datetime) -> str:
    """A machine that ran is not in the list: late news right after the start, gone after some looks."""
    if attempt.looked_at is not None and now - attempt.looked_at < GONE_LOOKS_APART:
        return "not_shown"
    looks = attempt.looks + 1
    Attempt.objects.filter(pk=attempt.pk).update(looks=looks, looked_at=now)
    if looks < GONE_AFTER:
        return "not_shown"
    attempt_ended(attempt, Ending.UNKNOWN, now)
    return "gone"


def _strangers(
    target: LaunchTarget, machines: list[Machine], executor: Executor, now: datetime
) -> Counter[str]:
    """Running machines that are no live launch's: one too many of ours is ended, others are told."""
    done: Counter[str] = Counter()
    jobs = {one.tags.get(JOB, "") for one in machines}
    known = {
        str(one.pk): one
        for one in Launch.objects.filter(
            plan__target=target,
            pk__in=[int(job) for job in jobs if job.isascii() and job.isdigit() and len(job) < 19],
        )
    }
    kept = _kept(known)
    live = {job for job, one in known.items() if one.state not in OVER}
    for machine in machines:
        if machine.state is not MachineState.RUNNING:
            stray_gone(target, machine, now)
        elif (job := machine.tags.get(JOB, "")) in known and _is_surplus(
            machine, kept.get((job, machine.tags.get(ATTEMPT, "")))
        ):
            executor.end(machine.id, now=now)
            if job in live and not _was_ours(machine, known[job]):
                launch_event(known[job], "extra_ended", machine=machine.id)
            done["surplus"] += 1
    for one in orphans(machines, owner=target.owner, live_jobs=live | set(known), now=now):
        if one.end:
            executor.end(one.machine.id, now=now)
        stray_seen(target, one.machine, ended=one.end, now=now)
        done["orphans_ended" if one.end else "orphans"] += 1
    return done


def _kept(known: Mapping[str, Launch]) -> dict[tuple[str, str], Attempt]:
    """The open attempts of launches by launch and number."""
    rows = Attempt.objects.filter(launch__in=list(known.values()), state__in=OPEN)
    return {(str(one.launch_id), str(one.number)): one for one in rows}


def _was_ours(machine: Machine, launch: Launch) -> bool:
    """Whether an attempt ran on it: then its end is told already, and the list is older than that."""
    mine = Q(machine=machine.id) | Q(members__contains=[machine.id])
    return launch.attempts.filter(mine).exists()


def _is_surplus(machine: Machine, attempt: Attempt | None) -> bool:
    """Whether a launch of ours has no use for this machine: of no open attempt, or a second one of one."""
    if attempt is None:
        return True
    return attempt.state == AttemptState.RUNNING and machine.id not in machines_of_attempt(attempt)


def _of(target: LaunchTarget, region: str, states: list[AttemptState]) -> Any:
    return (
        Attempt.objects.filter(launch__plan__target=target, region=region, state__in=states)
        .select_related(
            "launch__plan__target", "launch__plan__team", "launch__plan__owner", "launch__organisation"
        )
        .order_by("pk")
    )


def _regions(target: LaunchTarget, now: datetime) -> list[str]:
    """Regions in which something was launched in the last weeks, or is open."""
    recent = Q(prepared_at__gt=now - LOOK_BACK) | Q(state__in=OPEN)
    rows = Attempt.objects.filter(recent, launch__plan__target=target).order_by()
    return sorted(set(rows.values_list("region", flat=True).distinct()))
