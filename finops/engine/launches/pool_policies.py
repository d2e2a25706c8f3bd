"""Policies for a hybrid pool: ours and the plain rivals. All decide on what is known now.

Ours, at each turn:

1. Waiting jobs in order of their latest safe start take the cheapest pool that is there anyway (own machines,
   devices, spare hours of a commitment) with room and time.
2. The queue bursts above `BurstRule.start` hours of backlog: waiting jobs take the cheapest market at once,
   least slack first, until the rule is satisfied. A job whose time to wait is nearly over does so alone.
   Jobs that a closed pool does whole before that, and cheaper, wait for its window and count as no backlog,
   as many as it has units.
3. At its latest safe start (deadline less the work that no checkpoint holds, at the safe pool's speed, less a
   start) a job goes to a pool that nobody interrupts.
4. Nothing waits and own units are free: jobs fall back from the market where the rest is cheaper so. What
   is bought ends with its job: nothing bought stays.
"""

from __future__ import annotations

import bisect
import math
from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from functools import partial

from finops.engine.launches.burst import BurstRule, judge_burst
from finops.engine.launches.pool_replay import EPS, Pool, Replay, Run
from finops.frames.pools import PoolOffer

# Of waiting jobs so many are looked at in a turn; those behind have more time left.
LOOKED_AT = 300
# A move has to save so much of what the rest costs: an estimate is an estimate.
WORTH_MOVING = 0.05
# Hours between looks for jobs to move: a machine bought runs at most so long beside a free one of ours.
LOOKS_EVERY = 0.1
# Slack that a start where jobs are interrupted uses up before it is worth anything, besides starts.
LAST_CALL = 0.5


class Among(Enum):
    """Which pools are asked."""

    HERE = "here"  # there anyway
    MARKET = "market"
    UNSAFE_MARKET = "unsafe_market"
    SAFE = "safe"
    ANY = "any"

    def has(self, pool: Pool) -> bool:
        """Whether a pool is one of them."""
        bought = pool.offer.kind.bought
        return {
            Among.HERE: not bought,
            Among.MARKET: bought,
            Among.UNSAFE_MARKET: bought and pool.unsafe,
            Among.SAFE: not pool.unsafe,
            Among.ANY: True,
        }[self]


class InOrder:
    """First come, first served in the pools given, cheapest with room first; nobody overtakes."""

    def __init__(self) -> None:
        self._waiting: deque[int] = deque()

    def arrived(self, number: int, replay: Replay) -> None:
        """Who was stopped goes to the front."""
        if replay.runs[number].starts:
            self._waiting.appendleft(number)
        else:
            self._waiting.append(number)

    def turn(self, replay: Replay) -> None:
        """Start from the front until one does not fit."""
        while self._waiting:
            units = replay.runs[self._waiting[0]].job.units
            found = [pool for pool in replay.pools if pool.room(units)]
            if not found:
                return
            best = min(found, key=lambda pool: (pool.offer.hourly / pool.offer.speed, pool.offer.name))
            replay.start(self._waiting.popleft(), best)


@dataclass(frozen=True)
class AdviceRules:
    """`burst` in hours of backlog of the pools that are there anyway."""

    burst: BurstRule = field(default_factory=partial(BurstRule, start=1.0, stop=0.5))


