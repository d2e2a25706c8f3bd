"""Profile and best start of every series at once, against compiled loops, DuckDB SQL and pandas.

`OFFPEAK_BENCH_DATA=… python -m bench.profile`. The book: every series of the five archives, cut and filled
to 12,000 series with 2.2M changes (what was left out and what is a shifted replica is printed). Times are
medians of 3 on the wall clock; the engine may use two threads, the loops use one.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pandas as pd

from bench import spot_archives
from finops.engine.hour_sums import MONDAY_US, WEEK_US, HourSums, frame_of, hour_sums
from finops.engine.series import US_PER_HOUR, PriceBook
from finops.engine.windows_all import DEFAULT_HOURS, BestStarts, best_starts

SERIES, CHANGES = 12_000, 2_200_000
SAMPLE = 150
LIMIT = 1.5
THREADS = 2
# Archives lie years apart; the bench moves them on to one window so that every series takes part.
WINDOW_US = 13 * WEEK_US


def median(run: Callable[[], object], times: int = 3) -> float:
    """Median seconds of `times` runs."""
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        run()
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken)


def archive_book(root: Path) -> tuple[PriceBook, str]:
    """12,000 series with 2.2M changes, and how they came about."""
    whole = [
        spot_archives.gpu_2020(root),
        spot_archives.auction_2016(root),
        spot_archives.us_east_1_2021(root),
        spot_archives.eu_west_1_2021_12(root),
    ]
    frame = pd.concat([*whole, spot_archives.eu_west_1_2021_08(root)], ignore_index=True)
    # The same zone in another archive is another series here.
    frame["zone_key"] += "/" + frame["source"]
    end = frame.groupby("source")["at"].transform("max")
    newest = frame["at"].max().ceil("h")
    # On whole hours, so that hours of the day stay what they were.
    frame["at"] += (newest - end).dt.floor("h")
    known = spot_archives.known_ranges(frame)
    known["known_to"] = newest
    book = PriceBook.from_frames(frame, known)
    return _filled(book)


def _filled(book: PriceBook) -> tuple[PriceBook, str]:
    sizes = np.diff(book.offsets)
    order = np.argsort(-sizes, kind="stable")
    dumps = np.array([key.zone.endswith("/eu-west-1-2021-08") for key in book.keys])
    real = [i for i in order.tolist() if not dumps[i]][:SERIES]
    free = SERIES - len(real)
    rest = [i for i in order.tolist() if dumps[i]]
    have = int(sizes[real].sum())
    copies = 0
    while (
        copies < free
        and have + int(sizes[rest[: free - copies]].sum() + sizes[real[:copies]].sum()) < CHANGES
    ):
        copies += 1
    extra = rest[: free - copies]
    chosen = [*real, *extra, *real[:copies]]
    result = book.select(chosen)
    first_copy = len(real) + len(extra)
    shift = WEEK_US
    rows = slice(int(result.offsets[first_copy]), None)
    result.times[rows] -= shift
    spans = slice(int(result.known_offsets[first_copy]), None)
    result.known_from[spans] -= shift
    result.known_to[spans] -= shift
    told = (
        f"{len(result):,} series, {len(result.times):,} changes: four archives, {len(extra):,} busiest of "
        f"eu-west-1 2021-08 ({len(rest) - len(extra):,} left out), {copies:,} replicas a week earlier"
    )
    return result, told


class Run:
    """One book, one window, and the ways of answering both questions for all of its series."""

    def __init__(self, book: PriceBook) -> None:
        self.book = book
        self.end = int(book.known_to.max())
        self.start = self.end - WINDOW_US
        self.frame = frame_of(self.start, self.end, ZoneInfo("UTC"), period=168, block=WEEK_US)
        self.lengths = np.array([round(h * US_PER_HOUR) for h in DEFAULT_HOURS], np.int64)
        self.whole = np.rint(book.prices * 1e6).astype(np.int64)

    def engine(self, threads: int = THREADS) -> tuple[HourSums, BestStarts]:
        sums = hour_sums(self.book, self.frame, threads=threads)
        return sums, best_starts(self.book, from_us=self.start, to_us=self.end, threads=threads)

    def compiled(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        from bench import _profile_loops as loops

        b = self.book
        monday = (self.start - MONDAY_US) // WEEK_US * WEEK_US + MONDAY_US
        spans = (b.known_offsets, b.known_from, b.known_to)
        relative, seconds = loops.profile_loop(
            b.offsets, b.times, b.prices, *spans, self.start, self.end, WEEK_US, monday, 168
        )
        starts, costs = loops.windows_loop(
            b.offsets, b.times, self.whole, *spans, self.start, self.end, self.lengths
        )
        return relative, seconds, starts, costs


SEGMENTS = """
create or replace temp table segments as
select series, price, greatest(moment, low) as a,
       least(coalesce(lead(moment) over (partition by series order by moment), high), high) as b, low, high
