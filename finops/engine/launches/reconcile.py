"""What became of a launch call without an answer, and which machines nobody asks for any more.

A machine belongs to an attempt by its token where the provider shows it, else by job and attempt tags.
"Not found" right after a call proves nothing (providers are eventually consistent): absent means absent only
after `LOOKS` looks with none, the last at least `SETTLED_AFTER` after the call. Until then the same call
with the same token may be sent again, a new attempt may not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from finops.frames.launches import ATTEMPT, EXPIRES, JOB, OWNER, Machine, MachineState

LOOKS = 3
SETTLED_AFTER = timedelta(minutes=5)


class Fate(StrEnum):
    """What an open attempt turned out to be."""

    ADOPT = "adopt"
    ENDED = "ended"
    OPEN = "open"
    ABSENT = "absent"


@dataclass(frozen=True)
class OpenAttempt:
    """An attempt whose call was stored and has no answer; `looks`: former looks that found nothing."""

    job: str
    number: int
    token: str
    called_at: datetime
    looks: int


@dataclass(frozen=True)
class Settled:
    """`machine`: the one to adopt; `extra`: more machines of the same attempt, to end."""

    fate: Fate
    machine: Machine | None = None
    extra: tuple[Machine, ...] = ()


def settle(attempt: OpenAttempt, seen: Iterable[Machine], *, now: datetime) -> Settled:
    """Judge one look. Of several machines the oldest is kept."""
    mine = sorted((one for one in seen if _is_of(one, attempt)), key=lambda one: (one.launched_at, one.id))
    running = [one for one in mine if one.state is MachineState.RUNNING]
    if running:
        return Settled(Fate.ADOPT, running[0], tuple(running[1:]))
    if mine:
        return Settled(Fate.ENDED, mine[0])
    looked_enough = attempt.looks + 1 >= LOOKS and now - attempt.called_at >= SETTLED_AFTER
    return Settled(Fate.ABSENT if looked_enough else Fate.OPEN)


def _is_of(machine: Machine, attempt: OpenAttempt) -> bool:
    if machine.token is not None:
        return machine.token == attempt.token
    tags = machine.tags
    return tags.get(JOB) == attempt.job and tags.get(ATTEMPT) == str(attempt.number)


@dataclass(frozen=True)
class Orphan:
    """A running machine of no live job; `end`: ours and past its expiry, so it may be ended."""

    machine: Machine
    end: bool


def orphans(
    machines: Iterable[Machine], *, owner: str, live_jobs: Collection[str], now: datetime
) -> list[Orphan]:
    """Running machines with a job tag that no live job answers to, in their order.

    Another owner's and those without a readable expiry are reported and never ended.
    """
    found = []
    for machine in machines:
        job = machine.tags.get(JOB)
        if machine.state is not MachineState.RUNNING or job is None:
            continue
        ours = machine.tags.get(OWNER) == owner
        if ours and job in live_jobs:
            continue
        expires = _moment(machine.tags.get(EXPIRES, ""))
        found.append(Orphan(machine, ours and expires is not None and expires <= now))
    return found


def _moment(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None
