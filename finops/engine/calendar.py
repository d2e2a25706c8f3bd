"""Windows of local time and repeating work, per date.

A local hour names its IANA zone and is converted for each date: an offset is never stored. Everything is
half-open and comes out as aware UTC. Two local times need a rule, the same everywhere in this file:

* one that does not exist (the clock jumps over it) means the first instant after the gap;
* one that exists twice (the clock goes back) means its first occurrence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
_NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_CLOCK = re.compile(r"([01]?\d|2[0-4]):([0-5]\d)")


def zone_of(name: str) -> ZoneInfo:
    """The IANA zone; ValueError naming it when there is none (an offset such as "+02:00" is no zone)."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f"unknown time zone: {name!r}; write it like Europe/Berlin") from error


def parse_clock(text: str) -> int:
    """Minutes after local midnight of "HH:MM"; 24:00 (the end of the day) is allowed.

    >>> parse_clock("19:00"), parse_clock("24:00")
    (1140, 1440)
    """
    match = _CLOCK.fullmatch(text.strip())
    if match is None or (match[1] == "24" and match[2] != "00"):
        raise ValueError(f"not a time of day (HH:MM, 00:00 to 24:00): {text!r}")
    return int(match[1]) * 60 + int(match[2])


def parse_days(text: str) -> frozenset[int]:
    """Weekdays (Monday 0) of "mon-fri", "sat,sun", "fri-mon" or "every".

    >>> sorted(parse_days("fri-mon"))
    [0, 4, 5, 6]
    """
    if text.strip().lower() in {"every", "daily"}:
        return frozenset(range(7))
    days: set[int] = set()
    for part in text.lower().split(","):
        ends = [_weekday(end.strip()) for end in part.split("-")]
        first, last = ends[0], ends[-1]
        if len(ends) > 2 or first is None or last is None:
            raise ValueError(f"not weekdays: {text!r}")
        days.update((first + step) % 7 for step in range((last - first) % 7 + 1))
    return frozenset(days)


def _weekday(name: str) -> int | None:
    """The weekday of "mon", "thurs" or "sunday"; None for another word ("month" is no Monday)."""
    found = [number for number, whole in enumerate(_NAMES) if len(name) >= 3 and whole.startswith(name)]
    return found[0] if found else None


def local_instant(day: date, minutes: int, zone: ZoneInfo) -> datetime:
    """The instant (UTC) at `minutes` after midnight on the clock of `zone`; 1440 is the next day's midnight.

    A time in a gap gives the first instant after the gap, an ambiguous one its first occurrence. Berlin's
    clock goes from 02:00 to 03:00 on 2026-03-29, so 02:30 is 03:00 local, 01:00 UTC:

    >>> local_instant(date(2026, 3, 29), 150, ZoneInfo("Europe/Berlin")).isoformat()
    '2026-03-29T01:00:00+00:00'
    """
    clock = datetime(day.year, day.month, day.day) + timedelta(minutes=minutes)  # noqa: DTZ001 - a wall clock
    first = clock.replace(tzinfo=zone, fold=0)
    instant = first.astimezone(UTC)
    if instant.astimezone(zone).replace(tzinfo=None) == clock:
        return instant
    return _gap_end(instant, zone)


def _gap_end(after: datetime, zone: ZoneInfo) -> datetime:
    """The instant of the change of offset just before `after`, an instant read from inside a gap.

    fold=0 reads a wall time inside a gap with the offset before it, which lands after the change by less
    than its size; the largest change on record is a day.
    """
    low, high = after - DAY - HOUR, after
    offset = high.astimezone(zone).utcoffset()
    while high - low > timedelta(seconds=1):
        middle = (low + (high - low) / 2).replace(microsecond=0)
        if middle <= low:
            break
        if middle.astimezone(zone).utcoffset() == offset:
            high = middle
        else:
            low = middle
    return high


