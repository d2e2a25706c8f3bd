"""A fixed schedule over past turns: a real cheap hour is found, none is made up, clock changes per date."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from finops.engine.calendar import RepeatingWork
from finops.engine.repeating import advise_schedule
from finops.engine.series import to_us
from tests.support.price_books import book_of

START = datetime(2026, 2, 1, tzinfo=UTC)
WORK = RepeatingWork(
    length=timedelta(hours=4), due=8 * 60, zone="Europe/Berlin", flexibility=timedelta(hours=12)
)
DAYS = 60


def test_a_constant_price_starts_as_soon_as_allowed_and_keeps_local_time_over_the_change() -> None:
    book = book_of({("a", "m5.large"): [(0, 1.0)]}, hours=DAYS * 24, start_us=to_us(START))
    at = datetime(2026, 3, 27, 12, tzinfo=UTC)
    found = advise_schedule(book, 0, WORK, at=at)
    assert found.worth_it is False
    assert found.result.saving_pct == 0.0
    assert found.schedule.describe() == "20:00 Europe/Berlin"
    starts = [run.start.isoformat() for run in found.upcoming[:3]]
    # 28 March is UTC+1, 29 March (after the change) UTC+2
    assert starts == ["2026-03-27T19:00:00+00:00", "2026-03-28T19:00:00+00:00", "2026-03-29T18:00:00+00:00"]


def test_hours_that_are_cheaper_every_night_are_taken() -> None:
    steps = [(day * 24 + hour, price) for day in range(DAYS) for hour, price in ((0, 0.5), (5, 1.0))]
    book = book_of({("a", "m5.large"): steps}, hours=DAYS * 24, start_us=to_us(START))
    found = advise_schedule(book, 0, WORK, at=datetime(2026, 3, 20, 12, tzinfo=UTC))
    assert found.worth_it is True
    assert found.schedule.describe() == "01:00 Europe/Berlin"
    assert found.result.saving_pct is not None
    assert found.result.saving_pct > 40
