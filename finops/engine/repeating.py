"""A fixed start for repeating work ("every night, 4 h, done by 08:00 Europe/Berlin"), tested over past turns.

Every whole hour at which the work may start is a candidate. Each past turn chooses the one that was
cheapest on average over the 28 turns before it which had ended, and is charged what that start cost on its
own date, clock changes included. A later start is advised when the 90 % interval of that saving over
starting as soon as allowed lies above 0; otherwise the first allowed start is the schedule.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from finops.engine.calendar import FixedSchedule, Period, RepeatingWork, fixed_schedule
from finops.engine.flexibility import Result, Walk, outcome
from finops.engine.series import PriceBook, from_us, to_us

TRAINING_TURNS = 28
LEAST_TURNS = 7


@dataclass(frozen=True)
class ScheduleAdvice:
    """The schedule, its next runs, and what choosing the hour saved over starting as soon as allowed.

    `worth_it` False: no hour is worth waiting for. `result.saving_pct` is None without enough past turns.
    """

    schedule: FixedSchedule
    upcoming: tuple[Period, ...]
    result: Result
    worth_it: bool


def advise_schedule(book: PriceBook, series: int, work: RepeatingWork, *, at: datetime) -> ScheduleAdvice:
    """The fixed start of `work` on one series, from turns due before `at`."""
    past = book.until(to_us(at))
    length = int(work.length / timedelta(microseconds=1))
    spare = int((work.flexibility - work.length) / timedelta(hours=1))
    schedules = [fixed_schedule(work, work.flexibility - timedelta(hours=k)) for k in range(spare + 1)]
    first = (
        from_us(int(past.times[past.offsets[series]]))
        if past.offsets[series + 1] > past.offsets[series]
        else at
    )
    starts = np.array([[to_us(run.start) for run in one.starts(first, at)] for one in schedules], np.int64)
    starts = starts.reshape(len(schedules), -1)
    cost = past.cost(np.int64(series), starts, length)
    kept = np.isfinite(cost).all(axis=0)
    cost, times = cost[:, kept], starts[0, kept]
    chosen = [_cheapest(cost[:, :j]) for j in range(cost.shape[1] + 1)]
    tested = range(LEAST_TURNS, cost.shape[1])
    walked = Walk(times[LEAST_TURNS:], cost[0, LEAST_TURNS:], length)
    paid = np.array([cost[chosen[j], j] for j in tested])
    result = outcome(walked, paid) if len(paid) else Result(0)
    worth_it = result.low is not None and result.low > 0 and chosen[-1] > 0
    schedule = schedules[chosen[-1] if worth_it else 0]
    upcoming = tuple(schedule.starts(at + work.flexibility, at + timedelta(days=8)))[:7]
    return ScheduleAdvice(schedule, upcoming, result, worth_it)


def _cheapest(cost: np.ndarray) -> int:
    """The row with the lowest mean over the trailing turns; the newest may not have ended and is left out."""
    ended = cost[:, :-1][:, -TRAINING_TURNS:]
    return int(ended.mean(axis=1).argmin()) if ended.shape[1] else 0
