"""A job with a deadline and several zones to choose from, each with its own Spot market and price.

Whether to wait, take Spot or pay on-demand is asked of a policy for one market: that of any zone, there where
one of them is. Which zone is a second question, `Pick`: a rival stays where it is and else takes the cheapest
that is there; ours weighs price and manners. A zone costs an hour

    price + chance that its run ends in the hour x start (hours) x on-demand price

since each loss costs a start of slack, and slack is what saves on-demand. A move is a sure start, a loss at
worst one: so nobody moves for fear of a loss, only for a price that earns the start in the time that the
other zone is expected to last, and where that is safe for the deadline. The
policy of the one market is given the mean price of the zones, and the chance that a running machine loses its
zone while another is there: the market goes on then, the machine has to start again. Safety is judged as for
one zone, so nobody misses a deadline that on-demand could have met.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from finops.engine.launches.deadline import Choose, ChooseZone, Job, Market, Safety, Standing
from finops.engine.launches.plan_ahead import HALF_LIFE_SECONDS, PRIOR_SECONDS, Past, PlanAhead
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
    past, zones = Past(gap), SteadyZone(job, gap, prices)
    several = len(prices) > 1
    for there in history.tolist():
        past.see(any(there))
        if several:
            zones.see(there)
    plan = PlanAhead(one, gap, past, moves=zones.moves if several else None)
    return over_zones(plan.choose, zones.pick if several else cheapest(prices))


class SteadyZone:
    """Picks the zone that costs least an hour, losses included; learns how often that is lost to another.

    A shadow machine is on Spot whenever one of the zones is there: it stays while its zone does, and else
    goes where `pick` would.
    """

    def __init__(self, job: Job, gap: int, prices: Sequence[float]) -> None:
        self.job, self.gap, self.prices = job, gap, prices
        self.safe = Safety(job, gap)
        self.pasts = [Past(gap) for _ in prices]
        self.shadow: int | None = None
        self.keep = 0.5 ** (gap / HALF_LIFE_SECONDS)
        self.ridden = self.moved = 0.0

    def see(self, there: Sequence[bool]) -> None:
        """One more tick."""
        for past, flag in zip(self.pasts, there, strict=True):
            past.see(flag)
        self.ridden *= self.keep
        self.moved *= self.keep
        if self.shadow is not None and not there[self.shadow]:
            self.moved += any(there)
            self.shadow = None
        if self.shadow is None and any(there):
            self.shadow = self._best(there)
        if self.shadow is not None:
            self.ridden += 1

    def moves(self) -> float:
        """Chance that a Spot machine is lost from a tick to the next while another zone is there."""
        return (self.moved + 1) / (self.ridden + max(1.0, PRIOR_SECONDS / self.gap))

    def pick(self, at: Standing, there: Sequence[bool]) -> int:
        """As `Pick`."""
        self.see(there)
        stays = at.market is Market.SPOT and there[at.zone]
        if not any(there) or (stays and self.prices[at.zone] <= min(self.prices)):
            return at.zone
        best = self._best(there)
        if not stays or best == at.zone:
            return best
        lasts = min(1 / self.pasts[best].rate(), at.work)
        earned = (self.prices[at.zone] - self.prices[best]) * lasts
        start = self.job.overhead * (self.prices[best] + self.job.ratio)
        safe = self.safe.may_spot(Standing(at.tick, at.left, at.work))
        return best if safe and earned > start else at.zone

    def _best(self, there: Sequence[bool]) -> int:
        open_ = [zone for zone, flag in enumerate(there) if flag]
        return min(open_, key=lambda zone: (self._costs(zone), zone))

    def _costs(self, zone: int) -> float:
        """Of a second of Spot in a zone that is there."""
        return self.prices[zone] + self.pasts[zone].rate() * self.job.overhead * self.job.ratio
