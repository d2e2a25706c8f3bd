"""What demand may be in the hours that are left of a term: drawn in blocks from what was seen.

A scenario is a row of blocks of the past (whole weeks, so that hours of the week stay in place; whole days
where less than `weeks_needed` weeks are known). Neighbouring blocks stay together: after each block the
next one follows, or, with probability 1 / `mean_blocks`, a block drawn at random (stationary bootstrap of
Politis and Romano, 1994). All pools share the same draws, so what rose together rises together. Hour k of a
block of the past is hour k of a block of the future: both are counted from the decision.

Where the mean of the weeks has a trend beyond chance (Mann-Kendall, two-sided, `trend_p`), the past is first
moved to the level of today by the Theil-Sen slope, and weeks to come are moved on by the slope damped with
`damping` a week, in steps of a quarter of a year. Never below zero, never above the highest use seen: money
is not committed to use that never was. Days (short histories) have no trend.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import erfc, sqrt

import numpy as np
from scipy.stats import kendalltau, theilslopes

Floats = np.ndarray
WEEK = 168
DAY = 24
QUARTER_HOURS = 2184  # 13 weeks
# Counts kept at once: one of 200 draws over the 52 weeks of a year is 0.08 MB.
COUNTS_KEPT = 400
# Weeks up to which SciPy's own choice is the exact distribution.
MOST_EXACT = 33


@dataclass(frozen=True, slots=True)
class ScenarioConfig:
    """How scenarios are drawn; the defaults are those of the documented figures."""

    draws: int = 200
    seed: int = 20181129
    mean_blocks: float = 4.0
    weeks_needed: int = 12
    trend_blocks: int = 12
    trend_p: float = 0.05
    damping: float = 0.96


@dataclass(frozen=True, slots=True)
class Shape:
    """What the known hours say: `base`, the use that 95 % of the hours reach; mean and maximum;
    `season_share`, the part of the variance that the hour of the block explains; `trend_per_block` of the
    mean, None where it is within chance or too few blocks are known.
    """

    base: float
    mean: float
    maximum: float
    season_share: float
    trend_per_block: float | None
    known_hours: int
    block_hours: int


@dataclass(frozen=True, slots=True)
class Weights:
    """How often each scenario sees each block whole, shape (draws, blocks), and which block is its last,
    broken one, shape (draws,); None: the term ends with a whole block.

    `parts`: the part of each hour of the broken block that counts. `seen`: how often each block is seen
    whole in expectation, the same for all, because every block is equally likely at every position.
    """

    whole: Floats
    begun: np.ndarray | None
    parts: Floats
    seen: float

    @property
    def broken_hours(self) -> int:
        """Hours of the broken block that count, the last one perhaps in part."""
        return int(np.count_nonzero(self.parts))


@dataclass(frozen=True)
class Draws:
    """Blocks for each scenario and position: `choice[s, p]` is a block of the past. One for all pools."""

    block_hours: int
    blocks: int
    choice: np.ndarray
    config: ScenarioConfig
    _kept: dict[tuple[int, int], Floats] = field(default_factory=dict, compare=False)
    _weights: dict[tuple[int, int, float], Weights] = field(default_factory=dict, compare=False)

    @property
    def horizon_hours(self) -> int:
        """The longest term these draws can answer for."""
        return int(self.choice.shape[1]) * self.block_hours

    def steps(self, hours: float) -> list[tuple[int, int]]:
        """The ranges of positions, a quarter of a year each, that the first `hours` touch."""
        width = max(1, QUARTER_HOURS // self.block_hours)
        last = int(np.ceil(hours / self.block_hours))
        return [(first, min(first + width, last)) for first in range(0, last, width)]

    def weights(self, first: int, last: int, hours: float) -> Weights:
        """What the first `hours` see of each block in positions [first, last)."""
        key = (first, last, hours)
        found = self._weights.get(key)
        if found is None:
            if len(self._weights) >= COUNTS_KEPT:
                self._weights.clear()
            found = self._weights[key] = self._weigh(first, last, hours)
        return found

    def _weigh(self, first: int, last: int, hours: float) -> Weights:
        if hours > self.horizon_hours:
            raise ValueError(f"a term of {hours} h is beyond the {self.horizon_hours} h that were drawn")
        end = min(last, int(hours // self.block_hours))
        part = hours - end * self.block_hours
        whole = self._whole(first, end)
        seen = max(0, end - first) / self.blocks
        if end >= last or part <= 0:
            return Weights(whole, None, np.zeros(self.block_hours), seen)
        parts = np.clip(part - np.arange(self.block_hours), 0.0, 1.0)
        return Weights(whole, self.choice[:, end], parts, seen)

    def _whole(self, first: int, end: int) -> Floats:
        """How often each scenario sees each block in positions [first, end)."""
        found = self._kept.get((first, end))
        if found is None:
            if len(self._kept) >= COUNTS_KEPT:
                self._kept.clear()
            found = self._kept[first, end] = _counts(self.choice[:, first:end], self.blocks)
        return found


def _counts(choice: np.ndarray, blocks: int) -> Floats:
    draws = choice.shape[0]
    flat = (choice + np.arange(draws)[:, None] * blocks).ravel()
    counted: Floats = np.bincount(flat, minlength=draws * blocks).reshape(draws, blocks).astype(np.float64)
    return counted


def block_hours_for(known_hours: int, config: ScenarioConfig) -> int:
    """A week where enough weeks are known, else a day."""
    return WEEK if known_hours >= config.weeks_needed * WEEK else DAY


def draw(known_hours: int, horizon_hours: float, config: ScenarioConfig | None = None) -> Draws:
    """The draws for a history of that many known hours. ValueError for less than two days of them."""
    config = config or ScenarioConfig()
    block = block_hours_for(known_hours, config)
    blocks = known_hours // block
    if blocks < 2:
        raise ValueError("scenarios need at least two days of known hours")
    positions = max(1, int(np.ceil(horizon_hours / block)))
    random = np.random.default_rng(config.seed)
    fresh = random.integers(0, blocks, size=(config.draws, positions))
    jump = random.random((config.draws, positions)) < 1.0 / config.mean_blocks
    jump[:, 0] = True
    at = np.arange(positions)
    since = np.maximum.accumulate(np.where(jump, at, 0), axis=1)
    choice = (np.take_along_axis(fresh, since, axis=1) + at - since) % blocks
    return Draws(block, blocks, choice, config)


@dataclass(frozen=True)
class Future:
    """One pool's hours to come: for each step of a quarter the blocks it is drawn from, shape (blocks,
    hours).
    """

    draws: Draws
    by_step: tuple[Floats, ...]
    shape: Shape
    _sorted: dict[int, SortedUse] = field(default_factory=dict, compare=False)

    def most(self) -> float:
        """The highest use that may come."""
        return max(float(block.max()) for block in self.by_step)

    def weighed(self, hours: float) -> Iterator[tuple[int, Weights]]:
        """(index into `by_step`, what the first `hours` see of its blocks) for each step that they touch."""
        if len(self.by_step) == 1:
            yield 0, self.draws.weights(0, int(np.ceil(hours / self.draws.block_hours)), hours)
            return
        for step, (first, last) in enumerate(self.draws.steps(hours)):
            yield min(step, len(self.by_step) - 1), self.draws.weights(first, last, hours)

    def sorted_use(self, index: int) -> SortedUse:
        """The use of a step, sorted once."""
        if index not in self._sorted:
            self._sorted[index] = SortedUse(self.by_step[index])
        return self._sorted[index]

    def covered(self, level: float, hours: float) -> Floats:
        """Unit-hours of the first `hours` that `level` units cover, for each scenario: sum of min(level,
        use).
        """
        return self.total(lambda use: np.minimum(use, level), hours)

    def total(self, of: Callable[[Floats], Floats], hours: float) -> Floats:
        """The sum over the first `hours` of a function of the use, for each scenario."""
        answer = np.zeros(self.draws.choice.shape[0])
        known = -1
        worth = np.zeros((0, 0))
        for index, weights in self.weighed(hours):
            if index != known:
                known, worth = index, of(self.by_step[index])
            answer += weights.whole @ worth.sum(axis=1)
            if weights.begun is not None:
                answer += (worth @ weights.parts)[weights.begun]
        return answer

    def expected(self, hours: float) -> ExpectedCover:
        """Mean cover as a function of the level, exact at every level."""
        parts = [
            (self.sorted_use(index), weights.seen, None if weights.begun is None else weights.parts)
            for index, weights in self.weighed(hours)
        ]
        return ExpectedCover(parts, self.draws.blocks)


class SortedUse:
    """Sums of min(level, use) over all known hours by prefix sums over the sorted use."""

    def __init__(self, blocks: Floats) -> None:
        self.blocks = blocks
        self._value = np.sort(blocks, axis=None)
        self._below = np.concatenate([[0.0], np.cumsum(self._value)])

    def at(self, level: Floats) -> Floats:
        """The sum over all hours at each level."""
        place = np.searchsorted(self._value, level, side="right")
        total: Floats = self._below[place] + level * (self._value.size - place)
        return total

    def first(self, level: float, parts: Floats) -> float:
        """The sum over the first hours of every block, each hour counted with its part."""
        hours = int(np.count_nonzero(parts))
        return float((np.minimum(self.blocks[:, :hours], level) @ parts[:hours]).sum())


class ExpectedCover:
    """E[sum of min(level, use)] over a term; concave in the level.

    `steps`: (use, how often each of its hours is seen in whole blocks, the parts of the hours of a
    broken block).
    """

    def __init__(self, steps: Sequence[tuple[SortedUse, float, Floats | None]], blocks: int) -> None:
        self._steps = steps
        self._blocks = blocks

    def at(self, level: float) -> float:
        """Unit-hours covered by `level` units."""
        total = 0.0
        for use, seen, parts in self._steps:
            total += seen * float(use.at(np.array(level)))
            if parts is not None:
                total += use.first(level, parts) / self._blocks
        return total

    @property
    def hours(self) -> float:
        """Hours of the term."""
        return sum(
            seen * use.blocks.size + (0.0 if parts is None else float(parts.sum()))
            for use, seen, parts in self._steps
        )

    @property
    def used(self) -> float:
        """All unit-hours of use."""
        return self.at(max(float(use.blocks.max()) for use, _, _ in self._steps))


def blocks_of(history: Floats, draws: Draws) -> Floats:
    """The newest whole blocks of a pool's known hours, oldest first; shape (blocks, hours of a block)."""
    size = draws.blocks * draws.block_hours
    if history.size < size:
        raise ValueError(f"a history of {history.size} hours for draws over {size}")
    return history[history.size - size :].reshape(draws.blocks, draws.block_hours)


