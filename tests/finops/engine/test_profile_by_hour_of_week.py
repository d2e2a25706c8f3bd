"""Hour-of-week profiles: exact sums, clock changes, unknown time, and a verdict that does not sell noise."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.engine.hour_pattern import (
    PatternConfig,
    evidence,
    false_discovery,
    intervals,
    patterns,
    turning_p,
    weeks_of,
)
from finops.engine.hour_sums import DAY_US, MONDAY_US, WEEK_US, frame_of, hour_sums, zone_changes
from finops.engine.profile import hour_name, judge_all, profile, profile_all
from finops.engine.series import US_PER_HOUR, PriceBook, SeriesKey, to_us

END = datetime(2026, 2, 2, tzinfo=UTC)  # a Monday, 00:00
END_US = to_us(END)
MINUTE = 60_000_000

Rows = list[tuple[int, float]]


def book_of(series: list[tuple[Rows, list[tuple[int, int]]]]) -> PriceBook:
    """A book from (rows, known ranges) a series."""
    keys = tuple(
        SeriesKey("aws", "eu-west-1", f"z{n}", "m5.large", "Linux/UNIX", "USD") for n in range(len(series))
    )
    rows = [row for changes, _ in series for row in changes]
    known = [span for _, spans in series for span in spans]
    return PriceBook(
        keys,
        np.cumsum([0, *(len(changes) for changes, _ in series)]),
        np.array([at for at, _ in rows], np.int64),
        np.array([price for _, price in rows], np.float64),
        np.cumsum([0, *(len(spans) for _, spans in series)]),
        np.array([low for low, _ in known], np.int64),
        np.array([high for _, high in known], np.int64),
    )


def hourly(prices: np.ndarray, end_us: int = END_US) -> PriceBook:
    """One series that changes every hour, the last hour ending at `end_us`."""
    start = end_us - len(prices) * US_PER_HOUR
    rows = [(start + n * US_PER_HOUR, float(price)) for n, price in enumerate(prices)]
    return book_of([(rows, [(start, end_us)])])


def test_two_prices_in_one_week_by_hand() -> None:
    """12 h at 2, the rest of the week at 1: the mean is 180 / 168, so the hours are 28/15 and 14/15 of it."""
    start = END_US - WEEK_US
    book = book_of([([(start, 2.0), (start + 12 * US_PER_HOUR, 1.0)], [(start, END_US)])])
    answer = profile(book, end_us=END_US, days=7)
    assert [hour.relative for hour in answer.hours[:13]] == pytest.approx([28 / 15] * 12 + [14 / 15])
    assert [hour.seconds_observed for hour in answer.hours] == [3600.0] * 168
    assert answer.verdict == "too little data"
    assert str(answer.sentence) == "Cannot judge: 1 of 3 whole weeks of prices are known."
    assert {hour.low for hour in answer.hours} == {None}
    assert answer.resamples == 0


def test_a_change_inside_an_hour_weighs_by_time() -> None:
    start = END_US - WEEK_US
    rows = [(start, 1.0), (start + 30 * MINUTE, 3.0), (start + 60 * MINUTE, 1.0)]
    answer = profile(book_of([(rows, [(start, END_US)])]), end_us=END_US, days=7)
    mean = (168 + 1) / 168
    assert answer.hours[0].relative == pytest.approx(2 / mean)
    assert answer.hours[1].relative == pytest.approx(1 / mean)


def test_each_week_is_measured_against_its_own_mean() -> None:
    level = np.repeat([1.0, 2.0, 4.0, 8.0], 168)
    answer = profile(hourly(level), end_us=END_US)
    assert [hour.relative for hour in answer.hours] == pytest.approx([1.0] * 168)
    assert str(answer.sentence) == "No off-peak hour: time of week moves the price by 0.0 %."
    assert (answer.verdict, answer.weeks) == ("no pattern", 4)


def test_relative_to_the_day_takes_the_weekday_away() -> None:
    week = np.repeat([1.0, 1.0, 1.0, 1.0, 1.0, 3.0, 3.0], 24)
    book = hourly(np.tile(week, 4))
    by_day = profile(book, end_us=END_US, basis="day")
    assert [hour.relative for hour in by_day.hours] == pytest.approx([1.0] * 168)
    by_week = profile(book, end_us=END_US)
    assert by_week.hours[0].relative == pytest.approx(7 / 11)
    assert by_week.hours[167].relative == pytest.approx(21 / 11)


def test_unknown_time_counts_neither_as_seconds_nor_as_price() -> None:
    start = END_US - 2 * WEEK_US
    gap = (start + 10 * US_PER_HOUR, start + 34 * US_PER_HOUR)
    rows = [(start, 1.0), (start + 5 * US_PER_HOUR, 9.0), (gap[1], 1.0)]
    answer = profile(book_of([(rows, [(start, gap[0]), (gap[1], END_US)])]), end_us=END_US, days=14)
    assert answer.hours[9].seconds_observed == 7200.0
    assert answer.hours[10].seconds_observed == 3600.0
    assert sum(hour.seconds_observed for hour in answer.hours) == (336 - 24) * 3600.0
    # The 9 stood for 5 known hours of a week of 144: nothing of it is carried over the gap.
    assert answer.hours[10].relative == pytest.approx(1.0)
    assert answer.hours[5].relative == pytest.approx((9 * 144 / (139 + 45) + 1) / 2)


def test_an_hour_never_seen_is_unknown_and_no_number() -> None:
    start = END_US - 2 * US_PER_HOUR
    answer = profile(book_of([([(start, 1.0)], [(start, END_US)])]), end_us=END_US)
    assert answer.hours[167].relative == 1.0
    assert (answer.hours[0].relative, answer.hours[0].low, answer.hours[0].seconds_observed) == (
        None,
        None,
        0.0,
    )


def test_local_hours_are_counted_once_each_day_of_the_clock_change() -> None:
    """Berlin, the week of 2026-03-29: 02:00 on Sunday does not exist, the window is one local hour longer."""
    end = to_us(datetime(2026, 3, 30, tzinfo=UTC))
    answer = profile(hourly(np.ones(168), end), end_us=end, days=7, zone="Europe/Berlin")
    sunday = 6 * 24
    assert answer.hours[sunday + 1].seconds_observed == 3600.0
    assert answer.hours[sunday + 2].seconds_observed == 0.0
    assert answer.hours[sunday + 3].seconds_observed == 3600.0
    autumn = to_us(datetime(2026, 10, 26, tzinfo=UTC))
    answer = profile(hourly(np.ones(168), autumn), end_us=autumn, days=7, zone="Europe/Berlin")
    assert answer.hours[sunday + 2].seconds_observed == 7200.0
    assert sum(hour.seconds_observed for hour in answer.hours) == 168 * 3600.0


def test_the_hour_is_that_of_the_named_zone() -> None:
    """A price that doubles at 03:30-04:30 UTC is dear at 09:00 in Kolkata, and nowhere else."""
    week = np.full(168 * 2, 1.0)
    for day in range(7):
        week[day * 48 + 7 : day * 48 + 9] = 2.0
    start = END_US - WEEK_US
    rows = [(start + n * 30 * MINUTE, float(price)) for n, price in enumerate(week)]
    answer = profile(book_of([(rows, [(start, END_US)])]), end_us=END_US, days=7, zone="Asia/Kolkata")
    mean = 25 / 24
    assert [hour.relative for hour in answer.hours[:24]] == pytest.approx(
        [(2 if hour == 9 else 1) / mean for hour in range(24)]
    )


def test_nothing_at_or_after_the_end_is_looked_at() -> None:
    quiet = hourly(np.tile(np.linspace(1, 2, 168), 5), END_US + WEEK_US)
    wild = hourly(np.concatenate((quiet.prices[: 4 * 168], np.linspace(9, 90, 168))), END_US + WEEK_US)
    assert profile(quiet, end_us=END_US) == profile(wild, end_us=END_US)


def test_a_region_weighs_its_series_by_known_seconds() -> None:
    start = END_US - WEEK_US
    up = [(start, 1.0), (start + 84 * US_PER_HOUR, 3.0)]
    flat = [(start, 100.0)]
    answer = profile(book_of([(up, [(start, END_US)]), (flat, [(start, END_US)])]), end_us=END_US, days=7)
    assert (answer.hours[0].relative, answer.hours[167].relative) == pytest.approx((0.75, 1.25))
    assert (answer.series, answer.hours[0].seconds_observed) == (2, 7200.0)


def night_prices(weeks: int, depth: float, noise: float, seed: int = 3) -> np.ndarray:
    random = np.random.default_rng(seed)
    hours = np.arange(weeks * 168)
    wander = np.exp(np.cumsum(random.normal(0, 0.002, len(hours))))
    return (
        wander * (1 + noise * random.standard_normal(len(hours))) * np.where(hours % 24 < 8, 1 - depth, 1.0)
    )


def test_a_cheap_night_is_found_and_named_in_local_time() -> None:
    """Eight hours at 0.7 of the rest are 0.7 / 0.9 of the mean, 22 % under it, less the wandering."""
    answer = profile(hourly(night_prices(4, 0.3, 0.02)), end_us=END_US, zone="America/New_York")
    assert answer.verdict == "pattern"
    assert str(answer.sentence) == (
        "Off-peak is 19:00 to 03:00 every day (America/New_York): 21.5 % under the weekly mean."
    )
    assert answer.p_value == 0.0005
    first = answer.hours[20]
    assert first.low is not None
    assert first.relative is not None
    assert first.high is not None
    assert 0.75 < first.low < first.relative < first.high < 0.81


def test_a_cheap_weekend_is_found() -> None:
    days = np.arange(4 * 168) // 24 % 7
    prices = night_prices(4, 0.0, 0.02) * np.where(days >= 5, 0.6, 1.0)
    assert str(profile(hourly(prices), end_us=END_US).sentence).startswith(
        "Off-peak is Sat 00:00 to Mon 00:00 (UTC): "
    )


def test_a_pattern_of_one_per_cent_is_not_worth_a_window() -> None:
    answer = profile(hourly(night_prices(4, 0.01, 0.001)), end_us=END_US)
    assert answer.p_value == 0.0015
    assert answer.verdict == "no pattern"
    assert str(answer.sentence) == "No off-peak hour: time of week moves the price by 1.0 %."


def test_a_window_of_the_first_half_only_is_not_sold() -> None:
    early, late = night_prices(8, 0.3, 0.02)[: 4 * 168], night_prices(8, 0.0, 0.02)[4 * 168 :]
    answer = profile(hourly(np.concatenate((early, late))), end_us=END_US, days=56)
    assert answer.verdict == "no pattern"
    assert answer.later_swing == pytest.approx(0.0, abs=0.01)


def test_a_steady_drift_is_no_hour_of_the_week() -> None:
    answer = profile(hourly(np.exp(-np.arange(4 * 168) / 700)), end_us=END_US)
    assert answer.hours[0].relative == pytest.approx(1.125, abs=0.01)
    assert answer.verdict == "no pattern"


def test_false_alarms_on_noise_stay_under_five_per_cent() -> None:
    """300 made-up months of jumps that stay and of noise that lasts for days; fixed seed."""
    random = np.random.default_rng(11)
    config = PatternConfig(turns=499)
    jumps = np.cumsum((random.random((150, 672)) < 1 / 12) * random.normal(0, 0.02, (150, 672)), axis=1)
    slow = np.zeros((150, 672))
    shock = random.standard_normal((150, 672))
    for hour in range(1, 672):
        slow[:, hour] = 0.97 * slow[:, hour - 1] + shock[:, hour]
    prices = np.maximum(1 + np.concatenate((jumps, 0.02 * slow)), 0.05).reshape(300, 4, 168)
    seconds = np.full(prices.shape, 3600.0)
    found = evidence(
        weeks_of(prices / prices.mean(axis=2, keepdims=True) * seconds, seconds, 0, config), config
    )
    alone = [
        patterns(
            type(found)(
                found.weeks[n : n + 1],
                found.enough[n : n + 1],
                found.p[n : n + 1],
                found.swing[n : n + 1],
                found.later_swing[n : n + 1],
                found.off_peak[n : n + 1],
            ),
            config,
        )[0]
        for n in range(300)
    ]
    assert np.mean(alone) <= 0.05
    assert patterns(found, config).sum() == 0


def test_every_series_is_judged_by_itself() -> None:
    night, noise = hourly(night_prices(4, 0.3, 0.02)), hourly(night_prices(4, 0.0, 0.02))
    short = book_of([([(END_US - DAY_US, 1.0)], [(END_US - DAY_US, END_US)])])
    series = [
        (list(zip(b.times.tolist(), b.prices.tolist(), strict=True)), [(int(b.known_from[0]), END_US)])
        for b in (night, noise, short)
    ]
    answer = judge_all(book_of(series), end_us=END_US)
    assert answer.verdicts == ("pattern", "no pattern", "too little data")


def test_false_discovery_rises_with_the_rank() -> None:
    p = np.array([0.001, 0.02, 0.03, 0.2, np.nan])
    assert false_discovery(p, 0.05).tolist() == [True, True, True, False, False]
    assert false_discovery(np.array([0.04, 0.6, 0.7]), 0.05).tolist() == [False] * 3


def test_identical_weeks_are_never_turned_into_agreement_by_chance() -> None:
    week = np.random.default_rng(1).standard_normal(168)
    assert turning_p(np.tile(week, (4, 1)), PatternConfig(turns=99)) == 0.01
    assert turning_p(np.zeros((4, 168))) == 1.0


def test_intervals_need_two_weeks_and_hold_the_mean() -> None:
    seconds = np.full((4, 3), 3600.0)
    mean, low, high = intervals(seconds * np.array([[1.0], [1.1], [0.9], [1.0]]), seconds)
    assert mean.tolist() == pytest.approx([1.0] * 3)
    assert low[0] < 1.0 < high[0]
    _, low, _ = intervals(seconds[:1], seconds[:1])
    assert np.isnan(low).all()


def test_bad_questions_are_refused() -> None:
    book = hourly(np.ones(5))
    with pytest.raises(ValueError, match="unknown time zone: 'Mars'"):
        profile(book, end_us=END_US, zone="Mars")
    with pytest.raises(ValueError, match="at least one day"):
        profile(book, end_us=END_US, days=0)


def test_no_series_and_series_without_rows_are_too_little_data() -> None:
    nothing, empty = book_of([]), book_of([([], [])])
    for book in (nothing, empty):
        answer = profile(book, end_us=END_US)
        assert (answer.verdict, answer.series, answer.weeks) == ("too little data", 0, 0)
    assert judge_all(nothing, end_us=END_US).verdicts == ()
    assert judge_all(empty, end_us=END_US).verdicts == ("too little data",)
    assert profile_all(empty, end_us=END_US).seconds.sum() == 0.0


def test_names_of_hours() -> None:
    assert [hour_name(slot) for slot in (0, 122, 168)] == ["Mon 00:00", "Sat 02:00", "Mon 00:00"]


def test_zone_changes_are_found_to_the_microsecond() -> None:
    start, end = to_us(datetime(2026, 1, 1, tzinfo=UTC)), to_us(datetime(2027, 1, 1, tzinfo=UTC))
    changes, offsets = zone_changes(ZoneInfo("Europe/Berlin"), start, end)
    assert changes.tolist() == [
        to_us(datetime(2026, 3, 29, 1, tzinfo=UTC)),
        to_us(datetime(2026, 10, 25, 1, tzinfo=UTC)),
    ]
    assert (offsets // US_PER_HOUR).tolist() == [1, 2, 1]


ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe"]
CHANGES = [to_us(datetime(2026, 3, 29, 1, tzinfo=UTC)), to_us(datetime(2026, 4, 4, 15, tzinfo=UTC))]


@st.composite
def series(draw: st.DrawFn) -> tuple[Rows, list[tuple[int, int]]]:
    base = draw(st.sampled_from(CHANGES)) - 9 * DAY_US
    at = sorted(draw(st.sets(st.integers(0, 18 * 24 * 60), min_size=1, max_size=12)))
    prices = draw(st.lists(st.integers(1, 50), min_size=len(at), max_size=len(at)))
    edges = sorted(draw(st.sets(st.integers(0, 19 * 24 * 60), min_size=2, max_size=6)))
    spans = [(base + a * MINUTE, base + b * MINUTE) for a, b in zip(edges[::2], edges[1::2], strict=False)]
    return [(base + m * MINUTE, p / 10) for m, p in zip(at, prices, strict=True)], spans


def minute_by_minute(
    rows: Rows, spans: list[tuple[int, int]], start: int, end: int, zone: str, first_edge: int
) -> tuple[np.ndarray, np.ndarray]:
    """The same sums from a grid of minutes: slow, and exact because everything here lies on whole minutes."""
    relative, seconds = np.zeros(168), np.zeros(168)
    place = ZoneInfo(zone)
    cells: dict[int, list[tuple[int, float]]] = {}
    times = np.array([at for at, _ in rows])
    for low, high in spans:
        for at in range(max(low, start, rows[0][0]), min(high, end), 30 * MINUTE):
            for minute in range(at, min(at + 30 * MINUTE, high, end), MINUTE):
                price = rows[int(np.searchsorted(times, minute, side="right")) - 1][1]
                local = datetime.fromtimestamp(minute / 1e6, UTC).astimezone(place)
                slot = local.weekday() * 24 + local.hour
                cells.setdefault((minute - first_edge) // WEEK_US, []).append((slot, price))
    for entries in cells.values():
        mean = sum(price for _, price in entries) / len(entries)
        for slot, price in entries:
            relative[slot] += 60 * price / mean
            seconds[slot] += 60
    return relative, seconds


@settings(max_examples=25, deadline=None)
@given(series(), st.sampled_from(ZONES), st.integers(1, 10))
def test_sums_agree_with_a_grid_of_minutes(
    one: tuple[Rows, list[tuple[int, int]]], zone: str, days: int
) -> None:
    rows, spans = one
    end = rows[0][0] // DAY_US * DAY_US + 12 * DAY_US + 90 * MINUTE
    frame = frame_of(end - days * DAY_US, end, ZoneInfo(zone), period=168, block=WEEK_US)
    sums = hour_sums(book_of([one]), frame)
    relative, seconds = minute_by_minute(rows, spans, frame.start, end, zone, frame.first_edge)
    assert sums.seconds[0].tolist() == seconds.tolist()
    np.testing.assert_allclose(sums.relative[0], relative, atol=1e-6)


@settings(max_examples=40, deadline=None)
@given(st.lists(series(), min_size=1, max_size=4), st.sampled_from(ZONES))
def test_all_series_at_once_are_the_series_one_by_one(
    many: list[tuple[Rows, list[tuple[int, int]]]], zone: str
) -> None:
    end = max(rows[-1][0] for rows, _ in many) + DAY_US
    book = book_of(many)
    together = profile_all(book, end_us=end, zone=zone, threads=2)
    for n in range(len(many)):
        alone = profile(book.select([n]), end_us=end, zone=zone)
        assert [h.seconds_observed for h in alone.hours] == together.seconds[n].tolist()
        expected = [np.nan if h.relative is None else h.relative for h in alone.hours]
        np.testing.assert_allclose(together.relative[n], expected, rtol=1e-9)


def test_weeks_start_on_a_monday() -> None:
    assert datetime.fromtimestamp(MONDAY_US / 1e6, UTC) == datetime(1970, 1, 5, tzinfo=UTC)
    assert datetime(1970, 1, 5, tzinfo=UTC).weekday() == 0
    assert timedelta(microseconds=WEEK_US) == timedelta(days=7)
