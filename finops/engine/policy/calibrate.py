"""Intervals that say 90 % and hold 90 %: their tails are set by how such intervals did before.

The 5 % and 95 % quantiles of past errors hold 90 % of the outcomes only while the errors come from one
distribution. Where a market drifts they hold less. So each outcome of the last weeks is placed among the
errors that were known at its own decision: `held` is the larger tail that would still have kept it inside.
The tail now is the largest, 5 % at most, that would have kept 90 % of those outcomes inside (conformal
prediction, walk-forward). In a steady market that is 5 %; in a drifting one the interval widens up to the
least and the largest error seen. It never looks at an outcome that was not complete at the decision.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from finops.engine.series import Floats

TAIL = 0.05
MISSED = 2 * TAIL
# Outcomes an hour apart share most of their prices; every fifth visits all hours of the day.
EVERY = 5


def calibrated_tail(errors: Floats, *, lag: int, window: int, least: int) -> float:
    """The tail on each side, 0 to `TAIL`, for an interval of the errors of past decisions.

    `errors`: of the decision at each step up to now, nan where unknown or not complete now. A decision knew
    the errors of decisions at least `lag` steps before it, of which the last `window` count; with fewer than
    `least` of them, or of decisions to judge by, the tail is `TAIL`.
    """
    steps = len(errors)
    judged = np.arange(max(0, steps - window, lag), steps)[::-EVERY]
    judged = judged[np.isfinite(errors[judged])]
    if not len(judged):
        return TAIL
    padded = np.concatenate((np.full(window - 1, np.nan), errors))
    known = sliding_window_view(padded, window)[judged - lag]  # what was complete at each of them
    outcome = errors[judged][:, None]
    count = np.isfinite(known).sum(axis=1)
    enough = count >= least
    if enough.sum() * EVERY < least:
        return TAIL
    # A hair of tolerance: equal costs come out of sums in another order.
    below = (known <= outcome * (1 + 1e-9)).sum(axis=1)
    above = (known >= outcome * (1 - 1e-9)).sum(axis=1)
    held = np.minimum(below, above)[enough] / count[enough]
    return float(min(TAIL, np.quantile(held, MISSED, method="lower")))
