"""Machines of one launch that run together or not at all, seen as one machine.

One call asks for all of them, so a place gives all or none. What is seen later is judged as a whole: one that
was taken back or failed ends the others, and a gang of which some never came is released.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from apps.launches.models import Attempt, AttemptState
from apps.launches.models import Executor as TargetKind
from finops.frames.launches import ATTEMPT, JOB, Ending, Machine, MachineState
from finops.providers.launching import Executor

# So long a gang of which some are there waits for the others.
PATIENCE = timedelta(minutes=10)


def machines_of_attempt(attempt: Attempt) -> list[str]:
    """Ids of all machines of an attempt."""
    return list(attempt.members) or ([attempt.machine] if attempt.machine else [])


def end_all(executor: Executor, attempt: Attempt, now: datetime, *, ending: str) -> None:
    """End every machine of an attempt. Raises ProviderError.

    Why is stored first: with this worker lost right after, whoever sees that it ended would take it for a
    machine that a person outside ended, and its launch for failed.
    """
    Attempt.objects.filter(pk=attempt.pk, state=AttemptState.RUNNING).update(ending=ending)
    for machine in machines_of_attempt(attempt):
        executor.end(machine, now=now)


def called_gang(attempt: Attempt, machines: Iterable[Machine]) -> tuple[list[Machine], list[Machine]]:
    """(what came of the call of a gang as one machine, or nothing; machines of one that is not whole)."""
    if attempt.launch.plan.target.executor != TargetKind.AWS:
        # A Job, or a record of a simulated market, is all of them.
        return list(machines), []
    mine = sorted(
        (one for one in machines if _is_of(one, attempt)), key=lambda one: (one.launched_at, one.id)
    )
    running = [one for one in mine if one.state is MachineState.RUNNING]
    if not mine or (not running and len(mine) < attempt.count):
        return [], []
    if len(running) == attempt.count:
        return [replace(running[0], members=tuple(one.id for one in running))], []
    if not running:
        return mine[:1], []
    return [], running


def seen_gang(
    attempt: Attempt, shown: Mapping[str, Machine], executor: Executor, now: datetime
) -> Machine | None:
    """A gang that runs, as one machine; None where some of it does not show.

    Done once all are done. One that ended otherwise ends the others, which wait for it for ever else.
    """
    found: list[Machine] = []
    for name in machines_of_attempt(attempt):
        one = shown.get(name) or next(iter(executor.known(name, attempt.token, now=now)), None)
        if one is None:
            return None
        found.append(one)
    broken = [
        one for one in found if one.state is MachineState.ENDED and one.ending is not Ending.DONE
    ]  # fmt: skip
    if broken:
        for one in found:
            if one.state is MachineState.RUNNING:
                executor.end(one.id, now=now)
        return broken[0]
    running = [one for one in found if one.state is MachineState.RUNNING]
    return running[0] if running else max(found, key=lambda one: one.ended_at or one.launched_at)


def incomplete(attempt: Attempt, machine: Machine, now: datetime) -> bool:
    """Whether some of a gang never came (pods that wait for a node) and the others wait in vain."""
    return (
        attempt.count > 1
        and machine.missing > 0
        and attempt.started_at is not None
        and now - attempt.started_at >= PATIENCE
    )


def _is_of(machine: Machine, attempt: Attempt) -> bool:
    if machine.token is not None:
        return machine.token == attempt.token
    tags = (machine.tags.get(JOB), machine.tags.get(ATTEMPT))
    return tags == (str(attempt.launch_id), str(attempt.number))
