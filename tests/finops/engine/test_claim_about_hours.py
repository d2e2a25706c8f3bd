"""The popular claim about dear hours: true on prices made that way, false on flat ones, else open."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from finops.engine.claim import Claim, check_claim
from finops.engine.series import US_PER_HOUR, PriceBook, SeriesKey, to_us

END_US = to_us(datetime(2026, 3, 2, tzinfo=UTC))
EVENING = Claim(18, 22, "UTC", 2.0, 3.0)


def book_of(*columns: np.ndarray) -> PriceBook:
    """Series that change hourly, all ending at END_US."""
    keys = tuple(
        SeriesKey("aws", "us-east-1", f"z{n}", "m5.large", "Linux", "USD") for n in range(len(columns))
    )
    sizes = [len(column) for column in columns]
    times = [END_US - size * US_PER_HOUR + np.arange(size) * US_PER_HOUR for size in sizes]
    count = np.arange(len(columns) + 1)
    starts = np.array([column[0] for column in times])
    return PriceBook(
        keys,
        np.cumsum([0, *sizes]),
        np.concatenate(times),
        np.concatenate(columns).astype(np.float64),
        count,
        starts,
        np.full(len(columns), END_US),
    )


def evening(weeks: int, factor: float, level: float = 1.0) -> np.ndarray:
    hour = np.arange(weeks * 168) % 24
    return level * np.where((hour >= 18) & (hour < 22), factor, 1.0)


def test_prices_made_that_way_are_true() -> None:
    answer = check_claim(book_of(evening(4, 2.5), evening(4, 2.4, 30.0)), EVENING, end_us=END_US, days=28)
    assert answer.ratios.tolist() == pytest.approx([2.5, 2.4])
    assert answer.ratio == pytest.approx(2.45, abs=0.01)
    assert (answer.verdict, answer.verdicts) == ("true here", ("true here", "true here"))
    assert (answer.true_share, answer.weeks) == (1.0, 4)


def test_a_flat_price_makes_it_false_in_a_sentence_with_numbers() -> None:
    answer = check_claim(book_of(evening(4, 1.01)), EVENING, end_us=END_US, days=28)
    assert answer.verdict == "false here"
    assert str(answer.sentence) == (
        "False here: 18:00-22:00 UTC costs 1.01 times the other hours (1.01-1.01), not 2-3."
    )


def test_much_dearer_than_claimed_is_false_too() -> None:
    assert check_claim(book_of(evening(4, 5.0)), EVENING, end_us=END_US, days=28).verdict == "false here"


def test_weeks_that_disagree_cannot_be_judged() -> None:
    mixed = np.concatenate([evening(1, factor) for factor in (1.0, 4.0, 1.0, 4.0)])
    answer = check_claim(book_of(mixed), EVENING, end_us=END_US, days=28)
    assert answer.ratio == pytest.approx(2.5)
    assert answer.verdict == "cannot judge"
    assert str(answer.sentence).startswith("Cannot judge: 18:00-22:00 UTC costs ")


def test_two_weeks_are_too_few() -> None:
    answer = check_claim(book_of(evening(2, 2.5)), EVENING, end_us=END_US, days=28)
    assert (answer.verdict, answer.low, answer.true_share) == ("cannot judge", None, None)
    assert str(answer.sentence) == "Cannot judge: too few whole weeks of prices for 18:00-22:00 UTC."


def test_no_prices_at_all() -> None:
    long_ago = check_claim(book_of(evening(4, 2.5)), EVENING, end_us=END_US - 60 * 168 * US_PER_HOUR)
    assert (long_ago.ratio, long_ago.verdict, long_ago.weeks) == (None, "cannot judge", 0)


def test_hours_are_those_of_the_claimed_zone_and_may_pass_midnight() -> None:
    """18:00-22:00 UTC is 13:00-17:00 in New York in winter."""
    book = book_of(evening(4, 2.5))
    new_york = check_claim(book, Claim(13, 17, "America/New_York", 2, 3), end_us=END_US, days=28)
    assert new_york.ratio == pytest.approx(2.5)
    tokyo = check_claim(book, Claim(22, 8, "Asia/Tokyo", 1.1, 1.9), end_us=END_US, days=28)
    # 22:00-08:00 in Tokyo is 13:00-23:00 UTC: four dear hours of ten.
    assert tokyo.ratio == pytest.approx((4 * 2.5 + 6) / 10)
    assert tokyo.verdict == "true here"


@pytest.mark.parametrize("bad", [(18, 18, 2, 3), (0, 24, 2, 3), (18, 22, 3, 2), (18, 25, 2, 3)])
def test_a_claim_that_says_nothing_is_refused(bad: tuple[int, int, float, float]) -> None:
    with pytest.raises(ValueError, match="claim"):
        Claim(bad[0], bad[1], "UTC", bad[2], bad[3])
