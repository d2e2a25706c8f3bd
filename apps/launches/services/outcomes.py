"""What came of an attempt: a machine, a refusal, no answer, an end; the same change, whoever finds it out."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import transaction

from apps.launches.models import OPEN, OVER, Attempt, AttemptState, Launch, LaunchState
from apps.launches.services.said import said
from apps.launches.services.timeline import launch_event
from finops.frames.launches import Ending, Machine

PREEMPTED, CANCELLED, MOVED, INCOMPLETE = "preempted", "cancelled", "moved", "incomplete"
# Of a machine beside another one that did not take its place.
SURPLUS = "surplus"
# Of attempts that no provider ever saw: they are not counted as tries.
NOT_REACHED, NOT_SENT = "NotReached", "NotSent"
# Who gave its place up does not take it back before the other one has it.
YIELDS = timedelta(minutes=1)
# A place that had too few machines for a gang is asked again after so long.
SPARSE = timedelta(minutes=10)
# What a provider says of a machine that we ended.
NOT_SAID = frozenset({Ending.STOPPED, Ending.UNKNOWN})
# The work goes on elsewhere after these; a machine that somebody outside ended is not fought for.
GOES_ON = frozenset({Ending.INTERRUPTED, Ending.UNKNOWN, PREEMPTED, MOVED, INCOMPLETE})


def attempt_running(attempt: Attempt, machine: Machine, now: datetime, *, adopted: bool = False) -> bool:
    """A call brought a machine; whether its launch runs on it. False where the launch is over: then the
    machine must be ended, and the reconciler does if nobody else.
    """
    with transaction.atomic():
        launch, mine = _locked(attempt)
        if mine.state not in {AttemptState.PREPARED, AttemptState.CALLED, AttemptState.UNKNOWN}:
            return mine.state == AttemptState.RUNNING
        mine.state, mine.machine = AttemptState.RUNNING, machine.id
        mine.started_at, mine.members = machine.launched_at, list(machine.members)
        mine.save(update_fields=["state", "machine", "started_at", "members"])
        if launch.state in OVER:
            return False
        if mine.beside:
            return True
        launch.state, launch.stated_at, launch.lease_until = LaunchState.RUNNING, now, None
        launch.first_started_at = launch.first_started_at or machine.launched_at
        launch.why, launch.why_values, launch.asked_high = "", {}, None
        launch.save(update_fields=[
            "state", "stated_at", "lease_until", "first_started_at", "why", "why_values", "asked_high",
        ])  # fmt: skip
        launch_event(launch, "adopted" if adopted else "running", machine=machine.id, attempt=mine.number)
    attempt.refresh_from_db()
    return True


def attempt_refused(attempt: Attempt, code: str, message: str = "") -> None:
    """A call launched nothing."""
    Attempt.objects.filter(pk=attempt.pk, state__in=OPEN, machine="").update(
        state=AttemptState.REFUSED, code=code[:100], message=said(message)
    )
    attempt.refresh_from_db()


def attempt_unknown(attempt: Attempt, message: str, now: datetime) -> None:
    """No clear answer came: the launch waits for the reconciler, nobody launches for it."""
    with transaction.atomic():
        launch, mine = _locked(attempt)
        if mine.state not in {AttemptState.PREPARED, AttemptState.CALLED}:
            return
        mine.state, mine.message = AttemptState.UNKNOWN, said(message)
        mine.called_at = mine.called_at or now
        mine.save(update_fields=["state", "message", "called_at"])
        launch_event(launch, "no_answer", attempt=mine.number)
        if launch.state not in OVER and not mine.beside:
            launch.state, launch.stated_at, launch.lease_until = LaunchState.UNKNOWN, now, None
            launch.why, launch.why_values = "no_answer", {}
            launch.save(update_fields=["state", "stated_at", "lease_until", "why", "why_values"])


def attempt_ended(
    attempt: Attempt, ending: str, now: datetime, *, at: datetime | None = None, message: str = "",
    values: dict[str, Any] | None = None,
) -> str:  # fmt: skip
    """A machine ended: what its checkpoints hold is kept, the rest was lost; the launch's state afterwards.

    `values`: of the reason that the launch then shows.
    """
    message = said(message)
    with transaction.atomic():
        launch, mine = _locked(attempt)
        if mine.state != AttemptState.RUNNING:
            return str(launch.state)
        if ending in NOT_SAID and mine.ending:
            ending = mine.ending
        started = mine.started_at or now
        mine.state, mine.ending, mine.message = AttemptState.ENDED, ending, message
        mine.ended_at = max(started, min(at or now, now))
        ran = _worked_hours(launch, mine, mine.ended_at)
        held = launch.hours if ending == Ending.DONE else _held_hours(mine)
        mine.lost_hours = round(max(0.0, mine.from_hours + ran - held), 6)
        mine.save(update_fields=["state", "ending", "message", "ended_at", "lost_hours"])
        launch.done_hours = max(launch.done_hours, held)
        launch.lost_hours = round(launch.lost_hours + mine.lost_hours, 6)
        if mine.lost_hours and mine.price is not None:
            cost = (mine.price * mine.count * Decimal(repr(mine.lost_hours))).quantize(Decimal("1E-10"))
            launch.lost_cost = (launch.lost_cost or Decimal(0)) + cost
            launch.currency = launch.currency or mine.currency
        launch_event(launch, "ended", machine=mine.machine, ending=ending, lost=mine.lost_hours)
        if launch.state not in OVER and not mine.beside:
            _after_end(launch, ending, message, now, values or {})
            if launch.state == LaunchState.INTERRUPTED:
                _beside_takes_over(launch, mine, now)
        launch.save()
    attempt.refresh_from_db()
    return str(launch.state)


def launch_over(
    launch: Launch, state: LaunchState, now: datetime, why: str, values: dict[str, Any], kind: str = ""
) -> None:
    """A launch ends; the caller holds its row and saves it."""
    launch.state, launch.stated_at, launch.ended_at, launch.lease_until = state, now, now, None
    launch.why, launch.why_values = why, values
    launch_event(launch, kind or str(state), code_why=why, **values)


def work_left(launch: Launch, attempt: Attempt, now: datetime) -> float:
    """Hours of work until a running machine is done, as far as its clock says."""
    return max(0.0, launch.hours - attempt.from_hours - _worked_hours(launch, attempt, now))


def _after_end(launch: Launch, ending: str, message: str, now: datetime, values: dict[str, Any]) -> None:
    if ending == Ending.DONE:
        launch.done_hours = launch.hours
        launch_over(launch, LaunchState.COMPLETED, now, "done", {})
    elif ending in GOES_ON:
        launch.state, launch.stated_at = LaunchState.INTERRUPTED, now
        launch.next_at = now + {PREEMPTED: YIELDS, INCOMPLETE: SPARSE}.get(ending, timedelta(0))
        launch.lease_until = None
        # Whose place it took is known only to who took it.
        named = ending == INCOMPLETE or (ending == PREEMPTED and bool(values))
        launch.why = ending if named else "interrupted"
        launch.why_values = values or {"hours": launch.done_hours}
    elif ending == Ending.FAILED:
        launch_over(launch, LaunchState.FAILED, now, "job_failed", {"message": message})
    else:
        launch_over(launch, LaunchState.FAILED, now, "stopped_outside", {"message": message})


def _beside_takes_over(launch: Launch, former: Attempt, now: datetime) -> None:
    """An attempt beside the machine that ended goes on as the launch's own; one that was never sent ends."""
    other = launch.attempts.filter(beside=True, state__in=OPEN).first()
    if other is None:
        return
    if other.state == AttemptState.PREPARED:
        launch.attempts.filter(pk=other.pk).update(state=AttemptState.REFUSED, code=NOT_SENT)
        return
    launch.attempts.filter(pk=other.pk).update(beside=False)
    launch.stated_at = now
    if other.state == AttemptState.RUNNING:
        launch.state, launch.why, launch.why_values = LaunchState.RUNNING, "", {}
        launch_event(launch, "moving", machine=other.machine, former=former.machine)
    else:
        launch.state, launch.why, launch.why_values = LaunchState.UNKNOWN, "no_answer", {}


def _worked_hours(launch: Launch, attempt: Attempt, at: datetime) -> float:
    """Work done on a machine until `at`: its time less the start, never more than there was to do."""
    if attempt.started_at is None:
        return 0.0
    restart = timedelta(minutes=float(launch.plan.job.get("restart_minutes") or 0.0))
    ran = (at - attempt.started_at - restart).total_seconds() / 3600
    return min(max(0.0, ran), max(0.0, launch.hours - attempt.from_hours))


def _held_hours(attempt: Attempt) -> float:
    """Work that a marked checkpoint holds, of the whole job."""
    marks = attempt.checkpoints.filter(marked_at__isnull=False).values_list("work_hours", flat=True)
    return max([attempt.from_hours, *marks])


def _locked(attempt: Attempt) -> tuple[Launch, Attempt]:
    launch = (
        Launch.objects.select_for_update(of=("self",))
        .select_related("plan__target")
        .get(pk=attempt.launch_id)
    )
    return launch, Attempt.objects.select_for_update().get(pk=attempt.pk)
