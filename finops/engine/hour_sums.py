"""Exact sums of step series by local hour, without a grid of hours.

A price series is a sum of steps, so its integral over "all seconds that fall into hour h" needs one look at
each change point. With F_h(t) the seconds of hour-slot h before t,

    F_h(t) = 3600 * (t div P) + clip(t mod P - 3600 h, 0, 3600)      P = 168 h (or 24 h), t in local seconds,

a price p over [a, b) gives p * (F_h(b) - F_h(a)), and over a run of segments the inner terms collect into
sum over changes of (price before - price after) * F_h(t). F_h is linear in three numbers of t (turn, slot,
seconds into the slot), so all h at once are three weighted counts and a running sum over the slots:
O(changes + series * slots).

Prices are taken relative to the series' own mean over a block (a week or a day of elapsed time, counted back
from the end of the window). A block edge and a change of the local clock are cut points, where one segment
is closed and the next opened; on a day of 23 or 25 hours an hour is seen no or two times, as it was.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np

from finops.engine.runs import Runs, chunks, inner_rows, known_runs, slice_book, sum_by
from finops.engine.series import US_PER_HOUR, Floats, Ints, PriceBook, from_us, to_us

DAY_US = 24 * US_PER_HOUR
WEEK_US = 7 * DAY_US
MONDAY_US = 4 * DAY_US  # 1970-01-05 was a Monday: slot 0 of a week is its 00:00
US_PER_SECOND = 1_000_000


@dataclass(frozen=True)
class Frame:
    """What the sums are taken over: window, clock, slots and blocks.

    `changes` are the instants (us) in the window at which the local clock's offset changes, `offsets` (one
    more) the offsets in us before, between and after them. `period` slots of an hour (168 or 24) from local
    Monday 00:00.
    """

    start: int
    end: int
    period: int
    block: int
    changes: Ints
    offsets: Ints

    @property
    def first_edge(self) -> int:
        return self.end - self.blocks * self.block

    @property
    def blocks(self) -> int:
        return -(-(self.end - self.start) // self.block)

    def block_of(self, at: Ints) -> Ints:
        return (at - self.first_edge) // self.block

    def local(self, at: Ints) -> Ints:
        """Local clock time, us since a Monday 00:00 before the window."""
        base = (self.start - MONDAY_US) // WEEK_US * WEEK_US + MONDAY_US - WEEK_US
        shift = np.int64(self.offsets[0] - base)
        local = at + shift
        for change, before, after in zip(self.changes, self.offsets[:-1], self.offsets[1:], strict=True):
            local += np.where(at >= change, after - before, 0)
        return local

    def cuts(self) -> Ints:
        """Block edges and clock changes inside the window, sorted."""
        edges = np.arange(self.first_edge, self.end, self.block)
        cuts = np.unique(np.concatenate((edges, self.changes)))
        return cuts[(cuts > self.start) & (cuts < self.end)].astype(np.int64)


def frame_of(start: int, end: int, zone: ZoneInfo, *, period: int, block: int) -> Frame:
    """The frame of a window (us) on the clock of `zone`."""
    if end <= start:
        raise ValueError("a window must end after it starts")
    if DAY_US % block and block % DAY_US:
        raise ValueError("a block is a whole number of days")
    changes, offsets = zone_changes(zone, start, end)
    return Frame(start, end, period, block, changes, offsets)


def zone_changes(zone: ZoneInfo, start: int, end: int) -> tuple[Ints, Ints]:
    """(instants in (start, end) at which the offset from UTC changes, the offsets around them), both us."""

    def offset(at: datetime) -> timedelta:
        return at.astimezone(zone).utcoffset() or timedelta(0)

    changes: list[int] = []
    low, last = from_us(start), from_us(end)
    offsets = [offset(low)]
    while low < last:
        high = min(low + timedelta(days=1), last)
        if offset(high) != offsets[-1]:
            left, right = low, high
            while right - left > timedelta(microseconds=1):
                middle = left + (right - left) / 2
                left, right = (left, middle) if offset(middle) != offsets[-1] else (middle, right)
            if right < last:
                changes.append(to_us(right))
                offsets.append(offset(right))
        low = high
    return np.array(changes, np.int64), np.array([o // timedelta(microseconds=1) for o in offsets], np.int64)


@dataclass(frozen=True)
class HourSums:
    """Sums by group and slot, shape (groups, period); a group is a series, or a series and block in that
    order.

    `relative`: seconds weighed by price / own block mean; `seconds`: seconds of known time.
    `block_mean` (series, blocks): the means themselves, per instance-hour; nan where nothing is known.
    """

    relative: Floats
    seconds: Floats
    block_mean: Floats


@dataclass(frozen=True)
class _Points:
    """Where a segment is closed (+) or opened (-): series, block, time, local time, price step, unit step."""

    series: Ints
    block: Ints
    at: Ints
    local: Ints
    value: Floats
    unit: Floats


def _ends(book: PriceBook, runs: Runs, frame: Frame) -> _Points:
    """The open and closed ends of each run: its own two, and both sides of every cut inside it."""
    cuts = frame.cuts()
    first = np.searchsorted(cuts, runs.start, side="right")
    count = np.searchsorted(cuts, runs.end, side="left") - first
    run = np.repeat(np.arange(len(runs)), count)
    nth = np.arange(len(run)) - np.repeat(np.cumsum(count) - count, count)
    cut = cuts[first[run] + nth] if len(cuts) else np.zeros(0, np.int64)
    cut_series = runs.series[run]
    cut_price = book.prices[book.row_at(cut_series, cut - 1)]
    opening, closing = book.prices[runs.first_row], book.prices[runs.last_row]

    def side(at: Ints, before: int) -> tuple[Ints, Ints]:
        return frame.block_of(at - before), frame.local(at - before) + before

    parts = [
        (runs.series, runs.start, side(runs.start, 0), -opening, -1.0),
        (runs.series, runs.end, side(runs.end, 1), closing, 1.0),
        (cut_series, cut, side(cut, 1), cut_price, 1.0),
        (cut_series, cut, side(cut, 0), -cut_price, -1.0),
    ]
    return _Points(
        np.concatenate([part[0] for part in parts]),
        np.concatenate([part[2][0] for part in parts]),
        np.concatenate([part[1] for part in parts]),
        np.concatenate([part[2][1] for part in parts]),
        np.concatenate([part[3] for part in parts]),
        np.concatenate([np.full(len(part[0]), part[4]) for part in parts]),
    )


def _changes(book: PriceBook, runs: Runs, frame: Frame) -> _Points:
    """The price steps inside the runs."""
    rows, run = inner_rows(runs)
    at = book.times[rows]
    value = book.prices[rows - 1] - book.prices[rows]
    return _Points(runs.series[run], frame.block_of(at), at, frame.local(at), value, np.zeros(0))


def _by_slot(group: Ints, local: Ints, value: Floats, groups: int, period: int) -> Floats:
    """Sum over points of value * F_h(local) for every group and slot h, in seconds: (groups, period)."""
    hour = local // US_PER_HOUR
    turn = hour // period
    into = (local - hour * US_PER_HOUR) * (1.0 / US_PER_SECOND)
    bins = (group - turn) * period + hour
    at_slot = sum_by(bins, value, groups * period).reshape(groups, period)
    total = sum_by(bins, value * into, groups * period).reshape(groups, period)
    # A point in slot q has passed the slots before q of its turn whole.
    passed = at_slot.sum(axis=1, keepdims=True) - np.cumsum(at_slot, axis=1)
    passed += sum_by(group, value * turn, groups)[:, None]
    passed *= 3600.0
    total += passed
    return total


def _chunk_sums(book: PriceBook, frame: Frame, by_block: bool) -> HourSums:
    runs = known_runs(book, frame.start, frame.end)
    count, blocks = len(book), frame.blocks
    groups = count * blocks if by_block else count
    ends, steps = _ends(book, runs, frame), _changes(book, runs, frame)
    cells = count * blocks
    spent, seconds = np.zeros(cells), np.zeros(cells)
    for points in (ends, steps):
        since = (points.at - frame.first_edge - points.block * frame.block) * (1.0 / US_PER_SECOND)
        cell = points.series * blocks + points.block
        spent += sum_by(cell, points.value * since, cells)
        if len(points.unit):
            seconds += sum_by(cell, points.unit * since, cells)
    inverse = np.zeros(cells)
    # A cell of no time has cells' noise in `spent`; its inverse stays 0.
    np.divide(seconds, spent, out=inverse, where=(seconds > 0) & (spent > 0))
    relative = np.zeros((groups, frame.period))
    for points in (ends, steps):
        cell = points.series * blocks + points.block
        group = cell if by_block else points.series
        relative += _by_slot(group, points.local, points.value * inverse[cell], groups, frame.period)
    group = ends.series * blocks + ends.block if by_block else ends.series
    observed = _by_slot(group, ends.local, ends.unit, groups, frame.period)
    # Seconds are sums of whole microseconds: rounding takes the float noise of the running sums away.
    np.round(observed, 6, out=observed)
    relative[observed <= 0] = 0.0
    mean = np.full(cells, np.nan)
    np.divide(1.0, inverse, out=mean, where=inverse > 0)
    return HourSums(relative, observed, mean.reshape(count, blocks))


def hour_sums(book: PriceBook, frame: Frame, *, by_block: bool = False, threads: int = 1) -> HourSums:
    """Sums by local hour for every series of the book (by_block: for every series and block).

    Exact up to float64 rounding (about 1e-12 relative). Work and memory are O(changes + groups * period).
    """
    books = [slice_book(book, low, high) for low, high in chunks(book)]
    if not books:
        none = np.zeros((0, frame.period))
        return HourSums(none, none, np.zeros((0, frame.blocks)))
    parts = list(_mapped(books, frame, by_block, threads))
    return HourSums(
        np.concatenate([part.relative for part in parts]),
        np.concatenate([part.seconds for part in parts]),
        np.concatenate([part.block_mean for part in parts]),
    )


def _mapped(books: list[PriceBook], frame: Frame, by_block: bool, threads: int) -> Iterable[HourSums]:
    if threads <= 1 or len(books) == 1:
        return [_chunk_sums(part, frame, by_block) for part in books]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda part: _chunk_sums(part, frame, by_block), books))
