"""When a weekly report is due, which ISO week it is about, and which days it compares.

A due time is a weekday and an hour on the clock of a zone: an hour that the clock leaves out is the first
instant after the gap, one that comes twice is its first occurrence (`finops.engine.calendar`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from finops.engine.calendar import local_instant
from finops.engine.spend import Week, Window, week_of

WEEK = timedelta(days=7)
MAX_MISSED = 52
# Nothing is billed before, and the first weeks of all have none before them.
FIRST_YEAR = 1970
_LABEL = re.compile(r"([0-9]{4})-W([0-9]{2})")


class WeekError(ValueError):
    """A text is no ISO week."""


@dataclass(frozen=True, slots=True)
class Clock:
    """`weekday` 1 (Monday) to 7, `hour` 0 to 23, in `zone`."""

    weekday: int
    hour: int
    zone: ZoneInfo

    def on_week(self, monday: date) -> datetime:
        """The due instant (UTC) in the ISO week that begins on `monday`."""
        return local_instant(monday + timedelta(days=self.weekday - 1), 60 * self.hour, self.zone)


def next_due(clock: Clock, after: datetime) -> datetime:
    """The first due instant later than `after`.

    >>> next_due(Clock(1, 8, ZoneInfo("Europe/Berlin")), datetime(2026, 3, 23, 7, tzinfo=UTC)).isoformat()
    '2026-03-30T06:00:00+00:00'
    """
    monday = week_of(after.astimezone(clock.zone).date()).first - WEEK
    while (due := clock.on_week(monday)) <= after:
        monday += WEEK
    return due


def reported_week(due: datetime, zone: ZoneInfo) -> Week:
    """The week that ended last on the local calendar at `due`.

    >>> reported_week(datetime(2018, 11, 26, 7, tzinfo=UTC), ZoneInfo("Europe/Berlin")).label
    '2018-W47'
    """
    return week_of(due.astimezone(zone).date() - WEEK)


def due_now(clock: Clock, first: datetime, now: datetime) -> tuple[datetime | None, tuple[datetime, ...]]:
    """(the newest due instant in [first, now], those before it that were missed, oldest first).

    After a time without a server one report is written, about the newest week; at most a year is looked back.
    """
    found: list[datetime] = []
    due = first
    while due <= now:
        found.append(due)
        due = next_due(clock, due)
    return (found[-1], tuple(found[:-1][-MAX_MISSED:])) if found else (None, ())


def week_named(text: str) -> Week:
    """The week of `2018-W47`. Raises WeekError; 2018 has no week 53, 2020 does.

    >>> week_named("2020-W53").last
    datetime.date(2021, 1, 3)
    """
    match = _LABEL.fullmatch(text.strip())
    try:
        if match is None or int(match[1]) < FIRST_YEAR:
            raise ValueError(text)
        return week_of(date.fromisocalendar(int(match[1]), int(match[2]), 1))
    except (ValueError, OverflowError) as error:
        raise WeekError(f"not an ISO week like 2018-W47: {text[:20]}") from error


@dataclass(frozen=True, slots=True)
class Compared:
    """`after`: the delivered days of the week; `before`: the same weekdays of the week before; `whole`: all
    seven are there.
    """

    after: Window
    before: Window
    whole: bool


def compared(week: Week, known_to: date | None) -> Compared | None:
    """Which days stand against which: as many on both sides, weekday for weekday.

    `known_to` is the day after the last that every report has delivered, None when all of the week is there.
    None when no day of the week is.

    >>> compared(week_named("2018-W47"), date(2018, 11, 22)).before
    Window(start=datetime.date(2018, 11, 12), end=datetime.date(2018, 11, 15))
    """
    end = week.last + timedelta(days=1)
    cut = end if known_to is None else min(end, known_to)
    if cut <= week.first:
        return None
    return Compared(Window(week.first, cut), Window(week.first - WEEK, cut - WEEK), cut == end)


@dataclass(frozen=True, slots=True)
class Quiet:
    """Hours of the day in which nothing is sent: minutes after midnight in `zone`; over midnight where
    `end` is not after `start`.
    """

    start: int
    end: int
    zone: ZoneInfo

    def until(self, at: datetime) -> datetime | None:
        """When the quiet hours around `at` end (UTC); None outside of them.

        >>> Quiet(22 * 60, 7 * 60, ZoneInfo("UTC")).until(datetime(2026, 5, 1, 23, tzinfo=UTC)).isoformat()
        '2026-05-02T07:00:00+00:00'
        """
        today = at.astimezone(self.zone).date()
        for day in (today - timedelta(days=1), today):
            begins = local_instant(day, self.start, self.zone)
            last = day + timedelta(days=int(self.end <= self.start))
            ends = local_instant(last, self.end, self.zone)
            if begins <= at < ends:
                return ends.astimezone(UTC)
        return None