class Advice:
    """The product's policy; see the module."""

    def __init__(self, rules: AdviceRules | None = None) -> None:
        self.rules = rules or AdviceRules()
        self._waiting: list[tuple[float, int]] = []
        self._slots: dict[int, float] = {}
        self._unsafe: list[tuple[float, int]] = []
        self._bursting = False
        self._orders: dict[tuple[Among, int], list[Pool]] = {}
        self._grounds: dict[int, list[PoolOffer]] = {}
        self._looked = -math.inf

    def arrived(self, number: int, replay: Replay) -> None:
        """Queue it by its latest safe start."""
        latest = self._latest(replay, replay.runs[number])
        self._slots[number] = latest
        bisect.insort(self._waiting, (latest, number))
        replay.wake(latest)
        replay.wake(latest - self._margin(replay))

    def turn(self, replay: Replay) -> None:
        """The four steps."""
        self._guard(replay)
        if self._waiting:
            self._fill(replay)
            self._last_calls(replay)
            self._burst(replay)
        if not self._waiting and replay.now - self._looked >= LOOKS_EVERY:
            self._looked = replay.now
            self._fall_back(replay)

    def _start(self, replay: Replay, number: int, pool: Pool) -> None:
        entry = (self._slots.pop(number), number)
        del self._waiting[bisect.bisect_left(self._waiting, entry)]
        replay.start(number, pool)
        self._watch(replay, number)

    def _watch(self, replay: Replay, number: int) -> None:
        run = replay.runs[number]
        if run.pool is not None and run.pool.unsafe:
            latest = self._latest(replay, run)
            bisect.insort(self._unsafe, (latest, number))
            replay.wake(latest)

    def _estimate(self, run: Run, done_here: float) -> float:
        """Work left by what was told; a job that outlives its estimate is taken to need a tenth more."""
        done = run.worked + done_here
        return max(run.job.estimate - done, 0.1 * done, EPS)

    def _latest(self, replay: Replay, run: Run) -> float:
        """Latest start on safe ground that still meets the deadline, with what checkpoints hold now."""
        units = run.job.units
        if units not in self._grounds:
            self._grounds[units] = [
                pool.offer
                for pool in replay.pools
                if pool.offer.kind.bought and not pool.unsafe and pool.fits(units)
            ]
        left = self._estimate(run, replay.kept(run))
        again = replay.rules.restart_hours
        ground = self._grounds[units]
        return run.job.deadline - min((o.start_hours + again + left / o.speed for o in ground), default=left)

    @staticmethod
    def _margin(replay: Replay) -> float:
        """Hours before its latest start from which a waiting job asks the market on its own."""
        slowest = max(pool.offer.start_hours for pool in replay.pools)
        return LAST_CALL + slowest + replay.rules.restart_hours

    def _guard(self, replay: Replay) -> None:
        """Step 3 for jobs that run where they may be stopped."""
        while self._unsafe and self._unsafe[0][0] <= replay.now + EPS:
            _, number = self._unsafe.pop(0)
            run = replay.runs[number]
            if run.pool is None or not run.pool.unsafe:
                continue
            latest = self._latest(replay, run)
            if latest > replay.now + EPS:
                bisect.insort(self._unsafe, (latest, number))
                replay.wake(latest)
                continue
            found = self._pick(replay, run, Among.SAFE, in_time=False)
            if found is not None:
                replay.move(number, found)

    def _last_calls(self, replay: Replay) -> None:
        """Steps 2 and 3 for jobs that wait and may not wait much longer."""
        margin = self._margin(replay)
        for latest, number in self._waiting[:LOOKED_AT]:
            if latest - margin > replay.now + EPS:
                return
            run, due = replay.runs[number], latest <= replay.now + EPS
            found = self._pick(replay, run, Among.MARKET if due else Among.UNSAFE_MARKET)
            if found is None and due:
                found = self._pick(replay, run, Among.ANY, in_time=False)
            if found is not None:
                self._start(replay, number, found)

    def _fill(self, replay: Replay) -> None:
        """Step 1: first the jobs for which the market asks most, of equals those with the least slack."""
        if not any(Among.HERE.has(pool) and pool.room(1) for pool in replay.pools):
            return
        looked = self._waiting[:LOOKED_AT]
        prices = {units: self._market_price(replay, units) for units in self._units(replay, looked)}
        looked.sort(key=lambda one: (-prices[replay.runs[one[1]].job.units], one))
        for _, number in looked:
            found = self._pick(replay, replay.runs[number], Among.HERE)
            if found is not None:
                self._start(replay, number, found)

    @staticmethod
    def _units(replay: Replay, looked: list[tuple[float, int]]) -> set[int]:
        return {replay.runs[number].job.units for _, number in looked}

    def _market_price(self, replay: Replay, units: int) -> float:
        found = self._order(replay, Among.MARKET, units)
        return replay.pace(found[0], units).price if found else math.inf

    def _burst(self, replay: Replay) -> None:
        """Step 2."""
        if not self._waiting:
            self._bursting = False
            return
        held = self._held(replay)
        here = sum(pool.offer.units or 0 for pool in replay.pools if Among.HERE.has(pool) and pool.open)
        runs = [replay.runs[number] for _, number in self._waiting if number not in held]
        waiting = sum(self._estimate(run, 0.0) * run.job.units for run in runs)
        state = judge_burst(self.rules.burst, waiting=waiting, units=here, bursting=self._bursting)
        self._bursting = state.bursting
        units = state.units
        for _, number in self._waiting[:LOOKED_AT]:
            if units <= 0:
                return
            if number in held:
                continue
            found = self._pick(replay, replay.runs[number], Among.MARKET)
            if found is not None:
                self._start(replay, number, found)
                units -= replay.runs[number].job.units

    def _held(self, replay: Replay) -> set[int]:
        """Waiting jobs that a closed pool does in good time: no more than its units take at once."""
        closed = [pool for pool in replay.pools if Among.HERE.has(pool) and not pool.open and pool.opens]
        free = {pool.offer.name: math.inf if pool.free is None else pool.free for pool in closed}
        held: set[int] = set()
        for _, number in self._waiting[:LOOKED_AT] if closed else ():
            run = replay.runs[number]
            for pool in closed:
                units, name = run.job.units, pool.offer.name
                if pool.fits(units) and units <= free[name] and self._waits(replay, run, pool):
                    free[name] -= units
                    held.add(number)
                    break
        return held

    def _waits(self, replay: Replay, run: Run, pool: Pool) -> bool:
        """Whether all that is left fits into the pool's windows before the job would have to ask the market
        by itself, as it stands now, and is clearly cheaper there: waiting costs it no way out.
        """
        units, first = run.job.units, pool.offer.start_hours + replay.rules.restart_hours
        pace, left = replay.pace(pool, units), self._estimate(run, 0.0)
        until = self._latest(replay, run) - self._margin(replay)
        needed = left / pace.speed
        for starts, (opens, closes) in enumerate(pool.openings(replay.now, until), start=1):
            needed -= max(0.0, min(closes, until) - opens - first)
            if needed <= 0:
                price = pace.price * left + starts * first * pool.offer.hourly
                return price < (1 - WORTH_MOVING) * self._market_price(replay, units) * left
        return False

    def _fall_back(self, replay: Replay) -> None:
        """Step 4: the largest saving first."""
        if not any(Among.HERE.has(pool) and pool.room(1) for pool in replay.pools):
            return
        saved = []
        for pool in replay.pools:
            for number in pool.running if pool.offer.kind.bought else ():
                run = replay.runs[number]
                to = self._pick(replay, run, Among.HERE)
                if to is not None and (gain := self._gain(replay, run, to)) > 0:
                    saved.append((-gain, number, to))
        for _, number, to in sorted(saved, key=lambda one: one[:2]):
            if to.room(replay.runs[number].job.units):
                replay.move(number, to)
                self._watch(replay, number)

    @staticmethod
    def _pay(replay: Replay, run: Run, pool: Pool, left: float) -> float:
        return replay.pace(pool, run.job.units).price * left * run.job.units

    def _gain(self, replay: Replay, run: Run, to: Pool) -> float:
        assert run.pool is not None  # noqa: S101 - it runs
        left = self._estimate(run, replay.progress(run))
        again = (to.offer.start_hours + replay.rules.restart_hours) * to.offer.hourly * run.job.units
        stays = self._pay(replay, run, run.pool, left)
        return stays * (1 - WORTH_MOVING) - self._pay(replay, run, to, left) - again

    def _in_time(self, replay: Replay, run: Run, pool: Pool) -> bool:
        """Whether a start there now keeps the deadline as far as anybody can tell."""
        first = pool.offer.start_hours + (replay.rules.restart_hours if run.starts else 0.0)
        if not pool.unsafe:
            left = self._estimate(run, replay.progress(run))
            return replay.now + first + left / pool.offer.speed <= run.job.deadline
        every = replay.pace(pool, run.job.units).every or 0.0
        return self._latest(replay, run) - replay.now >= first + every

    def _order(self, replay: Replay, among: Among, units: int) -> list[Pool]:
        """Pools that could take so many units, cheapest work first."""
        if (among, units) not in self._orders:
            found = [pool for pool in replay.pools if among.has(pool) and pool.fits(units)]
            found.sort(key=lambda pool: (replay.pace(pool, units).price, pool.offer.name))
            self._orders[among, units] = found
        return self._orders[among, units]

    def _pick(self, replay: Replay, run: Run, among: Among, *, in_time: bool = True) -> Pool | None:
        """The cheapest with room, other than where the job is."""
        for pool in self._order(replay, among, run.job.units):
            if pool is run.pool or not pool.room(run.job.units):
                continue
            if not in_time or self._in_time(replay, run, pool):
                return pool
        return None


def cost_floor(work: float, offers: list[PoolOffer], open_hours: dict[str, float], horizon: float) -> float:
    """What `work` unit-hours cost at least: cheapest pools first, each full for all hours that it is open.

    No policy can be below it: starts, lost work, arrival times and gangs cost nothing here.
    """
    cost, left = 0.0, work
    for one in sorted(offers, key=lambda offer: offer.hourly / offer.speed):
        hours = open_hours.get(one.name, horizon)
        most = math.inf if one.units is None else one.units * hours * one.speed
        done = min(left, most)
        cost += done * one.hourly / one.speed
        left -= done
        if left <= 0:
            return cost
    return math.inf
