"""What a launch call carries and what machines a provider shows.

Grain of `Machine`: one row per machine and look. Tags ride in the call itself; `JOB` and `ATTEMPT` say whose
a machine is, `OWNER` which installation may end it, `EXPIRES` (ISO 8601 UTC) when nobody needs it any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

OWNER, JOB, ATTEMPT, EXPIRES = "offpeak:owner", "offpeak:job", "offpeak:attempt", "offpeak:expires"


class MachineState(StrEnum):
    """A machine that is starting counts as running: it is paid."""

    RUNNING = "running"
    ENDED = "ended"


class Ending(StrEnum):
    """Why a machine ended, as far as its provider says."""

    INTERRUPTED = "interrupted"  # taken back, or lost with its host
    DONE = "done"  # it ended itself: its work was done
    FAILED = "failed"  # its work failed
    STOPPED = "stopped"  # somebody ended it
    UNKNOWN = "unknown"


class NoticeKind(StrEnum):
    """What a provider says about a machine before it ends."""

    INTERRUPTION = "interruption"
    REBALANCE = "rebalance"
    ENDED = "ended"


@dataclass(frozen=True)
class Notice:
    """One message about one machine. `at`: when it is taken back, as far as that is said."""

    kind: NoticeKind
    machine: str
    at: datetime


@dataclass(frozen=True)
class LaunchCall:
    """One call: `parameters` as `finops.engine.launches.token` hashes them, and the token it gave."""

    token: str
    pool: str
    market: str
    parameters: Mapping[str, Any]
    tags: Mapping[str, str]


class Trial(StrEnum):
    """What a place says to a call that is only tried."""

    ALLOWED = "allowed"  # it would be sent; no place says before whether it has a machine
    PERMISSION = "permission"
    QUOTA = "quota"
    PARAMETERS = "parameters"
    OTHER = "other"


@dataclass(frozen=True)
class Tried:
    """The answer to a dry run, with the place's own code and words."""

    verdict: Trial
    code: str = ""
    message: str = ""


@dataclass(frozen=True)
class Machine:
    """One machine; `token` is None where the provider does not show it. `ending`, `ended_at`: of one that
    ended, None where the provider does not say. A gang is one machine: `members` are the ids of all of them,
    `missing` how many are asked for and not there.
    """

    id: str
    token: str | None
    tags: Mapping[str, str]
    state: MachineState
    launched_at: datetime
    ending: Ending | None = None
    ended_at: datetime | None = None
    region: str = ""
    instance_type: str = ""
    members: tuple[str, ...] = ()
    missing: int = 0
