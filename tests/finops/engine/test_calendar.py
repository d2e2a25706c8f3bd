"""Windows of local time, change days and repeating work: values worked out by hand, and properties."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finops.engine.calendar import (
    ClockWindow,
    FixedSchedule,
    OpenSchedule,
    Period,
    RepeatingWork,
    fixed_schedule,
    local_day,
    local_day_hours,
    local_instant,
    local_window,
    parse_clock,
    parse_days,
    schedule,
)

ZONES = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Asia/Kolkata",
    "Australia/Lord_Howe",
    "America/St_Johns",
]
ROME = ZoneInfo("Europe/Rome")
OVERNIGHT = ClockWindow.parse("19:00", "10:00", "Europe/Rome", "mon-fri")
NIGHTLY = RepeatingWork(
    timedelta(hours=4), parse_clock("08:00"), "Europe/Berlin", not_before=parse_clock("20:00")
)

zones = st.sampled_from(ZONES)
days = st.dates(date(2019, 1, 1), date(2030, 12, 31))
clocks = st.integers(0, 1439)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("moment", "on"),
    [
        ("2026-05-08T18:59", False),  # Friday
        ("2026-05-08T19:00", True),
        ("2026-05-09T03:00", True),
        ("2026-05-09T09:59", True),
        ("2026-05-09T10:00", False),
        ("2026-05-09T19:00", False),
        ("2026-05-11T09:00", False),  # Monday: Sunday is no start day
        ("2026-05-11T19:00", True),
    ],
)
def test_the_weekday_of_a_window_over_midnight_is_that_of_its_start(moment: str, on: bool) -> None:
    assert OVERNIGHT.is_on(datetime.fromisoformat(moment).replace(tzinfo=ROME)) is on


def test_a_plain_week_has_five_windows_of_fifteen_hours() -> None:
    windows = [OVERNIGHT.on(date(2026, 5, 4) + timedelta(days=n)) for n in range(7)]
    assert [w.hours for w in windows if w] == [15.0] * 5
    assert sum(w.hours for w in windows if w) == 75.0


def test_a_window_over_the_clock_change_is_an_hour_shorter_or_longer() -> None:
    every = ClockWindow.parse("19:00", "10:00", "Europe/Rome")
    spring, autumn = every.on(date(2026, 3, 28)), every.on(date(2026, 10, 24))
    assert spring is not None
    assert autumn is not None
    assert (spring.hours, autumn.hours) == (14.0, 16.0)
    assert spring.end == utc("2026-03-29T08:00")


def test_midnight_may_be_written_both_ways_as_an_end() -> None:
    day = date(2026, 5, 4)
    late = ClockWindow.parse("18:00", "24:00", "Europe/Rome").on(day)
    assert late == ClockWindow.parse("18:00", "00:00", "Europe/Rome").on(day)
    assert late is not None
    assert late.hours == 6.0
    whole = ClockWindow.parse("00:00", "24:00", "Europe/Rome").on(day)
    assert whole is not None
    assert whole.hours == 24.0


def test_windows_that_touch_are_one_opening() -> None:
    week = ClockWindow.parse("00:00", "24:00", "Europe/Rome", "mon-fri")
    found = list(week.openings(utc("2026-03-27T12:00"), utc("2026-04-04T00:00")))
    # The clock changes on Sunday, between both.
    assert found == [
        Period(utc("2026-03-26T23:00"), utc("2026-03-27T23:00")),
        Period(utc("2026-03-29T22:00"), utc("2026-04-03T22:00")),
    ]
    apart = ClockWindow.parse("08:00", "20:00", "Europe/Rome")
    day = (utc("2026-05-04T00:00"), utc("2026-05-06T00:00"))
    assert list(apart.openings(*day)) == list(apart.between(*day))
    assert len(list(apart.between(*day))) == 2


def test_no_start_or_no_end_is_another_kind_of_schedule() -> None:
    stop = schedule(None, "19:00", "Europe/Rome", "mon-fri")
    assert stop == OpenSchedule("stop", 1140, "Europe/Rome", frozenset(range(5)))
    assert schedule("07:00", None, "UTC") == OpenSchedule("start", 420, "UTC")
    assert schedule("19:00", "10:00", "Europe/Rome", "mon-fri") == OVERNIGHT
    week = list(stop.between(utc("2026-05-04T00:00"), utc("2026-05-11T00:00")))
    assert week == [utc(f"2026-05-0{n}T17:00") for n in range(4, 9)]
    with pytest.raises(ValueError, match="a start, an end or both"):
        schedule(None, None, "UTC")


@pytest.mark.parametrize(
    ("day", "zone", "reads"),
    [
        ("2026-03-07", "America/New_York", "13:00-17:00"),
        ("2026-03-09", "America/New_York", "14:00-18:00"),
        ("2026-03-28", "Europe/Berlin", "19:00-23:00"),
        ("2026-03-29", "Europe/Berlin", "20:00-24:00"),
    ],
)
def test_a_window_true_in_utc_reads_by_date_in_local_time(day: str, zone: str, reads: str) -> None:
    assert local_window(ClockWindow.parse("18:00", "22:00", "UTC"), date.fromisoformat(day), zone) == reads


def test_change_days_have_23_and_25_columns() -> None:
    spring = local_day_hours(date(2026, 3, 8), "America/New_York")
    autumn = local_day_hours(date(2026, 10, 25), "Europe/Berlin")
    assert (len(spring), len(autumn)) == (23, 25)
    assert [h.label for h in spring[:4]] == ["00:00", "01:00", "03:00", "04:00"]
    assert [h.label for h in autumn[:5]] == ["00:00", "01:00", "02:00 +02:00", "02:00 +01:00", "03:00"]
    assert autumn[0].start == utc("2026-10-24T22:00")
    assert autumn[-1].end == utc("2026-10-25T23:00")


def test_a_time_in_the_gap_is_the_first_instant_after_it_and_a_double_one_its_first() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    assert local_instant(date(2026, 3, 29), 150, berlin) == utc("2026-03-29T01:00")
    assert local_instant(date(2026, 3, 29), 180, berlin) == utc("2026-03-29T01:00")
    assert local_instant(date(2026, 10, 25), 150, berlin) == utc("2026-10-25T00:30")
    # Lord Howe moves by half an hour: 02:00 to 02:30.
    assert local_instant(date(2026, 10, 4), 135, ZoneInfo("Australia/Lord_Howe")) == utc("2026-10-03T15:30")


def test_every_night_done_by_eight_in_berlin_across_both_changes() -> None:
    turns = list(NIGHTLY.occurrences(utc("2026-03-28T00:00"), utc("2026-03-30T00:00")))
    assert [(t.earliest, t.due, t.latest_start) for t in turns] == [
        (utc("2026-03-27T19:00"), utc("2026-03-28T07:00"), utc("2026-03-28T03:00")),
        (utc("2026-03-28T19:00"), utc("2026-03-29T06:00"), utc("2026-03-29T02:00")),
    ]
    autumn = NIGHTLY.occurrence(date(2026, 10, 25))
    assert autumn is not None
    assert (autumn.due - autumn.earliest) == timedelta(hours=13)


def test_a_fixed_schedule_keeps_its_clock_time_and_meets_the_due_time() -> None:
    plan = fixed_schedule(NIGHTLY, timedelta(hours=6))
    assert (plan.clock, plan.day_shift, plan.describe()) == (120, 0, "02:00 Europe/Berlin")
    runs = list(plan.starts(utc("2026-03-28T00:00"), utc("2026-03-30T00:00")))
    # On the 29th 02:00 does not exist: 03:00 local is 01:00 UTC, five hours before the due time.
    assert [r.start for r in runs] == [utc("2026-03-28T01:00"), utc("2026-03-29T01:00")]
    assert [r.hours for r in runs] == [4.0, 4.0]
    evening = fixed_schedule(NIGHTLY, timedelta(hours=11))
    assert (evening.clock, evening.day_shift) == (1260, -1)
    assert [r.start for r in evening.starts(utc("2026-10-25T00:00"), utc("2026-10-26T00:00"))] == [
        utc("2026-10-24T19:00")
    ]


def test_a_start_the_change_makes_too_late_is_moved_to_meet_the_due_time() -> None:
    tight = RepeatingWork(timedelta(hours=6), 480, "Europe/Berlin", not_before=120)
    plan = fixed_schedule(tight, timedelta(hours=6))
    (run,) = plan.starts(utc("2026-03-29T00:00"), utc("2026-03-30T00:00"))
    assert (run.start, run.end) == (utc("2026-03-29T00:00"), utc("2026-03-29T06:00"))


@pytest.mark.parametrize("text", ["24:01", "25:00", "9", "09:60", "", "-1:00"])
def test_a_bad_clock_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a time of day"):
        parse_clock(text)


def test_bad_input_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="unknown time zone: '\\+02:00'"):
        ClockWindow.parse("19:00", "10:00", "+02:00")
    for text in ("weekdays only", "month", "sunset", "mon-friend", "mon-tue-wed"):
        with pytest.raises(ValueError, match="not weekdays"):
            parse_days(text)
    assert sorted(parse_days("Monday, thurs-Sat")) == [0, 3, 4, 5]
    with pytest.raises(ValueError, match="does not fit"):
        RepeatingWork(timedelta(hours=13), 480, "UTC", not_before=1200)
    with pytest.raises(ValueError, match="not done by its due time"):
        fixed_schedule(NIGHTLY, timedelta(hours=3))
    with pytest.raises(ValueError, match="before its earliest time"):
        fixed_schedule(NIGHTLY, timedelta(hours=13))
    with pytest.raises(ValueError, match="without a time zone"):
        OVERNIGHT.is_on(datetime(2026, 5, 8, 19))  # noqa: DTZ001 - the point of the test


@given(days, zones)
def test_the_columns_of_a_local_day_cover_it_once(day: date, zone: str) -> None:
    whole, hours = local_day(day, zone), local_day_hours(day, zone)
    assert hours[0].start == whole.start
    assert hours[-1].end == whole.end
    assert all(a.end == b.start for a, b in pairwise(hours))
    assert len({h.label for h in hours}) == len(hours)
    assert 23 <= whole.hours <= 25


@given(days, clocks, clocks, zones, st.sets(st.integers(0, 6), min_size=1))
def test_windows_do_not_overlap_and_agree_with_being_on(
    day: date, start: int, end: int, zone: str, weekdays: set[int]
) -> None:
    window = ClockWindow(start, end, zone, frozenset(weekdays))
    since = datetime(day.year, day.month, day.day, tzinfo=UTC)
    periods = list(window.between(since, since + timedelta(days=8)))
    assert all(a.end <= b.start for a, b in pairwise(periods))
    for period in periods:
        assert window.is_on(period.start)
        assert period.start.astimezone(ZoneInfo(zone)).weekday() in weekdays
        after = window.between(period.end, period.end + timedelta(microseconds=1))
        assert window.is_on(period.end) is any(p.start == period.end for p in after)


@given(days, clocks, zones, st.integers(1, 12), st.integers(0, 12 * 60))
def test_every_run_of_a_fixed_schedule_lies_inside_its_turn(
    day: date, due: int, zone: str, hours: int, spare: int
) -> None:
    work = RepeatingWork(timedelta(hours=hours), due, zone)
    plan: FixedSchedule = fixed_schedule(work, timedelta(hours=hours, minutes=spare))
    since = datetime(day.year, day.month, day.day, tzinfo=UTC)
    turns = list(work.occurrences(since, since + timedelta(days=4)))
    runs = list(plan.starts(since, since + timedelta(days=4)))
    assert len(turns) == len(runs)
    for turn, run in zip(turns, runs, strict=True):
        assert turn.earliest <= run.start
        assert run.end <= turn.due
        assert run.end - run.start == work.length


@given(days, clocks, zones)
def test_local_instants_are_in_the_order_of_the_clock(day: date, clock: int, zone: str) -> None:
    place = ZoneInfo(zone)
    assert local_instant(day, clock, place) <= local_instant(day, clock + 1, place)