from changes join known using (series)
"""
PROFILE_SQL = """
with hours as (
    select series, price, unnest(range(a // 3600000000, (b - 1) // 3600000000 + 1)) as hour, a, b
    from segments where a < b
), cells as (
    select series, hour, (hour * 3600000000 - $first) // $week as block,
           sum((least(b, (hour + 1) * 3600000000) - greatest(a, hour * 3600000000)) / 1e6) as seconds,
           sum(price * (least(b, (hour + 1) * 3600000000) - greatest(a, hour * 3600000000)) / 1e6) as spent
    from hours group by all
), means as (select series, block, sum(spent) / sum(seconds) as mean from cells group by all)
select series, (hour - $monday // 3600000000) % 168 as slot, sum(spent / mean) as relative, sum(seconds) as
seconds from cells join means using (series, block) group by all
"""
WINDOW_SQL = """
with prefix as (
    select series, a, price, low, high,
           coalesce(sum(price * (b - a)) over (partition by series order by a
                    rows between unbounded preceding and 1 preceding), 0) as spent
    from segments where a < b
), candidates as (
    select series, a as s, low, high from prefix union all select series, a - $length, low, high from prefix
    union all select series, high - $length, low, high from known
), fitting as (select series, s, s + $length as e from candidates where s >= low and s + $length <= high),
costs as (
    select f.series, s, y.spent + y.price * (e - y.a) - x.spent - x.price * (s - x.a) as cost
    from fitting f asof join prefix x on f.series = x.series and f.s >= x.a
    asof join prefix y on f.series = y.series and f.e >= y.a
)
select series, min(cost) as cost, arg_min(s, (cost, s)) as s from costs group by series
"""


def in_sql(run: Run) -> Callable[[], object]:
    """Both questions as plain DuckDB SQL over tables in memory; two threads."""
    b = run.book
    series = np.repeat(np.arange(len(b)), np.diff(b.offsets))
    changes = pd.DataFrame({"series": series, "moment": b.times, "price": b.prices})
    opening = np.maximum(b.known_from, b.times[b.offsets[:-1]])
    known = pd.DataFrame(
        {
            "series": np.arange(len(b)),
            "low": np.maximum(opening, run.start),
            "high": np.minimum(b.known_to, run.end),
        }
    )
    connection = duckdb.connect()
    connection.execute(f"set threads = {THREADS}")
    connection.register("changes_frame", changes)
    connection.register("known_frame", known)
    connection.execute("create table changes as select * from changes_frame")
    connection.execute("create table known as select * from known_frame")
    monday = (run.start - MONDAY_US) // WEEK_US * WEEK_US + MONDAY_US
    first = run.frame.first_edge

    def ask() -> object:
        connection.execute(SEGMENTS)
        table = connection.execute(PROFILE_SQL, {"first": first, "week": WEEK_US, "monday": monday}).df()
        starts = [connection.execute(WINDOW_SQL, {"length": int(n)}).df() for n in run.lengths]
        return table, starts

    return ask


def in_pandas(run: Run, series: int) -> tuple[pd.Series, list[pd.Timestamp]]:
    """Both questions for one series as a pandas script would do it, exact."""
    b = run.book
    rows = slice(int(b.offsets[series]), int(b.offsets[series + 1]))
    prices = pd.Series(b.prices[rows], index=pd.to_datetime(b.times[rows], unit="us"))
    low = pd.to_datetime(max(run.start, int(b.times[rows][0])), unit="us")
    high = pd.to_datetime(min(int(b.known_to[b.known_offsets[series]]), run.end), unit="us")
    hours = pd.date_range(low.ceil("h"), high, freq="h", unit="us")
    index = prices.index.union(hours).union([low, high])
    filled = prices.reindex(index).ffill()[low:high]
    seconds = (filled.index[1:] - filled.index[:-1]).total_seconds()
    cells = pd.DataFrame({"price": filled.to_numpy()[:-1], "seconds": seconds}, index=filled.index[:-1])
    week = (pd.to_datetime(run.end, unit="us") - cells.index - pd.Timedelta(microseconds=1)) // pd.Timedelta(
        "7D"
    )
    cells["spent"] = cells["price"] * cells["seconds"]
    sums = cells.groupby(week)[["spent", "seconds"]].transform("sum")
    cells["relative"] = cells["spent"] / (sums["spent"] / sums["seconds"])
    slot = cells.index.day_of_week * 24 + cells.index.hour
    table = cells.groupby(slot)[["relative", "seconds"]].sum()
    spent = pd.Series(np.concatenate(([0.0], cells["spent"].cumsum())), index=filled.index)
    best = []
    for length in run.lengths:
        delta = pd.Timedelta(int(length), unit="us")
        starts = filled.index.union(filled.index - delta)
        starts = starts[(starts >= low) & (starts + delta <= high)]
        points = spent.index.union(starts).union(starts + delta)
        line = spent.reindex(points).interpolate(method="time")
        cost = line.reindex(starts + delta).to_numpy() - line.reindex(starts).to_numpy()
        best.append(starts[int(np.argmin(cost))] if len(starts) else pd.NaT)
    return table["relative"] / table["seconds"], best


def grid_starts(run: Run, length: int) -> np.ndarray:
    """Best start when prices are read on the full hour and held for it: what filling to the hour does."""
    book, hours = run.book, length // US_PER_HOUR
    grid = np.arange(run.start // US_PER_HOUR, run.end // US_PER_HOUR) * US_PER_HOUR
    found = np.full(len(book), -1, np.int64)
    for low in range(0, len(book), 1000):
        series = np.arange(low, min(low + 1000, len(book)))
        price = book.price_at(series[:, None], grid[None, :])
        price[:, grid >= run.end] = np.nan
        sums = np.cumsum(np.nan_to_num(price, nan=1e9), axis=1)
        rolling = sums[:, hours - 1 :].copy()
        rolling[:, 1:] -= sums[:, :-hours]
        found[series] = grid[np.argmin(np.round(rolling, 9), axis=1)]
    return found


def check(run: Run) -> None:
    """The engine and the compiled loops must give the same answer before their times mean anything."""
    sums, best = run.engine()
    relative, seconds, starts, costs = run.compiled()
    np.testing.assert_allclose(sums.relative, relative, rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(sums.seconds, seconds, atol=1e-6)
    assert np.array_equal(best.start_us, starts)
    assert np.allclose(best.cost[best.known], costs[best.known] / (1e6 * US_PER_HOUR))


def grid_line(run: Run, best: BestStarts) -> str:
    parts = []
    for column, length in enumerate(run.lengths.tolist()):
        starts, known = grid_starts(run, length), best.known[:, column]
        cost = run.book.cost(np.arange(len(run.book)), starts, length)
        dearer = known & ~(cost <= best.cost[:, column] * (1 + 1e-9))
        other = known & (np.abs(starts - best.start_us[:, column]) > US_PER_HOUR)
        parts.append(
            f"{length // US_PER_HOUR} h: {100 * other.sum() / known.sum():.0f} % a start over 1 h off, "
            f"{100 * dearer.sum() / known.sum():.0f} % a dearer start"
        )
    return "filling to the hour names, as share of all series, " + "; ".join(parts)


def main() -> None:
    """Print the figures; nothing is run without data."""
    root = os.environ.get("OFFPEAK_BENCH_DATA")
    if not root:
        print("profile and best windows of all series: not run: no data")
        return
    book, told = archive_book(Path(root))
    print(told)
    run = Run(book)
    check(run)
    compiled, engine = median(run.compiled), median(run.engine)
    single = median(lambda: run.engine(1))
    verdict = "ok" if engine <= LIMIT * compiled else "OVER THE LIMIT"
    print(
        f"profile (168 h) and best windows (1, 4, 8, 24 h): {engine:.3f} s on {THREADS} threads = "
        f"{engine / compiled:.2f}x a compiled numba loop ({compiled:.3f} s), limit {LIMIT}: {verdict}; "
        f"on one thread {single / compiled:.2f}x"
    )
    sql = median(in_sql(run), times=1) / compiled
    print(
        f"plain DuckDB SQL (hours unnested, ASOF joins), two threads, one run: {sql:.0f}x the compiled loop"
    )
    sample = np.linspace(0, len(book) - 1, SAMPLE).astype(int).tolist()
    begun = time.perf_counter()
    for series in sample:
        in_pandas(run, series)
    scaled = (time.perf_counter() - begun) * len(book) / SAMPLE
    print(f"pandas, series by series (scaled from {SAMPLE}): {scaled / compiled:.0f}x the compiled loop")
    print(grid_line(run, run.engine()[1]))


if __name__ == "__main__":
    main()
