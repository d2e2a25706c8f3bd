"""A job with a deadline and several zones to choose from, each with its own Spot market and price.

Whether to wait, take Spot or pay on-demand is asked of a policy for one market: that of any zone, there where
one of them is. Which zone is a second question, `Pick`: a rival stays where it is and else takes the cheapest
that is there; ours weighs price and manners. A zone costs an hour

    price + chance that its run ends in the hour x start (hours) x on-demand price

since each loss costs a start of slack, and slack is what saves on-demand. A move is a sure start, a loss at
worst one: so nobody moves for fear of a loss, only for a price that earns the start in the time that the
other zone is expected to last, and where that is safe for the deadline. The
policy of the one market is given the mean price of the zones. Safety is judged as for one zone, so nobody
misses a deadline that on-demand could have met.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from finops.engine.launches.deadline import Choose, ChooseZone, Job, Market, Safety, Standing
from finops.engine.launches.plan_ahead import Past, advice
from finops.frames.availability import Flags

# (standing, flag a zone) -> zone that Spot would be in; asked in every tick, with a zone there or not
Pick = Callable[[Standing, Sequence[bool]], int]


def over_zones(choose: Choose, pick: Pick) -> ChooseZone:
    """A policy for one market over the zones that `pick` chooses among."""

    def chosen(at: Standing, there: Sequence[bool]) -> tuple[Market, int]:
        zone = pick(at, there)
        moved = at.market is Market.SPOT and zone != at.zone
        seen = Standing(at.tick, at.left, at.work) if moved else at
        return choose(seen, any(there)), zone

    return chosen


def cheapest(prices: Sequence[float]) -> Pick:
    """Stay while it is there; else the cheapest that is, of equals the first."""

    def pick(at: Standing, there: Sequence[bool]) -> int:
        if at.market is Market.SPOT and there[at.zone]:
            return at.zone
        open_ = [zone for zone, flag in enumerate(there) if flag]
        return min(open_, key=lambda zone: prices[zone], default=at.zone)

    return pick


def zones_advice(job: Job, gap: int, history: Flags, prices: Sequence[float]) -> ChooseZone:
    """Our policy; `history`: a row a tick before the start, a column a zone, possibly no rows."""
    mean = sum(prices) / len(prices)
    one = Job(job.work, job.deadline, job.overhead, job.ratio / mean)
    any_zone: Flags = np.asarray(history.any(axis=1), dtype=np.bool_)
    return over_zones(advice(one, gap, any_zone), _Steady(job, gap, history, prices).pick)


class _Steady:
    """Picks the zone that costs least an hour, losses included."""

    def __init__(self, job: Job, gap: int, history: Flags, prices: Sequence[float]) -> None:
        self.job, self.prices = job, prices
        self.safe = Safety(job, gap)
        self.pasts = [Past(gap) for _ in prices]
        for row in history.tolist():
            self._see(row)

    def _see(self, there: Sequence[bool]) -> None:
        for past, flag in zip(self.pasts, there, strict=True):
            past.see(flag)

    def pick(self, at: Standing, there: Sequence[bool]) -> int:
        """As `Pick`."""
        self._see(there)
        open_ = [zone for zone, flag in enumerate(there) if flag]
        if not open_:
            return at.zone
        if len(open_) == 1:
            return open_[0]
        best = min(open_, key=lambda zone: (self._costs(zone), zone))
        if at.market is not Market.SPOT or not there[at.zone] or best == at.zone:
            return best
        lasts = min(1 / self.pasts[best].rate(), at.work)
        earned = (self.prices[at.zone] - self.prices[best]) * lasts
        start = self.job.overhead * (self.prices[best] + self.job.ratio)
        safe = self.safe.may_spot(Standing(at.tick, at.left, at.work))
        return best if safe and earned > start else at.zone

    def _costs(self, zone: int) -> float:
        """Of a second of Spot in a zone that is there."""
        return self.prices[zone] + self.pasts[zone].rate() * self.job.overhead * self.job.ratio
