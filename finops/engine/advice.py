"""Launch advice: when, where, on what and in which market to run one workload, and what that is worth.

1. Candidates are the series of the allowed types in the allowed zones and regions. Those flagged by data
   quality, without a price seen within a day, or in another currency are set aside with the reason
   (`places`).
2. Each candidate is priced as if started at the earliest time (`plans`), on-demand beside it, waiting as the
   rule says. Plans are ranked by expected cost; a plan with an unknown cost of moving data never stands
   before one whose cost is known, and unknown rework is ranked as the worst that is known.
3. The rule that decides is then tested on the loaded past of this workload (`flexibility`), and quoted.

Nothing later than `at` is read: the book is cut first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from finops.engine.desk import Desk
from finops.engine.flexibility import (
    FREEDOMS,
    Cell,
    Chooser,
    Result,
    Walk,
    evaluate,
    grid,
    outcome,
    walk,
)
from finops.engine.pieces import Splitting, judge_pieces
from finops.engine.places import NO_SERIES, Excluded, find_places
from finops.engine.plans import (
    ON_DEMAND,
    SPOT,
    Forecaster,
    Market,
    Plan,
    Reason,
    saving_pct,
)
from finops.engine.policy.decide import choose
from finops.engine.ranking import Verdict, finishing, keep, rank, verdict
from finops.engine.reasons import explain
from finops.engine.rivals import judge_rivals, known_afterwards
from finops.engine.series import US_PER_HOUR, Ints
from finops.engine.waiting import same_hour
from finops.engine.workload import Workload, candidate_series

GRID_WAIT_US = 72 * US_PER_HOUR


@dataclass(frozen=True, slots=True)
class Backtest:
    """The rule and its rivals on the past of this workload; `first_us`, `last_us`: first and last
    decision.
    """

    advice: Result
    rivals: tuple[tuple[str, Result], ...]
    first_us: int | None
    last_us: int | None


@dataclass(frozen=True)
class Advice:
    """The answer with its evidence. `home` None: `home_reason` says why, and `zone_now` is what is
    compared. `waiting`: the launch rule on the past with the slack and no freedom of place. `splitting` None:
    the work may not run in pieces.
    """

    workload: Workload
    verdict: Verdict
    reason: Reason
    home: Plan | None
    home_reason: Reason
    zone_now: Plan | None
    plans: tuple[Plan, ...]
    left_out: int
    excluded: tuple[Excluded, ...]
    waiting: Result
    flexibility: tuple[Cell, ...]
    backtest: Backtest
    currency: str | None
    later_prices: bool
    splitting: Splitting | None = None

    @property
    def best(self) -> Plan | None:
        """The recommended plan: rank 1."""
        return next((plan for plan in self.plans if plan.rank == 1), None)


def advise(
    workload: Workload, market: Market, *, rule: Chooser = choose, wait_rule: Chooser = same_hour
) -> Advice:
    """Ranked plans for `workload` in `market`, with the walk-forward evidence of `rule`.

    `rule` is the launch rule over many decision times: the verdict, the grid and what waiting is said to be
    worth all rest on it. `wait_rule` waits whenever its forecast is lower; it is shown as a rival.
    """
    forecaster = Forecaster.at(
        market.book, at_us=workload.at_us, start_us=workload.earliest_us, length_us=workload.length_us
    )
    places = find_places(workload, market, forecaster)
    desk = Desk(workload, market, forecaster, places)
    plans, never = finishing(desk.now_plans())
    waited = desk.decided_wait()
    walked = _walk(desk)
    split = judge_pieces(workload, market, forecaster, places, walked, base=desk.base, rule=rule)
    later = (waited, split.plan if split else None)
    ranked = rank(desk, plans + [plan for plan in later if plan is not None])
    if waited is None and places.home is not None and workload.slack_us >= US_PER_HOUR:
        shown = desk.calendar_wait(places.home, wait_rule)
        ranked += [shown] if shown else []
    home, zone_now = desk.home_plan(), desk.zone_now(ranked)
    if home is not None and zone_now is not None:
        home = replace(home, saving_vs_zone_now_pct=saving_pct(home.cost, zone_now.cost))
    kept = keep(ranked)
    compared = [desk.compare(plan, home, zone_now, split) for plan in kept]
    decided, why = verdict(desk, compared)
    return Advice(
        workload=workload,
        verdict=decided,
        reason=why,
        home=home,
        home_reason=places.home_reason,
        zone_now=zone_now,
        plans=explain(compared, workload, home, _waiting(desk, walked, wait_rule)),
        left_out=len(ranked) - len(kept),
        excluded=places.excluded + never,
        waiting=_waiting(desk, walked, rule),
        flexibility=_grid(desk, walked, rule),
        backtest=_backtest(
            desk,
            walked,
            rule,
            wait_rule,
            split if why.code == "pieces" else None,
            next((plan for plan in compared if plan.rank == 1), None),
        ),
        currency=places.currency,
        later_prices=desk.later_prices(),
        splitting=split,
    )


def _walk(desk: Desk) -> Walk:
    w, places = desk.workload, desk.places
    return walk(
        desk.forecaster.past,
        desk.base,
        np.union1d(places.usable, desk.base),
        at_us=w.at_us,
        length_us=w.length_us,
        wait_us=max(GRID_WAIT_US, w.slack_us),
    )


def _waiting(desk: Desk, walked: Walk, rule: Chooser) -> Result:
    """What waiting alone was worth by a rule: staying at home with the slack, against starting at once."""
    if desk.workload.slack_us < US_PER_HOUR or not desk.workload.interruptible:
        return Result(0)
    return evaluate(desk.forecaster.past, walked, desk.base, rule, slack_us=desk.workload.slack_us)


def _grid(desk: Desk, walked: Walk, rule: Chooser) -> tuple[Cell, ...]:
    places, market, w = desk.places, desk.market, desk.workload
    stand_ins = market.stand_ins.get(places.base_type, ())
    trusted = set(places.trusted.tolist())

    def series(types: Iterable[str], regions: Iterable[str]) -> Ints:
        found = candidate_series(market.book, types=types, regions=regions)
        keys = market.book.keys
        return np.array(
            [i for i in found.tolist() if i in trusted and keys[i].currency == places.currency], np.int64
        )

    regions = w.regions if places.home_region in w.regions else (places.home_region, *w.regions)
    others = series({*stand_ins, *places.types} - {places.base_type}, regions)
    same = series((places.base_type,), regions)
    freedoms = {
        "home": NO_SERIES if places.home is None else np.array([places.home], np.int64),
        "zone": series((places.base_type,), (places.home_region,)),
        "region": same if len(regions) > 1 else NO_SERIES,
        "type": np.concatenate((same, others)) if len(others) else NO_SERIES,
    }
    reasons = {
        "home": "no home zone",
        "region": "no other region is allowed",
        "type": "no other type fits" if places.base_type in market.stand_ins else "no facts about this type",
    }
    if not w.interruptible:  # on demand costs the same at any hour and in any zone; Spot is no freedom here
        freedoms, reasons = {}, dict.fromkeys(FREEDOMS, "may not be interrupted")
    return grid(desk.forecaster.past, walked, freedoms, rule, reasons=reasons)


def _backtest(
    desk: Desk,
    walked: Walk,
    rule: Chooser,
    wait_rule: Chooser,
    split: Splitting | None,
    best: Plan | None,
) -> Backtest:
    """The rule with this workload's own freedom and slack, its rivals and the limit on the same decisions.

    Where pieces are advised (`split`) theirs is the advice, and one piece a rival; where on-demand is the
    best plan its price is the advice, and the rule on Spot a rival.
    """
    w, places, past = desk.workload, desk.places, desk.forecaster.past
    advice = evaluate(past, walked, places.usable, rule, slack_us=w.slack_us)
    rivals = judge_rivals(
        past, walked, desk.base, places.zone, places.usable, slack_us=w.slack_us, wait_rule=wait_rule
    )
    listed = desk.market.list_prices.get((places.home_region, places.base_type))
    if listed is not None and listed.currency == places.currency and len(walked):
        price = listed.paid(w.discount_pct) * w.hours
        rivals.append(("on_demand", outcome(walked, np.full(len(walked), price))))
    if split is not None and split.test is not None:
        rivals.append(("one_piece", advice))
        advice = split.test.over_home
    elif w.interruptible and (best is None or best.market == SPOT):
        # The limit of one piece on Spot: pieces and on-demand can be cheaper.
        rivals.append(("clairvoyant", known_afterwards(past, walked, places.usable, slack_us=w.slack_us)))
    if best is not None and best.market == ON_DEMAND and len(walked):
        rivals.append(("spot_rule", advice))
        advice = outcome(walked, np.full(len(walked), best.price * w.hours))
    elif not w.interruptible:
        advice = Result(0)
    first, last = (int(walked.times[0]), int(walked.times[-1])) if len(walked) else (None, None)
    return Backtest(advice, tuple(rivals), first, last)
