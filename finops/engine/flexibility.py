"""What freedom is worth: one workload, decided again and again over the loaded past.

Every hour of the past is a decision. It sees the prices up to that hour, chooses a series and a start, and is
then charged what the run really cost. Saving = 1 - (cost of all decisions) / (cost of the same runs started
at once in the home zone): the share of the bill that was saved.

Decisions an hour apart share most of their prices, so intervals come from resampling whole weeks: 90 % of
the savings of 1,000 draws. Fewer than `MIN_WEEKS` weeks give no interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from finops.engine.series import US_PER_HOUR, Floats, Ints, PriceBook

US_PER_WEEK = 7 * 24 * US_PER_HOUR
TRAINING_US = 4 * US_PER_WEEK
LOOKBACK_US = 90 * 24 * US_PER_HOUR
MIN_WEEKS = 3
DRAWS = 1000
SEED = 20200306
WAITS = (0, 4, 24, 72)
FREEDOMS = ("home", "zone", "region", "type")


class Chooser(Protocol):
    """A rule: which series and start each decision takes. It may look at nothing later than the decision."""

    def __call__(
        self, book: PriceBook, candidates: Ints, times: Ints, *, length_us: int, slack_us: int
    ) -> tuple[Ints, Ints]: ...


def cheapest_now(
    book: PriceBook, candidates: Ints, times: Ints, *, length_us: int, slack_us: int
) -> tuple[Ints, Ints]:
    """Start at once where the standing price is lowest; ties: the first candidate. -1 where none has a
    price.
    """
    if not len(candidates):
        return np.full(len(times), -1, np.int64), times
    standing = book.price_at(candidates[:, None], times[None, :])
    known = np.isfinite(standing)
    best = np.where(known, standing, np.inf).argmin(axis=0)
    return np.where(known.any(axis=0), candidates[best], -1), times


@dataclass(frozen=True, slots=True)
class Result:
    """Outcome of one rule over the decisions whose cost is known; numbers None when there is none.

    `saving_pct` with its 90 % interval `low`..`high`, `lost_share` of decisions dearer than home,
    `mean_cost` of one instance in the book's currency.
    """

    decisions: int
    saving_pct: float | None = None
    low: float | None = None
    high: float | None = None
    lost_share: float | None = None
    mean_cost: float | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of the grid: start within `wait_hours`, anywhere in `where`. `reason` says why there is no
    number.
    """

    wait_hours: int
    where: str
    result: Result
    reason: str = ""


@dataclass(frozen=True)
class Walk:
    """Decision times (us) and what the home run cost at each; nan where it is unknown. `home` None: no
    home zone.
    """

    times: Ints
    base: Floats
    length_us: int
    judged: dict[tuple[bytes, int, int], Result] = field(default_factory=dict, compare=False, repr=False)

    def __len__(self) -> int:
        return len(self.times)


