"""Our deadline policy: the cheapest expected way on, for a market whose manners were seen in its past.

1. Learn. Runs with and without Spot so far, up to now, give the chance per second that a run ends, by its
   age (`AGES`): young runs end sooner than old ones. Chances of few observations lean on the mean of their
   kind, that one on `PRIOR_SECONDS`.
2. Plan. A dynamic programme over time left, slack, what runs, and the age band of the market's run gives the
   expected cost of each choice. A state that on-demand could not bring to the deadline costs without limit,
   so no plan rests on luck.
3. Choose. In each tick the cheapest of wait, Spot, on-demand among those that `deadline.Safety` allows; the
   plan's grid is coarse, safety is judged in whole seconds.

The plan is made anew every `REPLAN_SECONDS` with what was seen meanwhile. Nothing after the tick is read:
`history` is what came before the run, the run's own ticks are added as they are shown.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from finops.engine.launches.deadline import Choose, Job, Market, Safety, Standing
from finops.frames.availability import Flags

Floats = NDArray[np.float64]
# Bands of a run's age begin here, seconds. Chosen before anything was measured: each three times the last.
AGES = np.array([0, 1200, 3600, 10800, 32400])
# A market never seen is taken to turn every six hours, with the weight of one such run.
PRIOR_SECONDS = 21600.0
# What was seen this long ago counts half: markets change their manners within days.
HALF_LIFE_SECONDS = 72 * 3600
STEP_SECONDS = 600
UNITS_PER_STEP = 5
REPLAN_SECONDS = 2 * 3600
_NEVER = 1e15


def advice(job: Job, gap: int, history: Flags) -> Choose:
    """The policy for one run; `history`: the ticks before its start, the oldest first, possibly none."""
    past = Past(gap)
    for there in history:
        past.see(bool(there))
    return PlanAhead(job, gap, past).choose


@dataclass
class Past:
    """Time spent and runs ended by [unavailable, available] and band of age.

    `prior_seconds`: how long runs of either kind are taken to last before any was seen.
    """

    gap: int
    prior_seconds: tuple[float, float] = (PRIOR_SECONDS, PRIOR_SECONDS)

    def __post_init__(self) -> None:
        self.seconds = np.zeros((2, AGES.size))
        self.ended = np.zeros((2, AGES.size))
        self.there: bool | None = None
        self.age = 0
        self.keep = 0.5 ** (self.gap / HALF_LIFE_SECONDS)

    def see(self, there: bool) -> None:
        """One more tick."""
        self.seconds *= self.keep
        self.ended *= self.keep
        if self.there is not None and there != self.there:
            self.ended[int(self.there), self._band(self.age)] += 1
            self.age = 0
        self.there = there
        self.seconds[int(there), self._band(self.age)] += self.gap
        self.age += self.gap

    def unseen(self, ticks: int) -> None:
        """So many ticks of which nothing is known: what was learnt fades, the run's age is forgotten."""
        self.seconds *= self.keep**ticks
        self.ended *= self.keep**ticks
        self.there, self.age = None, 0

    def _band(self, age: int) -> int:
        return int(np.searchsorted(AGES, age, side="right")) - 1

    def phase(self) -> int:
        """The band of the tick seen last; bands without Spot first, then those with."""
        return int(self.there or 0) * AGES.size + self._band(max(0, self.age - self.gap))

    def rate(self) -> float:
        """Chance a second that the run of now ends, by its age; of a market never seen the prior's."""
        kind, band = int(self.there or 0), self.phase() % AGES.size
        return float(self._rates(kind)[band])

    def _rates(self, kind: int) -> Floats:
        overall = (self.ended[kind].sum() + 1) / (self.seconds[kind].sum() + self.prior_seconds[kind])
        found: Floats = (self.ended[kind] + 1) / (self.seconds[kind] + 1 / overall)
        return found

    def transitions(self, step: int) -> Floats:
        """Chance from band to band within `step` seconds, rows sum to 1."""
        size = AGES.size
        lengths = np.append(np.diff(AGES), np.inf)
        found = np.zeros((2 * size, 2 * size))
        for kind in (0, 1):
            ends = 1 - np.exp(-self._rates(kind) * step)
            older = np.minimum(1.0, step / lengths)
            for band in range(size):
                row = found[kind * size + band]
                row[(1 - kind) * size] += ends[band]
                row[kind * size + band] += (1 - ends[band]) * (1 - older[band])
                row[kind * size + min(band + 1, size - 1)] += (1 - ends[band]) * older[band]
        return found


