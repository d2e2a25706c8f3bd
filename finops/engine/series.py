"""Spot prices as step series: many of them in columns, and exact answers for one.

A row is a change point. A price holds from its instant until the next row of the same series, and the last
one holds to the end of the known range and no further. Time outside the known ranges is unknown: it has no
price and no cost, which is neither 0 nor the next price.

Times are integer microseconds since 1970-01-01 UTC, so that differences are exact. Prices are in the
series' own currency per instance-hour. `PriceBook` works in float64 for questions over many series at
once; `exact_cost` and `time_weighted_mean` work in Decimal for a single answer that is shown.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal, localcontext
from functools import cached_property
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

US_PER_HOUR = 3_600_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
KEY_COLUMNS = ("provider", "region", "zone_key", "instance_type", "product", "currency")

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def to_us(moment: datetime) -> int:
    """Microseconds since 1970 UTC of an aware datetime; exact. Raises ValueError for a naive one."""
    if moment.tzinfo is None:
        raise ValueError(f"a time without a time zone: {moment!r}")
    return (moment - EPOCH) // timedelta(microseconds=1)


def from_us(us: int) -> datetime:
    """The aware UTC datetime of `us` microseconds since 1970."""
    return EPOCH + timedelta(microseconds=int(us))


def hours_to_us(hours: float) -> int:
    """Whole microseconds in `hours` hours."""
    return round(hours * US_PER_HOUR)


@dataclass(frozen=True, slots=True, order=True)
class SeriesKey:
    """Identity of one series. `zone` is the lake's zone_key: the zone id where the account's map is known."""

    provider: str
    region: str
    zone: str
    instance_type: str
    product: str
    currency: str


def _as_us(column: pd.Series) -> Ints:
    if pd.api.types.is_integer_dtype(column.dtype):
        return column.to_numpy(np.int64)
    stamps = pd.to_datetime(column, utc=True)
    if stamps.isna().any():
        raise ValueError(f"a missing time in column {column.name!r}")
    return stamps.dt.tz_convert(None).to_numpy().astype("datetime64[us]").astype(np.int64)


def _offsets(groups: Ints, count: int) -> Ints:
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(groups, minlength=count), out=offsets[1:])
    return offsets


def _merge_ranges(start: Ints, end: Ints, groups: Ints, count: int) -> tuple[Ints, Ints, Ints]:
    """Sorted, disjoint, half-open ranges per group: ranges that touch or overlap become one."""
    order = np.lexsort((end, start, groups))
    start, end, groups = start[order], end[order], groups[order]
    merged: list[tuple[int, int, int]] = []
    for g, s, e in zip(groups.tolist(), start.tolist(), end.tolist(), strict=True):
        if e < s:
            raise ValueError(f"a known range that ends before it starts: [{s}, {e})")
        if merged and merged[-1][0] == g and s <= merged[-1][2]:
            merged[-1] = (g, merged[-1][1], max(merged[-1][2], e))
        else:
            merged.append((g, s, e))
    table = np.array(merged, np.int64).reshape(-1, 3)
    return _offsets(table[:, 0], count), table[:, 1].copy(), table[:, 2].copy()


@dataclass(frozen=True)
class PriceBook:
    """Many step series in columns.

    Shapes: n keys; `offsets` n+1, rows of series i are `offsets[i]:offsets[i+1]` of `times` (us, strictly
    increasing inside a series) and `prices` (> 0); `known_offsets` n+1 into `known_from`/`known_to`,
    merged and sorted ranges [from, to). An instant on the end of a range still has a price (the last row
    stands there); an interval is known when it lies inside one range and has an opening value.
    """

    keys: tuple[SeriesKey, ...]
    offsets: Ints
    times: Ints
    prices: Floats
    known_offsets: Ints
    known_from: Ints
    known_to: Ints

    def __len__(self) -> int:
        return len(self.keys)

    @classmethod
    def from_frames(cls, changes: pd.DataFrame, known: pd.DataFrame) -> PriceBook:
        """Build a book from rows in any order.

        `changes`: KEY_COLUMNS, `at` (aware datetime64 or int64 us), `price`. `known`: KEY_COLUMNS,
        `known_from`, `known_to`. Exact repeats are dropped. Series without a change are left out. Raises
        ValueError for a price that is not a number above 0 and for two prices of one series at one instant.
        """
        columns = list(KEY_COLUMNS)
        if changes.empty:
            none = np.zeros(0, np.int64)
            return cls((), np.zeros(1, np.int64), none, np.zeros(0), np.zeros(1, np.int64), none, none)
        index = pd.MultiIndex.from_frame(changes[columns].astype(str))
        codes, unique = pd.factorize(index, sort=True)
        keys = tuple(SeriesKey(*values) for values in unique)
        times, prices = _as_us(changes["at"]), changes["price"].to_numpy(np.float64)
        bad = ~(np.isfinite(prices) & (prices > 0))
        if bad.any():
            raise ValueError(f"a price that is not above 0: {keys[codes[bad][0]]}, {prices[bad][0]}")
        order = np.lexsort((prices, times, codes))
        codes, times, prices = codes[order], times[order], prices[order]
        same = (codes[1:] == codes[:-1]) & (times[1:] == times[:-1])
        clash = same & (prices[1:] != prices[:-1])
        if clash.any():
            at = int(np.flatnonzero(clash)[0])
            raise ValueError(f"two prices at one instant: {keys[codes[at]]}, {from_us(int(times[at]))}")
        keep = np.concatenate(([True], ~same))
        offsets = _offsets(codes[keep], len(keys))
        known_codes = unique.get_indexer(pd.MultiIndex.from_frame(known[columns].astype(str)))
        mine = known_codes >= 0
        ranges = _merge_ranges(
            _as_us(known["known_from"])[mine], _as_us(known["known_to"])[mine], known_codes[mine], len(keys)
        )
        return cls(keys, offsets, times[keep], prices[keep], *ranges)

    def select(self, indices: ArrayLike) -> PriceBook:
        """The book of the given series, in the given order."""
        chosen = np.asarray(indices, np.int64)
        rows, offsets = _take(self.offsets, chosen)
        spans, known_offsets = _take(self.known_offsets, chosen)
        return PriceBook(
            tuple(self.keys[i] for i in chosen.tolist()),
            offsets,
            self.times[rows],
            self.prices[rows],
            known_offsets,
            self.known_from[spans],
            self.known_to[spans],
        )

    def until(self, at_us: int) -> PriceBook:
        """What could be known at `at_us`: rows at or before it, known ranges cut there.

        The price standing at `at_us` stays; the series' order and indices stay, also of series that become
        empty.
        """
        group = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        rows = self.times <= at_us
        span_group = np.repeat(np.arange(len(self)), np.diff(self.known_offsets))
        spans = self.known_from <= at_us
        return PriceBook(
            self.keys,
            _offsets(group[rows], len(self)),
            self.times[rows],
            self.prices[rows],
            _offsets(span_group[spans], len(self)),
            self.known_from[spans],
            np.minimum(self.known_to[spans], at_us),
        )

    def row_at(self, series: ArrayLike, at_us: ArrayLike) -> Ints:
        """Index into `times` of the last row at or before each instant; -1 where there is none."""
        series, at = np.broadcast_arrays(np.asarray(series, np.int64), np.asarray(at_us, np.int64))
        found = _segment_search(self.offsets, self.times, self._row_keys, series, at)
        return np.where(found >= self.offsets[series], found, -1)

    def price_at(self, series: ArrayLike, at_us: ArrayLike) -> Floats:
        """Price standing at each instant, per instance-hour; nan where it is unknown. Broadcasts."""
        series, at = np.broadcast_arrays(np.asarray(series, np.int64), np.asarray(at_us, np.int64))
        row = self.row_at(series, at)
        known = (row >= 0) & self.is_known(series, at, at)
        if not len(self.prices):
            return np.full(series.shape, np.nan)
        return np.where(known, self.prices[np.maximum(row, 0)], np.nan)

    def is_known(self, series: ArrayLike, start_us: ArrayLike, end_us: ArrayLike) -> NDArray[np.bool_]:
        """Whether each [start, end] lies inside one known range of its series. Broadcasts."""
        series, start, end = np.broadcast_arrays(
            np.asarray(series, np.int64), np.asarray(start_us, np.int64), np.asarray(end_us, np.int64)
        )
        if not len(self.known_from):
            return np.zeros(series.shape, np.bool_)
        span = _segment_search(self.known_offsets, self.known_from, self._span_keys, series, start)
        inside = span >= self.known_offsets[series]
        inside &= self.known_to[np.maximum(span, 0)] >= end
        return inside

    def integral(self, series: ArrayLike, at_us: ArrayLike) -> Floats:
        """Price integrated from the series' first row to each instant, in currency; nan before the first row.

        Prices are carried forward over unknown time too, so only differences inside a known range mean
        anything.
        """
        series, at = np.broadcast_arrays(np.asarray(series, np.int64), np.asarray(at_us, np.int64))
        row = self.row_at(series, at)
        if not len(self.prices):
            return np.full(series.shape, np.nan)
        safe = np.maximum(row, 0)
        total = self._prefix[safe] + self.prices[safe] * ((at - self.times[safe]) / US_PER_HOUR)
        return np.where(row >= 0, total, np.nan)

    def cost(self, series: ArrayLike, start_us: ArrayLike, length_us: ArrayLike) -> Floats:
        """Cost of one instance running [start, start + length), in currency: the integral of the step
        function.

        Arguments broadcast. nan where any part of the interval is unknown. Two look-ups in the sorted
        change points each, whatever the length.
        """
        series, start, length = np.broadcast_arrays(
            np.asarray(series, np.int64), np.asarray(start_us, np.int64), np.asarray(length_us, np.int64)
        )
        end = start + length
        spent = self.integral(series, end) - self.integral(series, start)
        return np.where(self.is_known(series, start, end), spent, np.nan)

    @cached_property
    def _prefix(self) -> Floats:
        total = np.zeros(len(self.times))
        # A running sum per series, not one over the book: the error stays that of the series' own few
        # thousand rows.
        for low, high in zip(self.offsets[:-1].tolist(), self.offsets[1:].tolist(), strict=True):
            if high - low > 1:
                held = np.diff(self.times[low:high]) / US_PER_HOUR
                np.cumsum(self.prices[low : high - 1] * held, out=total[low + 1 : high])
        return total

    @cached_property
    def _row_keys(self) -> _Keys | None:
        return _composite(self.offsets, self.times)

    @cached_property
    def _span_keys(self) -> _Keys | None:
        return _composite(self.known_offsets, self.known_from)


@dataclass(frozen=True, slots=True)
class _Keys:
    """(segment, time) packed into one sorted int64, so one binary search serves all series."""

    packed: Ints
    low: int
    width: int


def _take(offsets: Ints, chosen: Ints) -> tuple[Ints, Ints]:
    lengths = offsets[chosen + 1] - offsets[chosen]
    new = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    rows = np.arange(new[-1]) - np.repeat(new[:-1], lengths) + np.repeat(offsets[chosen], lengths)
    return rows, new


def _composite(offsets: Ints, times: Ints) -> _Keys | None:
    if not len(times):
        return None
    low, high = int(times.min()), int(times.max())
    width = high - low + 3
    if width * len(offsets) >= 2**62:  # decades of many thousand series do not fit: search each segment
        return None
    segment = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return _Keys(segment * width + (times - low + 1), low, width)


def _segment_search(offsets: Ints, times: Ints, keys: _Keys | None, segment: Ints, at: Ints) -> Ints:
    """Position of the last entry <= `at` inside each segment; below the segment's offset where there is
    none.
    """
    if not len(times):
        return np.full(segment.shape, -1, np.int64)
    if keys is not None:
        wanted = segment * keys.width + np.clip(at - keys.low + 1, 0, keys.width - 1)
        return np.searchsorted(keys.packed, wanted, side="right").astype(np.int64) - 1
    found = np.empty(segment.shape, np.int64)
    for s in np.unique(segment).tolist():
        mine = segment == s
        low, high = int(offsets[s]), int(offsets[s + 1])
        found[mine] = low + np.searchsorted(times[low:high], at[mine], side="right") - 1
    return found


def shared_starts(starts: Ints) -> tuple[Ints, Ints]:
    """The distinct instants, rising, and the place of each of `starts` among them, in its shape.

    Starts that lie whole hours apart are told apart by counting, ten times as fast as by sorting.
    """
    if not starts.size:
        return starts.reshape(-1), starts
    low = int(starts.min())
    hour, rest = np.divmod(starts - low, US_PER_HOUR)
    if rest.any() or hour.max() > 4 * starts.size:
        found, place = np.unique(starts, return_inverse=True)
        return found, place.reshape(starts.shape).astype(np.int64)
    present = np.zeros(int(hour.max()) + 1, np.bool_)
    present[hour] = True
    return low + np.flatnonzero(present) * US_PER_HOUR, (np.cumsum(present) - 1)[hour]


@dataclass(frozen=True, slots=True)
class ExactAnswer:
    """An exact number, or None with the reason why there is none. `known_us`: microseconds it rests on."""

    value: Decimal | None
    reason: str
    known_us: int


Range = tuple[int, int]


def known_parts(
    times_us: Sequence[int], known: Sequence[Range], *, start_us: int, end_us: int
) -> list[Range]:
    """The parts of [start, end) with a price: inside a known range and not before the first row. Sorted,
    merged.

    `times_us`: sorted change points, also those before the window; `known`: sorted, disjoint ranges [from,
    to).
    """
    if not times_us:
        return []
    first = times_us[0]
    cut = [(max(low, start_us, first), min(high, end_us)) for low, high in known]
    return [(low, high) for low, high in cut if low < high]


def _currency_us(times_us: Sequence[int], prices: Sequence[Decimal], parts: Sequence[Range]) -> Decimal:
    total = Decimal(0)
    for low, high in parts:
        row = bisect_right(times_us, low) - 1
        while low < high:
            until = min(high, times_us[row + 1]) if row + 1 < len(times_us) else high
            total += prices[row] * (until - low)
            low, row = until, row + 1
    return total


def _check_rows(times_us: Sequence[int], prices: Sequence[Decimal]) -> None:
    if len(times_us) != len(prices):
        raise ValueError(f"{len(times_us)} times for {len(prices)} prices")
    for before, after in pairwise(times_us):
        if after <= before:
            raise ValueError(f"change points out of order at {from_us(after)}")


def price_standing(
    times_us: Sequence[int], prices: Sequence[Decimal], known: Sequence[Range], at_us: int
) -> Decimal | None:
    """The price at one instant: of the last row at or before it, where the instant is known; else None."""
    row = bisect_right(times_us, at_us) - 1
    if row < 0 or not any(low <= at_us <= high for low, high in known):
        return None
    return prices[row]


def exact_cost(
    times_us: Sequence[int],
    prices: Sequence[Decimal],
    known: Sequence[Range],
    *,
    start_us: int,
    end_us: int,
    count: int = 1,
    billed_us: int = 0,
) -> ExactAnswer:
    """Cost of `count` instances over [start, end), exact, in the prices' currency; None when any part is
    unknown.

    `billed_us`: how long each instance is billed for; what is longer than it ran has the price that stood
    when it ended.

    `times_us` and `prices` are the change points in order, including the one before the window; `known`
    are sorted, disjoint ranges. The sum is exact in units of currency x microseconds and divided once.

    >>> rows = [0, 4 * US_PER_HOUR], [Decimal("0.040"), Decimal("0.070")]
    >>> exact_cost(*rows, [(0, 8 * US_PER_HOUR)], start_us=0, end_us=8 * US_PER_HOUR).value == Decimal("0.44")
    True
    """
    _check_rows(times_us, prices)
    if end_us <= start_us:
        raise ValueError("a run must end after it starts")
    parts = known_parts(times_us, known, start_us=start_us, end_us=end_us)
    covered = sum(high - low for low, high in parts)
    if covered < end_us - start_us:
        return ExactAnswer(None, _why_unknown(times_us, parts, start_us, end_us), covered)
    with localcontext() as context:
        context.prec = 60
        extra = max(0, billed_us - (end_us - start_us)) * prices[bisect_right(times_us, end_us - 1) - 1]
        value = (_currency_us(times_us, prices, parts) + extra) * count / US_PER_HOUR
    return ExactAnswer(+value, "", covered)


def time_weighted_mean(
    times_us: Sequence[int],
    prices: Sequence[Decimal],
    known: Sequence[Range],
    *,
    start_us: int,
    end_us: int,
) -> ExactAnswer:
    """Mean price over the known part of [start, end), each price weighing as long as it stood; None if
    none is known.

    Arguments as `exact_cost`. The division is carried to 28 digits.
    """
    _check_rows(times_us, prices)
    if end_us <= start_us:
        raise ValueError("a window must end after it starts")
    parts = known_parts(times_us, known, start_us=start_us, end_us=end_us)
    covered = sum(high - low for low, high in parts)
    if not covered:
        return ExactAnswer(None, _why_unknown(times_us, parts, start_us, end_us), 0)
    with localcontext() as context:
        context.prec = 60
        value = _currency_us(times_us, prices, parts) / covered
    whole = covered == end_us - start_us
    return ExactAnswer(+value, "" if whole else _why_unknown(times_us, parts, start_us, end_us), covered)


def _why_unknown(times_us: Sequence[int], parts: Sequence[Range], start_us: int, end_us: int) -> str:
    """Reason code: what is missing from [start, end)."""
    if not times_us or not parts:
        return "no price is known in this time"
    if parts[0][0] > start_us:
        return f"no price is known before {from_us(parts[0][0]):%Y-%m-%dT%H:%M:%SZ}"
    if parts[-1][1] < end_us:
        return f"no price is known after {from_us(parts[-1][1]):%Y-%m-%dT%H:%M:%SZ}"
    return "no price is known in part of this time"
