"""Our deadline policy: the cheapest expected way on, for a market whose manners were seen in its past.

1. Learn. Runs with and without Spot so far, up to now, give the chance per second that a run ends, by its
   age (`AGES`): young runs end sooner than old ones. Chances of few observations lean on the mean of their
   kind, that one on `PRIOR_SECONDS`.
2. Plan. A dynamic programme over time left, slack, what runs, and the age band of the market's run gives the
   expected cost of each choice. A state that on-demand could not bring to the deadline costs without limit,
   so no plan rests on luck.
3. Choose. In each tick the cheapest of wait, Spot, on-demand among those that `deadline.Safety` allows; the
   plan's grid is coarse, safety is judged in whole seconds. A running Spot instance goes on where that is
   safe: what would be begun instead can be begun a tick later, with a tick of work done for less.

The plan is made anew every `REPLAN_SECONDS` with what was seen meanwhile. Nothing after the tick is read:
`history` is what came before the run, the run's own ticks are added as they are shown.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
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
# With little slack a plan takes shorter steps: what does not fit into a step is slack that it does not see.
SHORT_STEP_SECONDS = 300
LITTLE_SLACK_SECONDS = 5 * 3600
UNITS_PER_STEP = 5
REPLAN_SECONDS = 2 * 3600
_NEVER = 1e15
_HEAVY = 1e9
# After such a time nothing of what was seen counts, seconds.
_LONG = 600 * HALF_LIFE_SECONDS
_BEGINS: list[int] = AGES.tolist()


def advice(job: Job, gap: int, history: Flags) -> Choose:
    """The policy for one run; `history`: the ticks before its start, the oldest first, possibly none."""
    past = Past(gap)
    for there in history:
        past.see(bool(there))
    return PlanAhead(job, gap, past).choose


@dataclass
class Past:
    """Time spent and runs ended by [unavailable, available] and band of age.

    `prior_seconds`: how much longer runs of either kind are taken to last before any was seen, for all ages
    or by band of age; what is seen scales it. `met_seconds`: the ages of runs whose begin was not seen.
    """

    gap: int
    prior_seconds: tuple[float | Floats, float | Floats] = (PRIOR_SECONDS, PRIOR_SECONDS)
    met_seconds: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        # In units of the newest tick's weight, which grows: as if the older ones faded, in less time.
        self._seconds = [[0.0] * AGES.size, [0.0] * AGES.size]
        self._ended = [[0.0] * AGES.size, [0.0] * AGES.size]
        self._weight = 1.0
        self._grows = 2.0 ** (self.gap / HALF_LIFE_SECONDS)
        self.there: bool | None = None
        self.age = 0

    @property
    def seconds(self) -> Floats:
        """Time spent, faded."""
        return np.array(self._seconds) / self._weight

    @property
    def ended(self) -> Floats:
        """Runs ended, faded."""
        return np.array(self._ended) / self._weight

    def see(self, there: bool) -> None:
        """One more tick."""
        self._fade(1)
        if self.there is not None and there != self.there:
            self._ended[self.there][self._band(self.age)] += self._weight
            self.age = 0
        elif self.there is None:
            self.age = self.met_seconds[there]
        self.there = there
        self._seconds[there][self._band(self.age)] += self.gap * self._weight
        self.age += self.gap

    def unseen(self, ticks: int) -> None:
        """So many ticks of which nothing is known: what was learnt fades, the run's age is forgotten."""
        self._fade(ticks)
        self.there, self.age = None, 0

    def _fade(self, ticks: int) -> None:
        fades = self._grows ** min(ticks, _LONG / self.gap)
        self._weight *= fades
        if self._weight > _HEAVY:
            self._seconds, self._ended = self.seconds.tolist(), self.ended.tolist()
            self._weight = 1.0

    def _band(self, age: int) -> int:
        return bisect_right(_BEGINS, age) - 1

    def phase(self) -> int:
        """The band of the tick seen last; bands without Spot first, then those with."""
        return int(self.there or 0) * AGES.size + self._band(max(0, self.age - self.gap))

    def rate(self) -> float:
        """Chance a second that the run of now ends, by its age; of a market never seen the prior's."""
        kind, band = int(self.there or 0), self.phase() % AGES.size
        return float(self._rates(kind)[band])

    def _rates(self, kind: int) -> Floats:
        ended, seconds = self.ended[kind], self.seconds[kind]
        prior = self.prior_seconds[kind]
        scale = (ended.sum() + 1) / ((seconds / prior).sum() + 1)
        found: Floats = (ended + 1) / (seconds + prior / scale)
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
    """One run's policy; `plans[r]` are expected values with r steps left: (band, market, slack in units).

    `past`: what was seen before the start; `choose` adds each tick to it. `unsaved`: seconds of work that are
    lost with a Spot instance, on average; the game of `deadline` keeps all of it. `moves`: asked at each plan
    for the chance that a Spot instance is lost from a tick to the next while Spot stays there elsewhere.
    """

    def __init__(
        self,
        job: Job,
        gap: int,
        past: Past,
        *,
        unsaved: float = 0.0,
        moves: Callable[[], float] | None = None,
    ) -> None:
        self.job, self.gap = job, gap
        self.safe = Safety(job, gap)
        self.past, self.unsaved_seconds, self.moves = past, unsaved, moves
        self._steps_of(job.deadline - job.work)
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
        goes_on = at.market is Market.SPOT and Market.SPOT in allowed
        if goes_on and self.job.ratio >= 1 and not self.unsaved_seconds:
            return Market.SPOT
        costs = self.costs(at)
        return min(allowed, key=lambda market: (costs[market], market is not at.market))

    def _steps_of(self, slack: int) -> None:
        """Lengths of the plan's steps and units of slack, seconds; starts and losses in units."""
        about = SHORT_STEP_SECONDS if slack <= LITTLE_SLACK_SECONDS else STEP_SECONDS
        self.step = self.gap * max(1, round(about / self.gap))
        self.unit = self.step / UNITS_PER_STEP
        self.lost, self.lost_part = divmod(self.job.overhead / self.unit, 1)
        self.unsaved = round(self.unsaved_seconds / self.unit)

    def _plan(self, at: Standing) -> None:
        """Values for all steps to the deadline; those of the time until the next plan are kept."""
        self._steps_of(at.slack)
        self.turn = self.past.transitions(self.step)
        self.moved = 1 - (1 - self.moves()) ** (self.step / self.gap) if self.moves else 0.0
        steps = -(-at.left // self.step)
        keep_from = steps - REPLAN_SECONDS // self.step - 3
        width = int(at.slack // self.unit) + 1
        slacks: Floats = np.arange(width, dtype=np.float64) * self.unit
        values = np.zeros((2 * AGES.size, 3, width))
        self.plans = {0: values}
        for left in range(1, steps + 1):
            values = self._step_back(values, left * self.step - slacks)
            if left >= keep_from:
                self.plans[left] = values

    def _step_back(self, values: Floats, work: Floats) -> Floats:
        """Values one step earlier, when `work` is left for each slack."""
        later = (self.turn @ values.reshape(2 * AGES.size, -1)).reshape(values.shape)
        half = AGES.size
        found = np.empty_like(values)
        none, spot, demand = found[:, Market.NONE], found[:, Market.SPOT], found[:, Market.ON_DEMAND]
        self._less_slack(later[:, Market.NONE], UNITS_PER_STEP, none)
        on, on_start = self._run(later[:, Market.ON_DEMAND], Market.ON_DEMAND, work)
        np.minimum(none, on_start, out=none)
        go_on, start = self._run(later[half:, Market.SPOT], Market.SPOT, work)
        np.minimum(none[half:], start, out=none[half:])
        # Lost in the tick before: surely where there is none now, else where only its own zone was lost.
        self._less_slack(none[:half], self.unsaved, spot[:half])
        np.minimum(none[half:], go_on, out=spot[half:])
        if self.moved:
            self._less_slack(none[half:], self.unsaved, go_on)
            spot[half:] += self.moved * (go_on - spot[half:])
        np.minimum(none, on, out=demand)
        if work[-1] <= 0:
            found[:, :, work <= 0] = 0.0
        # From here on on-demand is in time, whatever ran before.
        short = found[:, :, : int(self.lost) + 1 + self.unsaved]
        np.minimum(short, _NEVER, out=short)
        return found

    def _run(self, later: Floats, market: Market, work: Floats) -> tuple[Floats, Floats]:
        """A step on a market, running before and started now: to the end of the work where it fits, else on
        into `later`.
        """
        price = self.job.price(market)
        on = later + self.step * price
        start = np.empty_like(on)
        self._less_slack(on, int(self.lost), start)
        if self.lost_part:
            more = np.empty_like(on)
            self._less_slack(on, int(self.lost) + 1, more)
            start += self.lost_part * (more - start)
        # The work is least, and done within the step, where slack is most.
        needed = work + self.job.overhead
        for values, left in ((on, work), (start, needed)):
            if left[-1] <= self.step:
                done = int(np.count_nonzero(left <= self.step))
                values[:, -done:] = left[-done:] * price
        return on, start

    def _less_slack(self, values: Floats, units: int, found: Floats) -> None:
        """`values` with so much less slack, into `found`."""
        found[:, :units] = _NEVER
        found[:, units:] = values[:, : max(0, values.shape[1] - units)]

    def costs(self, at: Standing) -> dict[Market, float]:
        """Expected cost of each choice for the step that starts now, in seconds of Spot price; that of Spot
        where it is there.
        """
        if self.replan_below is None or at.left <= self.replan_below:
            self._plan(at)
            self.replan_below = at.left - REPLAN_SECONDS
        steps = max(1, -(-at.left // self.step))
        ahead, band = self.plans[steps - 1], self.turn[self.past.phase()]

        def later(market: Market, lost: float) -> float:
            place = min((at.slack - lost) / self.unit, ahead.shape[-1] - 1)
            if place < 0:
                return _NEVER
            part = place % 1
            less, more = (band @ ahead[:, market, int(place) : int(place) + 2])[[0, -1]].tolist()
            return float(less + part * (more - less))

        costs = {Market.NONE: later(Market.NONE, self.step)}
        for market in (Market.SPOT, Market.ON_DEMAND):
            starting = at.starting if at.market is market else self.job.overhead
            needed, price = at.work + starting, self.job.price(market)
            on = self.step * price + later(market, starting)
            costs[market] = needed * price if needed <= self.step else on
        return costs