def trend_of(blocks: Floats, config: ScenarioConfig) -> float | None:
    """Theil-Sen slope of the weeks' means, a week; None within chance, or with too few weeks."""
    if blocks.shape[0] < config.trend_blocks or blocks.shape[1] < WEEK:
        return None
    means = blocks.mean(axis=1)
    if np.ptp(means) == 0.0:
        return None
    if not mann_kendall(means) < config.trend_p:
        return None
    return float(theilslopes(means).slope)


def mann_kendall(values: Floats) -> float:
    """Two-sided p-value that values in order of time have no trend: exact for short rows without equal
    values, else the normal approximation with equal values counted (Kendall, 1970), which is written out
    because SciPy's takes half a millisecond a pool to get there.
    """
    count = values.size
    if count <= MOST_EXACT:
        return float(kendalltau(np.arange(count), values).pvalue)
    ordered = np.sort(values)
    rises = np.triu(np.sign(values[None, :] - values[:, None])).sum()
    ties = np.diff(np.flatnonzero(np.concatenate([[True], np.diff(ordered) > 0, [True]]))).astype(float)
    variance = count * (count - 1) * (2 * count + 5) - (ties * (ties - 1) * (2 * ties + 5)).sum()
    return erfc(abs(float(rises)) / sqrt(variance / 18) / sqrt(2)) if variance > 0 else 1.0


