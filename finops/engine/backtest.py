"""Walk-forward back-test of the launch rule over the loaded history, beside its rivals and the optimum.

Every series takes its turn as home. At each decision time a strategy sees prices up to then, chooses a
place and a start, and is charged what the run really cost: the integral of the price. A wait is looked at
again every step with what is known by then. A decision counts where the whole horizon (slack and run) is
known.

Saving of a series = 1 - (cost of all decisions) / (cost of the same runs started at once at home); a cell's
saving is the mean over series. Capture = that mean / the mean of the optimum with the same freedom.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from finops.engine.policy.config import DEFAULT, Job, PolicyConfig, grid_before
from finops.engine.policy.panel import Bools, Panel, forward_min, make_panel
from finops.engine.policy.rule import NOW, Course, cost_at, follow
from finops.engine.series import US_PER_HOUR, Floats, Ints, PriceBook, SeriesKey, hours_to_us
from finops.engine.strategies import at_night, below_median, same_hour

MATERIAL_PCT = 1.0  # waiting that saves less than this on a series is no window worth a calendar entry
LEAST_CLAIRVOYANT_PCT = 0.005
# Freedom of each strategy: which optimum its capture is measured against.
FREEDOM = {
    "advice": "clairvoyant",
    "advice_home": "clairvoyant_home",
    "advice_type": "clairvoyant_type",
    "home_now": "clairvoyant_home",
    "on_demand": "clairvoyant",
    "zone_now": "clairvoyant",
    "type_zone_now": "clairvoyant_type",
    "night": "clairvoyant_home",
    "same_hour_4_weeks": "clairvoyant_home",
    "trailing_median": "clairvoyant_home",
    "clairvoyant": "clairvoyant",
    "clairvoyant_home": "clairvoyant_home",
    "clairvoyant_type": "clairvoyant_type",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """One strategy in one cell; percent and shares, means over series; None where nothing could be judged.

    `regret_pct`: how much dearer than the optimum of the same freedom. `lost_share`: decisions dearer than
    starting at once at home.
    """

    saving_vs_home_pct: float | None
    capture: float | None
    lost_share: float | None
    regret_pct: float | None
    decisions: int


@dataclass(frozen=True)
class Cell:
    """One region, length and slack. `no_window_share`: decisions in which the rule starts at once, mean over
    series; `series_without_window_share`: series on which waiting saved less than `MATERIAL_PCT`.
    """

    region: str
    hours: float
    slack_hours: float
    series: int
    decisions: int
    strategies: Mapping[str, Outcome]
    no_window_share: float | None
    series_without_window_share: float | None


@dataclass(frozen=True)
class BacktestResult:
    """All cells, in the order of region, hours, slack."""

    cells: tuple[Cell, ...]
    every_hours: int
    config: PolicyConfig = field(default=DEFAULT)


def backtest(
    book: PriceBook,
    *,
    home_series: Sequence[int] | Ints,
    hours: Sequence[float],
    slack_hours: Sequence[float],
    start_us: int,
    end_us: int,
    on_demand: Mapping[int, float] | None = None,
    equivalents: Mapping[str, Sequence[str]] | None = None,
    every_hours: int = 6,
    config: PolicyConfig = DEFAULT,
    tell: Callable[[Cell], None] | None = None,
) -> BacktestResult:
    """Decide every `every_hours` in [start, end) for each home series, and charge the outcome.

    Prices before `start_us` in the book are training; what reaches past `end_us` is not read. `on_demand`:
    list price per instance-hour by series index. `equivalents`: types that can do the work of a type.
    Places are the book's series of the same provider, region, product and currency. `tell` hears each cell
    as it is done.
    """
    cut = book.until(end_us)
    cells: list[Cell] = []
    homes = np.asarray(home_series, np.int64)
    for region in sorted({cut.keys[i].region for i in homes.tolist()}):
        mine = np.array([i for i, key in enumerate(cut.keys) if key.region == region], np.int64)
        rows = np.searchsorted(mine, [i for i in homes.tolist() if cut.keys[i].region == region])
        keys = [cut.keys[i] for i in mine.tolist()]
        grid = _grid(cut, start_us, end_us, max(hours), max(slack_hours), config)
        panel = make_panel(cut, mine, grid, config)
        zones, types = _zone_groups(keys), _type_groups(keys, equivalents)
        listed = np.array([(on_demand or {}).get(int(i), np.nan) for i in mine])
        field_ = _Field(panel, rows, zones, types, listed, start_us, every_hours)
        for h, s in product(hours, slack_hours):
            cells.append(field_.cell(region, h, s))
            if tell is not None:
                tell(cells[-1])
    return BacktestResult(tuple(cells), every_hours, config)


def backtest_workload(
    book: PriceBook,
    candidates: Sequence[int] | Ints,
    *,
    home: int,
    hours: float,
    slack_hours: float,
    start_us: int,
    end_us: int,
    every_hours: int = 1,
    config: PolicyConfig = DEFAULT,
) -> Cell:
    """The same walk for one workload: its candidates are the places of 'advice', `home` what it compares
    with.
    """
    cut = book.until(end_us)
    series = np.unique(np.append(np.asarray(candidates, np.int64), home))
    grid = _grid(cut, start_us, end_us, hours, slack_hours, config)
    panel = make_panel(cut, series, grid, config)
    places = np.searchsorted(series, np.asarray(candidates, np.int64))
    row = np.array([np.searchsorted(series, home)])
    groups = _Groups([places], np.zeros(len(series), np.int64))
    one = _Field(panel, row, groups, None, np.full(len(series), np.nan), start_us, every_hours)
    return one.cell(cut.keys[home].region, hours, slack_hours)


def _grid(
    book: PriceBook, start_us: int, end_us: int, hours: float, slack: float, config: PolicyConfig
) -> Ints:
    """Instants from as far back as the first decision looks to the end, `start_us` among them."""
    back = config.history_us(length_us=hours_to_us(hours), slack_us=hours_to_us(slack))
    first = max(int(book.times.min()), start_us - back) if len(book.times) else start_us
    return grid_before(min(first, start_us), end_us, start_us, config.step_us)


@dataclass(frozen=True)
class _Groups:
    """`members` panel rows of each group; `of` group of each panel row."""

    members: Sequence[Ints]
    of: Ints


def _zone_groups(keys: Sequence[SeriesKey]) -> _Groups:
    names = [(k.provider, k.instance_type, k.product, k.currency) for k in keys]
    order = {name: g for g, name in enumerate(sorted(set(names)))}
    of = np.array([order[name] for name in names], np.int64)
    return _Groups([np.flatnonzero(of == g) for g in range(len(order))], of)


def _type_groups(
    keys: Sequence[SeriesKey], equivalents: Mapping[str, Sequence[str]] | None
) -> _Groups | None:
    if equivalents is None:
        return None
    zones = _zone_groups(keys)
    by_name: dict[tuple[str, str, str, str], Ints] = {}
    for rows in zones.members:
        key = keys[int(rows[0])]
        by_name[(key.provider, key.instance_type, key.product, key.currency)] = rows
    members = []
    for rows in zones.members:
        key = keys[int(rows[0])]
        own = key.instance_type
        kinds = [own, *(t for t in equivalents.get(own, ()) if t != own)]
        found = [by_name.get((key.provider, kind, key.product, key.currency)) for kind in kinds]
        members.append(np.concatenate([part for part in found if part is not None]))
    return _Groups(members, zones.of)


@dataclass(frozen=True)
class _Field:
    """One region on one grid: `homes` panel rows that take turns, groups of places, list prices per row."""

    panel: Panel
    homes: Ints
    zones: _Groups
    types: _Groups | None
    listed: Floats
    start_us: int
    every_hours: int

    def cell(self, region: str, hours: float, slack_hours: float) -> Cell:
        panel = self.panel
        job = Job(hours_to_us(hours), hours_to_us(slack_hours))
        at = self._decisions(job)
        cost = panel.cost(np.arange(len(panel.series)), job.length_us)
        home = cost[np.ix_(self.homes, at)]
        horizon = job.slack_us + job.length_us
        known = panel.book.is_known(
            panel.series[self.homes][:, None], panel.grid[at][None, :], panel.grid[at][None, :] + horizon
        )
        zone = follow(panel, self.zones.members, job)
        costs = dict(self._strategies(job, at, cost, zone))
        for name in ("advice", "zone_now", "clairvoyant"):
            known = known & np.isfinite(costs[name])
        known = known & np.isfinite(home)
        outcomes = {name: _outcome(name, costs, home, known) for name in FREEDOM if name in costs}
        counted = known.any(axis=1)
        started = zone.kind[self.zones.of[self.homes]][:, at] == NOW
        gain = _per_series(costs["advice"], costs["zone_now"], known)
        return Cell(
            region=region,
            hours=hours,
            slack_hours=slack_hours,
            series=int(counted.sum()),
            decisions=int(known.sum()),
            strategies=outcomes,
            no_window_share=_mean_share(started, known),
            series_without_window_share=float(np.mean(gain < MATERIAL_PCT)) if counted.any() else None,
        )

    def _decisions(self, job: Job) -> Ints:
        step = self.panel.config.step_us
        first = int(np.searchsorted(self.panel.grid, self.start_us))
        last = int(self.panel.grid[-1]) - job.slack_us - job.length_us
        count = int(np.searchsorted(self.panel.grid, last, side="right"))
        return np.arange(first, count, max(1, self.every_hours * US_PER_HOUR // step))

    def _strategies(self, job: Job, at: Ints, cost: Floats, zone: Course) -> Iterator[tuple[str, Floats]]:
        panel, homes = self.panel, self.homes
        step = panel.config.step_us
        slack, of = job.slack_us // step, self.zones.of[homes]
        mine, now = cost[homes], np.broadcast_to(np.arange(len(panel.grid)), (len(homes), len(panel.grid)))
        yield "home_now", mine[:, at]
        yield "on_demand", np.broadcast_to((self.listed[homes] * job.hours)[:, None], (len(homes), len(at)))
        yield "zone_now", self._or_home(zone, of, now, mine)[:, at]
        yield "advice", self._or_home(zone, of, zone.start[of], mine)[:, at]
        alone = follow(panel, [np.array([row]) for row in homes.tolist()], job)
        yield "advice_home", alone.start_cost()[:, at]
        yield "night", cost_at(mine, at_night(panel.grid, len(homes), slack, step))[:, at]
        yield "same_hour_4_weeks", cost_at(mine, same_hour(mine, slack, job.length_us, step))[:, at]
        yield "trailing_median", cost_at(mine, below_median(panel.price[homes], slack, step))[:, at]
        yield "clairvoyant_home", forward_min(mine, slack + 1)[:, at]
        yield "clairvoyant", forward_min(_cheapest(cost, self.zones.members), slack + 1)[of][:, at]
        if self.types is not None:
            kind = follow(panel, self.types.members, job)
            yield "type_zone_now", self._or_home(kind, of, now, mine)[:, at]
            yield "advice_type", self._or_home(kind, of, kind.start[of], mine)[:, at]
            yield "clairvoyant_type", forward_min(_cheapest(cost, self.types.members), slack + 1)[of][:, at]

    def _or_home(self, course: Course, of: Ints, start: Ints, mine: Floats) -> Floats:
        """Cost in the cheapest place at `start`, or at home where home costs no more then."""
        there = cost_at(course.cost[of], start)
        with np.errstate(invalid="ignore"):
            stay = cost_at(self.panel.price[self.homes], start) <= cost_at(course.signals.best[of], start)
        return np.where(stay, cost_at(mine, start), there)


def _cheapest(cost: Floats, members: Sequence[Ints]) -> Floats:
    open_cost = np.where(np.isfinite(cost), cost, np.inf)
    low = np.stack([open_cost[rows].min(axis=0) for rows in members])
    return np.where(np.isfinite(low), low, np.nan)


def _per_series(cost: Floats, base: Floats, known: Bools) -> Floats:
    """Saving in percent of each series that has a decision."""
    paid, would = np.where(known, cost, 0.0).sum(axis=1), np.where(known, base, 0.0).sum(axis=1)
    counted = known.any(axis=1)
    return (1 - paid[counted] / would[counted]) * 100


def _mean_share(true: Bools, known: Bools) -> float | None:
    counted = known.any(axis=1)
    if not counted.any():
        return None
    return float(((true & known).sum(axis=1)[counted] / known.sum(axis=1)[counted]).mean())


def _outcome(name: str, costs: Mapping[str, Floats], home: Floats, known: Bools) -> Outcome:
    cost, best = costs[name], costs[FREEDOM[name]]
    both = known & np.isfinite(cost) & np.isfinite(best)
    if not both.any():
        return Outcome(None, None, None, None, 0)
    saving = float(_per_series(cost, home, both).mean())
    limit = float(_per_series(best, home, both).mean())
    regret = float(-_per_series(cost, best, both).mean())
    capture = saving / limit if limit >= LEAST_CLAIRVOYANT_PCT else None
    with np.errstate(invalid="ignore"):
        lost = _mean_share(cost > home * (1 + 1e-9), both)
    return Outcome(saving, capture, lost, max(regret, 0.0), int(both.sum()))
