"""How far a commitment is used, hour by hour, and when it ends.

In every hour: used + idle = bought + over. `over` is above zero only where the bill gives a commitment more
use than it has in that hour: AWS applies a reservation to the whole clock hour in which it is bought, and
charges it from the second of the purchase. Over a span idle is net of it (bought - used), which is what the
bill calls unused; the hours themselves show both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

import numpy as np

from finops.engine.commitments.terms import hours_between, hours_left

Floats = np.ndarray
# Hours of bills have six decimals; what is smaller comes from adding them up as floats.
GRAIN = 1e-6


@dataclass(frozen=True)
class Settled:
    """What was bought, used, idle and used beyond it, an hour each; in one unit."""

    bought: Floats
    used: Floats
    idle: Floats
    over: Floats


def share_of_hours(start: datetime, end: datetime, first: datetime, hours: int) -> Floats:
    """The part of each hour of [first, first + hours) in which [start, end) is active, 0 to 1."""
    begin, stop = float(hours_between(first, start)), float(hours_between(first, end))
    hour = np.arange(hours, dtype=np.float64)
    share: Floats = np.clip(np.minimum(stop, hour + 1) - np.maximum(begin, hour), 0.0, 1.0)
    return share


def settle(bought: Floats, used: Floats) -> Settled:
    """Split each hour; see the module. An hour that is not known (NaN) stays so."""
    spare = bought - used
    nothing = spare * 0.0
    return Settled(
        bought,
        used,
        np.where(spare > GRAIN, spare, nothing),
        np.where(spare < -GRAIN, -spare, nothing),
    )


def exact_hours(
    count: int, start: datetime | None, end: datetime | None, first: datetime, last: datetime
) -> Decimal:
    """Hours that `count` commitments of [start, end) apply in [first, last), to the second."""
    begin = first if start is None else max(start, first)
    stop = last if end is None else min(end, last)
    return max(Decimal(0), hours_between(begin, stop)) * count


def due(end: datetime, now: datetime, days: Sequence[int]) -> list[int]:
    """The thresholds that are reached: `end` is at most so many days away, and not passed.

    >>> from datetime import UTC
    >>> due(datetime(2026, 3, 31, tzinfo=UTC), datetime(2026, 3, 2, tzinfo=UTC), (90, 30, 7))
    [90, 30]
    """
    if end <= now:
        return []
    return sorted((d for d in set(days) if end - now <= timedelta(days=d)), reverse=True)


@dataclass(frozen=True)
class Ending:
    """A commitment on the ladder: hours left, and what a month of the use it covers costs with it and on
    demand; None where that is not known.
    """

    id: str
    end: datetime
    monthly_on_demand: Decimal | None
    monthly_cost: Decimal | None
    currency: str

    @property
    def increase(self) -> Decimal | None:
        """What a month costs more once it has ended and the use goes on."""
        if self.monthly_on_demand is None or self.monthly_cost is None:
            return None
        return self.monthly_on_demand - self.monthly_cost


@dataclass(frozen=True)
class Step:
    """Commitments that end in (after days, within days]; sums by currency, of those that are known."""

    within_days: int | None
    ids: tuple[str, ...]
    monthly_on_demand: dict[str, Decimal]
    increase: dict[str, Decimal]
    unknown: int


STEPS: tuple[int | None, ...] = (7, 30, 90, 180, 365, None)


def ladder(endings: Sequence[Ending], now: datetime, steps: Sequence[int | None] = STEPS) -> list[Step]:
    """Every commitment that has not ended on exactly one step, nearest first; the last step has no limit."""
    rest = sorted((e for e in endings if hours_left(now, e.end, now) > 0), key=lambda e: (e.end, e.id))
    found: list[Step] = []
    for limit in steps:
        inside = [e for e in rest if limit is None or e.end - now <= timedelta(days=limit)]
        rest = rest[len(inside) :]
        on_demand: dict[str, Decimal] = {}
        increase: dict[str, Decimal] = {}
        for one in inside:
            if one.monthly_on_demand is not None:
                on_demand[one.currency] = on_demand.get(one.currency, Decimal(0)) + one.monthly_on_demand
            if one.increase is not None:
                increase[one.currency] = increase.get(one.currency, Decimal(0)) + one.increase
        unknown = sum(one.increase is None for one in inside)
        found.append(Step(limit, tuple(e.id for e in inside), on_demand, increase, unknown))
    return found
