"""Work in pieces: running in the cheap hours before the deadline and pausing in the dear ones.

Pieces begin and end on whole hours after the earliest start; the state is saved where a piece ends. Each
piece after the first is preceded by the restart, which runs (and is paid) in the pause before it, so a pause
lasts at least as long as a restart. All pieces run in one place: moving the state is not priced.

`cheapest_pieces` is the exact optimum for given hourly costs, by dynamic programming over the hours with the
hours of work done as state. The rule gives it a forecast: the price standing now times the mean level of the
same hours on the last two weeks' days whose outcome is known. It splits where that forecast says that pieces
save `SPLIT_GAIN` over the best single piece, and runs in one piece as the launch rule says everywhere else.
Whether that was ever worth it is told by the walk-forward back-test alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from finops.engine.flexibility import Chooser, Result, Walk, cheapest_now, outcome
from finops.engine.series import US_PER_HOUR, Floats, Ints, PriceBook

Bools = NDArray[np.bool_]
DAYS = 14
LEAST_DAYS = 7
SPLIT_GAIN = 0.005
# Two sums of the same prices in another order differ by less.
SAME = 1e-9
# Decisions x hours of work x hours of the window that one back-test may hold; longer ones look less often.
MAX_CELLS = 20_000_000


@dataclass(frozen=True, slots=True)
class Slots:
    """The hours of one job: `work` hours of which the last counts `last` (0..1], in a window of `window`.

    `restart_us` is what each piece after the first pays; `gap` the least hours of a pause.
    """

    work: int
    last: float
    window: int
    restart_us: int

    @classmethod
    def of(cls, *, length_us: int, slack_us: int, restart_us: int) -> Slots:
        work = -(-length_us // US_PER_HOUR)
        last = (length_us - (work - 1) * US_PER_HOUR) / US_PER_HOUR
        return cls(work, last, work + slack_us // US_PER_HOUR, restart_us)

    @property
    def gap(self) -> int:
        return max(1, -(-self.restart_us // US_PER_HOUR))

    @property
    def last_us(self) -> int:
        return round(self.last * US_PER_HOUR)

    @property
    def hours(self) -> float:
        return self.work - 1 + self.last


@dataclass(frozen=True)
class HourCosts:
    """Costs by (case, hour of the window): the whole hour, the last one's part, a restart before it."""

    whole: Floats
    part: Floats
    restart: Floats

    @classmethod
    def real(cls, book: PriceBook, series: Ints, times: Ints, slots: Slots) -> HourCosts:
        """What each hour cost; nan where it is unknown. Shape (len(times), window)."""
        at = times[:, None] + US_PER_HOUR * np.arange(slots.window, dtype=np.int64)
        chosen = series[:, None]
        whole = book.cost(chosen, at, US_PER_HOUR)
        part = whole if slots.last == 1.0 else book.cost(chosen, at, slots.last_us)
        restart = np.zeros_like(whole)
        if slots.restart_us:
            restart = book.cost(chosen, at - slots.restart_us, slots.restart_us)
        return cls(whole, part, restart)

    @classmethod
    def forecast(cls, level: Floats, slots: Slots) -> HourCosts:
        """From expected prices by hour; a restart costs the hour before it."""
        before = np.concatenate((level[:, :1], level[:, :-1]), axis=1)
        return cls(level, level * slots.last, before * (slots.restart_us / US_PER_HOUR))

    def paid(self, runs: Bools, slots: Slots) -> Floats:
        """Cost of running in the hours `runs`, restarts included; nan where a part is unknown."""
        done = runs.cumsum(axis=1)
        hour = np.where(done == slots.work, self.part, self.whole)
        total = np.where(runs, hour, 0.0).sum(axis=1)
        return np.asarray(total + np.where(restarts(runs), self.restart, 0.0).sum(axis=1))


def restarts(runs: Bools) -> Bools:
    """The first hour of each piece but the first."""
    begins = runs.copy()
    begins[:, 1:] &= ~runs[:, :-1]
    return begins & (begins.cumsum(axis=1) > 1)


