"""Days on which a part of the bill costs far more or less than it usually does: one alert a cause.

A part (slice) is a set of values of service, account, region, team. Its usual cost is the median of its own
last days, by weekday where that narrows it; how far a day may lie from it is told by the median absolute
deviation of those days. Terms, steps and a worked table: docs/algorithms/anomalies.md. One currency, float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from finops.engine.baseline import BASELINE_DAYS, Baseline, baseline, first_days
from finops.engine.daily_costs import Floats, Ints

Bools = NDArray[np.bool_]
Slice = tuple[tuple[str, str], ...]

# Beyond this many robust deviations a day is out of the ordinary.
DEVIATIONS = 5.0
# Least change against the usual cost, and least amount as a share of the whole bill's usual day.
LEAST_CHANGE, LEAST_SHARE = 0.25, 0.02
# So many days at a new level make it the usual one; a pause of up to GAP_DAYS does not end an anomaly.
NEW_LEVEL_DAYS, GAP_DAYS = 7, 3
WEEK = 7
# Parts that move together are one cause when they make up this share of the slice that holds them.
TOGETHER = 0.8
# A coarser slice is another cause only when finer ones leave more than this share of its change open.
OPEN_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Cube:
    """Daily costs of the finest parts: `values[i, j]` of part `keys[i]` on day `first + j`.

    `keys[i]` has a value for each of `dimensions`. Days from `settled` (an index) on may still grow.
    """

    dimensions: tuple[str, ...]
    keys: tuple[tuple[str, ...], ...]
    first: date
    values: Floats
    settled: int

    def day(self, index: int) -> date:
        """The date of a column."""
        return self.first + timedelta(days=index)


@dataclass(frozen=True, slots=True)
class AnomalousDay:
    """One day out of the ordinary: what it cost, what was usual, and the 90 % interval of the usual."""

    day: date
    actual: float
    expected: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Anomaly:
    """One cause. `direction`: "rise" or "drop". `amount`: cost over (negative: under) the usual, summed over
    its days; `low`, `high` its 90 % interval. `state`: "new level" once it has lasted so long that it is the
    usual cost, else "open" while it may go on and "over" after it.
    """

    slice: Slice
    direction: str
    days: tuple[AnomalousDay, ...]
    state: str

    @property
    def first_day(self) -> date:
        """When it began."""
        return self.days[0].day

    @property
    def last_day(self) -> date:
        """The last day seen so far."""
        return self.days[-1].day

    @property
    def actual(self) -> float:
        """What its days cost."""
        return sum(day.actual for day in self.days)

    @property
    def expected(self) -> float:
        """What they usually cost."""
        return sum(day.expected for day in self.days)

    @property
    def amount(self) -> float:
        """Over the usual; negative under it."""
        return self.actual - self.expected

    @property
    def low(self) -> float:
        """Lower end: the usual cost of all its days errs the same way, so widths are added."""
        return self.actual - sum(day.high for day in self.days)

    @property
    def high(self) -> float:
        """Upper end."""
        return self.actual - sum(day.low for day in self.days)


@dataclass
class _Open:
    """An anomaly on its way: its row in the table of slices, and which parts it holds."""

    row: int
    parts: Bools
    direction: int
    days: list[AnomalousDay] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    new_level: bool = False


@dataclass
class _Slices:
    """Every slice of the cube: which parts it holds, what it cost, and its history.

    `history` is `values` with the days of an anomaly set to what was usual, so that neither the part nor a
    slice that holds it learns from them; once the new level is the usual one, earlier days are moved to it.
    `alone[p]` is the row of part p by itself.
    """

    names: list[Slice]
    parts: Bools
    alone: Ints
    values: Floats
    history: Floats

    def change(self, part: int, columns: slice | int, by: float) -> None:
        """Add to the history of a part, in every slice that holds it."""
        self.history[self.parts[:, part], columns] += by


def find(cube: Cube, *, judge_from: int = 0, least_amount: float = 0.0) -> list[Anomaly]:
    """The anomalies with a day in column `judge_from` or later, oldest first.

    A day that may still grow is judged for a rise only. `least_amount` is a floor in money beside the least
    share of the whole bill's usual day. Earlier columns are history and are walked too, so that an anomaly
    that began before `judge_from` is known as such and not found again.
    """
    slices = _slices(cube)
    firsts = first_days(cube.first, cube.values.shape[1])
    going: list[_Open] = []
    ended: list[_Open] = []
    for at in range(cube.values.shape[1]):
        usual = baseline(slices.history, at, firsts=firsts)
        floor = max(least_amount, LEAST_SHARE * float(usual.expected[-1])) if usual.known[-1] else np.inf
        least = np.maximum(
            floor, np.maximum(DEVIATIONS * usual.spread, LEAST_CHANGE * np.abs(usual.expected))
        )
        out = _out_of_ordinary(slices.values[:, at] - usual.expected, usual, least)
        if at >= cube.settled:
            out[out < 0] = 0
        _continue(cube, slices, going, out, usual, at)
        if at >= WEEK:
            # A week-end or a weekly job costs what it did a week ago; weekdays are learned after three weeks.
            out[np.abs(slices.values[:, at] - slices.values[:, at - WEEK]) <= least] = 0
        going.extend(_begin(cube, slices, out, usual, at, floor))
        ended.extend(a for a in going if at - a.columns[-1] > GAP_DAYS or a.new_level)
        going = [a for a in going if at - a.columns[-1] <= GAP_DAYS and not a.new_level]
    found = [_told(slices, a, "new level" if a.new_level else "over") for a in ended]
    found += [_told(slices, a, "open") for a in going]
    wanted = [a for a in found if a.last_day >= cube.day(judge_from)]
    return sorted(wanted, key=lambda a: (a.first_day, -abs(a.amount), a.slice))


def _slices(cube: Cube) -> _Slices:
    """All combinations of the dimensions that have more than one value; the finest first, the whole last."""
    columns = [i for i in range(len(cube.dimensions)) if len({key[i] for key in cube.keys}) > 1]
    count = len(cube.keys)
    names: list[Slice] = []
    members: list[Bools] = []
    seen: set[bytes] = set()
    for size in range(len(columns), -1, -1):
        for chosen in combinations(columns, size):
            groups: dict[tuple[str, ...], list[int]] = {}
            for row, key in enumerate(cube.keys):
                groups.setdefault(tuple(key[i] for i in chosen), []).append(row)
            for group, rows in sorted(groups.items()):
                held = np.zeros(count, dtype=np.bool_)
                held[rows] = True
                if size and held.tobytes() in seen:
                    continue  # the same parts under a coarser name: the finest name says most
                seen.add(held.tobytes())
                names.append(tuple((cube.dimensions[i], v) for i, v in zip(chosen, group, strict=True)))
                members.append(held)
    parts = np.array(members, dtype=np.bool_).reshape(len(names), count)
    values = np.array([cube.values[held].sum(axis=0) for held in members])
    single = np.flatnonzero(parts.sum(axis=1) == 1)
    alone = np.zeros(count, dtype=np.int64)
    alone[parts[single[::-1]].argmax(axis=1)] = single[::-1]
    return _Slices(names, parts, alone, values, values.copy())


def _out_of_ordinary(over: Floats, usual: Baseline, least: Floats) -> Ints:
    """+1 for a rise, -1 for a drop, 0 for an ordinary (or unjudged) day of each slice."""
    return np.where(usual.known & (np.abs(over) > least), np.sign(over), 0).astype(np.int64)


def _continue(cube: Cube, slices: _Slices, going: list[_Open], out: Ints, usual: Baseline, at: int) -> None:
    """Days of anomalies that go on; what they explain is taken out of `out`."""
    for anomaly in going:
        if out[anomaly.row] == anomaly.direction:
            _add_day(cube, slices, anomaly, usual, at)
            if len(anomaly.days) >= NEW_LEVEL_DAYS:
                anomaly.new_level = True
                _settle(slices, anomaly)
        # Slices that hold the anomaly's parts among others move with it: they are the same cause.
        holds = slices.parts[:, anomaly.parts].any(axis=1)
        out[holds & (out == anomaly.direction)] = 0


def _add_day(cube: Cube, slices: _Slices, anomaly: _Open, usual: Baseline, at: int) -> None:
    """One more day of an anomaly; in the history its parts get their usual cost."""
    row = anomaly.row
    expected, reach = float(usual.expected[row]), float(usual.reach[row])
    actual = float(slices.values[row, at])
    anomaly.days.append(AnomalousDay(cube.day(at), actual, expected, expected - reach, expected + reach))
    anomaly.columns.append(at)
    for part in map(int, np.flatnonzero(anomaly.parts)):
        alone = slices.alone[part]
        slices.change(part, at, float(usual.expected[alone] - slices.history[alone, at]))


def _settle(slices: _Slices, anomaly: _Open) -> None:
    """The new level is the usual one: its days count as they were, earlier days are moved to it."""
    columns, begun = anomaly.columns, anomaly.columns[0]
    for part in map(int, np.flatnonzero(anomaly.parts)):
        alone = slices.alone[part]
        for at in columns:
            slices.change(part, at, float(slices.values[alone, at] - slices.history[alone, at]))
        before = slices.history[alone, max(0, begun - BASELINE_DAYS) : begun]
        level = float(np.median(slices.values[alone, columns]))
        slices.change(part, slice(0, begun), level - float(np.median(before)))


def _begin(cube: Cube, slices: _Slices, out: Ints, usual: Baseline, at: int, floor: float) -> list[_Open]:
    """New anomalies of a day: the finest slices first, a coarser one only for what those leave open."""
    begun: list[_Open] = []
    over = slices.values[:, at] - usual.expected
    explained = np.zeros(len(slices.names))
    order = sorted(np.flatnonzero(out), key=lambda r: (slices.parts[r].sum(), -abs(over[r])))
    for row in map(int, order):
        direction = int(out[row])
        rest = over[row] - explained[row]
        if not direction or abs(rest) <= max(floor, OPEN_SHARE * abs(over[row])) or rest * direction < 0:
            continue
        chosen = _widest(slices, out, usual, at, row) if slices.parts[row].sum() == 1 else row
        anomaly = _Open(chosen, slices.parts[chosen], direction)
        _add_day(cube, slices, anomaly, usual, at)
        shared = slices.parts[:, anomaly.parts].sum(axis=1) / anomaly.parts.sum()
        explained += over[chosen] * shared
        within = (slices.parts & ~anomaly.parts).sum(axis=1) == 0
        out[within & (out == direction)] = 0
        begun.append(anomaly)
    return begun


def _widest(slices: _Slices, out: Ints, usual: Baseline, at: int, part: int) -> int:
    """The widest slice around a part in which (nearly) everything moves the same way, else the part."""
    now, expected = slices.values[slices.alone, at], usual.expected[slices.alone]
    moving = out[slices.alone] == out[part]
    weight = np.maximum(np.maximum(now, expected), 0.0)
    best, most = part, 1
    for row in map(int, np.flatnonzero((slices.parts & slices.parts[part]).any(axis=1))):
        held = slices.parts[row]
        count = int((held & moving).sum())
        if count > most and weight[held & moving].sum() >= TOGETHER * weight[held].sum():
            best, most = row, count
    return best


def _told(slices: _Slices, anomaly: _Open, state: str) -> Anomaly:
    direction = "rise" if anomaly.direction > 0 else "drop"
    return Anomaly(slices.names[anomaly.row], direction, tuple(anomaly.days), state)


@dataclass(frozen=True, slots=True)
class Driver:
    """A finer key behind an anomaly (a usage type, a resource): its change and its share of the whole."""

    key: str
    actual: float
    usual: float
    change: float
    share: float | None


def drivers(
    keys: Sequence[str], history: Floats, actual: Floats, *, direction: str, most: int = 5
) -> list[Driver]:
    """The keys that moved most in the anomaly's direction: cost of the day less the median before it.

    `history` is (keys, days before), `actual` one value a key. `share` is of the sum of all changes; None
    when that is 0.
    """
    usual = np.median(history, axis=1) if history.shape[1] else np.zeros(len(keys))
    change = actual - usual
    whole = float(change.sum())
    sign = 1.0 if direction == "rise" else -1.0
    order = sorted(range(len(keys)), key=lambda i: (-sign * change[i], keys[i]))
    return [
        Driver(
            keys[i], float(actual[i]), float(usual[i]), float(change[i]),
            float(change[i]) / whole if whole else None,
        )
        for i in order[:most]
        if sign * change[i] > 0
    ]  # fmt: skip
