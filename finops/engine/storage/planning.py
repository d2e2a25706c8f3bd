"""The cheapest class for each state of an object, given the hazard of its next read.

Value iteration, backwards in days: V(s) = storage of the day + h(s) x (read + V(read state)) + (1 - h(s)) x
V(idle state), each next state after the cheapest move from it. Idle days beyond a month and minimum days that
are left are held in steps, which pass with the chance of one in their length. Costs are per GiB; nothing is
discounted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from finops.engine.storage.access import GAPS, NO_GAP, RATES, gap_band, idle_band
from finops.engine.storage.rates import AUTO, CHOICES, COLD, COOL, HOT, Rates

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

STEP_DAYS = 10
# First idle day of each state: by the day for a month, then by weeks; the last one is not left.
IDLE_STARTS = np.array([*range(32), 46, 61, 76, 91, 121])
IDLE_STATES = len(IDLE_STARTS)
# A class other than the automatic one must be better by this part of a month in Standard: what was learnt
# from few reads is uncertain, and the automatic class is never far from right.
CAUTION_MONTHS = 0.2
# A plan looks a year ahead: shorter ones undervalue classes that pay late.
AHEAD_DAYS = 365


@dataclass(frozen=True)
class States:
    """The rows of V: a class with the step of minimum days that are left."""

    rates: Rates

    @cached_property
    def steps(self) -> tuple[int, ...]:
        """Steps per class; one where the class has no minimum."""
        return tuple(-(-int(days) // STEP_DAYS) + 1 if days else 1 for days in self.rates.min_days)

    @cached_property
    def first(self) -> tuple[int, ...]:
        """Row of each class with nothing left."""
        return tuple(int(sum(self.steps[:c])) for c in range(len(self.steps)))

    @cached_property
    def of(self) -> Ints:
        """The class of each row."""
        return np.repeat(np.arange(len(self.steps)), self.steps)

    @cached_property
    def left(self) -> Floats:
        """What leaving costs for minimum days, per row."""
        step = np.concatenate([np.arange(n) for n in self.steps])
        return np.minimum(step * STEP_DAYS, self.rates.min_days[self.of]) * self.rates.day[self.of]

    def fresh(self, storage_class: int) -> int:
        """The row of an object just put there."""
        return self.first[storage_class] + self.steps[storage_class] - 1

    def row(self, storage_class: Ints, left_days: Ints) -> Ints:
        """The row of objects with days left."""
        step = np.minimum(-(-left_days // STEP_DAYS), np.array(self.steps)[storage_class] - 1)
        return np.array(self.first)[storage_class] + step


@dataclass
class Plan:
    """`value[row, idle, gap, rate]` and `best[...]`: the class to be in on the next day."""

    value: Floats
    best: Ints


def plan(states: States, hazard: Floats) -> Plan:
    """The plan for a hazard by (idle band, gap band, rate band)."""
    rates, rows = states.rates, len(states.of)
    shape = (rows, IDLE_STATES, GAPS, RATES)
    value = np.zeros(shape)
    chance = hazard[idle_band(IDLE_STARTS)]
    auto = rates.auto_day[np.minimum(IDLE_STARTS, len(rates.auto_day) - 1)]
    today = np.broadcast_to(rates.day[states.of][:, None, None, None], shape).copy()
    today[states.first[AUTO]] = auto[:, None, None]
    read = rates.read[states.of][:, None, None, None]
    later = np.minimum(np.arange(IDLE_STATES) + 1, IDLE_STATES - 1)
    passing = (1 / np.diff(IDLE_STARTS, append=IDLE_STARTS[-1] + 1))[:, None, None]
    gaps = gap_band(IDLE_STARTS)
    for _ in range(AHEAD_DAYS):
        moved = _moves(states, value)[0]
        idle = _aged(states, moved + passing * (moved[:, later] - moved))
        after_read = _aged(states, moved[:, 0][:, gaps][:, :, None, :])
        value = today + (1 - chance) * idle + chance * (read + after_read)
    return Plan(value, _moves(states, value)[1])


def _moves(states: States, value: Floats) -> tuple[Floats, Ints]:
    """The value after the cheapest move of each state, and the class it leads to."""
    rates = states.rates
    best = value.copy()
    to = np.broadcast_to(states.of[:, None, None, None], value.shape).copy()
    caution = CAUTION_MONTHS * rates.day[HOT] * 30
    for target in range(len(CHOICES)):
        arrival = value[states.fresh(target)]
        if target == AUTO:
            # It starts anew in the first tier, as after a read.
            arrival = np.broadcast_to(arrival[:1], arrival.shape)
        rows = np.flatnonzero(states.of != target)
        fee = states.left[rows] + rates.move[states.of[rows], target]
        margin = np.where((states.of[rows] == AUTO) | (target != AUTO), caution, 0.0)
        cost = arrival[None] + fee[:, None, None, None]
        better = cost < best[rows] - margin[:, None, None, None] - 1e-12
        best[rows] = np.where(better, cost, best[rows])
        to[rows] = np.where(better, target, to[rows])
    return best, to


def _aged(states: States, value: Floats) -> Floats:
    aged = value.copy()
    for storage_class in (COOL, COLD):
        low = states.first[storage_class]
        for row in range(low + 1, low + states.steps[storage_class]):
            aged[row] += (value[row - 1] - value[row]) / STEP_DAYS
    return aged


def idle_state(idle: Ints) -> Ints:
    """The state of objects with these days since their last read."""
    return (np.searchsorted(IDLE_STARTS, idle, side="right") - 1).astype(np.int64)


def first_class(states: States, plan: Plan, rate: Ints) -> Ints:
    """The class to write a new object to, by its rate band."""
    rates = states.rates
    caution = CAUTION_MONTHS * rates.day[HOT] * 30
    costs = np.array(
        [
            plan.value[states.fresh(c), 0, NO_GAP][rate] + rates.upload[c] + (caution if c != AUTO else 0.0)
            for c in range(len(CHOICES))
        ]
    )
    return costs.argmin(axis=0).astype(np.int64)
