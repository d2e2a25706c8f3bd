"""Waiting by the calendar: start at the hour that was cheapest at the same hour of the last four weeks.

For each lead of whole hours the forecast is the price standing now times the mean, over the last four weeks
at this hour of the week, of (cost of the run started that lead later) / (price then standing, held). It is
the dull rival of the launch rule.
"""

from __future__ import annotations

import numpy as np

from finops.engine.series import US_PER_HOUR, Floats, Ints, PriceBook, shared_starts

US_PER_WEEK = 7 * 24 * US_PER_HOUR
WEEKS = 4
# More leads than this (a slack over three days) are spread evenly: the forecast has four samples, not more.
MAX_LEADS = 72


def leads_us(slack_us: int) -> Ints:
    """Leads to try: 0 and whole hours up to the slack."""
    hours = slack_us // US_PER_HOUR
    step = max(1, -(-hours // MAX_LEADS))
    return np.arange(0, hours + 1, step, dtype=np.int64) * US_PER_HOUR


def expected_levels(book: PriceBook, series: int, times: Ints, leads: Ints, length_us: int) -> Floats:
    """Shape (times, leads): expected cost of the run over its cost at the price standing now; nan without a
    sample.

    Samples whose run had not ended by the decision are not used: the first lies as many weeks back as the
    longest lead and the run need.
    """
    first = max(1, -(-(int(leads.max()) + length_us) // US_PER_WEEK))
    back = US_PER_WEEK * np.arange(first, first + WEEKS, dtype=np.int64)
    wanted, where = np.unique(times[:, None] - back[None, :], return_inverse=True)
    chosen = np.int64(series)
    standing = book.price_at(chosen, wanted) * (length_us / US_PER_HOUR)
    # Samples lie whole hours apart, so most of their starts are shared.
    starts, place = shared_starts(wanted[:, None] + leads[None, :])
    cost = book.cost(chosen, starts, length_us)[place]
    ratio = cost / standing[:, None]
    known = np.isfinite(ratio)
    samples = where.reshape(len(times), WEEKS)
    total = np.where(known, ratio, 0.0)[samples].sum(axis=1)
    count = known[samples].sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(count > 0, total / count, np.nan)


def same_hour(
    book: PriceBook, candidates: Ints, times: Ints, *, length_us: int, slack_us: int
) -> tuple[Ints, Ints]:
    """A `Chooser`: the candidate and lead of the lowest expected cost; at once where there are no samples."""
    leads = leads_us(slack_us)
    best = np.full(len(times), np.inf)
    series = np.full(len(times), -1, np.int64)
    start = times.copy()
    for candidate in candidates.tolist():
        price = book.price_at(np.int64(candidate), times)
        levels = expected_levels(book, candidate, times, leads, length_us)
        levels[:, 0] = np.where(np.isfinite(levels[:, 0]), levels[:, 0], 1.0)
        cost = np.where(np.isfinite(levels), levels, np.inf) * price[:, None]
        lead = cost.argmin(axis=1)
        lowest = cost[np.arange(len(times)), lead]
        better = np.isfinite(lowest) & (lowest < best)
        best = np.where(better, lowest, best)
        series = np.where(better, candidate, series)
        start = np.where(better, times + leads[lead], start)
    return series, start
