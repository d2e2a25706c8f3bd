"""How often to write a checkpoint."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.engine.launches.checkpoints import checkpoint_interval, stretch


def test_a_worked_example() -> None:
    """3 minutes to write, an interruption in 10 h: Young 1 h; Daly 1 + 0.05/3 + 0.0025/9 - 0.05."""
    found = checkpoint_interval(write_hours=0.05, interruptions_per_hour=0.1, restart_hours=0.1)
    assert found.young_hours == pytest.approx(1.0)
    assert found.hours == pytest.approx(1 + 0.05 / 3 + 0.0025 / 9 - 0.05)


def test_writing_that_takes_longer_than_the_machine_lasts() -> None:
    found = checkpoint_interval(write_hours=3, interruptions_per_hour=1, restart_hours=0)
    assert found.hours == 1
    assert found.stretch == pytest.approx(math.expm1(4))


@settings(max_examples=50, deadline=None)
@given(st.floats(0.001, 0.5), st.floats(0.01, 1.0), st.floats(0, 1))
def test_no_other_interval_is_much_better(write: float, rate: float, restart: float) -> None:
    found = checkpoint_interval(write_hours=write, interruptions_per_hour=rate, restart_hours=restart)
    best = min(
        stretch(found.hours * factor / 50, write=write, mean=1 / rate, restart=restart)
        for factor in range(5, 250)
    )
    assert best * (1 - 1e-12) <= found.stretch <= 1.005 * best


@pytest.mark.parametrize(
    "wrong",
    [
        {"write_hours": 0.0},
        {"interruptions_per_hour": 0.0},
        {"restart_hours": -1.0},
        {"write_hours": math.nan},
        {"interruptions_per_hour": math.inf},
    ],
)
def test_what_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    given = {"write_hours": 0.05, "interruptions_per_hour": 0.1, "restart_hours": 0.1} | wrong
    with pytest.raises(ValueError, match=r"hours|interruptions"):
        checkpoint_interval(**given)


def test_a_stretch_without_end_is_infinite() -> None:
    assert stretch(1e6, write=1, mean=1, restart=0) == math.inf
