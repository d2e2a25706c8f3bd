"""The launch rule: start now, or wait while a price is falling, spiking, or on its way to its cheap hours.

One rule for every market. Starting now in the cheapest place is the default; three reasons to wait must each
earn their keep on the candidates' own past:

- *falling*: the learnt momentum says the price will be lower by `begin` within the slack. Momentum is a
  regression of outcomes on drift over the last weeks; where drifts do not last it comes out as nothing.
- *spike*: the price stands over `spike_ratio` times its median of the last days.
- *pattern*: the same hours of the last two weeks were cheaper, and acting on that has paid since.

A wait ends at the first instant without a reason, or when the slack is used up. Falling and spike are vetoed
where following them lost over the trailing evidence more than `trust` jobs; pattern needs its past gain to be
above its own noise. Only outcomes complete by the decision count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from finops.engine.policy.config import Job, PolicyConfig
from finops.engine.policy.panel import Bools, Panel, Signals, damped, read_signals, trailing_sum
from finops.engine.series import Floats, Ints

NOW, FALLING, SPIKE, PATTERN = 0, 1, 2, 3
KINDS = ("now", "falling", "spike", "pattern")
UNKNOWN = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Course:
    """What the rule does at every instant of the grid; all (groups, instants).

    `kind`: NOW, FALLING, SPIKE or PATTERN; `start`: index of the instant at which following the rule starts
    the job (past the grid's end for a planned hour, UNKNOWN for a wait that has not ended there); `cost`:
    of the cheapest place, started at that instant; `forecast`: expected cost of starting it there now;
    `waiting`: whether a wait that has begun goes on.
    """

    signals: Signals
    kind: NDArray[np.int8]
    start: Ints
    cost: Floats
    forecast: Floats
    waiting: Bools

    def start_cost(self) -> Floats:
        """Cost of following the rule from each instant; nan where it is not known."""
        return cost_at(self.cost, self.start)


def cost_at(cost: Floats, start: Ints) -> Floats:
    """`cost` at the instants `start`; nan for those after the grid."""
    last = cost.shape[1] - 1
    return np.where(start <= last, np.take_along_axis(cost, np.minimum(start, last), 1), np.nan)


def follow(panel: Panel, groups: Sequence[Ints], job: Job) -> Course:
    """Run the rule over the whole grid for each group of panel rows."""
    config = panel.config
    signals = read_signals(panel, groups, job)
    known = signals.pick >= 0
    rows = np.maximum(signals.pick, 0)
    cost = panel.book.cost(panel.series[rows], panel.grid[None, :], job.length_us)
    cost = np.where(known, cost, np.nan)
    drift = np.take_along_axis(panel.drift, rows, 0) * signals.momentum * panel.per_hour
    forecast = signals.best * job.hours * np.exp(drift * damped(job.hours / 2, config))
    slack = job.slack_us // config.step_us
    now = np.broadcast_to(np.arange(cost.shape[1]), cost.shape)
    waiting = known & ((signals.keep_fall > config.keep) | signals.spike)
    begin = known & ((signals.fall > config.begin) | signals.spike) & (slack > 0)
    stop = _stops(waiting, slack)
    begin &= _not_vetoed(config, begin, cost, stop, signals, job)
    best_hour, pays = _pattern(panel, cost, signals, job)
    kind = np.where(begin, np.where(signals.spike, SPIKE, FALLING), NOW)
    kind = np.where(pays & (slack > 0), PATTERN, kind).astype(np.int8)
    start = np.where(kind == PATTERN, best_hour, np.where(kind == NOW, now, stop))
    return Course(signals, kind, start, cost, forecast, waiting)


def _stops(waiting: Bools, slack: int) -> Ints:
    """First instant after each one without a reason to wait on, at most `slack` later; UNKNOWN past the
    end.
    """
    steps = waiting.shape[1]
    at = np.arange(steps)
    free = np.where(waiting, UNKNOWN, at)
    following = np.full(waiting.shape, UNKNOWN, np.int64)
    following[:, :-1] = np.minimum.accumulate(free[:, ::-1], axis=1)[:, ::-1][:, 1:]
    return np.minimum(following, np.where(at + slack < steps, at + slack, UNKNOWN))


def _gains(cost: Floats, start: Ints, signals: Signals, job: Job) -> Floats:
    """What starting later saved, in normal costs of the job; nan where unknown."""
    with np.errstate(invalid="ignore"):
        return (cost - cost_at(cost, start)) / (signals.normal * job.hours)


def _known_after(config: PolicyConfig, job: Job, slack: int) -> int:
    """Steps after a decision at which its outcome is complete."""
    return slack + -(-job.length_us // config.step_us)


def _not_vetoed(
    config: PolicyConfig, begin: Bools, cost: Floats, stop: Ints, signals: Signals, job: Job
) -> Bools:
    slack = job.slack_us // config.step_us
    gains = np.where(begin, np.nan_to_num(_gains(cost, stop, signals, job)), 0.0)
    window = config.steps(config.evidence_days * 24)
    earned = trailing_sum(gains, window, _known_after(config, job, slack))
    return np.asarray(earned + config.trust * config.steps(1.0) >= 0)


def _pattern(panel: Panel, cost: Floats, signals: Signals, job: Job) -> tuple[Ints, Bools]:
    """The cheapest instant of the coming day by the same hours of past days, and whether that has paid.

    The days used end early enough that their runs were over at the decision, whatever the lead.
    """
    config = panel.config
    day = config.steps(24)
    steps = cost.shape[1]
    at = np.broadcast_to(np.arange(steps), cost.shape)
    leads = min(day - 1, job.slack_us // config.step_us)
    level = _same_hour_level(cost, config, -(-(day - 1 + -(-job.length_us // config.step_us)) // day))
    best, lowest = at.copy(), level[:, :steps].copy()
    for lead in range(1, leads + 1):
        there = level[:, lead : lead + steps]
        better = there < lowest
        best, lowest = np.where(better, at + lead, best), np.where(better, there, lowest)
    with np.errstate(invalid="ignore"):
        promised = 1 - np.exp(lowest - level[:, :steps]) > config.pattern_gain
    gains = np.where(promised, _gains(cost, best, signals, job), np.nan)
    counted = np.isfinite(gains)
    gains = np.where(counted, gains, 0.0)
    window, lag = config.steps(config.pattern_days * 24), _known_after(config, job, leads)
    count = trailing_sum(counted.astype(np.float64), window, lag)
    days = np.maximum(count, 1) / day
    mean = trailing_sum(gains, window, lag) / np.maximum(count, 1)
    square = trailing_sum(gains**2, window, lag) / np.maximum(count, 1)
    noise = np.sqrt(np.maximum(square - mean**2, 0.0) / days)
    pays = promised & (days >= 3) & (mean - 2 * noise > config.pattern_gain / 2)
    return best, pays


def _same_hour_level(cost: Floats, config: PolicyConfig, first_day: int) -> Floats:
    """Mean log cost at the same hour of `pattern_days` days, the nearest `first_day` days back.

    One day longer than the grid: the levels of the coming day are known at its end.
    """
    day = config.steps(24)
    steps = cost.shape[1]
    log = np.log(cost)
    total = np.zeros((cost.shape[0], steps + day))
    count = np.zeros_like(total)
    for back in range(first_day, first_day + config.pattern_days):
        shift = back * day
        if shift >= steps + day:
            break
        width = min(steps, steps + day - shift)
        part = log[:, :width]
        known = np.isfinite(part)
        total[:, shift : shift + width] += np.where(known, part, 0.0)
        count[:, shift : shift + width] += known
    enough = count >= config.pattern_least_days
    return np.where(enough, total / np.maximum(count, 1), np.nan)