class PlanAhead:
    """One run's policy; `plans[r]` are expected values with r steps left: (market, band, slack in units).

    `past`: what was seen before the start; `choose` adds each tick to it. `unsaved`: seconds of work that are
    lost with a Spot instance, on average; the game of `deadline` keeps all of it.
    """

    def __init__(self, job: Job, gap: int, past: Past, *, unsaved: float = 0.0) -> None:
        self.job, self.gap = job, gap
        self.safe = Safety(job, gap)
        self.step = gap * max(1, round(STEP_SECONDS / gap))
        self.unit = self.step / UNITS_PER_STEP
        self.lost = int(np.ceil(job.overhead / self.unit))
        self.unsaved = round(unsaved / self.unit)
        self.past = past
        self.replan_below: int | None = None
        self.plans: dict[int, Floats] = {}
        self.turn: Floats = np.zeros((0, 0))

    def choose(self, at: Standing, there: bool) -> Market:
        """As `deadline.Choose`."""
        self.past.see(there)
        allowed = [Market.ON_DEMAND]
        if self.safe.may_wait(at):
            allowed.append(Market.NONE)
        if there and self.safe.may_spot(at):
            allowed.append(Market.SPOT)
        if len(allowed) == 1:
            return Market.ON_DEMAND
        costs = self.costs(at)
        return min(allowed, key=lambda market: (costs[market], market is not at.market))

    def _plan(self, at: Standing) -> None:
        """Values for all steps to the deadline; those of the time until the next plan are kept."""
        self.turn = self.past.transitions(self.step)
        steps = -(-at.left // self.step)
        keep_from = steps - REPLAN_SECONDS // self.step - 3
        width = int(at.slack // self.unit) + 1
        slacks: Floats = np.arange(width, dtype=np.float64) * self.unit
        values = np.zeros((3, 2 * AGES.size, width))
        self.plans = {0: values}
        for left in range(1, steps + 1):
            values = self._step_back(values, left * self.step - slacks)
            if left >= keep_from:
                self.plans[left] = values

    def _step_back(self, values: Floats, work: Floats) -> Floats:
        """Values one step earlier, when `work` is left for each slack."""
        later = np.matmul(self.turn, values)
        half = AGES.size
        none = self._less_slack(later[Market.NONE], UNITS_PER_STEP)
        none = np.minimum(none, self._run(later, Market.ON_DEMAND, work, self.lost))
        spot_start = self._run(later, Market.SPOT, work, self.lost)[half:]
        none[half:] = np.minimum(none[half:], spot_start)
        spot = none.copy()
        spot[:half] = self._less_slack(none[:half], self.unsaved)
        spot[half:] = np.minimum(none[half:], self._run(later, Market.SPOT, work, 0)[half:])
        demand = np.minimum(none, self._run(later, Market.ON_DEMAND, work, 0))
        found = np.stack([none, spot, demand])
        found[:, :, work <= 0] = 0.0
        return np.minimum(found, _NEVER)

    def _run(self, later: Floats, market: Market, work: Floats, lost: int) -> Floats:
        """A step on a market: to the end of the work where it fits, else on into `later`."""
        price = self.job.price(market)
        needed = work + lost * self.unit
        on = self.step * price + self._less_slack(later[market], lost)
        return np.where(needed <= self.step, needed * price, on)

    def _less_slack(self, values: Floats, units: int) -> Floats:
        if not units:
            return values
        found = np.full_like(values, _NEVER)
        if units < values.shape[-1]:
            found[..., units:] = values[..., :-units]
        return found

    def costs(self, at: Standing) -> dict[Market, float]:
        """Expected cost of each choice for the step that starts now, in seconds of Spot price; that of Spot
        where it is there.
        """
        if self.replan_below is None or at.left <= self.replan_below:
            self._plan(at)
            self.replan_below = at.left - REPLAN_SECONDS
        steps = max(1, -(-at.left // self.step))
        ahead = self.plans[steps - 1]
        band = self.turn[self.past.phase()]
        slack = int(at.slack // self.unit)

        def later(market: Market, lost: int) -> float:
            place = slack - lost
            return _NEVER if place < 0 else float(band @ ahead[market, :, min(place, ahead.shape[-1] - 1)])

        costs = {Market.NONE: later(Market.NONE, UNITS_PER_STEP)}
        for market in (Market.SPOT, Market.ON_DEMAND):
            starting = at.starting if at.market is market else self.job.overhead
            needed, price = at.work + starting, self.job.price(market)
            lost = int(np.ceil(starting / self.unit))
            costs[market] = needed * price if needed <= self.step else self.step * price + later(market, lost)
        return costs