@dataclass(frozen=True, slots=True)
class Period:
    """A half-open stretch of time [start, end), aware UTC."""

    start: datetime
    end: datetime

    @property
    def hours(self) -> float:
        return (self.end - self.start) / HOUR

    def __contains__(self, moment: datetime) -> bool:
        return self.start <= moment < self.end


def joined(periods: Iterable[Period]) -> Iterator[Period]:
    """Periods in order of their starts, those that touch or overlap as one."""
    found: Period | None = None
    for period in periods:
        if found is not None and period.start <= found.end:
            found = Period(found.start, max(found.end, period.end))
            continue
        if found is not None:
            yield found
        found = period
    if found is not None:
        yield found


@dataclass(frozen=True, slots=True)
class ClockWindow:
    """From `start` to `end` on the clock of `zone`, on the weekdays on which it *starts*.

    Minutes after local midnight; an `end` at or before `start` lies on the next day, so 19:00-10:00 is one
    window of 15 hours and never two halves. 24:00 and 00:00 mean the same end. Equal start and end is a
    window of a whole day.
    """

    start: int
    end: int
    zone: str
    days: frozenset[int] = frozenset(range(7))

    def __post_init__(self) -> None:
        zone_of(self.zone)
        if not (0 <= self.start < 1440 and 0 <= self.end <= 1440):
            raise ValueError("a window starts at 00:00-23:59 and ends at 00:00-24:00")
        if not self.days or not self.days <= frozenset(range(7)):
            raise ValueError("a window needs at least one weekday, Monday 0 to Sunday 6")

    @classmethod
    def parse(cls, start: str, end: str, zone: str, days: str = "every") -> ClockWindow:
        """From text: `ClockWindow.parse("19:00", "10:00", "Europe/Rome", "mon-fri")`."""
        return cls(parse_clock(start), parse_clock(end), zone, parse_days(days))

    @classmethod
    def of(cls, window: str, zone: str, days: str) -> ClockWindow:
        """From the text that pools and devices keep: `20:00-08:00`; no days are all of them."""
        start, _, end = window.partition("-")
        return cls.parse(start, end, zone, days or "every")

    def on(self, day: date) -> Period | None:
        """The window that starts on the local date `day`; None on other weekdays."""
        if day.weekday() not in self.days:
            return None
        zone = zone_of(self.zone)
        end = self.end if self.end > self.start else self.end + 1440
        period = Period(local_instant(day, self.start, zone), local_instant(day, end, zone))
        return period if period.start < period.end else None

    def between(self, start: datetime, end: datetime) -> Iterator[Period]:
        """Windows that overlap [start, end), whole (not cut), in order."""
        for day in _local_days(start - 2 * DAY, end, zone_of(self.zone)):
            period = self.on(day)
            if period is not None and period.end > start and period.start < end:
                yield period

    def openings(self, start: datetime, end: datetime) -> Iterator[Period]:
        """Stretches without a break that overlap [start, end), whole as far as its windows: windows that
        touch are one, so what is open all day does not close at midnight.
        """
        return joined(self.between(start, end))

    def is_on(self, moment: datetime) -> bool:
        """Whether `moment` lies inside a window."""
        _aware(moment)
        return any(moment in p for p in self.between(moment, moment + timedelta(microseconds=1)))


@dataclass(frozen=True, slots=True)
class OpenSchedule:
    """Only a start or only an end: something is switched on (or off) at a clock time and nothing undoes it.

    This is another kind of schedule than a window, not one from 00:00 or to 23:59: between its instants it
    has no opinion. `action` is "start" or "stop".
    """

    action: str
    at: int
    zone: str
    days: frozenset[int] = frozenset(range(7))

    def __post_init__(self) -> None:
        zone_of(self.zone)
        if self.action not in {"start", "stop"}:
            raise ValueError(f"an open schedule starts or stops, not {self.action!r}")
        if not 0 <= self.at <= 1440 or not self.days:
            raise ValueError("an open schedule needs a time of day and at least one weekday")

    def between(self, start: datetime, end: datetime) -> Iterator[datetime]:
        """The instants in [start, end)."""
        zone = zone_of(self.zone)
        for day in _local_days(start - 2 * DAY, end, zone):
            moment = local_instant(day, self.at, zone)
            if day.weekday() in self.days and start <= moment < end:
                yield moment


