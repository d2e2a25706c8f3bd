"""What to do after a launch call was refused: the meaning of the code, the time that is left, a bound.

The table of codes (`finops.frames.launch_errors`) says what a code means; here is what follows:

| meaning | next |
| --- | --- |
| capacity | the next Spot pool; with none left, on-demand |
| spot limit | no other Spot pool; on-demand, at once where slack is at most `limit_patience`, else wait |
| on-demand limit | stop and alert |
| throttled | the same pool again after a wait with jitter |
| token used, outcome open | look for the instance by token and tags, launch nothing |
| wrong request | fail and tell the user |
| unknown | the same again, at most `unknown_tries` times, then stop and alert |

Every job has a bound of attempts; past it, it stops and alerts whatever the code says.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from finops.frames.launch_errors import LaunchError, Meaning

# Refusals that come after the token was looked at: a former call with the same token launched nothing.
_SETTLES = frozenset({Meaning.CAPACITY, Meaning.SPOT_LIMIT, Meaning.ON_DEMAND_LIMIT})


class Next(StrEnum):
    """The next step."""

    NEXT_POOL = "next pool"
    ON_DEMAND = "on demand"
    WAIT = "wait"
    LOOK = "look"
    FAIL = "fail"
    STOP = "stop"


@dataclass(frozen=True)
class Bounds:
    """Limits of trying. Waits double from `first_wait` to `longest_wait`, times a draw in [1/2, 1)."""

    attempts: int = 12
    unknown_tries: int = 3
    first_wait: timedelta = timedelta(seconds=5)
    longest_wait: timedelta = timedelta(minutes=5)
    limit_patience: timedelta = timedelta(minutes=30)


@dataclass(frozen=True)
class Trying:
    """Where a job stands. `attempts`: calls sent; `same`: refusals in a row of the last meaning, this one
    included; `pools_left`: Spot pools not tried yet; `latest_start`: deadline less run time, None without a
    deadline; `draw`: random in [0, 1), for the jitter.
    """

    attempts: int
    same: int
    pools_left: int
    latest_start: datetime | None
    draw: float
    bounds: Bounds = Bounds()


@dataclass(frozen=True)
class Step:
    """What to do, after how long, whether somebody is told."""

    next: Next
    after: timedelta = timedelta(0)
    alert: bool = False


def next_step(error: LaunchError, at: Trying, *, now: datetime) -> Step:
    """The step after a refusal.

    A wait never passes the latest start: where it would, the job goes on-demand.
    """
    if error.meaning in {Meaning.TOKEN_USED, Meaning.OUTCOME_OPEN}:
        return Step(Next.LOOK)
    if error.meaning is Meaning.WRONG_REQUEST:
        return Step(Next.FAIL, alert=True)
    if error.meaning is Meaning.ON_DEMAND_LIMIT or at.attempts >= at.bounds.attempts:
        return Step(Next.STOP, alert=True)
    if error.meaning is Meaning.UNKNOWN and at.same >= at.bounds.unknown_tries:
        return Step(Next.STOP, alert=True)
    slack = None if at.latest_start is None else at.latest_start - now
    if error.meaning is Meaning.CAPACITY:
        return Step(Next.NEXT_POOL if at.pools_left > 0 else Next.ON_DEMAND)
    if error.meaning is Meaning.SPOT_LIMIT:
        patient = slack is not None and slack > at.bounds.limit_patience
        return Step(Next.WAIT, at.bounds.longest_wait) if patient else Step(Next.ON_DEMAND)
    wait = _jittered(at)
    if slack is not None and wait > max(slack, timedelta(0)):
        return Step(Next.ON_DEMAND)
    return Step(Next.WAIT, wait)


def settles(error: LaunchError) -> bool:
    """Whether this refusal of a repeat tells that the first call, which had no answer, launched nothing.

    A throttled repeat, one without rights and one with a code that nobody knows was perhaps never looked at.
    """
    return error.meaning in _SETTLES


def _jittered(at: Trying) -> timedelta:
    doubled = at.bounds.first_wait * 2 ** min(at.same - 1, 16)
    return min(doubled, at.bounds.longest_wait) * (0.5 + at.draw / 2)
