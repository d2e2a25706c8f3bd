"""Prices of many series on one grid of instants, and what the rule reads from them.

A *group* is a set of series a job may choose from (the zones of a type, the types of a class). Its price
is that of its cheapest member. Arrays are (series, instants) or (groups, instants); nan is unknown. Every
signal at an instant is computed from prices at or before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.signal import lfilter

from finops.engine.policy.config import Job, PolicyConfig
from finops.engine.series import US_PER_HOUR, Floats, Ints, PriceBook

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Panel:
    """`series` (n) indices of the book, `grid` (t) instants, `price` and `drift` (n, t).

    `drift`: change of the log price per step, the weighted mean of the last `drift_window` steps.
    """

    book: PriceBook
    config: PolicyConfig
    series: Ints
    grid: Ints
    price: Floats
    log: Floats
    drift: Floats

    @property
    def per_hour(self) -> float:
        return US_PER_HOUR / self.config.step_us

    def cost(self, rows: Ints, length_us: int) -> Floats:
        """Cost of starting at each instant of the grid, of the given panel rows."""
        return self.book.cost(self.series[rows][:, None], self.grid[None, :], length_us)


def make_panel(book: PriceBook, series: Ints, grid: Ints, config: PolicyConfig) -> Panel:
    """Read the prices of `series` on `grid` and their drift."""
    price = book.price_at(series[:, None], grid[None, :])
    log = np.log(price)
    moves = np.nan_to_num(np.diff(log, axis=1, prepend=np.nan))
    weights = 0.5 ** (np.arange(config.drift_window) / config.drift_half_life)
    drift = lfilter(weights / weights.sum(), [1.0], moves, axis=1) if len(grid) else moves
    return Panel(book, config, series, grid, price, log, drift)


def damped(hours: float, config: PolicyConfig) -> float:
    """Hours of undamped drift that a drift dying out amounts to: tau (1 - exp(-h / tau))."""
    return float(config.damping * (1 - np.exp(-hours / config.damping)))


@dataclass(frozen=True)
class Signals:
    """What the rule sees; all (groups, instants).

    `best`: price of the cheapest member, `pick`: its panel row (ties: the first member; -1 unknown),
    `momentum`: learnt share of the drift that comes true, `fall`: expected saving of waiting through the
    slack, `keep_fall`: of waiting on for a day, `normal`: median price of the last days, `spike`: price
    over `spike_ratio` normal prices.
    """

    best: Floats
    pick: Ints
    momentum: Floats
    fall: Floats
    keep_fall: Floats
    normal: Floats
    spike: Bools


def read_signals(panel: Panel, groups: Sequence[Ints], job: Job) -> Signals:
    """Signals of each group of panel rows for a job."""
    config = panel.config
    shape = (len(groups), len(panel.grid))
    best, fall, keep = np.full(shape, np.nan), np.full(shape, -1.0), np.full(shape, -1.0)
    pick, momentum = np.full(shape, -1, np.int64), np.zeros(shape)
    xy, xx = _momentum_sums(panel)
    ahead = damped(job.slack_us / US_PER_HOUR, config) * panel.per_hour
    day = damped(min(24.0, job.slack_us / US_PER_HOUR), config) * panel.per_hour
    for g, rows in enumerate(groups):
        logs = np.where(np.isfinite(panel.log[rows]), panel.log[rows], np.inf)
        place = logs.argmin(axis=0)
        low = np.take_along_axis(logs, place[None], 0)[0]
        known = np.isfinite(low)
        # Not exp(low): a rounded price would lose its ties with home.
        best[g] = np.where(known, np.take_along_axis(panel.price[rows], place[None], 0)[0], np.nan)
        pick[g] = np.where(known, rows[place], -1)
        top = xy[rows].sum(axis=0) + config.prior_weight * config.prior_momentum
        momentum[g] = np.clip(top / (xx[rows].sum(axis=0) + config.prior_weight), 0.0, 1.2)
        moved = panel.drift[rows] * momentum[g]
        with np.errstate(invalid="ignore"):
            fall[g] = np.where(known, 1 - np.exp((logs + moved * ahead).min(axis=0) - low), -1.0)
            keep[g] = np.where(known, 1 - np.exp((logs + moved * day).min(axis=0) - low), -1.0)
    normal = rolling_median(best, config.spike_window, config.spike_least)
    with np.errstate(invalid="ignore"):
        spike = best > config.spike_ratio * normal
    return Signals(best, pick, momentum, fall, keep, normal, spike)


def rolling_median(values: Floats, window: int, least: int) -> Floats:
    """Median of the last `window` instants at each, ignoring unknown ones; nan with fewer than `least`."""
    rolled = pd.DataFrame(values.T).rolling(window, min_periods=least).median()
    return rolled.to_numpy(np.float64).T


def _momentum_sums(panel: Panel) -> tuple[Floats, Floats]:
    """Per series, over the trailing evidence: sums of forecast x outcome and forecast squared.

    The forecast is the damped drift over a day, the outcome what the log price did in that day; both are
    clipped, so one spike does not decide. At an instant only outcomes that have come by then count.
    """
    config = panel.config
    day = config.steps(24)
    steps = panel.log.shape[1]
    forecast = np.clip(panel.drift * damped(24, config) * panel.per_hour, -config.clip, config.clip)
    outcome = np.full_like(panel.log, np.nan)
    if steps > day:
        outcome[:, :-day] = np.clip(panel.log[:, day:] - panel.log[:, :-day], -config.clip, config.clip)
    counted = np.isfinite(outcome)
    outcome = np.where(counted, outcome, 0.0)
    forecast = np.where(counted, forecast, 0.0)
    window = config.steps(config.evidence_days * 24)
    return (
        trailing_sum(forecast * outcome, window, day),
        trailing_sum(forecast * forecast, window, day),
    )


def trailing_sum(values: Floats, window: int, lag: int) -> Floats:
    """At each instant t the sum of `values` over the `window` instants that end with t - lag."""
    steps = values.shape[1]
    total = np.zeros((values.shape[0], steps + 1))
    np.cumsum(values, axis=1, out=total[:, 1:])
    last = np.clip(np.arange(steps) - lag + 1, 0, steps)
    first = np.clip(last - window, 0, steps)
    return total[:, last] - total[:, first]


def forward_min(values: Floats, width: int) -> Floats:
    """At each instant t the lowest of `values[t : t + width]`, unknown ones left out; nan if all are."""
    result = np.where(np.isfinite(values), values, np.inf)
    have = 1
    while have < width and have < result.shape[1]:
        shift = min(have, width - have)
        result[:, : result.shape[1] - shift] = np.minimum(result[:, :-shift], result[:, shift:])
        have += shift
    return np.where(np.isfinite(result), result, np.nan)
