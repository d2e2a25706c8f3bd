"""Plans of one workload in one market: each way to start it with its cost, its interval and its savings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from finops.engine.flexibility import Chooser
from finops.engine.pieces import Splitting, chance_of_pieces
from finops.engine.places import Places
from finops.engine.plans import (
    ERROR_HOURS,
    Forecaster,
    Market,
    Plan,
    Reason,
    chance_cheaper,
    on_demand_plan,
    saving_pct,
    spot_plan,
)
from finops.engine.policy.decide import decide
from finops.engine.series import US_PER_HOUR, Floats, Ints
from finops.engine.waiting import expected_levels
from finops.engine.workload import Workload

NO_ERRORS = np.zeros(0)


@dataclass(frozen=True)
class Desk:
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

    @property
    def base(self) -> Ints:
        """The series that savings of the back-test compare with: home, else the zones of its region."""
        places = self.places
        return np.array([places.home], np.int64) if places.home is not None else places.zone

    def _spot(self, series: int, price: float, *, start_us: int, level: float = 1.0) -> Plan:
        chosen = np.array([series], np.int64)
        lead = start_us - self.workload.at_us
        times = self.forecaster.times(self.longest_us, 2 * ERROR_HOURS)
        ratios = self.forecaster.ratios(chosen, times, lead)[0]
        return spot_plan(
            self.workload,
            self.market,
            self.forecaster,
            series,
            price=price,
            start_us=start_us,
            ratios=ratios,
            level=level,
            lag=-(-(self.longest_us + self.forecaster.length_us) // US_PER_HOUR),
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
