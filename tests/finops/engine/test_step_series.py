"""Step series: what is known, what it costs, and that fast and exact answers agree."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.engine import series
from finops.engine.series import US_PER_HOUR, PriceBook, exact_cost, price_standing, time_weighted_mean, to_us
from tests.support.price_books import START_US, book_of

H = US_PER_HOUR
DAY = to_us(datetime(2026, 5, 2, tzinfo=UTC))
TIMES = [DAY - 4 * H, DAY + 6 * H, DAY + 20 * H]
PRICES = [Decimal("0.040"), Decimal("0.070"), Decimal("0.110")]
KNOWN = [(DAY - 4 * H, DAY + 24 * H)]


def test_the_mean_weighs_each_price_as_long_as_it_stood():
    mean = time_weighted_mean(TIMES, PRICES, KNOWN, start_us=DAY, end_us=DAY + 24 * H)
    assert round(mean.value, 7) == Decimal("0.0691667")
    assert mean.reason == ""


def test_a_run_costs_the_integral_of_the_price():
    cost = exact_cost(TIMES, PRICES, KNOWN, start_us=DAY + 2 * H, end_us=DAY + 10 * H)
    assert cost.value == Decimal("0.44")
    ten = exact_cost(TIMES, PRICES, KNOWN, start_us=DAY + 2 * H, end_us=DAY + 10 * H, count=10)
    assert ten.value == Decimal("4.4")


def test_one_row_is_a_whole_answer():
    assert price_standing(TIMES[:1], PRICES[:1], KNOWN, DAY) == Decimal("0.040")
    mean = time_weighted_mean(TIMES[:1], PRICES[:1], KNOWN, start_us=DAY, end_us=DAY + 24 * H)
    assert mean.value == Decimal("0.040")


def test_without_an_opening_value_the_time_is_unknown():
    cost = exact_cost(TIMES[1:], PRICES[1:], KNOWN, start_us=DAY, end_us=DAY + 10 * H)
    assert cost.value is None
    assert cost.reason == "no price is known before 2026-05-02T06:00:00Z"
    mean = time_weighted_mean(TIMES[1:], PRICES[1:], KNOWN, start_us=DAY, end_us=DAY + 24 * H)
    assert round(mean.value, 7) == Decimal("0.0788889")
    assert mean.known_us == 18 * H


def test_after_the_known_range_and_between_two_of_them_the_price_is_unknown():
    known = [(TIMES[0], DAY), (DAY + 2 * H, DAY + 8 * H)]
    assert price_standing(TIMES, PRICES, known, DAY + H) is None
    assert exact_cost(TIMES, PRICES, known, start_us=DAY - H, end_us=DAY + 3 * H).value is None
    late = exact_cost(TIMES, PRICES, known, start_us=DAY + 3 * H, end_us=DAY + 9 * H)
    assert late.reason == "no price is known after 2026-05-02T08:00:00Z"


def test_a_book_takes_rows_in_any_order_and_drops_exact_repeats():
    key = {
        "provider": "aws",
        "region": "r",
        "zone_key": "a",
        "instance_type": "m",
        "product": "L",
        "currency": "USD",
    }
    rows = [(20, 0.11), (-4, 0.04), (6, 0.07), (6, 0.07)]
    changes = pd.DataFrame([key | {"at": DAY + h * H, "price": p} for h, p in rows])
    known = pd.DataFrame([key | {"known_from": DAY - 4 * H, "known_to": DAY + 24 * H}])
    book = PriceBook.from_frames(changes, known)
    assert len(book.times) == 3
    assert book.cost(0, DAY + 2 * H, 8 * H) == pytest.approx(0.44)
    assert np.isnan(book.cost(0, DAY + 2 * H, 30 * H))
    with pytest.raises(ValueError, match="two prices at one instant"):
        PriceBook.from_frames(pd.concat([changes, changes.assign(price=0.9)]), known)
    with pytest.raises(ValueError, match="not above 0"):
        PriceBook.from_frames(changes.assign(price=0.0), known)


def test_until_keeps_the_price_standing_then_and_nothing_later():
    book = book_of({("a", "m"): [(0, 1.0), (5, 2.0), (9, 3.0)]}, hours=12)
    cut = book.until(START_US + 5 * H)
    assert cut.price_at(0, START_US + 5 * H) == 2.0
    assert len(cut.times) == 2
    assert np.isnan(cut.cost(0, START_US + 5 * H, H))
    assert cut.cost(0, START_US, 5 * H) == pytest.approx(5.0)


def test_a_naive_time_is_refused():
    with pytest.raises(ValueError, match="without a time zone"):
        to_us(datetime(2026, 1, 1))  # noqa: DTZ001
    assert series.from_us(START_US) == datetime(2026, 1, 1, tzinfo=UTC)
    assert to_us(datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=1)) == START_US + H


prices = st.integers(1, 10**6).map(lambda n: Decimal(n) / 10**4)
steps = st.lists(st.tuples(st.integers(1, 30 * 60), prices), min_size=1, max_size=20)


@given(steps=steps, start=st.integers(0, 40_000), length=st.integers(1, 5_000))
@settings(max_examples=120, deadline=None)
def test_the_vectorised_cost_equals_the_exact_one(steps, start, length):
    minute = H // 60
    times = [START_US + t * minute for t in np.cumsum([gap for gap, _ in steps]).tolist()]
    level = [price for _, price in steps]
    end = times[-1] + 3_000 * minute
    hours = [((t - START_US) / H, float(p)) for t, p in zip(times, level, strict=True)]
    book = book_of({("a", "m"): hours}, hours=(end - START_US) / H)
    begin = START_US + start * minute
    fast = float(book.cost(0, begin, length * minute))
    exact = exact_cost(times, level, [(times[0], end)], start_us=begin, end_us=begin + length * minute)
    if exact.value is None:
        assert np.isnan(fast)
    else:
        assert fast == pytest.approx(float(exact.value), rel=1e-9)


@given(steps=steps, factor=st.floats(0.1, 1.0))
@settings(max_examples=60, deadline=None)
def test_cheaper_prices_never_give_a_dearer_run(steps, factor):
    at = np.cumsum([gap for gap, _ in steps]) / 60
    dear = book_of({("a", "m"): [(t, float(p)) for t, (_, p) in zip(at, steps, strict=True)]}, hours=900)
    cheap = book_of(
        {("a", "m"): [(t, float(p) * factor) for t, (_, p) in zip(at, steps, strict=True)]}, hours=900
    )
    start = START_US + round(float(at[0]) * H)
    assert cheap.cost(0, start, 10 * H) <= dear.cost(0, start, 10 * H) * (1 + 1e-12)


def test_many_series_over_decades_are_searched_without_packing_keys(monkeypatch):
    book = book_of({("a", "m"): [(0, 1.0), (5, 2.0)], ("b", "m"): [(1, 4.0)]}, hours=12)
    packed = book.cost([0, 1], START_US + 2 * H, 6 * H)
    monkeypatch.setattr(series, "_composite", lambda offsets, times: None)
    again = book_of({("a", "m"): [(0, 1.0), (5, 2.0)], ("b", "m"): [(1, 4.0)]}, hours=12)
    assert again.cost([0, 1], START_US + 2 * H, 6 * H).tolist() == packed.tolist() == [9.0, 24.0]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(-50, 400), min_size=0, max_size=40),
    st.sampled_from([US_PER_HOUR, US_PER_HOUR // 4, 7]),
    st.sampled_from([1, 2]),
)
def test_distinct_starts_and_their_places_are_those_of_sorting(hours, step, columns):
    starts = DAY + np.array(hours * columns, np.int64).reshape(-1, columns) * step
    found, place = series.shared_starts(starts)
    assert found.tolist() == sorted(set(starts.ravel().tolist()))
    assert place.shape == starts.shape
    assert (found[place] == starts).all() if starts.size else place.size == 0
