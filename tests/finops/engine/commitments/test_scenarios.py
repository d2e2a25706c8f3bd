"""Hours to come are drawn from hours seen: seeded, in blocks, exact in expectation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau

from finops.engine.commitments.scenarios import (
    DAY,
    WEEK,
    ScenarioConfig,
    draw,
    future_of,
    mann_kendall,
    shape_of,
    trend_of,
)


def test_the_same_seed_draws_the_same() -> None:
    one, two = draw(90 * DAY, 500), draw(90 * DAY, 500)
    np.testing.assert_array_equal(one.choice, two.choice)
    assert not np.array_equal(one.choice, draw(90 * DAY, 500, ScenarioConfig(seed=1)).choice)


def test_days_where_few_weeks_are_known_else_weeks() -> None:
    assert (draw(30 * DAY, 10).block_hours, draw(30 * DAY, 10).blocks) == (DAY, 30)
    assert (draw(12 * WEEK, 10).block_hours, draw(12 * WEEK, 10).blocks) == (WEEK, 12)
    with pytest.raises(ValueError, match="two days"):
        draw(47, 10)


def test_a_periodic_demand_is_covered_exactly_also_in_a_broken_block() -> None:
    day = np.array([1.0] * 12 + [4.0] * 12)
    future = future_of(np.tile(day, 30), draw(720, 100))
    # 100 h are four days and the first four hours: 4 x (12 + 12 x 3) + 4 x 1 at a level of 3
    assert set(future.covered(3.0, 100.0)) == {196.0}
    assert float(future.expected(100.0).at(3.0)) == pytest.approx(196.0)
    assert float(future.expected(100.5).at(3.0)) == pytest.approx(196.5)


def hourly(values: list[int]) -> np.ndarray:
    return np.array(values, dtype=float)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.integers(0, 9), min_size=72, max_size=72),
    st.floats(0, 10),
    st.integers(1, 200),
)
def test_the_expected_cover_is_the_mean_over_all_draws(values: list[int], level: float, hours: int) -> None:
    config = ScenarioConfig(draws=2000)
    future = future_of(hourly(values), draw(72, 200, config))
    expected = float(future.expected(float(hours)).at(level))
    covered = future.covered(level, float(hours))
    spread = float(covered.std()) / np.sqrt(config.draws)
    assert abs(expected - covered.mean()) <= 5 * spread + 1e-6
    assert expected <= level * hours + 1e-9


def test_more_level_never_covers_less_and_each_unit_adds_less() -> None:
    random = np.random.default_rng(3)
    cover = future_of(random.integers(0, 20, 720).astype(float), draw(720, 720)).expected(720.0)
    gains = np.diff([cover.at(float(level)) for level in range(22)])
    assert (gains >= -1e-9).all()
    assert (np.diff(gains) <= 1e-9).all()
    assert cover.hours == pytest.approx(720)
    assert float(cover.at(1e9)) == pytest.approx(cover.used)


def test_neighbouring_blocks_stay_together() -> None:
    choice = draw(200 * WEEK, 200 * WEEK, ScenarioConfig(mean_blocks=4)).choice
    followed = (np.diff(choice, axis=1) % 200 == 1).mean()
    assert 0.73 < followed < 0.77


def test_a_term_beyond_the_draws_is_refused() -> None:
    future = future_of(np.ones(720), draw(720, 48))
    with pytest.raises(ValueError, match="beyond"):
        future.covered(1.0, 49.0)


def test_a_trend_beyond_chance_moves_the_future_and_noise_does_not() -> None:
    weeks = np.repeat(np.arange(20.0) + 10, WEEK)
    config = ScenarioConfig()
    draws = draw(20 * WEEK, 26 * WEEK)
    future = future_of(weeks, draws)
    assert future.shape.trend_per_block == pytest.approx(1.0)
    assert len(future.by_step) == 2
    # all weeks moved to the level of today, and not beyond the highest seen
    assert (float(future.by_step[0].min()), float(future.by_step[1].max())) == (29.0, 29.0)
    falling = future_of(weeks[::-1].copy(), draws)
    # detrended to today (10), then on by -0.96 x (1 - 0.96^7) / 0.04 in the first quarter
    assert float(falling.by_step[0].min()) == pytest.approx(10 - 0.96 * (1 - 0.96**7) / 0.04)
    assert trend_of(np.arange(720.0).reshape(30, DAY), config) is None
    noise = np.repeat(np.random.default_rng(1).uniform(5, 6, 20), WEEK)
    assert trend_of(noise.reshape(20, WEEK), config) is None
    assert trend_of(weeks.reshape(20, WEEK)[:11], config) is None
    assert trend_of(np.ones((20, WEEK)), config) is None


@settings(deadline=None, max_examples=40)
@given(st.integers(12, 80), st.integers(1, 60), st.floats(-0.5, 0.5), st.integers(0, 9))
def test_the_trend_test_is_that_of_scipy(weeks: int, steps: int, rise: float, seed: int) -> None:
    means = np.round(np.random.default_rng(seed).uniform(0, steps, weeks) + rise * np.arange(weeks))
    if np.ptp(means) > 0:
        expected = kendalltau(np.arange(weeks), means).pvalue
        assert mann_kendall(means) == pytest.approx(float(expected), rel=1e-9)


def test_a_falling_trend_never_goes_below_zero() -> None:
    future = future_of(np.repeat(np.arange(20.0, 0.0, -1), WEEK), draw(20 * WEEK, 52 * WEEK))
    assert min(float(step.min()) for step in future.by_step) == 0.0
    assert float(future.covered(1.0, 52.0 * WEEK).max()) == 0.0


def test_the_shape_says_base_mean_and_how_much_the_clock_explains() -> None:
    blocks = np.tile(np.array([1.0] * 12 + [3.0] * 12), (10, 1))
    shape = shape_of(blocks, None)
    assert (shape.base, shape.mean, shape.maximum, shape.season_share) == (1.0, 2.0, 3.0, pytest.approx(1.0))
    assert shape_of(np.ones((3, 24)), None).season_share == 0.0
