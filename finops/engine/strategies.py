"""The dull rivals of the launch rule, and the limit no rule can pass.

Each gives, for every row and instant of a grid, the index of the instant at which it starts. Rivals see only
prices at or before the instant they act on; the optimum sees all. Where one would start after the end of the
grid the index lies past the end.
"""

from __future__ import annotations

import numpy as np

from finops.engine.policy.panel import rolling_median
from finops.engine.policy.rule import UNKNOWN
from finops.engine.series import US_PER_HOUR, Floats, Ints

NIGHT_ENDS_UTC = 6  # nights are 00:00-06:00 UTC: fixed by the clock, as a cron line would be
WEEKS = 4
MEDIAN_HOURS = 28 * 24


def start_now(shape: tuple[int, int]) -> Ints:
    """Start at once."""
    return np.broadcast_to(np.arange(shape[1]), shape)


def at_night(grid: Ints, rows: int, slack: int, step_us: int) -> Ints:
    """Wait for midnight UTC if it is within the slack and now is not night."""
    at = np.arange(len(grid))
    since = grid % (24 * US_PER_HOUR)
    wait = -(-(24 * US_PER_HOUR - since) // step_us)
    night = since < NIGHT_ENDS_UTC * US_PER_HOUR
    start = np.where(night | (wait > slack), at, at + wait)
    return np.broadcast_to(start, (rows, len(grid)))


def below_median(price: Floats, slack: int, step_us: int) -> Ints:
    """Wait until the price is at or below its median of the last 28 days, or the slack is used up."""
    per_hour = US_PER_HOUR // step_us
    usual = rolling_median(price, MEDIAN_HOURS * per_hour, 24 * per_hour)
    steps = price.shape[1]
    at = np.arange(steps)
    with np.errstate(invalid="ignore"):
        waits = price > usual
    free = np.minimum.accumulate(np.where(waits, UNKNOWN, at)[:, ::-1], axis=1)[:, ::-1]
    return np.minimum(free, np.where(at + slack < steps, at + slack, UNKNOWN))


def same_hour(cost: Floats, slack: int, length_us: int, step_us: int) -> Ints:
    """Start at the lead whose hour of the week was cheapest on average of four past weeks; else at once.

    `cost`: of starting at each instant. The weeks used had ended, run included, by the decision.
    """
    week = 7 * 24 * US_PER_HOUR // step_us
    first = max(1, -(-(slack + -(-length_us // step_us)) // week))
    steps = cost.shape[1]
    total = np.zeros((cost.shape[0], steps + slack))
    count = np.zeros_like(total)
    for back in range(first, first + WEEKS):
        shift = back * week
        width = min(steps, steps + slack - shift)
        if width <= 0:
            break
        known = np.isfinite(cost[:, :width])
        total[:, shift : shift + width] += np.where(known, cost[:, :width], 0.0)
        count[:, shift : shift + width] += known
    level = np.where(count > 0, total / np.maximum(count, 1), np.inf)
    best = np.broadcast_to(np.arange(steps), cost.shape)
    lowest = level[:, :steps]
    for lead in range(1, slack + 1):
        there = level[:, lead : lead + steps]
        better = there < lowest
        best, lowest = np.where(better, np.arange(steps) + lead, best), np.where(better, there, lowest)
    return best
