"""Jobs of a trace played against a hybrid pool, event by event; a policy decides, the replay keeps the books.

Times are hours from the first arrival, work is in hours of the job's units at speed 1. A running job pays
from its start, the machine's start included. Where a pool ends jobs at random (its rate counts for each
machine of the job, seeded), work since the last checkpoint is lost and the job waits again; where a pool's
window ends, the job writes a checkpoint and waits again, unless the pool `falls`: then it ends as if
interrupted. Each start after the first takes `restart_hours` more before work goes on. A policy sees
arrivals, estimates and what is free now, never the future.
"""

from __future__ import annotations

import bisect
import heapq
import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from finops.engine.launches.checkpoints import checkpoint_interval
from finops.frames.pools import PoolKind, PoolOffer

Stretches = Sequence[tuple[float, float]]
_FINISH, _FALL, _CLOSE, _OPEN, _ARRIVE, _WAKE = range(6)
EPS = 1e-9


@dataclass(frozen=True, slots=True)
class ReplayJob:
    """`estimate`: hours of work as told beforehand; `hours`: as they turn out."""

    arrival: float
    hours: float
    units: int
    deadline: float
    estimate: float


@dataclass(frozen=True)
class ReplayRules:
    """`write_hours`: time to write a checkpoint, at Daly's interval where jobs are interrupted."""

    write_hours: float = 1 / 30
    restart_hours: float = 0.1
    seed: int = 1

    def __post_init__(self) -> None:
        values = (self.write_hours, self.restart_hours)
        if (
            not all(math.isfinite(value) for value in values)
            or self.write_hours <= 0
            or self.restart_hours < 0
        ):
            raise ValueError("writing a checkpoint takes time, and a restart no negative time")


@dataclass(frozen=True, slots=True)
class Pace:
    """How a job of some units goes on in a pool: work per hour, hours from checkpoint to checkpoint (None: it
    needs none), and price of an hour of its work, with what is done twice.
    """

    speed: float
    every: float | None
    price: float


@dataclass
class Pool:
    """One pool in the replay; `free` None: no limit; `unsafe`: a job may be stopped here before its end."""

    offer: PoolOffer
    free: int | None
    opens: Stretches | None
    falls: bool
    open: bool = True
    running: set[int] = field(default_factory=set)
    cost: float = 0.0
    unit_hours: float = 0.0

    unsafe: bool = False

    def __post_init__(self) -> None:
        self.unsafe = self.offer.interruptions_per_hour > 0 or self.opens is not None

    def fits(self, units: int) -> bool:
        """Whether it takes a job of so many units at all."""
        sizes = (self.offer.largest, self.offer.units)
        return all(size is None or units <= size for size in sizes)

    def room(self, units: int) -> bool:
        """Whether it takes one now."""
        return self.open and (self.free is None or units <= self.free) and self.fits(units)

    def openings(self, now: float, until: float) -> Iterator[tuple[float, float]]:
        """The windows that open after now and before `until`."""
        opens = self.opens or ()
        for place in range(bisect.bisect_right(opens, (now, math.inf)), len(opens)):
            if opens[place][0] >= until:
                return
            yield opens[place]


@dataclass(slots=True)
class Run:
    """Where a job stands: work `left` at the start of its present run, or now when it waits."""

    job: ReplayJob
    left: float
    pool: Pool | None = None
    since: float = 0.0
    works_from: float = 0.0
    starts: int = 0
    first_start: float = math.nan
    done_at: float = math.nan

    @property
    def worked(self) -> float:
        return self.job.hours - self.left


@dataclass(frozen=True)
class PoolUse:
    """What a pool did in a replay."""

    cost: float
    unit_hours: float


@dataclass(frozen=True)
class ReplayResult:
    """`waits`: hours from arrival to first start, by job; `lost`: unit-hours of work done twice."""

    cost: float
    waits: tuple[float, ...]
    missed: int
    interruptions: int
    moves: int
    lost: float
    last_hour: float
    pools: Mapping[str, PoolUse]