def decision_times(book: PriceBook, candidates: Ints, *, at_us: int, length_us: int, wait_us: int) -> Ints:
    """Hourly decision times whose outcome is known by `at_us` at the latest, oldest first.

    They begin after four weeks of training, or half of the history when it is shorter than eight weeks, and
    reach back 90 days at most. The last one leaves room for the longest wait and the run.
    """
    starts = book.offsets[candidates][np.diff(book.offsets)[candidates] > 0]
    if not len(starts):
        return np.zeros(0, np.int64)
    first, last = int(book.times[starts].min()), at_us - wait_us - length_us
    begin = max(first + min(TRAINING_US, max(0, at_us - first) // 2), at_us - LOOKBACK_US)
    steps = (last - begin) // US_PER_HOUR
    if steps < 0:
        return np.zeros(0, np.int64)
    return last - US_PER_HOUR * np.arange(steps, -1, -1, dtype=np.int64)


def walk(book: PriceBook, base: Ints, candidates: Ints, *, at_us: int, length_us: int, wait_us: int) -> Walk:
    """The decisions of a walk-forward test before `at_us`; `base`: the home series, or all those home may
    be.
    """
    times = decision_times(book, candidates, at_us=at_us, length_us=length_us, wait_us=wait_us)
    home, start = cheapest_now(book, base, times, length_us=length_us, slack_us=0)
    return Walk(times, _cost(book, home, start, length_us), length_us)


def evaluate(book: PriceBook, walked: Walk, candidates: Ints, chooser: Chooser, *, slack_us: int) -> Result:
    """What `chooser` would have saved against home; decisions without a known cost on either side do not
    count.
    """
    if not len(walked) or not len(candidates):
        return Result(0)
    # Without slack every rule is the same: start now in the cheapest place.
    rule = chooser if slack_us else cheapest_now
    # The workload's own test is often a cell of the grid too.
    key = (candidates.tobytes(), slack_us, id(rule))
    if key not in walked.judged:
        series, start = rule(book, candidates, walked.times, length_us=walked.length_us, slack_us=slack_us)
        walked.judged[key] = outcome(walked, _cost(book, series, start, walked.length_us))
    return walked.judged[key]


def outcome(walked: Walk, cost: Floats) -> Result:
    """The result of paying `cost` (one a decision; nan unknown) where home would have paid `walked.base`."""
    known = np.isfinite(cost) & np.isfinite(walked.base)
    if not known.any():
        return Result(0)
    cost, base = cost[known], walked.base[known]
    low, high = week_interval(walked.times[known], cost, base)
    lost = float(np.mean(cost > base * (1 + 1e-9)))
    saving = float(1 - cost.sum() / base.sum()) * 100
    return Result(int(known.sum()), saving, low, high, lost, float(cost.mean()))


def week_interval(times: Ints, cost: Floats, base: Floats) -> tuple[float | None, float | None]:
    """90 % interval of the saving in percent, by resampling weeks counted from the first decision.

    Seeded, so that it repeats. (None, None) with fewer than `MIN_WEEKS` weeks.
    """
    week = (times - times[0]) // US_PER_WEEK
    present = np.bincount(week) > 0
    if present.sum() < MIN_WEEKS:
        return None, None
    costs, bases = np.bincount(week, cost)[present], np.bincount(week, base)[present]
    draws = _draws(len(costs))
    savings = (1 - (draws @ costs) / (draws @ bases)) * 100
    low, high = np.quantile(savings, (0.05, 0.95))
    return float(low), float(high)


@lru_cache(maxsize=64)
def _draws(weeks: int) -> Ints:
    """(DRAWS, weeks): how often each week is drawn; seeded, so the same every time."""
    rng = np.random.default_rng(SEED)
    return np.asarray(rng.multinomial(weeks, np.full(weeks, 1 / weeks), size=DRAWS), np.int64)


def grid(
    book: PriceBook,
    walked: Walk,
    freedoms: Mapping[str, Ints],
    chooser: Chooser,
    *,
    reasons: Mapping[str, str],
    waits: Sequence[int] = WAITS,
) -> tuple[Cell, ...]:
    """The saving of each wait crossed with each freedom of place; rows by wait, in the order of `FREEDOMS`.

    `freedoms`: candidates by name; one without candidates gives cells without a number and its entry of
    `reasons`.
    """
    cells = []
    for wait in waits:
        for where in FREEDOMS:
            candidates = freedoms.get(where, np.zeros(0, np.int64))
            result = evaluate(book, walked, candidates, chooser, slack_us=wait * US_PER_HOUR)
            reason = "" if result.decisions else reasons.get(where, "") or NO_HISTORY
            cells.append(Cell(wait, where, result, reason))
    return tuple(cells)


NO_HISTORY = "too little history before this time"


def _cost(book: PriceBook, series: Ints, start: Ints, length_us: int) -> NDArray[np.float64]:
    chosen = series >= 0
    cost = np.full(len(series), np.nan)
    cost[chosen] = book.cost(series[chosen], start[chosen], length_us)
    return cost
