"""Long price lines become time-weighted steps with the same mean; short ones keep every change."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.dashboard.figures.thinning import MOST_POINTS, averaged, step_hours
from finops.engine.series import US_PER_HOUR

HOUR = US_PER_HOUR


def test_steps_hold_the_time_weighted_mean_and_gaps_stay_gaps() -> None:
    line = [(0, 1.0), (HOUR // 4, 2.0), (HOUR, 4.0), (2 * HOUR, None), (4 * HOUR, 3.0), (5 * HOUR, 3.0)]
    assert averaged(line, 1) == [
        (0, 1.75), (HOUR, 4.0), (2 * HOUR, None), (3 * HOUR, None), (4 * HOUR, 3.0), (5 * HOUR, 3.0),
    ]  # fmt: skip


def test_only_what_is_too_much_is_thinned() -> None:
    short = [(i * HOUR, 1.0) for i in range(MOST_POINTS // 2)]
    assert step_hours([short, short]) is None
    lively = [(i * HOUR // 10, 1.0) for i in range(MOST_POINTS + 1)]
    assert step_hours([lively]) == 1
    assert step_hours([lively] * 24) == 3


@given(st.lists(st.tuples(st.integers(1, 5 * HOUR), st.floats(0.01, 9.0)), min_size=2, max_size=40))
def test_the_mean_of_the_line_stays(pieces: list[tuple[int, float]]) -> None:
    line, at = [], 0
    for length, price in pieces:
        line.append((at, price))
        at += length
    line.append((at, pieces[-1][1]))

    def total(steps: list[tuple[int, float]]) -> float:
        return sum(p * (b - a) for (a, p), (b, _) in pairwise(steps))

    assert total(list(averaged(line, 2))) == pytest.approx(total(line))  # type: ignore[arg-type]