def schedule(
    start: str | None, end: str | None, zone: str, days: str = "every"
) -> ClockWindow | OpenSchedule:
    """A window when both ends are given, an open schedule when one is; ValueError when neither is."""
    if start and end:
        return ClockWindow.parse(start, end, zone, days)
    if start:
        return OpenSchedule("start", parse_clock(start), zone, parse_days(days))
    if end:
        return OpenSchedule("stop", parse_clock(end), zone, parse_days(days))
    raise ValueError("a schedule needs a start, an end or both")


def local_window(window: ClockWindow, day: date, zone: str) -> str:
    """How the window that starts on `day` (in the window's own zone) reads on the clock of `zone`,
    "HH:MM-HH:MM".

    The window stays in the zone in which it is true; an end on local midnight reads 24:00.

    >>> local_window(ClockWindow.parse("18:00", "22:00", "UTC"), date(2026, 3, 29), "Europe/Berlin")
    '20:00-24:00'
    """
    period = window.on(day)
    if period is None:
        raise ValueError(f"no window starts on {day.isoformat()}")
    start, end = (moment.astimezone(zone_of(zone)) for moment in (period.start, period.end))
    closing = "24:00" if (end.hour, end.minute) == (0, 0) else f"{end:%H:%M}"
    return f"{start:%H:%M}-{closing}"


@dataclass(frozen=True, slots=True)
class LocalHour:
    """One column of a chart of a local day: an elapsed hour (UTC) and the clock time it shows."""

    start: datetime
    end: datetime
    label: str


def local_day(day: date, zone: str) -> Period:
    """The local date as a stretch of UTC: 23 or 25 hours long when the clock changes."""
    place = zone_of(zone)
    return Period(local_instant(day, 0, place), local_instant(day + DAY, 0, place))


