"""Tails of an interval: 5 % where the market is steady, less where it drifts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.engine.plans import ERROR_HOURS, interval
from finops.engine.policy.calibrate import EVERY, TAIL, calibrated_tail

WEEK = 7 * 24


def slow_tail(errors: np.ndarray, lag: int, window: int, least: int) -> float:
    """The rule told outcome by outcome."""
    held = []
    for t in range(len(errors) - 1, max(0, len(errors) - window, lag) - 1, -EVERY):
        known = errors[max(0, t - lag - window + 1) : t - lag + 1]
        known = known[np.isfinite(known)]
        if np.isfinite(errors[t]) and len(known) >= least:
            below, above = (known <= errors[t]).mean(), (known >= errors[t]).mean()
            held.append(min(below, above))
    if len(held) * EVERY < least:
        return TAIL
    return min(TAIL, sorted(held)[int(0.1 * (len(held) - 1))])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.one_of(st.floats(0.5, 2.0), st.just(float("nan"))), min_size=0, max_size=120),
    st.integers(1, 30),
    st.integers(5, 60),
)
def test_it_is_the_rule_told_outcome_by_outcome(values: list[float], lag: int, window: int) -> None:
    errors = np.array(values, np.float64)
    got = calibrated_tail(errors, lag=lag, window=window, least=4)
    assert got == pytest.approx(slow_tail(errors, lag, window, 4))
    assert 0 <= got <= TAIL


def test_a_steady_market_keeps_five_percent_and_a_drifting_one_widens() -> None:
    rng = np.random.default_rng(7)
    steady = np.exp(rng.normal(0, 0.1, 8 * WEEK))
    drifting = np.exp(np.linspace(0, 3, 8 * WEEK) + rng.normal(0, 0.1, 8 * WEEK))
    assert calibrated_tail(steady, lag=28, window=4 * WEEK, least=48) > 0.03
    assert calibrated_tail(drifting, lag=28, window=4 * WEEK, least=48) == 0.0


def test_costs_that_never_change_need_no_width() -> None:
    flat = np.ones(8 * WEEK)
    assert calibrated_tail(flat, lag=28, window=4 * WEEK, least=48) == TAIL
    assert interval(flat, lag=28) == (1.0, 1.0)


def test_too_little_past_gives_the_plain_quantiles() -> None:
    assert calibrated_tail(np.zeros(0), lag=5, window=10, least=3) == TAIL
    assert calibrated_tail(np.full(40, np.nan), lag=5, window=10, least=3) == TAIL
    assert calibrated_tail(np.ones(4), lag=5, window=10, least=3) == TAIL
    assert interval(np.ones(3), lag=5) is None


def test_the_newest_errors_make_the_interval_and_older_ones_only_judge() -> None:
    old, new = np.full(ERROR_HOURS, 5.0), np.linspace(0.9, 1.1, ERROR_HOURS)
    found = interval(np.concatenate((new, old)), lag=25)
    assert found is not None
    assert found[1] <= 1.1
    assert found[0] >= 0.9
    plain = interval(new)
    assert plain is not None
    assert found[0] <= plain[0]
    assert found[1] >= plain[1]
