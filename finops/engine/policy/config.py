"""The numbers the launch rule depends on. Where they come from: docs/algorithms/launch-window.md."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from finops.engine.series import US_PER_HOUR, Ints


@dataclass(frozen=True, slots=True)
class PolicyConfig:
    """Constants of the rule; hours, days, and shares (0.005 is half a percent).

    `step_us`: the rule looks at prices this often. Momentum: a drift over `drift_window` hours that halves in
    weight every `drift_half_life`, expected to die out with time constant `damping`; how much of it came true
    is learnt over `evidence_days` and shrunk to `prior_momentum` with the weight of `prior_weight` squared
    log moves. A wait begins for an expected saving of `begin` and goes on for `keep`. A spike is a price over
    `spike_ratio` medians of the last `spike_window` hours. A daily pattern must show a gain of `pattern_gain`
    over `pattern_days` days and have paid out of sample.
    """

    step_us: int = US_PER_HOUR
    drift_window: int = 48
    drift_half_life: float = 8.0
    damping: float = 36.0
    evidence_days: int = 28
    prior_momentum: float = 0.5
    prior_weight: float = 5e-3
    clip: float = 0.2
    begin: float = 0.005
    keep: float = 0.001
    spike_window: int = 72
    spike_ratio: float = 1.25
    spike_least: int = 24
    trust: float = 20.0
    pattern_days: int = 14
    pattern_least_days: int = 7
    pattern_gain: float = 0.02
    error_days: int = 28
    error_least: int = 48

    def steps(self, hours: float) -> int:
        """Steps in `hours`, rounded down."""
        return int(hours * US_PER_HOUR + 0.5) // self.step_us

    def history_us(self, *, length_us: int, slack_us: int) -> int:
        """How far back a decision looks: prices before that change nothing."""
        days = 2 * self.evidence_days + self.pattern_days + 4
        return days * 24 * US_PER_HOUR + 2 * (length_us + slack_us)


DEFAULT = PolicyConfig()


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be run: its length and how long its start may be put off, in us."""

    length_us: int
    slack_us: int

    @property
    def hours(self) -> float:
        return self.length_us / US_PER_HOUR


def grid_before(first_us: int, last_us: int, anchor_us: int, step_us: int) -> Ints:
    """Instants `anchor + k step` inside [first, last]."""
    low = -((anchor_us - first_us) // step_us)
    high = (last_us - anchor_us) // step_us
    return anchor_us + step_us * np.arange(low, high + 1, dtype=np.int64)
