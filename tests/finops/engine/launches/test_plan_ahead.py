"""What the plan ahead says by hand: starts of any length, short steps, moves of a machine, what faded."""

from __future__ import annotations

import pytest

from finops.engine.launches.deadline import Job, Market, Standing
from finops.engine.launches.plan_ahead import AGES, HALF_LIFE_SECONDS, Past, PlanAhead

HOUR = 3600


def steady(gap: int = 600) -> Past:
    """Spot for 500 ticks."""
    past = Past(gap)
    for _tick in range(500):
        past.see(True)
    return past


@pytest.mark.parametrize("overhead", [0, 240, 250, 700])
def test_a_start_is_planned_at_its_length(overhead: int) -> None:
    """On-demand for less than Spot: work and one start at its price, begun now or later; units are 120 s."""
    job = Job(10 * HOUR, 16 * HOUR, overhead, 0.5)
    costs = PlanAhead(job, 600, steady()).costs(Standing(0, job.deadline, job.work))
    expected = (10 * HOUR + overhead) * 0.5
    assert costs[Market.ON_DEMAND] == pytest.approx(expected)
    assert costs[Market.NONE] == pytest.approx(expected)


def test_with_little_slack_steps_are_shorter() -> None:
    for slack, step in ((5 * HOUR + 60, 600), (5 * HOUR, 300)):
        job = Job(10 * HOUR, 10 * HOUR + slack, 120, 3.15)
        plan = PlanAhead(job, 60, steady(60))
        plan.costs(Standing(0, job.deadline, job.work))
        assert (plan.step, plan.unit) == (step, step / 5)


def test_what_may_be_lost_to_another_zone_makes_spot_dearer_and_no_other_choice_cheaper() -> None:
    job = Job(10 * HOUR, 13 * HOUR, 360, 3.15)
    at = Standing(0, job.deadline, job.work)
    found = [
        PlanAhead(job, 600, steady(), moves=moves).costs(at)
        for moves in (None, lambda: 0.0, lambda: 1 / 12, lambda: 1 / 3)
    ]
    assert found[0] == found[1]
    spot = [costs[Market.SPOT] for costs in found]
    assert spot[1] < spot[2] < spot[3]
    for market in (Market.NONE, Market.ON_DEMAND):
        assert found[1][market] <= found[2][market] <= found[3][market]
    # Ten hours at a loss in two hours: about five starts of 360 s more, each at a price of 1 to 3.15.
    assert 4 * 360 < spot[2] - spot[1] < 6 * 360 * 3.15


def test_a_choice_that_on_demand_could_not_save_costs_without_limit() -> None:
    """Slack of 700 s: neither a wait of a step (600) nor a start of Spot (360) leaves one of on-demand."""
    job = Job(10 * HOUR, 10 * HOUR + 700, 360, 3.15)
    costs = PlanAhead(job, 600, steady()).costs(Standing(0, job.deadline, job.work))
    assert costs[Market.ON_DEMAND] < 12 * HOUR * 3.15
    assert costs[Market.NONE] > 1e6
    assert costs[Market.SPOT] > 1e6


@pytest.mark.parametrize(
    ("ratio", "slack", "chosen"),
    [
        (3.15, 600, Market.SPOT),
        (1.0, 600, Market.SPOT),
        (0.5, 600, Market.ON_DEMAND),
        (3.15, 300, Market.ON_DEMAND),
    ],
)
def test_a_running_spot_machine_goes_on_where_it_is_cheaper_and_safe(
    ratio: float, slack: int, chosen: Market
) -> None:
    """However short its runs were; safe is what leaves a start (360 s) of on-demand."""
    past = Past(600)
    for tick in range(300):
        past.see(tick % 2 == 1)
    job = Job(10 * HOUR, 12 * HOUR, 360, ratio)
    plan = PlanAhead(job, 600, past)
    at = Standing(0, 5 * HOUR + slack, 5 * HOUR, Market.SPOT)
    assert plan.choose(at, True) is chosen


def test_what_was_seen_fades_by_half_in_72_hours_however_long_it_goes_on() -> None:
    past, hours = Past(HOUR), HALF_LIFE_SECONDS // HOUR
    for there in [True] * 3 + [False] * (60 * hours):
        past.see(there)
    kept = 0.5 ** (1 / hours)
    ticks = 60 * hours
    assert past.seconds[1].sum() == pytest.approx(
        HOUR * (kept**ticks + kept ** (ticks + 1) + kept ** (ticks + 2))
    )
    assert past.ended[1].sum() == pytest.approx(kept ** (ticks - 1))
    assert past.seconds[0].sum() == pytest.approx(HOUR * (1 - kept**ticks) / (1 - kept))
    assert past.phase() == AGES.size - 1
    past.unseen(10**9)
    assert past.seconds.max() < 1e-100
    assert past.there is None
