"""Carrying out a launch: the only code that starts machines.

One worker at a time has a launch (`claims`). Each call is stored with its token before it is sent; where no
clear answer comes, the same call is sent once more and then left to the reconciler, which never lets a second
attempt begin while the first may have a machine.
"""

from __future__ import annotations

import random
import time
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import structlog
from django.db import transaction

from apps.launches.models import Attempt, Launch, LaunchState
from apps.launches.selectors.values import iso
from apps.launches.services.calls import attempt_call, attempt_prepare
from apps.launches.services.choosing import (
    NOT_REACHED,
    NOT_SENT,
    meaning_of,
    meaning_of_code,
    offers_of,
    pace_of,
    spot_left,
)
from apps.launches.services.claims import LostClaimError, claim_hold, claim_release, launch_claim
from apps.launches.services.deciding import Decided, bounds_of, counted_tries, decide
from apps.launches.services.executors import executor_of
from apps.launches.services.guards import FULL, Stop, StoppedError, allowed_offers
from apps.launches.services.outcomes import attempt_refused, attempt_running, attempt_unknown, launch_over
from apps.launches.services.preemption import make_room
from apps.launches.services.timeline import launch_event
from finops.engine.launches.failure import Next, Step, Trying, next_step, settles
from finops.engine.launches.last_moment import may_start_spot, may_wait
from finops.frames.launch_errors import Meaning
from finops.frames.launches import LaunchCall, Machine
from finops.providers.base import ProviderError, TransientError
from finops.providers.launching import Executor, LaunchOutcomeUnknownError, LaunchRefusedError

log = structlog.get_logger(__name__)
# A stop may be lifted by a person at any time.
LOOK_AGAIN = timedelta(minutes=2)
AWAY_AGAIN = timedelta(seconds=30)
ROOM_AGAIN = timedelta(seconds=15)
# Calls of one turn of a worker: past it, the launch goes back to the queue.
TURN = 25
LIMITS = frozenset({Meaning.SPOT_LIMIT, Meaning.ON_DEMAND_LIMIT})


def launch_run(*, launch_id: int, now: datetime) -> str:
    """Carry out one due launch; the state it is in afterwards, "" where it was not ours to carry out."""
    row = launch_claim(launch_id)
    if row is None:
        return ""
    begun = time.monotonic()
    if row.claims == 1:
        launch_event(row, "claimed", late=round(max(0.0, (now - row.due_at).total_seconds()), 3))
    try:
        for _turn in range(TURN):
            moment = now + timedelta(seconds=time.monotonic() - begun)
            if not _one_call(row, moment):
                break
        else:
            claim_release(row, next_at=moment + AWAY_AGAIN, now=moment, why="hand_out")
    except LostClaimError:
        log.info("launch_lost", launch=launch_id)
        return ""
    row.refresh_from_db(fields=["state"])
    return str(row.state)


def _one_call(row: Launch, now: datetime) -> bool:
    """One attempt; whether another should follow at once. Raises LostClaimError."""
    claim_hold(row)
    if row.deadline is not None and now >= row.deadline:
        _end(row, LaunchState.FAILED, now, "too_late", {"at": iso(row.deadline)})
        return False
    offers, stop = allowed_offers(row, now)
    if stop is not None:
        _stopped(row, stop, now)
        return False
    _note_fallback(row, now)
    decided = decide(row, offers, now)
    if decided.offer is None:
        _nothing_left(row, bool(offers), decided, now)
        return False
    try:
        attempt = attempt_prepare(row, decided.offer, now)
    except StoppedError as error:
        if error.stop.code in FULL and make_room(row, now):
            # Our own count has room now: taken at once, before another launch takes it.
            return True
        _stopped(row, error.stop, now)
        return False
    except ProviderError as error:
        _end(row, LaunchState.FAILED, now, "broken", {"message": str(error)})
        return False
    if decided.early:
        launch_event(row, "early", deadline=iso(row.deadline) if row.deadline else "")
    try:
        executor = executor_of(row.plan.target, attempt.region, now)
    except ProviderError as error:
        attempt_refused(attempt, NOT_REACHED, str(error))
        _away(row, error, now)
        return False
    return _send(row, attempt, executor, now)


def _send(row: Launch, attempt: Attempt, executor: Executor, now: datetime) -> bool:
    try:
        call = attempt_call(row, attempt, now)
    except StoppedError as error:
        attempt_refused(attempt, NOT_SENT)
        _stopped(row, error.stop, now)
        return False
    try:
        machine = _twice(row, attempt, executor, call, now)
    except LaunchRefusedError as error:
        attempt_refused(attempt, error.code, str(error))
        return _refused(row, attempt, now)
    except LaunchOutcomeUnknownError as error:
        attempt_unknown(attempt, str(error), now)
        return False
    except ProviderError as error:
        attempt_refused(attempt, NOT_REACHED, str(error))
        _away(row, error, now)
        return False
    if not attempt_running(attempt, machine, now):
        for name in machine.members or (machine.id,):
            _end_at_once(executor, name, now)
    return False


def _twice(row: Launch, attempt: Attempt, executor: Executor, call: LaunchCall, now: datetime) -> Machine:
    """The machine; a call without an answer is sent once more, the token makes that safe.

    A repeat that was not looked at says nothing about the first call, which may have taken effect.
    """
    try:
        return executor.launch(call, now=now)
    except LaunchOutcomeUnknownError:
        claim_hold(row)
        launch_event(row, "sent_again", attempt=attempt.number)
    try:
        return executor.launch(call, now=now)
    except LaunchRefusedError as error:
        if settles(meaning_of_code(row, error.code)):
            raise
        raise LaunchOutcomeUnknownError(f"{error.code}: {error}") from error
    except ProviderError as error:
        raise LaunchOutcomeUnknownError(str(error)) from error