def cheapest_pieces(costs: HourCosts, slots: Slots) -> tuple[Floats, Bools]:
    """The least cost of the work in any pieces, and the hours run; (inf, none) where it cannot be known.

    Exact. Ties go to fewer pieces, then to the earlier end.
    """
    cases, work, gap = len(costs.whole), slots.work, slots.gap
    whole, part, restart = (
        np.where(np.isfinite(c), c, np.inf) for c in (costs.whole, costs.part, costs.restart)
    )
    running = np.full((slots.window + 1, cases, work + 1), np.inf)  # after hour s, m hours done, hour s-1 run
    paused = np.full((cases, work + 1), np.inf)
    resumed = np.zeros((slots.window, cases, work + 1), np.bool_)
    stopped = np.zeros((slots.window, cases, work + 1), np.bool_)
    for s in range(slots.window):
        if s >= gap:
            stopped[s] = running[s - gap] < paused
            paused = np.where(stopped[s], running[s - gap], paused)
        onward = running[s].copy()
        onward[:, 0] = 0.0
        again = paused + restart[:, s : s + 1]
        resumed[s] = again < onward
        from_here = np.where(resumed[s], again, onward)
        running[s + 1, :, 1:] = from_here[:, :-1] + whole[:, s : s + 1]
        running[s + 1, :, work] = from_here[:, work - 1] + part[:, s]
    ends = running[:, :, work]
    last = ends.argmin(axis=0)
    return ends[last, np.arange(cases)], _hours_run(last, resumed, stopped, slots)


def _hours_run(last: Ints, resumed: Bools, stopped: Bools, slots: Slots) -> Bools:
    """Follows the choices back from the hour after which the work was done."""
    cases = len(last)
    runs = np.zeros((cases, slots.window), np.bool_)
    place, left = last.copy(), np.full(cases, slots.work)
    for s in range(slots.window, 0, -1):
        worked = np.flatnonzero((place == s) & (left > 0))
        runs[worked, s - 1] = True
        left[worked] -= 1
        place[worked] = s - 1
        after_pause = worked[resumed[s - 1, worked, left[worked]]]
        for d in after_pause.tolist():
            back = s - 1  # the pause that is over here began where `stopped` last says so
            while not stopped[back, d, left[d]]:
                back -= 1
            place[d] = back - slots.gap
    return runs


def cheapest_piece(costs: HourCosts, slots: Slots) -> Floats:
    """The least cost in one piece beginning on a whole hour; nan where an hour is unknown."""
    total = np.concatenate((np.zeros((len(costs.whole), 1)), costs.whole.cumsum(axis=1)), axis=1)
    starts = slots.window - slots.work + 1
    before = total[:, slots.work - 1 : slots.work - 1 + starts] - total[:, :starts]
    return np.asarray((before + costs.part[:, slots.work - 1 :]).min(axis=1))


