"""Terms carry their unit; an offer's cost has everything in it (worked examples by hand)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finops.engine.commitments.cost import TermPrice, fixed_that_pays
from finops.engine.commitments.resale import price_schedule, proceeds, residual
from finops.engine.commitments.terms import hours_between, hours_left, months_later, term_months, whole_months
from finops.frames.resale import resale_rules

D = Decimal


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_three_years_are_36_months_and_what_is_left_is_sold() -> None:
    start, now = at("2025-08-15"), at("2026-05-15")
    end = months_later(start, term_months(D(94_608_000) / 3600))
    rules = resale_rules("aws", now.date())
    assert rules is not None
    assert (whole_months(start, now), whole_months(now, end)) == (9, 27)
    left = residual(D("5400.00"), start, end, now)
    assert left == D("4050.00")
    sale = proceeds(left * D("0.90"), rules)
    assert (sale.price, sale.fee, sale.receives) == (D("3645.00"), D("437.40"), D("3207.60"))


@pytest.mark.parametrize(
    ("start", "seconds", "now", "left"),
    [
        # Three years of 365 days over a leap day, and the same named by its last second, as AWS does.
        ("2025-08-15T10:00:00", 94_608_000, "2026-05-15T10:00:00", "4050"),
        ("2025-08-15T10:00:00", 94_607_999, "2026-05-15T10:00:00", "4050"),
        ("2025-08-15T10:00:00", 31_535_999, "2026-02-15T10:00:00", "2700"),
        ("2025-08-15T10:00:00", 31_535_999, "2025-08-15T10:00:00", "5400"),
        ("2025-08-15T10:00:00", 31_535_999, "2025-08-15T10:00:01", "4950"),
        ("2025-08-31T00:00:00", 31_536_000, "2026-02-28T00:00:00", "2700"),
        ("2025-08-15T10:00:00", 94_608_000, "2028-08-14T09:59:59", "0"),
        ("2025-08-15T10:00:00", 94_608_000, "2030-01-01T00:00:00", "0"),
        # Eight months, bought second-hand.
        ("2026-01-10T00:00:00", 243 * 86_400, "2026-03-10T00:00:00", "4050"),
    ],
)
def test_a_term_in_seconds_is_whole_months(start: str, seconds: int, now: str, left: str) -> None:
    begun = at(start)
    assert residual(D(5400), begun, begun + timedelta(seconds=seconds), at(now)) == D(left)


def test_a_second_hand_offer_costs_its_price_and_every_hour_of_the_term() -> None:
    offer = TermPrice(D("240.00"), D("0.010"), D(8) * 730)
    rate, spot = D("0.096"), D("0.032")
    assert offer.hours == 5840
    assert offer.total == D("298.40")
    assert round(offer.effective() or 0, 6) == D("0.051096")
    assert rate * offer.hours == D("560.64")
    assert offer.saving(rate) == D("262.24")
    assert round(offer.saving(rate) / (rate * offer.hours) * 100, 1) == D("46.8")
    assert round(offer.break_even_hours(rate) or 0, 1) == D("3108.3")
    assert round((offer.break_even_share(rate) or 0) * 100, 1) == D("53.2")
    assert rate * 2000 == D("192.00")
    assert offer.saving(rate, D(250) * 8) == D("-106.40")
    assert spot * offer.hours == D("186.88")
    rules = resale_rules("aws", at("2026-11-30").date())
    assert rules is not None
    assert proceeds(offer.fixed, rules).receives == D("211.20")


def test_break_even_date_counts_the_hourly_charge() -> None:
    offer = TermPrice(D("240.00"), D("0.010"), D(5840))
    # 240 / (0.096 - 0.010) = 2790.6977 hours of full use
    start = at("2026-01-01")
    when = offer.break_even_at(D("0.096"), start)
    assert when is not None
    assert abs((when - start).total_seconds() / 3600 - 2790.6977) < 0.001
    assert offer.break_even_at(D("0.096"), start, D("0.4")) is None
    assert TermPrice(D(0), D("0.05"), D(10)).break_even_at(D("0.06"), start) == start
    assert TermPrice(D(0), D("0.05"), D(10)).break_even_at(D("0.04"), start) is None


def test_no_use_has_no_hourly_price_and_no_rate_no_break_even() -> None:
    offer = TermPrice(D(1), D(0), D(10))
    assert offer.effective(D(0)) is None
    assert offer.break_even_share(D(0)) is None
    with pytest.raises(ValueError, match="hours above zero"):
        TermPrice(D(1), D(0), D(0))


@given(
    rate=st.decimals("0.01", 5, places=4),
    hourly=st.decimals(0, 1, places=4),
    hours=st.integers(1, 30000),
    share=st.decimals("0.1", 1, places=2),
)
def test_the_highest_price_that_pays_breaks_even_exactly(rate: D, hourly: D, hours: int, share: D) -> None:
    price = fixed_that_pays(rate=rate, hourly=hourly, hours=D(hours), used_share=share)
    if price >= 0:
        assert abs(TermPrice(price, hourly, D(hours)).saving(rate, D(hours) * share)) < D("1e-15")


def test_hours_are_exact_across_the_end_of_a_month_and_a_leap_year() -> None:
    assert hours_between(at("2024-02-28T12:00"), at("2024-03-01T00:30")) == D("36.5")
    assert hours_left(at("2026-01-01"), at("2026-01-02"), at("2026-01-01T06:15")) == D("17.75")
    assert hours_left(at("2026-01-01"), at("2026-01-02"), at("2027-01-01")) == 0
    with pytest.raises(ValueError, match="zone"):
        hours_between(datetime(2026, 1, 1), at("2026-01-02"))  # noqa: DTZ001


@given(st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1)), st.integers(0, 2000))  # noqa: DTZ001
def test_whole_months_are_the_most_that_fit(start: datetime, days: int) -> None:
    start = start.replace(tzinfo=UTC)
    end = start + timedelta(days=days)
    months = whole_months(start, end)
    assert months_later(start, months) <= end < months_later(start, months + 1)


def test_the_default_schedule_falls_in_equal_steps() -> None:
    now, end = at("2026-01-15"), at("2026-05-20")
    assert price_schedule(D(400), now, end) == (
        (4, now, D(400)),
        (3, at("2026-01-20"), D(300)),
        (2, at("2026-02-20"), D(200)),
        (1, at("2026-03-20"), D(100)),
    )


def test_a_schedule_to_a_months_last_day_has_no_step_in_the_past() -> None:
    now, end = at("2026-05-31"), at("2026-11-30")
    found = price_schedule(D(600), now, end)
    assert [(left, f"{moment:%m-%d}") for left, moment, _ in found] == [
        (6, "05-31"), (5, "05-31"), (4, "06-30"), (3, "07-31"), (2, "08-31"), (1, "09-30")
    ]  # fmt: skip
    assert all(whole_months(moment, end) == left + 1 for left, moment, _ in found[1:])
