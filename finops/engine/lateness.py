"""From which age on a day of a bill no longer grows: measured on earlier deliveries of the same report.

A bill's last days are incomplete when it arrives. What they grow by is known as soon as the same period is
delivered again: each earlier delivery is compared day by day with what the days became.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

import numpy as np

# A day counts as settled at an age when nine of ten earlier days of that age lay within 1 % of their end.
NEAR = 0.01
LEAST_SHARE = 0.9
# Days of one age that must have been seen before that age can be judged.
LEAST_SEEN = 3
# A day is compared with its value in a delivery made at least this long after the day's end.
RIPE = timedelta(days=5)
MAX_AGE = 14


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What one delivery said each day costs; `delivered_at` is aware."""

    delivered_at: datetime
    days: Mapping[date, float]


@dataclass(frozen=True, slots=True)
class Lateness:
    """`days`: a day may grow until this many whole days after its end. `source`: "measured" or "default".

    `shares[age]` is the median of (cost as delivered at that age / what it became), None where too few days
    of that age were seen. `seen`: days compared.
    """

    days: int
    source: str
    shares: tuple[float | None, ...] = ()
    seen: int = 0


def lateness(periods: Sequence[Sequence[Snapshot]], *, default_days: int) -> Lateness:
    """Measured where every age up to the settled one was seen, else the stated default.

    `periods`: the deliveries of each billing period (and currency) of one report.
    """
    ratios: dict[int, list[float]] = {}
    for snapshots in periods:
        for age, found in ratios_by_age(snapshots).items():
            ratios.setdefault(age, []).extend(found)
    shares = tuple(
        float(np.median(ratios[age])) if len(ratios.get(age, ())) >= LEAST_SEEN else None
        for age in range(MAX_AGE + 1)
    )
    seen = sum(len(of_age) for of_age in ratios.values())
    settled = None
    for age in range(MAX_AGE, -1, -1):
        of_age = ratios.get(age, [])
        if len(of_age) < LEAST_SEEN:
            continue
        if np.mean(np.abs(np.array(of_age) - 1) <= NEAR) < LEAST_SHARE:
            break
        settled = age
    if settled is None or any(share is None for share in shares[:settled]):
        return Lateness(default_days, "default", shares, seen)
    return Lateness(settled, "measured", shares, seen)


def ratios_by_age(snapshots: Sequence[Snapshot]) -> dict[int, list[float]]:
    """{whole days from the day's end to the delivery: [cost then / cost in the newest ripe delivery]}.

    A day that the earlier delivery did not have yet counts as 0; a day that became 0 says nothing.
    """
    ordered = sorted(snapshots, key=lambda s: s.delivered_at)
    found: dict[int, list[float]] = {}
    if not ordered:
        return found
    last = ordered[-1]
    for earlier in ordered[:-1]:
        for day, final in last.days.items():
            closed = datetime.combine(day + timedelta(days=1), time(), UTC)
            age = (earlier.delivered_at - closed) // timedelta(days=1)
            if final == 0 or age < 0 or age > MAX_AGE or last.delivered_at - closed < RIPE:
                continue
            found.setdefault(age, []).append(earlier.days.get(day, 0.0) / final)
    return found


def settled_until(delivered_at: datetime, last_day: date, late: Lateness) -> date:
    """The first day that may still grow; at most the day after the last delivered one."""
    ripe = (delivered_at.astimezone(UTC) - timedelta(days=late.days)).date()
    return min(ripe, last_day + timedelta(days=1))
