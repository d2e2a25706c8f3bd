"""Long price lines as time-weighted means of equal steps: 1,000 pixels show no more and the page stays light.
Short ones keep every change.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from finops.engine.series import US_PER_HOUR

Steps = Sequence[tuple[int, float | None]]
MOST_POINTS = 12_000  # of all lines of a chart together: about 400 KB of JSON
STEP_HOURS = (1, 2, 3, 6, 12, 24)


def step_hours(lines: Sequence[Steps]) -> int | None:
    """The shortest step that keeps the chart below MOST_POINTS; None: every change can be drawn."""
    if sum(len(steps) for steps in lines) <= MOST_POINTS:
        return None
    hours = sum((steps[-1][0] - steps[0][0]) / US_PER_HOUR for steps in lines if steps)
    return next((step for step in STEP_HOURS if hours / step <= MOST_POINTS), STEP_HOURS[-1])


def averaged(steps: Steps, hours: int) -> Steps:
    """Change points of the time-weighted means of steps of `hours`; None where no time of a step is known."""
    if len(steps) < 2:
        return steps
    at = np.array([moment for moment, _ in steps], np.int64)
    price = np.array([np.nan if value is None else value for _, value in steps[:-1]])
    held = np.diff(at).astype(np.float64)
    known = np.isfinite(price)
    paid = np.concatenate(([0.0], np.cumsum(np.where(known, price, 0.0) * held)))
    time = np.concatenate(([0.0], np.cumsum(np.where(known, held, 0.0))))
    width = hours * US_PER_HOUR
    inner = np.arange(-(-at[0] // width) * width, at[-1], width)
    edges = np.unique(np.concatenate(([at[0]], inner, [at[-1]])))
    # Both sums are straight lines between change points, so interpolation is exact.
    shares = np.diff(np.interp(edges, at, time))
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.diff(np.interp(edges, at, paid)) / shares
    values = [float(m) if s > 0 else None for m, s in zip(means, shares, strict=True)]
    points = list(zip(edges[:-1].tolist(), values, strict=True))
    return [*points, (int(at[-1]), values[-1])]
