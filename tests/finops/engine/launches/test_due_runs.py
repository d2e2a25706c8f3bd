"""Runs that were due while the scheduler was away."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from finops.engine.launches.due import Due, judge_due

LIMIT = timedelta(minutes=30)


def at(day: int, clock: str) -> datetime:
    hour, minute = (int(part) for part in clock.split(":"))
    return datetime(2026, 11, day, hour, minute, tzinfo=UTC)


def test_a_little_late_runs_once() -> None:
    due = [at(30, "11:00"), at(30, "11:00")]
    assert judge_due(due, now=at(30, "11:05"), start_deadline=LIMIT) == Due(at(30, "11:00"), ())


def test_too_late_is_missed_and_not_run() -> None:
    assert judge_due([at(30, "11:00")], now=at(30, "14:00"), start_deadline=LIMIT) == Due(
        None, (at(30, "11:00"),)
    )


def test_three_days_away_run_today_only() -> None:
    due = [at(day, "11:00") for day in (28, 29, 30)]
    found = judge_due(due, now=at(30, "11:10"), start_deadline=LIMIT)
    assert found == Due(at(30, "11:00"), (at(28, "11:00"), at(29, "11:00")))


def test_the_limit_is_included_and_a_long_one_catches_up_with_the_newest_only() -> None:
    assert judge_due([at(30, "11:00")], now=at(30, "11:30"), start_deadline=LIMIT).run == at(30, "11:00")
    late = at(30, "11:30") + timedelta(microseconds=1)
    assert judge_due([at(30, "11:00")], now=late, start_deadline=LIMIT).run is None
    due = [at(30, "09:00"), at(30, "10:00"), at(30, "12:00")]
    assert judge_due(due, now=at(30, "11:00"), start_deadline=timedelta(days=2)) == Due(
        at(30, "10:00"), (at(30, "09:00"),)
    )


def test_nothing_is_due_yet() -> None:
    assert judge_due([], now=at(30, "11:00"), start_deadline=LIMIT) == Due(None, ())
    assert judge_due([at(30, "12:00")], now=at(30, "11:00"), start_deadline=LIMIT) == Due(None, ())
