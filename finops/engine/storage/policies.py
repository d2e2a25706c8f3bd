"""Policies that decide each day with the reads of the days before, and what they cost.

A day: the policy may move objects, then reads are paid where the object lies, then the day's storage. An
object lives on at the end, so minimum days that are left then are not charged to anyone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from finops.engine.storage import access, planning
from finops.engine.storage.rates import AUTO, COLD, COOL, HOT, Rates
from finops.engine.storage.reads import Reads

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


# A plan is made anew when the days seen have grown by a third: some 25 plans on the archive.
GROWTH, FIRST_SEEN = 1.33, 200.0


@dataclass
class Now:
    """The objects on the morning of `day`: all that a policy sees. `idle` counts days without a read."""

    day: int
    alive: Bools
    new: Bools
    where: Ints
    left: Ints
    idle: Ints
    gap: Ints
    reads: Ints
    age: Ints


class Policy(ABC):
    """One way to choose classes. An object of its own for each run."""

    @abstractmethod
    def choose(self, now: Now) -> Ints:
        """The class each object shall be in today."""

    def saw(self, now: Now, read: Bools) -> None:  # noqa: B027 - most policies learn nothing
        """The reads of the day, told after it is over."""


class Stay(Policy):
    """Everything in Standard."""

    def choose(self, now: Now) -> Ints:
        return np.full(len(now.where), HOT)


class Automatic(Policy):
    """Everything in Intelligent-Tiering from the first day."""

    def choose(self, now: Now) -> Ints:
        return np.full(len(now.where), AUTO)


class AgeRule(Policy):
    """A lifecycle rule by age, blind to reads: infrequent access after 30 days, archive after 90."""

    def choose(self, now: Now) -> Ints:
        return np.where(now.age >= 90, COLD, np.where(now.age >= 30, COOL, HOT))


class SkiRental(Policy):
    """Rent or buy: leave Standard once the rent that leaving had saved equals the cost of coming back."""

    def __init__(self, rates: Rates) -> None:
        back = rates.move[HOT, COLD] + rates.read[COLD] + rates.move[COLD, HOT]
        back += rates.min_days[COLD] * rates.day[COLD]
        self._days = back / (rates.day[HOT] - rates.day[COLD])

    def choose(self, now: Now) -> Ints:
        return np.where(now.idle >= self._days, COLD, HOT)


class Advice(Policy):
    """The plan that is cheapest by the access model learnt so far, made anew when that has grown by a third.

    From `learn_until` (a day) on nothing more is learnt.
    """

    def __init__(self, rates: Rates, *, learn_until: int | None = None) -> None:
        self._states = planning.States(rates)
        self._model = access.AccessModel.empty()
        self._plan: planning.Plan | None = None
        self._next = 0.0
        self._until = learn_until

    def choose(self, now: Now) -> Ints:
        seen = float(self._model.days.sum())
        if self._plan is None or seen >= self._next:
            self._plan = planning.plan(self._states, self._model.hazard())
            self._next = max(seen * GROWTH, FIRST_SEEN)
        rate = access.rate_band(now.reads, now.age)
        row = self._states.row(now.where, now.left)
        best = self._plan.best[row, planning.idle_state(now.idle), now.gap, rate]
        return np.where(now.new, planning.first_class(self._states, self._plan, rate), best)

    def saw(self, now: Now, read: Bools) -> None:
        if self._learning(now.day):
            lives = now.alive
            self._model.see(
                access.idle_band(now.idle[lives]),
                now.gap[lives],
                access.rate_band(now.reads[lives], now.age[lives]),
                read[lives],
            )

    def _learning(self, day: int) -> bool:
        return self._until is None or day < self._until


def run(policy: Policy, reads: Reads, rates: Rates) -> Floats:
    """Cost per object and day, per GiB; 0 before an object is born."""
    count = len(reads.keys)
    zero = np.zeros(count, dtype=np.int64)
    no = np.zeros(count, dtype=np.bool_)
    now = Now(0, no, no, zero, zero, zero, zero + access.NO_GAP, zero, zero)
    in_tier = zero
    cost = np.zeros((count, reads.days))
    for day in range(reads.days):
        now.day = day
        now.alive, now.new = np.asarray(day >= reads.born), np.asarray(day == reads.born)
        target = np.where(now.alive, policy.choose(now), now.where)
        entered = now.alive & (now.new | (target != now.where))
        fee = now.left * rates.day[now.where] + rates.move[now.where, target]
        cost[:, day] += np.where(entered, np.where(now.new, rates.upload[target], fee), 0.0)
        now.where = target
        now.left = np.where(entered, rates.min_days[target], now.left)
        read = reads.read[:, day] & now.alive
        cost[:, day] += np.where(read, rates.read[target], 0.0)
        in_tier = np.where(entered | read, 0, in_tier)
        auto = rates.auto_day[np.minimum(in_tier, len(rates.auto_day) - 1)]
        cost[:, day] += np.where(now.alive, np.where(target == AUTO, auto, rates.day[target]), 0.0)
        policy.saw(now, read)
        now.gap = np.where(read, access.gap_band(now.idle), now.gap)
        now.idle = np.where(now.alive & ~read, now.idle + 1, 0)
        in_tier = np.where(now.alive, in_tier + 1, 0)
        now.left = np.maximum(now.left - now.alive, 0)
        now.reads = now.reads + read
        now.age = now.age + now.alive
    return cost