class Policy(Protocol):
    """Called after all events of an instant; starts and moves jobs through the replay."""

    def arrived(self, number: int, replay: Replay) -> None:
        """A job waits: it came, or it was stopped."""

    def turn(self, replay: Replay) -> None:
        """Decide."""


class Replay:
    """The state that a policy reads, and the two things that it may do: `start` and `move`."""

    def __init__(
        self,
        jobs: Sequence[ReplayJob],
        offers: Iterable[PoolOffer],
        rules: ReplayRules,
        opens: Mapping[str, Stretches] | None = None,
    ) -> None:
        self.rules = rules
        self.now = 0.0
        self.runs = [Run(job, job.hours) for job in jobs]
        self.pools = [self._pool(one, (opens or {}).get(one.name)) for one in offers]
        self.interruptions = self.moves = 0
        self.lost = 0.0
        self._events: list[tuple[float, int, int, int]] = []
        self._pending = len(self.runs)
        self._paces: dict[tuple[str, int], Pace] = {}
        for number, job in enumerate(jobs):
            self._push(job.arrival, _ARRIVE, number)
        for place, pool in enumerate(self.pools):
            for start, end in pool.opens or ():
                self._push(start, _OPEN, place)
                self._push(end, _CLOSE, place)

    def _pool(self, offer: PoolOffer, opens: Stretches | None) -> Pool:
        return Pool(offer, offer.units, opens, offer.kind is PoolKind.SPOT, open=opens is None)

    def _push(self, at: float, kind: int, number: int, serial: int = 0) -> None:
        heapq.heappush(self._events, (at, kind, number, serial))

    def pace(self, pool: Pool, units: int) -> Pace:
        """The pace of a job of so many units in a pool."""
        key = (pool.offer.name, units)
        if key not in self._paces:
            self._paces[key] = self._pace(pool.offer, units)
        return self._paces[key]

    def _pace(self, offer: PoolOffer, units: int) -> Pace:
        rate = offer.interruptions_per_hour * offer.machines(units)
        if rate <= 0:
            return Pace(offer.speed, None, offer.hourly / offer.speed)
        write, again = self.rules.write_hours, self.rules.restart_hours + offer.start_hours
        best = checkpoint_interval(write_hours=write, interruptions_per_hour=rate, restart_hours=again)
        speed = offer.speed * best.hours / (best.hours + write)
        return Pace(speed, best.hours + write, offer.hourly / offer.speed * best.stretch)

    def wake(self, at: float) -> None:
        """Have the policy called at `at`, at the latest."""
        self._push(max(at, self.now), _WAKE, 0)

    def play(self, policy: Policy) -> ReplayResult:
        """To the last job's end. Raises ValueError where jobs are left that the policy never starts."""
        while self._events and self._pending:
            self.now = self._events[0][0]
            while self._events and self._events[0][0] <= self.now + EPS:
                _, kind, number, serial = heapq.heappop(self._events)
                self._happen(kind, number, serial, policy)
            policy.turn(self)
        if self._pending:
            raise ValueError(f"{self._pending} jobs are never started: no pool takes them")
        return self._result()

    def _happen(self, kind: int, number: int, serial: int, policy: Policy) -> None:
        if kind == _ARRIVE:
            policy.arrived(number, self)
        elif kind in (_FINISH, _FALL):
            run = self.runs[number]
            if run.starts != serial or run.pool is None:
                return
            if kind == _FINISH:
                self._leave(run, number)
                run.left, run.done_at = 0.0, self.now
                self._pending -= 1
            else:
                self._interrupt(number)
                policy.arrived(number, self)
        elif kind == _OPEN:
            self.pools[number].open = True
        elif kind == _CLOSE:
            self._close(self.pools[number], policy)

    def _close(self, pool: Pool, policy: Policy) -> None:
        pool.open = False
        for number in sorted(pool.running):
            if pool.falls:
                self._interrupt(number)
            else:
                run = self.runs[number]
                run.left -= self.progress(run)
                self._leave(run, number)
            policy.arrived(number, self)

    def progress(self, run: Run) -> float:
        """Work done in the present run until now."""
        if run.pool is None:
            return 0.0
        return min(run.left, max(0.0, self.now - run.works_from) * self.pace(run.pool, run.job.units).speed)

    def kept(self, run: Run) -> float:
        """Work of the present run that its checkpoints hold."""
        if run.pool is None:
            return 0.0
        pace = self.pace(run.pool, run.job.units)
        if pace.every is None:
            return 0.0 if run.pool.falls else self.progress(run)
        whole = math.floor(max(0.0, self.now - run.works_from) / pace.every + EPS) * pace.every
        return min(run.left, whole * pace.speed)

    def _interrupt(self, number: int) -> None:
        run = self.runs[number]
        kept = self.kept(run)
        self.interruptions += 1
        self.lost += (self.progress(run) - kept) * run.job.units
        run.left -= kept
        self._leave(run, number)

    def _leave(self, run: Run, number: int) -> None:
        pool = run.pool
        assert pool is not None  # noqa: S101 - callers have looked
        hours = (self.now - run.since) * run.job.units
        pool.cost += hours * pool.offer.hourly
        pool.unit_hours += hours
        pool.running.discard(number)
        if pool.free is not None:
            pool.free += run.job.units
        run.pool = None

    def start(self, number: int, pool: Pool) -> None:
        """Start a waiting job. Raises ValueError where it does not wait or the pool has no room."""
        run = self.runs[number]
        if run.pool is not None or not pool.room(run.job.units) or run.left <= 0:
            raise ValueError("this job cannot start there")
        offer = pool.offer
        again = self.rules.restart_hours if run.starts else 0.0
        run.pool, run.since, run.starts = pool, self.now, run.starts + 1
        run.works_from = self.now + offer.start_hours + again
        if math.isnan(run.first_start):
            run.first_start = self.now
        pool.running.add(number)
        if pool.free is not None:
            pool.free -= run.job.units
        done = run.works_from + run.left / self.pace(pool, run.job.units).speed
        self._push(done, _FINISH, number, run.starts)
        rate = offer.interruptions_per_hour * offer.machines(run.job.units)
        # With traced openings the trace says when machines are lost: the rate would count them twice.
        if rate > 0 and not (pool.falls and pool.opens is not None):
            seeded = random.Random(f"{self.rules.seed}:{number}:{run.starts}")  # noqa: S311 - a simulation
            falls = self.now + seeded.expovariate(rate)
            if falls < done:
                self._push(falls, _FALL, number, run.starts)

    def move(self, number: int, pool: Pool) -> None:
        """Checkpoint a running job and start it in another pool."""
        run = self.runs[number]
        if run.pool is None or pool is run.pool or not pool.room(run.job.units):
            raise ValueError("this job cannot move there")
        run.left -= self.progress(run)
        self._leave(run, number)
        self.moves += 1
        # Done to the last bit in this instant: its finish would come later in the same turn.
        run.left = max(run.left, EPS)
        self.start(number, pool)

    def _result(self) -> ReplayResult:
        return ReplayResult(
            cost=sum(pool.cost for pool in self.pools),
            waits=tuple(max(0.0, run.first_start - run.job.arrival) for run in self.runs),
            missed=sum(run.done_at > run.job.deadline + 1e-6 for run in self.runs),
            interruptions=self.interruptions,
            moves=self.moves,
            lost=self.lost,
            last_hour=max((run.done_at for run in self.runs), default=0.0),
            pools={pool.offer.name: PoolUse(pool.cost, pool.unit_hours) for pool in self.pools},
        )
