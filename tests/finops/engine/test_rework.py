"""Rework: closed form against simulation by hand-checked numbers, and its direction."""

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from finops.engine.rework import Hazard, hazard_from_band, measured_hazard, rework_hours


def test_no_hazard_means_no_rework() -> None:
    assert rework_hours(8, 0.0, checkpoint_hours=None, restart_hours=1.0) == 0.0


def test_a_run_without_checkpoints_is_one_piece() -> None:
    # (e**(0.05 * 8) - 1) * (20 + 0.5) - 8 = 0.4918247 * 20.5 - 8
    assert rework_hours(8, 0.05, restart_hours=0.5) == pytest.approx(2.0824063, abs=1e-6)


def test_checkpoints_cut_the_work_lost() -> None:
    # 8 pieces of (e**0.01 - 1) * (100 + 0.1) = 8 * 1.0060217 - 8
    assert rework_hours(8, 0.01, checkpoint_hours=1.0, restart_hours=0.1) == pytest.approx(
        0.0481742, abs=1e-6
    )


def test_the_rest_after_the_last_checkpoint_is_a_piece_of_its_own() -> None:
    whole = rework_hours(2, 0.02, checkpoint_hours=1.0)
    rest = rework_hours(0.5, 0.02, checkpoint_hours=1.0)
    assert rework_hours(2.5, 0.02, checkpoint_hours=1.0) == pytest.approx(whole + rest)


def test_a_piece_that_never_ends_is_infinite_not_an_overflow() -> None:
    assert rework_hours(2000, 1.0) == math.inf


def test_a_hazard_next_to_nothing_means_next_to_no_rework() -> None:
    # 1 / 5e-324 is no float; the rework is.
    assert rework_hours(8, 5e-324, checkpoint_hours=1.0, restart_hours=2.0) == 0.0
    assert rework_hours(1, 1e-300, restart_hours=0.0) == 0.0


def test_the_band_becomes_interruptions_an_hour() -> None:
    hazard = hazard_from_band(0.05, 0.10, source="5-10%")
    assert hazard.expected == pytest.approx(-math.log(0.925) / 720)
    assert (hazard.low, hazard.high) == pytest.approx((-math.log(0.95) / 720, -math.log(0.90) / 720))


def test_the_open_band_has_a_stated_upper_edge() -> None:
    assert hazard_from_band(0.20, None, source=">20%").high == pytest.approx(-math.log(0.5) / 720)


def test_bands_and_hazards_out_of_order_are_refused() -> None:
    with pytest.raises(ValueError, match="a band from"):
        hazard_from_band(0.2, 0.1, source="")
    with pytest.raises(ValueError, match="out of order"):
        Hazard(0.2, 0.1, 0.3, "")


def test_a_measured_hazard_has_no_band() -> None:
    assert measured_hazard(0.01) == Hazard(0.01, 0.01, 0.01, "measured")


@given(
    hours=st.floats(0.1, 48),
    hazard=st.floats(0, 0.5),
    more=st.floats(0, 0.2),
    restart=st.floats(0, 2),
    parts=st.integers(1, 20),
)
@example(hours=1.0, hazard=2.225073858507e-311, more=0.125, restart=0.0, parts=1)
def test_more_hazard_and_fewer_checkpoints_never_mean_less_rework(
    hours: float, hazard: float, more: float, restart: float, parts: int
) -> None:
    fine = rework_hours(hours, hazard, checkpoint_hours=hours / parts, restart_hours=restart)
    coarse = rework_hours(hours, hazard, checkpoint_hours=None, restart_hours=restart)
    worse = rework_hours(hours, hazard + more, checkpoint_hours=hours / parts, restart_hours=restart)
    assert 0 <= fine <= coarse * (1 + 1e-9) + 1e-9
    assert fine <= worse * (1 + 1e-9) + 1e-9
