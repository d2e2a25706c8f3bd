"""Due times on local clocks, ISO weeks, equal ranges, quiet hours."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.engine.spend import Window, week_of
from finops.engine.weekly import (
    Clock,
    Quiet,
    WeekError,
    compared,
    due_now,
    next_due,
    reported_week,
    week_named,
)

BERLIN, NEW_YORK, UTC_ZONE = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York"), ZoneInfo("UTC")
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia"]


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("clock", "after", "due"),
    [
        (Clock(1, 8, BERLIN), "2026-11-30T06:59", "2026-11-30T07:00"),
        (Clock(1, 8, BERLIN), "2026-11-30T07:00", "2026-12-07T07:00"),
        # summer time begins on Sunday 29 March 2026: the next Monday is an hour earlier in UTC
        (Clock(1, 8, BERLIN), "2026-03-23T07:00", "2026-03-30T06:00"),
        # 02:00 on that Sunday does not exist: the first instant after the gap
        (Clock(7, 2, BERLIN), "2026-03-28T00:00", "2026-03-29T01:00"),
        # 01:00 on Sunday 1 November 2026 comes twice in New York: the first of them
        (Clock(7, 1, NEW_YORK), "2026-10-31T00:00", "2026-11-01T05:00"),
    ],
    ids=["before", "at", "summer", "gap", "twice"],
)
def test_the_next_due_time_is_on_the_local_clock(clock: Clock, after: str, due: str) -> None:
    assert next_due(clock, at(after)) == at(due)


@settings(max_examples=50, deadline=None)
@given(
    st.integers(1, 7),
    st.integers(0, 23),
    st.sampled_from(ZONES),
    st.integers(0, 20 * 366 * 24),
)
def test_due_times_are_a_week_apart_on_the_clock(day: int, hour: int, zone: str, hours: int) -> None:
    clock = Clock(day, hour, ZoneInfo(zone))
    start = at("2011-01-01T00:00") + timedelta(hours=hours)
    first = next_due(clock, start)
    second = next_due(clock, first)
    assert start < first <= start + timedelta(days=8)
    assert timedelta(days=5, hours=22) < second - first < timedelta(days=8, hours=2)
    local = first.astimezone(clock.zone)
    # In a gap the first instant after it counts; a day that a zone left out ends in the next one.
    assert local.isoweekday() == day or local.hour != hour or zone == "Pacific/Apia"


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2018-W47", date(2018, 11, 19), date(2018, 11, 25)),
        ("2019-W01", date(2018, 12, 31), date(2019, 1, 6)),
        ("2020-W53", date(2020, 12, 28), date(2021, 1, 3)),
        ("2021-W01", date(2021, 1, 4), date(2021, 1, 10)),
    ],
)
def test_an_iso_week_has_both_dates(text: str, first: date, last: date) -> None:
    week = week_named(text)
    assert (week.label, week.first, week.last) == (text, first, last)


@pytest.mark.parametrize(
    "text",
    [
        "2018-47",
        "2018-W54",
        "2018-W00",
        "2019-W53",
        "W47",
        "",
        "2018-W4",
        "0000-W01",
        "0001-W01",
        "1969-W52",
        "２018-W01",
    ],
)
def test_what_is_no_week_is_refused(text: str) -> None:
    with pytest.raises(WeekError, match="not an ISO week"):
        week_named(text)


def test_a_report_is_about_the_week_that_ended_on_the_local_calendar() -> None:
    # Monday 05:00 in Auckland is Sunday in UTC: for its readers the week is over
    assert reported_week(at("2026-11-29T16:00"), ZoneInfo("Pacific/Auckland")).label == "2026-W48"
    assert reported_week(at("2026-11-29T16:00"), UTC_ZONE).label == "2026-W47"
    assert reported_week(at("2021-01-04T08:00"), UTC_ZONE).label == "2020-W53"


def test_after_an_outage_one_report_is_due_and_the_others_are_missed() -> None:
    clock = Clock(1, 8, UTC_ZONE)
    first = at("2026-11-09T08:00")
    due, missed = due_now(clock, first, at("2026-11-24T00:00"))
    assert due == at("2026-11-23T08:00")
    assert missed == (at("2026-11-09T08:00"), at("2026-11-16T08:00"))
    assert due_now(clock, first, at("2026-11-09T07:59")) == (None, ())


def test_what_is_compared_has_as_many_days_on_both_sides_weekday_for_weekday() -> None:
    week = week_named("2018-W47")
    whole = compared(week, None)
    assert whole is not None
    assert whole.whole
    assert whole.before == Window(date(2018, 11, 12), date(2018, 11, 19))
    cut = compared(week, date(2018, 11, 22))
    assert cut is not None
    assert not cut.whole
    assert (cut.after.days, cut.before.days) == (3, 3)
    assert [d.start.isoweekday() for d in (cut.after, cut.before)] == [1, 1]
    assert compared(week, date(2018, 11, 19)) is None
    assert compared(week, date.min) is None


@settings(max_examples=50, deadline=None)
@given(st.dates(date(2015, 1, 1), date(2030, 1, 1)), st.integers(-3, 12))
def test_ranges_are_never_unequal(day: date, known: int) -> None:
    week = week_of(day)
    sides = compared(week, week.first + timedelta(days=known))
    if sides is None:
        assert known <= 0
    else:
        assert sides.after.days == sides.before.days == min(known, 7)
        assert sides.after.start - sides.before.start == timedelta(days=7)


@pytest.mark.parametrize(
    ("now", "until"),
    [
        ("2026-05-01T19:59", None),
        ("2026-05-01T20:00", "2026-05-02T05:00"),
        ("2026-05-02T04:59", "2026-05-02T05:00"),
        ("2026-05-02T05:00", None),
        # the night of the change to summer time: 07:00 is at 05:00 UTC
        ("2026-03-28T22:00", "2026-03-29T05:00"),
    ],
)
def test_quiet_hours_over_midnight(now: str, until: str | None) -> None:
    quiet = Quiet(22 * 60, 7 * 60, BERLIN)
    assert quiet.until(at(now)) == (at(until) if until else None)


def test_quiet_hours_within_a_day() -> None:
    quiet = Quiet(12 * 60, 13 * 60 + 30, UTC_ZONE)
    assert quiet.until(at("2026-05-01T12:10")) == at("2026-05-01T13:30")
    assert quiet.until(at("2026-05-01T13:30")) is None
