"""What a launch costs at most, however often its Spot machines are taken.

A machine is lost at its dearest just before its next checkpoint: its start and `unsaved` hours are paid for
nothing. Time lost on Spot uses up the slack, so it is at most `lost` hours where there is a deadline. After
that on-demand does what is left, with a start of its own; where Spot is the dearer one (a price cap above
the on-demand price), the work itself counts at Spot's price, all of it.

The rule that keeps a stated high true: before each start on Spot, `spent` so far, this machine lost at its
dearest, and all of the rest on demand have to fit; else the launch goes on demand. Each look thus leaves
enough for the worst that may follow it, so the sum never passes the high. It holds while nobody takes
on-demand machines, prices stay under those given, and the work is as long as told.

Money is exact: Decimal, one currency; lengths are Decimal hours.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

# A machine is paid for a minute at least.
LEAST_HOURS = Decimal(1) / 60
MOST_LOSSES = 1000


@dataclass(frozen=True)
class Prospect:
    """What lies ahead. `left`: hours of work that no checkpoint holds; `unsaved`: the most of it that one
    interruption loses; `start`: hours of a start; `spot`, `on_demand`: the most an hour can cost with all
    machines, None where there is none; `lost`: hours that may be lost before on-demand has to take over
    (the slack less its start), None without a deadline; `least`: hours a machine is paid at least.
    """

    left: Decimal
    unsaved: Decimal
    start: Decimal
    spot: Decimal | None
    on_demand: Decimal | None
    lost: Decimal | None = None
    least: Decimal = LEAST_HOURS

    def __post_init__(self) -> None:
        values = (self.left, self.unsaved, self.start, self.spot, self.on_demand, self.lost, self.least)
        if any(one is not None and not (one.is_finite() and one >= 0) for one in values):
            raise ValueError("hours and prices are finite and not below 0")
        if self.unsaved > self.left:
            raise ValueError("an interruption loses no more than the work that is left")

    @property
    def one_loss(self) -> Decimal:
        """Hours paid for nothing when a machine is lost at its dearest."""
        dearest = self.start + self.unsaved
        if self.lost is not None:
            dearest = min(dearest, self.lost)
        return max(dearest, self.least)


def worst_if_on_demand(spent: Decimal, ahead: Prospect) -> Decimal | None:
    """All of the rest on demand, with its start; None without a price.

    >>> work = Prospect(Decimal(2), Decimal(2), Decimal("0.1"), Decimal("0.04"), Decimal("0.096"))
    >>> worst_if_on_demand(Decimal(0), work)
    Decimal('0.2016')
    """
    if ahead.on_demand is None:
        return None
    return spent if not ahead.left else spent + _rest(ahead, ahead.on_demand)


def worst_if_spot(spent: Decimal, ahead: Prospect) -> Decimal | None:
    """The dearest that may follow a start on Spot now; None where a price is missing.

    >>> work = Prospect(Decimal(2), Decimal(2), Decimal("0.1"), Decimal("0.04"), Decimal("0.096"))
    >>> worst_if_spot(Decimal(0), work)
    Decimal('0.2856')
    """
    return _with_losses(spent, ahead, 1)


def stated_high(ahead: Prospect, *, losses: int = 1) -> Decimal | None:
    """The high of a plan that pays for so many lost machines, each at its dearest; None without prices.

    Without Spot, or with no losses, it is on-demand's.
    """
    if ahead.spot is None or losses == 0:
        return worst_if_on_demand(Decimal(0), ahead)
    return _with_losses(Decimal(0), ahead, losses)


def may_start_spot_within(high: Decimal, spent: Decimal, ahead: Prospect) -> bool:
    """Whether a Spot machine may be started, the worst that may follow included; False without prices."""
    worst = worst_if_spot(spent, ahead)
    return worst is not None and worst <= high


def losses_within(high: Decimal, spent: Decimal, ahead: Prospect) -> int:
    """How many more lost machines `high` pays for; at most `MOST_LOSSES`.

    >>> work = Prospect(Decimal(2), Decimal("0.25"), Decimal("0.1"), Decimal("0.04"), Decimal("0.096"))
    >>> losses_within(Decimal("0.2856"), Decimal(0), work)
    6
    """
    floor = worst_if_on_demand(spent, ahead)
    if floor is None or ahead.spot is None or floor > high or not ahead.left:
        return 0
    found = 0
    while found < MOST_LOSSES:
        worst = _with_losses(spent, ahead, found + 1)
        if worst is None or worst > high:
            return found
        found += 1
    return found


def _rest(ahead: Prospect, hour: Decimal) -> Decimal:
    return hour * max(ahead.left + ahead.start, ahead.least)


def _with_losses(spent: Decimal, ahead: Prospect, losses: int) -> Decimal | None:
    if ahead.spot is None or ahead.on_demand is None:
        return None
    hours = ahead.one_loss * losses
    if ahead.lost is not None:
        # Each machine is paid its least, however little time is left to lose.
        hours = max(min(hours, ahead.lost), ahead.least * losses)
    return spent + hours * ahead.spot + _rest(ahead, max(ahead.on_demand, ahead.spot))