def _refused(row: Launch, attempt: Attempt, now: datetime) -> bool:
    error = meaning_of(row, attempt)
    if error.meaning in {Meaning.TOKEN_USED, Meaning.OUTCOME_OPEN}:
        _look(attempt, now)
        return False
    step = _step(row, attempt, now)
    if step.alert or error.meaning in LIMITS:
        log.warning("launch_refused", launch=row.pk, code=attempt.code, next=str(step.next))
    launch_event(row, "refused", attempt=attempt.number, code=attempt.code, next=str(step.next))
    if error.meaning in LIMITS and make_room(row, now):
        claim_release(row, next_at=now + ROOM_AGAIN, now=now, why="waits",
                      values={"code": attempt.code, "at": iso(now + ROOM_AGAIN)})  # fmt: skip
        return False
    return _follow(row, attempt, step, error.meaning, now)


def _follow(row: Launch, attempt: Attempt, step: Step, meaning: Meaning, now: datetime) -> bool:
    told = {"code": attempt.code, "message": attempt.message}
    if step.next is Next.FAIL:
        _end(row, LaunchState.FAILED, now, "refused", told)
        return False
    if step.next is Next.STOP:
        why = "limit" if meaning is Meaning.ON_DEMAND_LIMIT else "attempts"
        _end(row, LaunchState.FAILED, now, why, {**told, "count": attempt.number})
        return False
    if step.next is Next.WAIT:
        at = now + step.after
        claim_release(row, next_at=at, now=now, why="waits", values={**told, "at": iso(at)})
        return False
    # The next pool, or on demand: `decide` finds it, or that there is none.
    return True


def _step(row: Launch, attempt: Attempt, now: datetime) -> Step:
    tries = counted_tries(row)
    error = meaning_of(row, attempt)
    same = 0
    for one in tries:
        if meaning_of(row, one).meaning is not error.meaning:
            break
        same += 1
    pace = pace_of(row, now)
    latest = None if pace.left is None else now + timedelta(seconds=pace.slack - pace.overhead)
    return next_step(
        error,
        Trying(
            attempts=len(tries),
            same=max(1, same),
            pools_left=spot_left(row, offers_of(row), now),
            latest_start=latest,
            draw=random.random(),  # noqa: S311 - jitter
            bounds=bounds_of(row),
        ),
        now=now,
    )


def _note_fallback(row: Launch, now: datetime) -> None:
    """Say once that Spot is no longer safe: from here on demand."""
    spot = any(one["market"] == "spot" for one in offers_of(row))
    if spot and not row.on_demand and not may_start_spot(pace_of(row, now)):
        row.on_demand = True
        Launch.objects.filter(pk=row.pk).update(on_demand=True)
        launch_event(row, "fallback", deadline=iso(row.deadline) if row.deadline else "")


def _nothing_left(row: Launch, any_offer: bool, decided: Decided, now: datetime) -> None:
    """Every offer was refused lately: wait for the market while that is safe, else soon again."""
    if not any_offer:
        _end(row, LaunchState.FAILED, now, "no_offers", {})
        return
    safe = may_wait(pace_of(row, now), wait=decided.wait.total_seconds())
    at = now + (decided.wait if safe else AWAY_AGAIN)
    claim_release(row, next_at=at, now=now, why="market", values={"at": iso(at)})


def _stopped(row: Launch, stop: Stop, now: datetime) -> None:
    asked = Decimal(stop.values["cost"]) if stop.code == "above_plan" else None
    if asked != row.asked_high:
        # What people have to say yes to; nothing where it would fit again.
        Launch.objects.filter(pk=row.pk).update(asked_high=asked)
        row.asked_high = asked
    if row.why != stop.code:
        launch_event(row, "stopped", code_why=stop.code, **stop.values)
    claim_release(row, next_at=now + LOOK_AGAIN, now=now, why=stop.code, values=stop.values)


def _away(row: Launch, error: ProviderError, now: datetime) -> None:
    wait = AWAY_AGAIN if isinstance(error, TransientError) else LOOK_AGAIN
    at = now + wait
    claim_release(row, next_at=at, now=now, why="away", values={"reason": str(error)[:500], "at": iso(at)})


def _look(attempt: Attempt, now: datetime) -> None:
    """Something may have been launched with this token: open again, the reconciler looks."""
    with transaction.atomic():
        Attempt.objects.filter(pk=attempt.pk).update(state="called")
        attempt.refresh_from_db()
        attempt_unknown(attempt, f"{attempt.code}: {attempt.message}", now)


def _end(row: Launch, state: LaunchState, now: datetime, why: str, values: dict[str, Any]) -> None:
    with transaction.atomic():
        ours = (
            Launch.objects.select_for_update()
            .filter(pk=row.pk, state=LaunchState.CLAIMED, claims=row.claims)
            .first()
        )
        if ours is None:
            raise LostClaimError(f"launch {row.pk}")
        launch_over(ours, state, now, why, values)
        ours.save()


def _end_at_once(executor: Executor, machine: str, now: datetime) -> None:
    """The launch was cancelled during the call; where this fails the reconciler ends the machine."""
    try:
        executor.end(machine, now=now)
    except ProviderError as error:
        log.warning("machine_not_ended", machine=machine, error=str(error))
