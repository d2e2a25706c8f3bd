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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

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
from finops.engine.pieces import Splitting, chance_of_pieces, judge_pieces
from finops.engine.places import NO_SERIES, Excluded, Places, find_places
from finops.engine.plans import (
    ON_DEMAND,
    SPOT,
    Forecaster,
    Market,
    Plan,
    Reason,
    chance_cheaper,
    hazard_of,
    on_demand_plan,
    rework_factors,
    saving_pct,
    spot_plan,
)
from finops.engine.policy.decide import choose, decide
from finops.engine.reasons import explain
from finops.engine.rivals import judge_rivals, known_afterwards
from finops.engine.series import US_PER_HOUR, Floats, Ints
from finops.engine.waiting import expected_levels, same_hour
from finops.engine.workload import Workload, candidate_series

Verdict = Literal["now", "wait", "cannot judge"]
MAX_PLANS = 40
GRID_WAIT_US = 72 * US_PER_HOUR
NO_ERRORS = np.zeros(0)


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
    desk = _Desk(workload, market, forecaster, places)
    plans, never = _finishing(desk.now_plans())
    waited = desk.decided_wait()
    walked = _walk(desk)
    split = judge_pieces(workload, market, forecaster, places, walked, base=_base(desk), rule=rule)
    later = (waited, split.plan if split else None)
    ranked = _rank(desk, plans + [plan for plan in later if plan is not None])
    if waited is None and places.home is not None and workload.slack_us >= US_PER_HOUR:
        shown = desk.calendar_wait(places.home, wait_rule)
        ranked += [shown] if shown else []
    home, zone_now = desk.home_plan(), desk.zone_now(ranked)
    if home is not None and zone_now is not None:
        home = replace(home, saving_vs_zone_now_pct=saving_pct(home.cost, zone_now.cost))
    kept = _keep(ranked)
    compared = [desk.compare(plan, home, zone_now, split) for plan in kept]
    verdict, why = _verdict(desk, compared)
    return Advice(
        workload=workload,
        verdict=verdict,
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


@dataclass(frozen=True)
class _Desk:
    """What every step needs, and the plans it makes from it."""

    workload: Workload
    market: Market
    forecaster: Forecaster
    places: Places

    @property
    def lead_us(self) -> int:
        return self.workload.earliest_us - self.workload.at_us

    @property
    def longest_us(self) -> int:
        return self.lead_us + self.workload.slack_us

    def _spot(self, series: int, price: float, *, start_us: int, level: float = 1.0) -> Plan:
        chosen = np.array([series], np.int64)
        lead = start_us - self.workload.at_us
        ratios = self.forecaster.ratios(chosen, self.forecaster.times(self.longest_us), lead)[0]
        return spot_plan(
            self.workload,
            self.market,
            self.forecaster,
            series,
            price=price,
            start_us=start_us,
            ratios=ratios,
            level=level,
        )

    def now_plans(self) -> list[Plan]:
        """Starting at the earliest time: Spot in each usable series, on-demand of each type and region."""
        w, places = self.workload, self.places
        plans = [
            spot_plan(
                w, self.market, self.forecaster, s, price=price, start_us=w.earliest_us, ratios=NO_ERRORS
            )
            for s, price in zip(places.usable.tolist(), places.prices.tolist(), strict=True)
        ]
        for region in self._open_regions():
            zone = self._any_zone(region)
            for kind in places.types:
                plan = on_demand_plan(
                    w,
                    self.market,
                    region=region,
                    zone=zone,
                    instance_type=kind,
                    currency=places.currency or "",
                )
                if plan is not None:
                    plans.append(plan)
        return plans

    def _open_regions(self) -> list[str]:
        """Regions with an allowed zone; all of them where no zone is named or none is known."""
        keys, zones = self.market.book.keys, self.workload.zones
        there = {k.region for k in keys if k.zone in zones}
        return [region for region in self.workload.regions if not there or region in there]

    def _any_zone(self, region: str) -> str:
        """An allowed zone of the region, home first: on-demand costs the same in each; '' for none."""
        keys = self.market.book.keys
        zones = sorted(
            {
                k.zone
                for k in keys
                if k.region == region and (k.zone in self.workload.zones or not self.workload.zones)
            }
        )
        return self.workload.home_zone if self.workload.home_zone in zones else next(iter(zones), "")

    def zone_now(self, plans: Iterable[Plan]) -> Plan | None:
        """Starting at the earliest time, in one piece, in the cheapest zone of the home region."""
        zones = set(self.places.zone.tolist())
        begin = self.workload.earliest_us
        there = (p for p in plans if p.series in zones and p.start_us == begin and not p.pieces)
        return min(there, key=lambda plan: (plan.cost, plan.zone), default=None)

    def home_plan(self) -> Plan | None:
        """Starting at the earliest time in the home zone: what savings compare with."""
        home = self.places.home
        if home is None:
            return None
        price = float(self.forecaster.prices(np.array([home], np.int64))[0])
        plan = self._spot(home, price, start_us=self.workload.earliest_us)
        listed = self._listed(plan)
        return replace(
            plan,
            saving_vs_home_pct=0.0,
            saving_vs_on_demand_pct=saving_pct(plan.cost, listed.cost if listed else None),
            reason=Reason("base"),
        )

    def decided_wait(self) -> Plan | None:
        """The plan of the rule when it waits; None when it starts at once."""
        w, places = self.workload, self.places
        if not len(places.usable) or not w.interruptible or w.slack_us < US_PER_HOUR:
            return None
        decision = decide(
            self.forecaster.seen,
            places.usable,
            home=places.home,
            hours=w.hours,
            now_us=w.earliest_us,
            slack_us=w.slack_us,
        )
        if decision.verdict == "now":
            return None
        price = float(self.forecaster.prices(np.array([decision.series], np.int64))[0])
        level = decision.expected_cost / (price * w.hours)
        return self._spot(decision.series, price, start_us=decision.start_us, level=level)

    def calendar_wait(self, series: int, chooser: Chooser) -> Plan | None:
        """The start that a rule which always waits would take in one series; None when that is now."""
        w = self.workload
        chosen, start = chooser(
            self.forecaster.seen,
            np.array([series], np.int64),
            np.array([w.earliest_us], np.int64),
            length_us=w.length_us,
            slack_us=w.slack_us,
        )
        if not w.interruptible or chosen[0] < 0 or start[0] <= w.earliest_us:
            return None
        now, lead = np.array([w.at_us], np.int64), start - w.at_us
        level = float(expected_levels(self.forecaster.past, series, now, lead, w.length_us)[0, 0])
        price = float(self.forecaster.prices(chosen)[0])
        return self._spot(series, price, start_us=int(start[0]), level=level if np.isfinite(level) else 1.0)

    def _listed(self, plan: Plan) -> Plan | None:
        return on_demand_plan(
            self.workload,
            self.market,
            region=plan.region,
            zone=plan.zone,
            instance_type=plan.instance_type,
            currency=plan.currency,
        )

    def compare(self, plan: Plan, home: Plan | None, zone_now: Plan | None, split: Splitting | None) -> Plan:
        """The plan with its interval, its savings, and the chance that it is cheaper than home."""
        if plan.series is not None and plan.low is None:
            whole = self._spot(plan.series, plan.price, start_us=plan.start_us)
            plan = replace(plan, low=whole.low, high=whole.high)
        listed = self._listed(plan)
        return replace(
            plan,
            saving_vs_home_pct=saving_pct(plan.cost, home.cost if home else None),
            saving_vs_zone_now_pct=saving_pct(plan.cost, zone_now.cost if zone_now else None),
            saving_vs_on_demand_pct=saving_pct(plan.cost, listed.cost if listed else None),
            probability_cheaper=self._chance(plan, home, split),
        )

    def _chance(self, plan: Plan, other: Plan | None, split: Splitting | None) -> float | None:
        if other is not None and plan.pieces and split is not None and split.test is not None:
            return chance_of_pieces(plan, other, split.test)
        if other is None or (plan.series == other.series and plan.start_us == other.start_us):
            return None
        days = self.workload.hours / 24
        return chance_cheaper(self._past_costs(plan), self._past_costs(other), days_each=days)

    def _past_costs(self, plan: Plan) -> Floats:
        """What the plan would have cost had its past forecast errors come again; one an hour of the past."""
        times = self.forecaster.times(self.longest_us)
        extra = plan.transfer or 0.0
        if plan.series is None:
            return np.full(len(times), plan.cost)
        lead = plan.start_us - self.workload.at_us
        ratios = self.forecaster.ratios(np.array([plan.series], np.int64), times, lead)[0]
        held = plan.price * self.workload.hours * self.workload.count
        factor = 1 + (plan.rework or 0.0) / plan.compute
        return np.asarray(held * ratios * factor + extra)

    def later_prices(self) -> bool:
        return any(
            listed.later
            for (region, kind), listed in self.market.list_prices.items()
            if kind in self.places.types and region in self.workload.regions
        )


def _finishing(plans: Sequence[Plan]) -> tuple[list[Plan], tuple[Excluded, ...]]:
    """Plans without those whose pieces are interrupted so often that they never end."""
    ends = [plan for plan in plans if np.isfinite(plan.cost)]
    never = tuple(
        Excluded(p.region, p.zone, p.instance_type, "never finishes")
        for p in plans
        if not np.isfinite(p.cost)
    )
    return ends, never


def _rank(desk: _Desk, plans: Iterable[Plan]) -> list[Plan]:
    """Plans in order of recommendation from 1; Spot for work that may not be interrupted: last, unranked."""
    w, market = desk.workload, desk.market
    plans = list(plans)
    known = [
        f[1]
        for p in plans
        if p.market == SPOT
        if (f := rework_factors(w, hazard_of(w, market, p.region, p.instance_type))) is not None
    ]
    worst = max(known, default=0.0)

    def order(plan: Plan) -> tuple[bool, bool, float, bool, bool, int, str, str]:
        unknown = worst * plan.compute if plan.rework is None else 0.0
        moving_unknown = w.data_gib is not None and plan.transfer is None
        return (
            plan.market == SPOT and not w.interruptible,
            moving_unknown,
            round(plan.cost + unknown, 9),
            not plan.pieces,
            plan.series is None or plan.series != desk.places.home,
            plan.start_us,
            plan.zone,
            plan.instance_type,
        )

    ranked: list[Plan] = []
    for plan in sorted(plans, key=order):
        recommended = w.interruptible or plan.market == ON_DEMAND
        ranked.append(replace(plan, rank=len(ranked) + 1 if recommended else None))
    return ranked


def _keep(plans: list[Plan]) -> list[Plan]:
    """The first `MAX_PLANS`, and after them the best on-demand plan and what is shown without a rank."""
    kept = plans[:MAX_PLANS]
    later = plans[MAX_PLANS:]
    if not any(p.market == ON_DEMAND for p in kept):
        kept += [p for p in later if p.market == ON_DEMAND][:1]
    return kept + [p for p in later if p.rank is None and p.market == SPOT][-1:]


def _verdict(desk: _Desk, plans: Sequence[Plan]) -> tuple[Verdict, Reason]:
    best = next((plan for plan in plans if plan.rank == 1), None)
    w = desk.workload
    if best is None:
        return "cannot judge", Reason("no plan" if w.interruptible else "no list price")
    if w.interruptible and not len(desk.places.usable):
        return "cannot judge", Reason("no spot price")
    if best.pieces:
        return ("wait" if best.start_us > w.earliest_us else "now"), Reason("pieces")
    if best.start_us > w.earliest_us:
        return "wait", Reason("window")
    return "now", Reason("no window" if w.slack_us >= US_PER_HOUR else "no slack")


def _base(desk: _Desk) -> Ints:
    places = desk.places
    return np.array([places.home], np.int64) if places.home is not None else places.zone


def _walk(desk: _Desk) -> Walk:
    w, places = desk.workload, desk.places
    return walk(
        desk.forecaster.past,
        _base(desk),
        np.union1d(places.usable, _base(desk)),
        at_us=w.at_us,
        length_us=w.length_us,
        wait_us=max(GRID_WAIT_US, w.slack_us),
    )


def _waiting(desk: _Desk, walked: Walk, rule: Chooser) -> Result:
    """What waiting alone was worth by a rule: staying at home with the slack, against starting at once."""
    if desk.workload.slack_us < US_PER_HOUR or not desk.workload.interruptible:
        return Result(0)
    return evaluate(desk.forecaster.past, walked, _base(desk), rule, slack_us=desk.workload.slack_us)


def _grid(desk: _Desk, walked: Walk, rule: Chooser) -> tuple[Cell, ...]:
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
    desk: _Desk,
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
        past, walked, _base(desk), places.zone, places.usable, slack_us=w.slack_us, wait_rule=wait_rule
    )
    listed = desk.market.list_prices.get((places.home_region, places.base_type))
    if listed is not None and listed.currency == places.currency and len(walked):
        price = listed.per_hour * (1 - w.discount_pct / 100) * w.hours
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
