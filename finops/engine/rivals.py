"""Dull rules that the launch rule has to beat, and the limit that none can pass.

All are judged on the decisions of one walk, beside `home_now`: starting at once in the home zone.
"""

from __future__ import annotations

import numpy as np

from finops.engine.flexibility import Chooser, Result, Walk, cheapest_now, evaluate, outcome
from finops.engine.series import US_PER_HOUR, Ints, PriceBook, shared_starts

US_PER_DAY = 24 * US_PER_HOUR
NIGHT_US = 2 * US_PER_HOUR  # 02:00 UTC, as a cron line would have it


def at_night(
    book: PriceBook, candidates: Ints, times: Ints, *, length_us: int, slack_us: int
) -> tuple[Ints, Ints]:
    """A `Chooser`: the next 02:00 UTC in the first candidate; at once where the slack does not reach it."""
    wait = (NIGHT_US - times) % US_PER_DAY
    return np.full(len(times), candidates[0], np.int64), np.where(wait <= slack_us, times + wait, times)


def known_afterwards(book: PriceBook, walked: Walk, candidates: Ints, *, slack_us: int) -> Result:
    """The optimum: the cheapest place and start on whole hours within the slack, with all prices known."""
    if not len(walked) or not len(candidates):
        return Result(0)
    leads = np.arange(0, slack_us // US_PER_HOUR + 1, dtype=np.int64) * US_PER_HOUR
    # Decisions lie an hour apart, so most of their starts are shared.
    starts, where = shared_starts(walked.times[:, None] + leads[None, :])
    cost = np.full(len(starts), np.inf)
    for candidate in candidates.tolist():
        cost = np.fmin(cost, book.cost(np.int64(candidate), starts, walked.length_us))
    best = cost[where].min(axis=1)
    return outcome(walked, np.where(np.isfinite(best), best, np.nan))


def judge_rivals(
    book: PriceBook,
    walked: Walk,
    base: Ints,
    zones: Ints,
    usable: Ints,
    *,
    slack_us: int,
    wait_rule: Chooser,
) -> list[tuple[str, Result]]:
    """Name and result of each. `base`: home, or all it may be; `zones`: of home's region and type; `usable`:
    all that the workload allows.
    """
    found = [
        ("zone_now", evaluate(book, walked, zones, cheapest_now, slack_us=0)),
        ("same_hour_4_weeks", evaluate(book, walked, usable, wait_rule, slack_us=slack_us)),
    ]
    if slack_us >= US_PER_HOUR and len(base) == 1:
        found.append(("night", evaluate(book, walked, base, at_night, slack_us=slack_us)))
    return [*found, ("home_now", evaluate(book, walked, base, cheapest_now, slack_us=0))]
