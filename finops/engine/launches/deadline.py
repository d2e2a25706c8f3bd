"""Work with a deadline on a Spot market that comes and goes: the rules of the game and three plain rivals.

Time goes in ticks of the trace. At the start of a tick the availability of that tick is seen, nothing
later; a Spot instance whose tick is not available is lost there. Then one of three things is chosen for
the whole tick: wait, Spot (where available) or on-demand. An instance that was not running in the tick
before starts with `overhead` seconds without progress, on either market; work done is kept (a checkpoint).
Time of an instance is paid by the second, overhead included. The last tick ends at the deadline.

The strategies' rules are those of Wu et al., "Can't Be Late: Optimizing Spot Instance Savings under
Deadlines", NSDI 2024. Slack is the time left less the work left. All durations are whole seconds.

`play` has several zones, each with its own availability and Spot price; a move to another zone is a start.
A gang counts as there where all of its machines are; it starts, is lost and is paid as one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from finops.frames.availability import Flags


class Market(IntEnum):
    """What runs in a tick."""

    NONE = 0
    SPOT = 1
    ON_DEMAND = 2


@dataclass(frozen=True)
class Job:
    """Work, time until the deadline, start overhead in seconds; `ratio`: on-demand price over Spot price."""

    work: int
    deadline: int
    overhead: int
    ratio: float

    def __post_init__(self) -> None:
        if self.work <= 0 or self.overhead < 0:
            raise ValueError("work must be above 0 and the overhead at least 0")
        if self.deadline < self.work + self.overhead:
            raise ValueError("not even on-demand from the start meets the deadline")
        if not self.ratio > 0:
            raise ValueError("the price ratio must be above 0")

    def price(self, market: Market) -> float:
        """Of a second, in Spot prices."""
        return (0.0, 1.0, self.ratio)[market]


@dataclass
class Standing:
    """A run at the start of tick `tick`: seconds left, work left, what runs (on Spot: in which zone) and its
    overhead still to do.
    """

    tick: int
    left: int
    work: int
    market: Market = Market.NONE
    starting: int = 0
    zone: int = 0

    @property
    def slack(self) -> int:
        return self.left - self.work


@dataclass(frozen=True)
class Outcome:
    """Cost in seconds of Spot price; whether the work was not done by the deadline."""

    cost: float
    missed: bool


# (standing, whether Spot is available in this tick) -> what to run in it
Choose = Callable[[Standing, bool], Market]
# The same with a flag a zone; the number is the zone of a choice of Spot
ChooseZone = Callable[[Standing, Sequence[bool]], tuple[Market, int]]


def run(job: Job, gap: int, available: Flags, choose: Choose) -> Outcome:
    """Play one run from the start of `available`, a tick of `gap` seconds each; needs flags to the deadline.

    A strategy that chooses Spot where there is none waits.
    """
    return play(job, gap, available[:, None], (1.0,), lambda at, there: (choose(at, there[0]), 0))


def play(job: Job, gap: int, available: Flags, prices: Sequence[float], choose: ChooseZone) -> Outcome:
    """As `run` with zones: `available` has a row a tick and a column a zone; `prices` are the zones' Spot
    prices in the unit in which `job.ratio` is the on-demand price.
    """
    ticks = -(-job.deadline // gap)
    if len(available) < ticks:
        raise ValueError(f"{ticks} ticks are needed, {len(available)} are there")
    if available.shape[1] != len(prices) or not all(price > 0 for price in prices):
        raise ValueError("each zone needs a price above 0")
    at = Standing(0, job.deadline, job.work)
    cost = 0.0
    for tick, there in enumerate(available[:ticks].tolist()):
        at.tick = tick
        if at.market is Market.SPOT and not there[at.zone]:
            at.market, at.starting = Market.NONE, 0
        market, zone = choose(at, there)
        if market is Market.SPOT and not there[zone]:
            market = Market.NONE
        if market is not at.market or (market is Market.SPOT and zone != at.zone):
            at.market, at.zone, at.starting = market, zone, job.overhead if market else 0
        span = min(gap, at.left)
        if market:
            price = prices[at.zone] if market is Market.SPOT else job.ratio
            idle = min(at.starting, span)
            done = min(span - idle, at.work)
            at.starting -= idle
            at.work -= done
            cost += (span if at.work else idle + done) * price
        at.left -= span
        if not at.work:
            return Outcome(cost, False)
    return Outcome(cost, True)


@dataclass(frozen=True)
class Safety:
    """Whether on-demand started a tick later still meets the deadline, whatever the Spot market does."""

    job: Job
    gap: int

    def may_wait(self, at: Standing) -> bool:
        """Whether nothing needs to run in this tick."""
        return at.slack - self.gap >= self.job.overhead

    def may_spot(self, at: Standing) -> bool:
        """Whether this tick may be spent on Spot: it may be lost at the tick's end."""
        starting = at.starting if at.market is Market.SPOT else self.job.overhead
        if at.work + starting <= min(self.gap, at.left):
            return True
        return at.slack - min(starting, self.gap) >= self.job.overhead


def on_demand(job: Job, gap: int) -> Choose:
    """On-demand from the start."""
    return lambda at, there: Market.ON_DEMAND


def greedy(job: Job, gap: int) -> Choose:
    """Spot where there is Spot, else wait; on-demand for good from the last safe moment on."""
    safe = Safety(job, gap)

    def choose(at: Standing, there: bool) -> Market:
        if at.market is Market.ON_DEMAND:
            return Market.ON_DEMAND
        if there and safe.may_spot(at):
            return Market.SPOT
        if not there and safe.may_wait(at):
            return Market.NONE
        return Market.ON_DEMAND

    return choose


def uniform_progress(job: Job, gap: int) -> Choose:
    """Keep work done at or above its share of the time gone; leave on-demand for Spot only.

    Spot where there is Spot. Else on-demand when behind the line from nothing at the start to all work at
    the deadline, wait when ahead of it. On-demand, once started, runs until Spot is there and a start of
    it leaves time for another start of on-demand.
    """
    safe = Safety(job, gap)

    def choose(at: Standing, there: bool) -> Market:
        if there and safe.may_spot(at):
            return Market.SPOT
        if at.market is Market.ON_DEMAND or there or not safe.may_wait(at):
            return Market.ON_DEMAND
        done, gone = job.work - at.work, job.deadline - at.left
        return Market.ON_DEMAND if done * job.deadline < job.work * gone else Market.NONE

    return choose
