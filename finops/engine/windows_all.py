"""The cheapest start for every series of a book and several lengths of work at once, exact.

The cost of running [s, s + L) is C(s) = I(s + L) - I(s), I the integral of the price. C is piecewise linear
with slope p(s + L) - p(s), so inside one stretch of known time its minimum lies where the slope rises:

* at a change point where the price *falls* (start just when it is cheaper),
* a length before a change point where the price *rises* (be done just before it is dearer),
* at the start of the stretch, or a length before its end.

The earliest of equal minima is such a point too. So n change points give n candidates and not 2n. Most are
ruled out without a look-up: a window that starts at a fall to p pays p until the next change and at least
the series' lowest price afterwards; if that is above a cost already found, it cannot win. Costs are compared
as integers (units of price x us), so ties are ties: the earliest start wins.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finops.engine.runs import Runs, chunks, inner_rows, known_runs, slice_book
from finops.engine.series import US_PER_HOUR, Floats, Ints, PriceBook, hours_to_us

NO_START = np.iinfo(np.int64).min
DEFAULT_HOURS = (1.0, 4.0, 8.0, 24.0)
# Decimal places tried for whole-number prices: AWS delivers 4 to 6, the lake holds 10.
PRICE_UNITS = (1e6, 1e8, 1e10)
_LIMIT = 2**62
SAMPLE_STEP = 8
# int64 in units of price (and price x us), or float64 where prices have no unit; one kind inside a search.
Numbers = NDArray[Any]


@dataclass(frozen=True)
class BestStarts:
    """Cheapest start per series and length, shape (series, lengths).

    `start_us`: earliest start of lowest cost, NO_START where no known stretch is long enough. `cost`: of one
    instance for the whole length, in the series' currency; nan there. `known`: whether there is a start at
    all.
    """

    hours: tuple[float, ...]
    start_us: Ints
    cost: Floats

    @property
    def known(self) -> NDArray[np.bool_]:
        return self.start_us != NO_START


@dataclass(frozen=True)
class _Prices:
    """Prices as whole numbers of 1/scale where they are that, else as float (not `whole`: ties may miss)."""

    values: Numbers
    scale: float
    whole: bool

    @property
    def highest(self) -> float | int:
        return np.iinfo(np.int64).max if self.whole else np.inf


def _whole_prices(prices: Floats, longest_us: int) -> _Prices:
    top = float(prices.max(initial=0.0))
    for scale in PRICE_UNITS:
        if top * scale * longest_us >= _LIMIT:
            break
        units = np.rint(prices * scale)
        if np.array_equal(units / scale, prices):
            return _Prices(units.astype(np.int64), scale, True)
    return _Prices(prices, 1.0, False)


@dataclass(frozen=True)
class _Steps:
    """Changes of one direction inside the runs: a start (falls) or an end (rises) of a candidate window.

    `price` and `stands`: price and us of the segment that the window pays next to the change: the one after
    a fall, the one before a rise. `bound`: end (falls) or start (rises) of the run; all arrays in order of
    series and time.
    """

    at: Ints
    row: Ints
    series: Ints
    price: Numbers
    stands: Ints
    bound: Ints


def _steps(book: PriceBook, prices: _Prices, runs: Runs) -> tuple[_Steps, _Steps]:
    rows, run = inner_rows(runs)
    at = book.times[rows]
    after, before = prices.values[rows], prices.values[rows - 1]
    since, until = book.times[rows - 1], book.times[np.minimum(rows + 1, len(book.times) - 1)]
    # A segment is cut where its run starts or ends.
    counts = runs.last_row - runs.first_row
    ends, filled = np.cumsum(counts), counts > 0
    since[(ends - counts)[filled]] = runs.start[filled]
    until[ends[filled] - 1] = runs.end[filled]
    series = runs.series[run]
    down, up = np.flatnonzero(after < before), np.flatnonzero(after > before)
    falls = _Steps(at[down], rows[down], series[down], after[down], (until - at)[down], runs.end[run[down]])
    rises = _Steps(at[up], rows[up], series[up], before[up], (at - since)[up], runs.start[run[up]])
    return falls, rises


class _Search:
    """Lowest cost per series of one chunk of a book, over several lengths."""

    def __init__(self, book: PriceBook, from_us: int, to_us: int, longest_us: int) -> None:
        self.book = book
        self.runs = known_runs(book, from_us, to_us)
        self.prices = _whole_prices(book.prices, longest_us)
        values = self.prices.values
        held = np.diff(book.times, append=book.times[-1:])
        # The sum may wrap round in int64; differences inside a series, below 2**62, come out right all the
        # same.
        total = np.cumsum(values * held, dtype=np.int64 if self.prices.whole else np.longdouble)
        self.prefix = np.concatenate((np.zeros(1, total.dtype), total[:-1]))
        self.falls, self.rises = _steps(book, self.prices, self.runs)
        self.lowest = np.full(len(book), self.prices.highest, values.dtype)
        filled = np.flatnonzero(np.diff(book.offsets) > 0)
        if len(filled):
            self.lowest[filled] = np.minimum.reduceat(values, book.offsets[filled])

    def best(self, length: int) -> tuple[Ints, Floats]:
        """(start, cost) per series for one length in us."""
        runs, falls, rises = self.runs, self.falls, self.rises
        fits = np.flatnonzero(runs.end - runs.start >= length)
        series = np.concatenate((runs.series[fits], runs.series[fits]))
        starts = np.concatenate((runs.start[fits], runs.end[fits] - length))
        low, high = self.book.row_at(series, starts), self.book.row_at(series, starts + length)
        costs = self._cost(starts, length, low, high)
        limit = np.full(len(self.book), self.prices.highest, costs.dtype)
        np.minimum.at(limit, series, costs)
        whole = falls.stands >= length
        np.minimum.at(limit, falls.series[whole], falls.price[whole] * length)
        # A rise after a price that stood for the whole length ends no better window than that price's start.
        parts = [
            (series, starts, costs),
            self._tried(falls, length, limit, falls.at + length <= falls.bound, start_at_step=True),
            self._tried(
                rises,
                length,
                limit,
                (rises.at - length >= rises.bound) & (rises.stands < length),
                start_at_step=False,
            ),
        ]
        return self._earliest(*(np.concatenate([part[n] for part in parts]) for n in range(3)))

    def _tried(
        self, steps: _Steps, length: int, limit: Numbers, fits: NDArray[np.bool_], *, start_at_step: bool
    ) -> tuple[Ints, Ints, Numbers]:
        """(series, start, cost) of the steps whose window may be the cheapest; lowers `limit` as it finds."""
        lowest = self.lowest[steps.series]
        least = (steps.price - lowest) * np.minimum(steps.stands, length) + lowest * length
        left = np.flatnonzero(fits & (least <= self._room(limit, steps.series)))
        # A sample first: what it finds rules out most of the rest where changes come thick and fast.
        for chosen in (left[::SAMPLE_STEP], left):
            picked = chosen[least[chosen] <= self._room(limit, steps.series[chosen])]
            at, series, row = steps.at[picked], steps.series[picked], steps.row[picked]
            if start_at_step:
                starts, low, high = at, row, self.book.row_at(series, at + length)
            else:
                starts, low, high = at - length, self.book.row_at(series, at - length), row
            costs = self._cost(starts, length, low, high)
            np.minimum.at(limit, series, costs)
        return series, starts, costs

    def _room(self, limit: Numbers, series: Ints) -> Numbers:
        room: Numbers = limit[series]
        # Without whole numbers a bound may be off by rounding and must not lose the winner.
        return room if self.prices.whole else room * (1 + 1e-9)

    def _cost(self, starts: Ints, length: int, low: Ints, high: Ints) -> Numbers:
        """Cost of [start, start + length); `low` and `high` are the rows standing at its two ends."""
        times, values = self.book.times, self.prices.values
        tail = values[high] * (starts + length - times[high]) - values[low] * (starts - times[low])
        spent: Numbers = (self.prefix[high] - self.prefix[low]).astype(values.dtype) + tail
        return spent

    def _earliest(self, series: Ints, starts: Ints, costs: Numbers) -> tuple[Ints, Floats]:
        lowest = np.full(len(self.book), self.prices.highest, costs.dtype)
        np.minimum.at(lowest, series, costs)
        winners = costs == lowest[series]
        start = np.full(len(self.book), np.iinfo(np.int64).max)
        np.minimum.at(start, series[winners], starts[winners])
        found = np.zeros(len(self.book), np.bool_)
        found[series] = True
        cost = np.where(found, lowest / (self.prices.scale * US_PER_HOUR), np.nan)
        return np.where(found, start, NO_START), cost


def _chunk_best(book: PriceBook, from_us: int, to_us: int, lengths: Sequence[int]) -> tuple[Ints, Floats]:
    if not len(book.times):
        shape = (len(book), len(lengths))
        return np.full(shape, NO_START), np.full(shape, np.nan)
    search = _Search(book, from_us, to_us, max(lengths))
    answers = [search.best(length) for length in lengths]
    return np.stack([a[0] for a in answers], axis=1), np.stack([a[1] for a in answers], axis=1)


def best_starts(
    book: PriceBook,
    *,
    from_us: int,
    to_us: int,
    hours: Sequence[float] = DEFAULT_HOURS,
    threads: int = 1,
) -> BestStarts:
    """The cheapest start of every series for each length, in [from_us, to_us - length], exact.

    A window lies inside one known stretch: gaps are not bridged. Ties: the earliest start. Raises ValueError
    for a length that is not above 0.
    """
    lengths = [hours_to_us(length) for length in hours]
    if not lengths or min(lengths) <= 0:
        raise ValueError("lengths must be above 0 hours")
    books = [slice_book(book, low, high) for low, high in chunks(book)]
    if threads <= 1 or len(books) <= 1:
        parts = [_chunk_best(part, from_us, to_us, lengths) for part in books]
    else:
        with ThreadPoolExecutor(threads) as pool:
            parts = list(pool.map(lambda part: _chunk_best(part, from_us, to_us, lengths), books))
    if not parts:
        shape = (0, len(lengths))
        return BestStarts(tuple(hours), np.zeros(shape, np.int64), np.zeros(shape))
    starts, costs = np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])
    return BestStarts(tuple(hours), starts, costs)
