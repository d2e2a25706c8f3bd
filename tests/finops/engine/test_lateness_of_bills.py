"""From which age on a day no longer grows: measured on earlier deliveries, else the stated default."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from finops.engine.lateness import Lateness, Snapshot, lateness, ratios_by_age, settled_until

FIRST = date(2026, 1, 1)
GROWTH = {0: 0.6, 1: 0.95, 2: 1.0}


def delivery(day: int, hour: int = 6) -> Snapshot:
    """At 06:00 of a day of January: each day before it costs 10, the last ones not all of it yet."""
    at = datetime(2026, 1, day, hour, tzinfo=UTC)
    days = {}
    for i in range(day - 1):
        age = day - 2 - i
        days[FIRST + timedelta(days=i)] = 10 * GROWTH.get(age, 1.0)
    return Snapshot(at, days)


def test_it_is_measured_from_how_earlier_deliveries_grew() -> None:
    found = lateness([[delivery(day) for day in (5, 6, 7, 8, 20)]], default_days=3)
    assert (found.days, found.source) == (2, "measured")
    assert found.shares[:3] == (0.6, 0.95, 1.0)
    assert found.seen == 4 + 5 + 6 + 7


def test_without_earlier_deliveries_the_stated_default_holds() -> None:
    assert lateness([], default_days=3) == Lateness(3, "default", (None,) * 15, 0)
    assert lateness([[delivery(20)]], default_days=3).source == "default"


def test_a_day_whose_end_is_not_known_yet_says_nothing() -> None:
    assert ratios_by_age([delivery(4), delivery(6)]) == {}


def test_a_gap_between_the_ages_seen_is_not_guessed_across() -> None:
    early = [Snapshot(s.delivered_at + timedelta(days=3), s.days) for s in (delivery(5), delivery(6))]
    assert lateness([[*early, delivery(25)]], default_days=2).source == "default"


def test_the_days_that_may_still_grow() -> None:
    at = datetime(2026, 1, 18, 10, tzinfo=UTC)
    assert settled_until(at, date(2026, 1, 18), Lateness(2, "default")) == date(2026, 1, 16)
    assert settled_until(at, date(2026, 1, 10), Lateness(2, "default")) == date(2026, 1, 11)
    assert settled_until(at, date(2026, 1, 18), Lateness(0, "measured")) == date(2026, 1, 18)
