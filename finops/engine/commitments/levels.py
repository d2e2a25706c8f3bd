"""Many levels and many terms of one pool at once: what each covers, expected and in each scenario.

The sums of `scenarios.Future` at one level and one term, made for all of a pool's offers together: the use
is compared with all levels once, and each term weighs the sums. Units and meaning as there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from finops.engine.commitments.scenarios import Floats, Future, SortedUse, Weights


class StepSums:
    """The blocks of one step at increasing levels: sums of min(level, use), `by_block` over its hours, shape
    (levels, blocks), and `by_hour` over the blocks, shape (levels, hours of a block).
    """

    def __init__(self, use: SortedUse, levels: Floats) -> None:
        self.blocks = use.blocks
        self.levels = levels
        self.over_all = use.at(levels)
        blocks, hours = self.blocks.shape
        # The first level that holds each hour's use whole; behind the last one where none does.
        held = np.searchsorted(levels, self.blocks, side="left")
        self.by_block = self._sums(held * blocks + np.arange(blocks)[:, None], blocks, hours)
        self.by_hour = self._sums(held * hours + np.arange(hours), hours, blocks)

    def _sums(self, places: np.ndarray, width: int, times: int) -> Floats:
        size, levels = (self.levels.size + 1) * width, self.levels.size
        flat = places.ravel()
        used = np.bincount(flat, weights=self.blocks.ravel(), minlength=size).reshape(-1, width)
        count = np.bincount(flat, minlength=size).reshape(-1, width)
        below, held = used.cumsum(axis=0)[:levels], count.cumsum(axis=0)[:levels]
        answer: Floats = below + self.levels[:, None] * (times - held)
        return answer


class LevelSums:
    """A pool's future at increasing levels, for several terms in hours."""

    def __init__(self, future: Future, levels: Floats, terms: Sequence[float]) -> None:
        self._draws = future.draws
        self._levels = levels
        self._terms = [list(future.weighed(hours)) for hours in terms]
        steps = {index for parts in self._terms for index, _ in parts}
        self._steps = {index: StepSums(future.sorted_use(index), levels) for index in steps}

    def expected(self) -> Floats:
        """Unit-hours covered by each term at each level in expectation; shape (terms, levels)."""
        total = np.zeros((len(self._terms), self._levels.size))
        for index, step in self._steps.items():
            seen = np.zeros(len(self._terms))
            parts = np.zeros((len(self._terms), self._draws.block_hours))
            for row, weighed in enumerate(self._terms):
                for _, weights in (one for one in weighed if one[0] == index):
                    seen[row] += weights.seen
                    parts[row] += weights.parts
            total += seen[:, None] * step.over_all + parts @ step.by_hour.T / self._draws.blocks
        return total

    def covered(self, places: Sequence[int]) -> Floats:
        """Unit-hours covered by each term in each scenario, each at a place of the levels; shape (terms,
        draws).
        """
        answer: Floats = np.zeros((len(self._terms), self._draws.choice.shape[0]))
        for row, weighed, place in zip(answer, self._terms, places, strict=True):
            for index, weights in weighed:
                step = self._steps[index]
                row += weights.whole @ step.by_block[place]
                if weights.begun is not None:
                    row += _broken(step, place, weights)[weights.begun]
        return answer


def _broken(step: StepSums, place: int, weights: Weights) -> Floats:
    """What the first hours of each block cover; shape (blocks,)."""
    hours = weights.broken_hours
    covered: Floats = np.minimum(step.blocks[:, :hours], step.levels[place]) @ weights.parts[:hours]
    return covered