def shape_of(blocks: Floats, trend: float | None) -> Shape:
    """The figures of a pool; see `Shape`."""
    variance = float(blocks.var())
    season = float(blocks.mean(axis=0).var()) / variance if variance > 0 else 0.0
    return Shape(
        base=float(np.quantile(blocks, 0.05)),
        mean=float(blocks.mean()),
        maximum=float(blocks.max()),
        season_share=season,
        trend_per_block=trend,
        known_hours=int(blocks.size),
        block_hours=int(blocks.shape[1]),
    )


def future_of(history: Floats, draws: Draws, *, with_trend: bool = True) -> Future:
    """The hours to come of one pool, from its known hours up to the decision."""
    blocks = blocks_of(history, draws)
    trend = trend_of(blocks, draws.config) if with_trend else None
    shape = shape_of(blocks, trend)
    if trend is None:
        return Future(draws, (blocks,), shape)
    today = blocks + trend * (draws.blocks - 1 - np.arange(draws.blocks))[:, None]
    damping = draws.config.damping
    steps = []
    for first, last in draws.steps(draws.horizon_hours):
        middle = (first + last) / 2 + 0.5
        moved = trend * damping * (1 - damping**middle) / (1 - damping)
        steps.append(np.clip(today + moved, 0.0, shape.maximum))
    return Future(draws, tuple(steps), shape)


def futures_of(histories: Sequence[Floats], draws: Draws, *, with_trend: bool = True) -> list[Future]:
    """The hours to come of several pools, drawn together."""
    return [future_of(history, draws, with_trend=with_trend) for history in histories]