def local_day_hours(day: date, zone: str) -> tuple[LocalHour, ...]:
    """The columns of a chart of one local day, in order of time: 24, or 23 or 25 on a change day.

    Buckets are counted in elapsed time from local midnight, so nothing is merged or skipped; an hour that
    comes twice has the same clock time twice, told apart by the offset in its label ("02:00 +02:00").
    """
    period, place = local_day(day, zone), zone_of(zone)
    starts = []
    moment = period.start
    while moment < period.end:
        starts.append(moment)
        moment += HOUR
    clocks = [f"{start.astimezone(place):%H:%M}" for start in starts]
    hours = []
    for start, clock in zip(starts, clocks, strict=True):
        offset = start.astimezone(place).isoformat()[-6:]
        label = clock if clocks.count(clock) == 1 else f"{clock} {offset}"
        hours.append(LocalHour(start, min(start + HOUR, period.end), label))
    return tuple(hours)


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One turn of repeating work: it may run inside [earliest, due); `latest_start` still meets `due`."""

    day: date
    earliest: datetime
    due: datetime
    latest_start: datetime


@dataclass(frozen=True, slots=True)
class RepeatingWork:
    """Work of fixed length, done by a clock time on given local dates ("every night, 4 h, done by 08:00
    Berlin").

    `length`: elapsed time, not clock time. `due`: minutes after local midnight of the *due* date, whose
    weekday counts.
    `not_before`: clock time from which it may run, the last one before `due` (20:00 for a due time of 08:00
    is the evening before); None: `flexibility` of elapsed time before the due instant.
    """

    length: timedelta
    due: int
    zone: str
    days: frozenset[int] = frozenset(range(7))
    not_before: int | None = None
    flexibility: timedelta = DAY

    def __post_init__(self) -> None:
        zone_of(self.zone)
        if self.length <= timedelta(0):
            raise ValueError("work needs a length above 0")
        if not 0 <= self.due <= 1440 or not self.days:
            raise ValueError("repeating work needs a due time of day and at least one weekday")
        if self.not_before is None and self.flexibility < self.length:
            raise ValueError("the work does not fit before its due time")
        # Judged on a plain day; an occurrence that a clock change makes too short is said by `occurrences`.
        if self.not_before is not None and timedelta(minutes=self._span(self.not_before)) < self.length:
            raise ValueError("the work does not fit between its earliest start and its due time")

    def _span(self, not_before: int) -> int:
        return (self.due - not_before) % 1440 or 1440

    def occurrence(self, day: date) -> Occurrence | None:
        """The turn that is due on the local date `day`; None on other weekdays.

        Where the clock change leaves less time than the work needs, it starts as late as still meets the due
        time.
        """
        if day.weekday() not in self.days:
            return None
        zone = zone_of(self.zone)
        due = local_instant(day, self.due, zone)
        latest = due - self.length
        if self.not_before is None:
            return Occurrence(day, due - self.flexibility, due, latest)
        start = self.due - self._span(self.not_before)
        opens = local_instant(day - DAY, start + 1440, zone) if start < 0 else local_instant(day, start, zone)
        return Occurrence(day, min(opens, latest), due, latest)

    def occurrences(self, start: datetime, end: datetime) -> Iterator[Occurrence]:
        """Turns due in [start, end), in order."""
        for day in _local_days(start - 2 * DAY, end, zone_of(self.zone)):
            turn = self.occurrence(day)
            if turn is not None and start <= turn.due < end:
                yield turn


@dataclass(frozen=True, slots=True)
class FixedSchedule:
    """Repeating work with its start chosen once: at `clock` minutes on the clock of the work's zone, every
    turn.

    `day_shift` is 0 when it starts on the due date, -1 the evening before.
    """

    work: RepeatingWork
    clock: int
    day_shift: int

    def starts(self, start: datetime, end: datetime) -> Iterator[Period]:
        """The runs due in [start, end): at the clock time, moved just enough to stay inside their turn."""
        zone = zone_of(self.work.zone)
        for turn in self.work.occurrences(start, end):
            wanted = local_instant(turn.day + self.day_shift * DAY, self.clock, zone)
            begins = min(max(wanted, turn.earliest), turn.latest_start)
            yield Period(begins, begins + self.work.length)

    def describe(self) -> str:
        """For a person: "02:30 Europe/Berlin"."""
        return f"{self.clock // 60:02d}:{self.clock % 60:02d} {self.work.zone}"


def fixed_schedule(work: RepeatingWork, lead: timedelta) -> FixedSchedule:
    """The schedule that starts `lead` before the due time on a plain day; whole minutes.

    `lead` must hold the work and, where the work has an earliest clock time, not reach before it.
    """
    if lead < work.length:
        raise ValueError("started so late the work is not done by its due time")
    span = work.flexibility if work.not_before is None else timedelta(minutes=work._span(work.not_before))
    if lead > span:
        raise ValueError("started before its earliest time")
    minutes, rest = divmod(lead, timedelta(minutes=1))
    if rest:
        raise ValueError("a fixed schedule starts on a whole minute")
    shift, clock = divmod(work.due - minutes, 1440)
    return FixedSchedule(work, clock, shift)


def _aware(moment: datetime) -> None:
    if moment.tzinfo is None:
        raise ValueError(f"a time without a time zone: {moment!r}")


def _local_days(start: datetime, end: datetime, zone: ZoneInfo) -> Iterable[date]:
    """Local dates from that of `start` to that of `end`, both included."""
    _aware(start)
    _aware(end)
    first, last = start.astimezone(zone).date(), end.astimezone(zone).date()
    return (first + step * DAY for step in range((last - first).days + 1))
