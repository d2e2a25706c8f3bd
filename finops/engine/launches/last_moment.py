"""When Spot is still safe for a job with a deadline, and what a plan costs where it is not.

Slack is the time left less the work left. A start costs `overhead`, a look at the job happens every `tick`,
and an interruption loses at most the work between two checkpoints, all of it where there are none:

* Spot may be started while slack >= unsaved + 2 overhead + tick: all of that may be lost and on-demand still
  be started in time;
* a Spot machine may go on while slack, counted from what its checkpoints hold, >= overhead + tick, or where
  it is done by itself within the next tick;
* what cannot meet the deadline any more goes on-demand at once.

Without a deadline Spot is always safe. All lengths are seconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

# How often launches are looked at, with room for a turn that comes late.
TICK = 300.0


@dataclass(frozen=True)
class Pace:
    """`work`: seconds of work left, held by no checkpoint; `left`: until the deadline, None for none;
    `overhead`: of a start; `between`: work between two checkpoints, None where there are none.
    """

    work: float
    left: float | None
    overhead: float
    between: float | None
    tick: float = TICK

    @property
    def slack(self) -> float:
        """Seconds that may be lost."""
        return math.inf if self.left is None else self.left - self.work

    @property
    def unsaved(self) -> float:
        """The most work that an interruption loses."""
        return self.work if self.between is None else min(self.work, self.between)


def may_start_spot(pace: Pace) -> bool:
    """Whether the deadline is met also when this machine is lost at the worst moment.

    >>> may_start_spot(Pace(work=3600, left=8100, overhead=300, between=None))
    True
    >>> may_start_spot(Pace(work=3600, left=8099, overhead=300, between=None))
    False
    """
    return pace.slack >= pace.unsaved + 2 * pace.overhead + pace.tick


def may_stay_on_spot(pace: Pace, *, to_do: float) -> bool:
    """Whether a running Spot machine may go on until the next look; `to_do`: seconds until it is done."""
    if pace.left is None or pace.slack >= pace.overhead + pace.tick:
        return True
    return to_do <= min(pace.tick, pace.left)


def may_wait(pace: Pace, *, wait: float) -> bool:
    """Whether nothing needs to run for `wait` seconds."""
    return pace.slack - wait >= pace.overhead + pace.tick


def seconds_to_fallback(pace: Pace) -> float | None:
    """How long nothing needs to run: then on-demand, at the last safe moment. None without a deadline."""
    return None if pace.left is None else max(0.0, pace.slack - pace.overhead - pace.tick)


def chance_in_time(pace: Pace, *, rate_per_hour: float) -> float:
    """The chance that Spot alone is done in time, interruptions a Poisson process of `rate_per_hour`.

    With checkpoints: no more interruptions than the slack pays for, each at its dearest (a start and the
    work between two checkpoints). Without: one of the whole runs that fit one after the other, each broken
    at its end, is not interrupted.
    """
    rate = rate_per_hour / 3600
    if pace.left is None or rate <= 0:
        return 1.0 if pace.left is None or pace.left >= pace.work + pace.overhead else 0.0
    spare = pace.slack - pace.overhead
    if spare < 0:
        return 0.0
    run = pace.work + pace.overhead
    if pace.between is None:
        tries = 1 + int(spare // run)
        return float(1 - (1 - math.exp(-rate * run)) ** tries)
    paid = int(spare // (pace.unsaved + pace.overhead)) if pace.unsaved + pace.overhead > 0 else 10_000
    mean = rate * run
    term, total = math.exp(-mean), 0.0
    for number in range(paid + 1):
        total += term
        term *= mean / (number + 1)
        if term < 1e-12 and number > mean:
            break
    return min(1.0, total)
