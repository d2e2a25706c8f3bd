"""When machines are on, and what is caught up after the clock was away."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.engine.launches.stop_schedule import START, STOP, Switch, SwitchPlan

ROME = ZoneInfo("Europe/Rome")
# The week of Monday 2026-03-02.
DAYS = {"Mon": 2, "Tue": 3, "Wed": 4, "Thu": 5, "Fri": 6, "Sat": 7, "Sun": 8}


def at(text: str) -> datetime:
    day, clock = text.split()
    hour, minute = map(int, clock.split(":"))
    return datetime(2026, 3, DAYS[day], hour, minute, tzinfo=ROME).astimezone(UTC)


def rome(start: str = "19:00", stop: str = "10:00", days: str = "mon-fri", **more: object) -> SwitchPlan:
    return SwitchPlan.parse(start=start, stop=stop, days=days, zone="Europe/Rome", **more)  # type: ignore[arg-type]


def test_a_window_over_midnight_belongs_to_the_day_it_starts_on() -> None:
    probes = [
        "Fri 18:59",
        "Fri 19:00",
        "Sat 03:00",
        "Sat 09:59",
        "Sat 10:00",
        "Sat 19:00",
        "Mon 09:00",
        "Mon 19:00",
    ]
    assert [rome().is_on(at(one)) for one in probes] == [False, True, True, True, False, False, False, True]
    assert rome().hours_a_week() == 75.0


def test_a_stop_is_caught_up_at_once_and_the_start_before_it_is_missed() -> None:
    judged = rome("08:00", "18:00").judge(settled_until=at("Tue 07:00"), now=at("Tue 23:30"))
    assert judged.run == Switch(at("Tue 18:00"), STOP)
    assert judged.missed == (Switch(at("Tue 08:00"), START),)


def test_a_start_is_caught_up_inside_its_window_only() -> None:
    plan = rome("08:00", "18:00")
    assert plan.judge(settled_until=at("Tue 07:00"), now=at("Tue 17:59")).run == Switch(
        at("Tue 08:00"), START
    )
    three_days = plan.judge(settled_until=at("Mon 07:00"), now=at("Thu 08:10"))
    assert three_days.run == Switch(at("Thu 08:00"), START)
    assert len(three_days.missed) == 6


def test_a_start_that_nothing_undoes_has_a_start_deadline() -> None:
    plan = rome("11:00", "", "every", start_minutes=30)
    assert plan.judge(settled_until=at("Tue 10:00"), now=at("Tue 11:05")).run == Switch(
        at("Tue 11:00"), START
    )
    late = plan.judge(settled_until=at("Tue 10:00"), now=at("Tue 14:00"))
    assert (late.run, late.missed) == (None, (Switch(at("Tue 11:00"), START),))
    assert plan.is_on(at("Tue 11:05")) is None


def test_a_stop_that_nothing_undoes_is_caught_up_however_late() -> None:
    plan = rome("", "20:00")
    assert plan.judge(settled_until=at("Fri 19:00"), now=at("Sun 12:00")).run == Switch(at("Fri 20:00"), STOP)
    assert plan.judge(settled_until=at("Sat 19:00"), now=at("Sun 21:00")) == (None, ())


def test_nothing_starts_on_a_holiday_and_the_window_before_it_still_ends() -> None:
    plan = rome(holidays=frozenset({date(2026, 3, 4)}))
    assert plan.is_on(at("Wed 09:00")) is True  # Tuesday's
    assert plan.is_on(at("Wed 20:00")) is False
    assert plan.switches(at("Wed 00:00"), at("Thu 18:00")) == [Switch(at("Wed 10:00"), STOP)]


def test_windows_that_touch_are_one() -> None:
    plan = rome("00:00", "24:00")
    assert plan.switches(at("Mon 12:00"), at("Fri 12:00")) == []
    assert plan.switches(at("Fri 12:00"), at("Sun 12:00")) == [Switch(at("Sat 00:00"), STOP)]


def test_the_clock_change_keeps_clock_times() -> None:
    plan = SwitchPlan.parse(start="01:00", stop="04:00", zone="Europe/Berlin", days="every")
    night = plan.switches(datetime(2026, 3, 28, 22, tzinfo=UTC), datetime(2026, 3, 29, 12, tzinfo=UTC))
    assert [one.due.isoformat() for one in night] == [
        "2026-03-29T00:00:00+00:00",
        "2026-03-29T02:00:00+00:00",
    ]


@pytest.mark.parametrize(
    ("start", "stop", "days", "zone"),
    [
        ("", "", "every", "UTC"), ("25:00", "", "every", "UTC"), ("08:00", "", "someday", "UTC"),
        ("08:00", "", "every", "+02:00"),
    ],
    ids=["nothing", "clock", "days", "zone"],
)  # fmt: skip
def test_words_that_say_nothing_are_refused(start: str, stop: str, days: str, zone: str) -> None:
    with pytest.raises(ValueError, match=r"needs a start|time of day|weekdays|time zone"):
        SwitchPlan.parse(start=start, stop=stop, days=days, zone=zone)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 1439), st.integers(0, 1440), st.sets(st.integers(0, 6), min_size=1),
    st.integers(0, 60 * 24 * 400), st.integers(1, 60 * 24 * 9),
)  # fmt: skip
def test_after_any_outage_the_switch_says_how_things_should_be(
    start: int, stop: int, days: set[int], first: int, away: int
) -> None:
    names = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
    plan = SwitchPlan.parse(
        start=f"{start // 60:02d}:{start % 60:02d}", stop=f"{stop // 60:02d}:{stop % 60:02d}",
        zone="America/New_York", days=",".join(names[day] for day in sorted(days)),
    )  # fmt: skip
    before = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=first)
    now = before + timedelta(minutes=away)
    judged = plan.judge(settled_until=before, now=now)
    if judged.run is not None:
        assert (judged.run.action == START) is plan.is_on(now)
        assert judged.run.due <= now
    else:
        assert plan.is_on(before) is plan.is_on(now)
    assert all(one.due <= judged.run.due for one in judged.missed if judged.run)
