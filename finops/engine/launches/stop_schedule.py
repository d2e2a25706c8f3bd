"""What a stop schedule asks for after its clock was away: one switch now, and what was missed.

Of all due times since the last look only the newest still says how things should be. A stop is caught up at
once, however late. A start runs only inside its window; one without a stop has a start deadline instead. Due
times that are over are missed: recorded, never carried out. Windows belong to the local date on which they
start (`finops.engine.calendar`), and none starts on a holiday.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import NamedTuple

from finops.engine.calendar import DAY, ClockWindow, OpenSchedule, Period, joined, schedule, zone_of

START, STOP = "start", "stop"


class Switch(NamedTuple):
    """A due time and what it asks for."""

    due: datetime
    action: str


class Judged(NamedTuple):
    """`run`: the switch to carry out now, None for none; `missed`: the others that were due, oldest first."""

    run: Switch | None
    missed: tuple[Switch, ...]


@dataclass(frozen=True)
class SwitchPlan:
    """When machines are on. `start_deadline` is of starts that nothing undoes."""

    clock: ClockWindow | OpenSchedule
    holidays: frozenset[date] = field(default_factory=frozenset)
    start_deadline: timedelta = timedelta(minutes=30)

    @classmethod
    def parse(
        cls,
        *,
        start: str,
        stop: str,
        zone: str,
        days: str,
        holidays: frozenset[date] = frozenset(),
        start_minutes: int = 30,
    ) -> SwitchPlan:
        """From text: "08:00", "19:00", one of them perhaps "". Raises ValueError that says what is wrong."""
        clock = schedule(start or None, stop or None, zone, days)
        return cls(clock, holidays, timedelta(minutes=start_minutes))

    def is_on(self, moment: datetime) -> bool | None:
        """How things should be at `moment`; None where the schedule has no opinion."""
        if isinstance(self.clock, OpenSchedule):
            return None
        return any(moment in period for period in self._periods(moment, moment))

    def switches(self, after: datetime, until: datetime) -> list[Switch]:
        """Due times in (after, until], in order. Windows that touch are one: no stop between them."""
        if isinstance(self.clock, OpenSchedule):
            moments = self.clock.between(after, until + timedelta(microseconds=1))
            zone = zone_of(self.clock.zone)
            return [
                Switch(at, self.clock.action)
                for at in moments
                if at > after
                and (self.clock.action == STOP or at.astimezone(zone).date() not in self.holidays)
            ]
        found = []
        for period in self._periods(after, until):
            found += [Switch(period.start, START), Switch(period.end, STOP)]
        return sorted(one for one in found if after < one.due <= until)

    def judge(self, *, settled_until: datetime, now: datetime) -> Judged:
        """What to do at `now` about the due times since `settled_until`."""
        due = self.switches(settled_until, now)
        if not due:
            return Judged(None, ())
        newest = due[-1]
        late = now - newest.due
        if isinstance(self.clock, OpenSchedule) and newest.action == START and late > self.start_deadline:
            return Judged(None, tuple(due))
        return Judged(newest, tuple(due[:-1]))

    def hours_a_week(self) -> float | None:
        """Hours on in a week without holidays and changes of the clock; None without an end."""
        if isinstance(self.clock, OpenSchedule):
            return None
        length = self.clock.end - self.clock.start
        return len(self.clock.days) * (length if length > 0 else length + 1440) / 60

    def _periods(self, start: datetime, end: datetime) -> Iterator[Period]:
        """Windows that touch [start, end], neighbours without a gap joined."""
        if isinstance(self.clock, OpenSchedule):
            return
        zone = zone_of(self.clock.zone)
        day, last = (start - 9 * DAY).astimezone(zone).date(), (end + 2 * DAY).astimezone(zone).date()
        found = []
        while day <= last:
            period = None if day in self.holidays else self.clock.on(day)
            day += DAY
            if period is not None:
                found.append(period)
        yield from joined(found)
