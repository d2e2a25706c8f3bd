"""The rivals in the advice's own back-test, and the limit above all of them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.engine.advice import Advice, advise
from finops.engine.flexibility import Result
from finops.engine.plans import Market
from finops.engine.series import from_us
from finops.engine.workload import Workload
from tests.support.price_books import START_US, book_of, walk_steps

HOURS = 24 * 50


def judged(steps: dict[tuple[str, str], list[tuple[float, float]]], *, slack: float) -> Advice:
    asked = Workload(
        hours=4, regions=("us-east-1",), product="Linux/UNIX", types=("m5.large",), home_zone="a",
        at=from_us(START_US + HOURS * 3_600_000_000), slack_hours=slack,
    )  # fmt: skip
    return advise(asked, Market(book_of(steps, hours=HOURS)))


def results(found: Advice) -> dict[str, Result]:
    return {"advice": found.backtest.advice, **dict(found.backtest.rivals)}


@given(seed=st.integers(0, 1000), slack=st.sampled_from([0, 4, 24]))
@settings(max_examples=10, deadline=None)
def test_nobody_beats_the_limit(seed: int, slack: int) -> None:
    found = results(
        judged(
            {(zone, "m5.large"): walk_steps(seed + i, hours=HOURS) for i, zone in enumerate("ab")},
            slack=slack,
        )
    )
    limit = found["clairvoyant"]
    assert limit.saving_pct is not None
    assert limit.lost_share == 0
    for one in found.values():
        assert one.saving_pct is not None
        assert one.saving_pct <= limit.saving_pct + 1e-9


def test_a_night_that_is_half_price_is_found_by_the_night_rule_and_by_the_limit() -> None:
    # $1 by day, $0.50 from 02:00 to 06:00 UTC; the series begins at midnight.
    nights = [
        (day * 24.0 + hour, price)
        for day in range(HOURS // 24)
        for hour, price in ((0, 1.0), (2, 0.5), (6, 1.0))
    ]
    found = results(judged({("a", "m5.large"): nights}, slack=24))
    assert found["night"].saving_pct == pytest.approx(found["clairvoyant"].saving_pct)
    assert found["night"].mean_cost == pytest.approx(2.0)
    assert found["home_now"].saving_pct == 0


def test_without_slack_there_is_no_night_rule() -> None:
    assert "night" not in results(judged({("a", "m5.large"): [(0, 1.0)]}, slack=0))
