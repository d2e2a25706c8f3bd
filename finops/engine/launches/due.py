"""Which due runs still run after the scheduler was away: the newest, inside the start deadline, once."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple


class Due(NamedTuple):
    """`run`: the due time to run now, None for none; `missed`: those to record and report, oldest first."""

    run: datetime | None
    missed: tuple[datetime, ...]


def judge_due(due: Iterable[datetime], *, now: datetime, start_deadline: timedelta) -> Due:
    """Sort the due times that are not settled yet; later ones than `now` are left alone.

    A run may start at most `start_deadline` after its time, the end included. Of several that may, only
    the newest runs: a catch-up of all would be as many machines at once.
    """
    past = sorted({one for one in due if one <= now})
    run = past[-1] if past and now - past[-1] <= start_deadline else None
    return Due(run, tuple(one for one in past if one != run))
