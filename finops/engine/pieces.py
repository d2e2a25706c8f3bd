"""The plan in pieces of one workload, with the evidence that decides whether it is advised."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from finops.engine.flexibility import Chooser, Walk
from finops.engine.places import Places
from finops.engine.plans import Forecaster, Market, Plan, chance_cheaper, hazard_of, interval, spot_plan
from finops.engine.rework import rework_hours
from finops.engine.series import US_PER_HOUR, Ints
from finops.engine.splitting import SAME, Slots, SplitTest, backtest_split, choose_pieces, levels, pieces_of
from finops.engine.workload import Workload


@dataclass(frozen=True)
class Splitting:
    """The back-test of running in pieces, and the plan; None where one piece is advised or pieces promise no
    more now.
    """

    test: SplitTest | None
    plan: Plan | None


def judge_pieces(
    workload: Workload,
    market: Market,
    forecaster: Forecaster,
    places: Places,
    walked: Walk,
    *,
    base: Ints,
    rule: Chooser,
) -> Splitting | None:
    """Whether the work should run in pieces; None where it may not, or has no hour to pause in."""
    w = workload
    if not w.splittable or not w.interruptible or w.slack_us < US_PER_HOUR or not len(places.usable):
        return None
    slots = Slots.of(
        length_us=w.length_us, slack_us=w.slack_us, restart_us=round(w.restart_minutes * 60_000_000)
    )
    past = forecaster.past
    test = backtest_split(past, walked, places.usable, base, rule, slots, slack_us=w.slack_us)
    plan = _plan(w, market, forecaster, places, slots, test) if test and test.worth_it else None
    return Splitting(test, plan)


def _plan(
    w: Workload, market: Market, forecaster: Forecaster, places: Places, slots: Slots, test: SplitTest
) -> Plan | None:
    """The pieces by what is known now, at the place that is cheapest now; expected cost corrected by what
    such forecasts missed by.
    """
    cheapest = int(places.prices.argmin())
    series, price = int(places.usable[cheapest]), float(places.prices[cheapest])
    one, start = np.array([series], np.int64), np.array([w.earliest_us], np.int64)
    level = levels(forecaster.past, one, start, slots, lead_us=w.earliest_us - w.at_us)
    # At the decision the level is over the price of the same hour then; what stands now is the price.
    choice = choose_pieces(np.array([price]), level, slots)
    spread = interval(test.errors)
    if not choice.splits[0] or spread is None:
        return None
    pieces = pieces_of(choice.runs[0], w.earliest_us, slots)
    mean = float(test.errors.mean())
    expected = float(choice.expected[0]) * mean
    # Corrected by past misses it must still not cost more than starting now. The back-test knows no such
    # correction at its decisions and splits more often than this.
    if expected > price * slots.hours * (1 + SAME):
        return None
    whole = spot_plan(
        w,
        market,
        forecaster,
        series,
        price=price,
        start_us=pieces[0][0],
        ratios=np.zeros(0),
        level=expected / (price * w.hours),
    )
    again = _rework_shares(w, market, whole, pieces)
    moving = whole.transfer or 0.0
    less, more = (again[0], again[2]) if again else (0.0, 0.0)
    return replace(
        whole,
        rework=None if again is None else whole.compute * again[1],
        low=whole.compute * min(spread[0] / mean, 1.0) * (1 + less) + moving,
        high=whole.compute * max(spread[1] / mean, 1.0) * (1 + more) + moving,
        pieces=pieces,
    )


def _rework_shares(
    w: Workload, market: Market, plan: Plan, pieces: tuple[tuple[int, int], ...]
) -> tuple[float, float, float] | None:
    """Expected rework of the pieces as a share of the work: a piece that ended is never done again."""
    hazard = hazard_of(w, market, plan.region, plan.instance_type)
    if hazard is None:
        return None
    checkpoint = None if w.checkpoint_minutes is None else w.checkpoint_minutes / 60
    low, expected, high = (
        sum(
            rework_hours(
                (end - start) / US_PER_HOUR,
                rate,
                checkpoint_hours=checkpoint,
                restart_hours=w.restart_minutes / 60,
            )
            for start, end in pieces
        )
        / w.hours
        for rate in (hazard.low, hazard.expected, hazard.high)
    )
    return low, expected, high


def chance_of_pieces(plan: Plan, home: Plan, test: SplitTest) -> float | None:
    """The chance that the pieces cost less than starting now at home, over the past decisions that split."""
    days = (plan.pieces[-1][1] - plan.pieces[0][0]) / (24 * US_PER_HOUR)
    costs = plan.cost * test.errors / test.errors.mean()
    return chance_cheaper(costs, home.cost * test.beside, days_each=days)