def levels(book: PriceBook, series: Ints, times: Ints, slots: Slots, *, lead_us: int = 0) -> Floats:
    """Expected hourly price over the price standing now, by hour of the window; nan with too few days.

    From the same hours of `DAYS` earlier days, the newest of which ended `lead_us` before `times`. The times
    lie whole hours apart.
    """
    first = -(-(slots.window * US_PER_HOUR + lead_us) // (24 * US_PER_HOUR))
    begin = int(times.min()) - (first + DAYS - 1) * 24 * US_PER_HOUR
    steps = (int(times.max()) - begin) // US_PER_HOUR + slots.window
    grid = begin + US_PER_HOUR * np.arange(steps, dtype=np.int64)
    used, row = np.unique(series, return_inverse=True)
    cost = book.cost(used[:, None], grid, US_PER_HOUR)
    price = book.price_at(used[:, None], grid)
    total = np.zeros((len(times), slots.window))
    count = np.zeros((len(times), slots.window))
    hours = np.arange(slots.window)
    for back in range(first, first + DAYS):
        then = (times - begin) // US_PER_HOUR - back * 24
        ratio = cost[row[:, None], then[:, None] + hours] / price[row, then][:, None]
        known = np.isfinite(ratio)
        total += np.where(known, ratio, 0.0)
        count += known
    return np.where(count >= LEAST_DAYS, total / np.maximum(count, 1), np.nan)


@dataclass(frozen=True)
class SplitChoice:
    """Where the rule splits: `splits` by decision, the hours it runs and what it expects to pay."""

    splits: Bools
    runs: Bools
    expected: Floats


def choose_pieces(standing: Floats, level: Floats, slots: Slots) -> SplitChoice:
    """Pieces by the forecast, taken where they promise `SPLIT_GAIN` over the best single piece and cost no
    more than starting now at the price that stands: who sees that price is not told to pay more than it.
    """
    costs = HourCosts.forecast(level * standing[:, None], slots)
    expected, runs = cheapest_pieces(costs, slots)
    with np.errstate(invalid="ignore"):
        splits = restarts(runs).any(axis=1) & (expected < cheapest_piece(costs, slots) * (1 - SPLIT_GAIN))
        splits &= expected <= standing * slots.hours * (1 + SAME)
    return SplitChoice(splits, runs, expected)


@dataclass(frozen=True)
class SplitTest:
    """The split rule on the past: `over_one` against the launch rule in one piece, `over_home` against home.

    `share` of decisions that split; `errors`: cost / expected cost of those; `beside`: what home cost in the
    same decisions over what its standing price had said.
    """

    over_one: Result
    over_home: Result
    share: float
    errors: Floats
    beside: Floats

    @property
    def worth_it(self) -> bool:
        """Whether the whole interval of the saving over one piece lies above nothing."""
        return self.over_one.low is not None and self.over_one.low > 0


def backtest_split(
    book: PriceBook, walked: Walk, candidates: Ints, home: Ints, rule: Chooser, slots: Slots, *, slack_us: int
) -> SplitTest | None:
    """Splitting decided at every hour of `walked` (or fewer of a long job); None without decisions.

    A split runs where the price stands lowest at the decision; elsewhere the launch rule is followed.
    """
    step = max(1, -(-len(walked) * (slots.work + 1) * slots.window // MAX_CELLS))
    times, base = walked.times[::step], walked.base[::step]
    if not len(times) or not len(candidates):
        return None
    place, _ = cheapest_now(book, candidates, times, length_us=walked.length_us, slack_us=0)
    known = place >= 0
    place = np.where(known, place, candidates[0])
    chosen = choose_pieces(book.price_at(place, times), levels(book, place, times, slots), slots)
    splits = chosen.splits & known
    series, start = rule(book, candidates, times, length_us=walked.length_us, slack_us=slack_us)
    one = np.where(series >= 0, book.cost(np.maximum(series, 0), start, walked.length_us), np.nan)
    real = HourCosts.real(book, place, times, slots).paid(chosen.runs, slots)
    cost = np.where(splits, real, one)
    where, _ = cheapest_now(book, home, times, length_us=walked.length_us, slack_us=0)
    held = book.price_at(np.maximum(where, 0), times) * (walked.length_us / US_PER_HOUR)
    counted = splits & np.isfinite(real)
    return SplitTest(
        over_one=outcome(Walk(times, one, walked.length_us), cost),
        over_home=outcome(Walk(times, base, walked.length_us), cost),
        share=float(splits.mean()),
        errors=real[counted] / chosen.expected[counted],
        beside=base[counted] / held[counted],
    )


def pieces_of(runs: Bools, start_us: int, slots: Slots) -> tuple[tuple[int, int], ...]:
    """The pieces of one case as (start, end) in us; a later piece begins with its restart."""
    hours = np.flatnonzero(runs).tolist()
    pieces: list[tuple[int, int]] = []
    for number, hour in enumerate(hours):
        begin = start_us + hour * US_PER_HOUR
        end = begin + (slots.last_us if number == len(hours) - 1 else US_PER_HOUR)
        if number and hours[number - 1] == hour - 1:
            pieces[-1] = (pieces[-1][0], end)
        else:
            pieces.append((begin - (slots.restart_us if number else 0), end))
    return tuple(pieces)
