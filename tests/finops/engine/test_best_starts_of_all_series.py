"""The cheapest start of every series: agrees with brute force, keeps to known time, earliest of equals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.engine import windows_all
from finops.engine.series import US_PER_HOUR, PriceBook, SeriesKey
from finops.engine.windows_all import NO_START, best_starts

Rows = list[tuple[int, float]]
Series = tuple[Rows, list[tuple[int, int]]]
HOURS = (1.0, 4.0, 8.0, 24.0)


def book_of(series: list[Series], unit: int = US_PER_HOUR) -> PriceBook:
    """A book from (rows, known ranges) a series, times in `unit` us."""
    keys = tuple(SeriesKey("aws", "r", f"z{n}", "m5.large", "Linux/UNIX", "USD") for n in range(len(series)))
    rows = [row for changes, _ in series for row in changes]
    known = [span for _, spans in series for span in spans]
    return PriceBook(
        keys,
        np.cumsum([0, *(len(changes) for changes, _ in series)]),
        np.array([at * unit for at, _ in rows], np.int64),
        np.array([price for _, price in rows], np.float64),
        np.cumsum([0, *(len(spans) for _, spans in series)]),
        np.array([low * unit for low, _ in known], np.int64),
        np.array([high * unit for _, high in known], np.int64),
    )


def best(
    series: list[Series], hours: float, low: int = 0, high: int = 1000
) -> list[tuple[float | None, float]]:
    answer = best_starts(book_of(series), from_us=low * US_PER_HOUR, to_us=high * US_PER_HOUR, hours=[hours])
    starts = [None if start == NO_START else start / US_PER_HOUR for start in answer.start_us[:, 0].tolist()]
    return list(zip(starts, answer.cost[:, 0].tolist(), strict=True))


def test_it_starts_when_the_price_falls() -> None:
    assert best([([(0, 2.0), (10, 1.0), (16, 3.0)], [(0, 30)])], 4) == [(10.0, 4.0)]


def test_it_ends_before_the_price_rises() -> None:
    """5 h at 2, then 3 h at 1, then 9: four hours cost least as 1 h at 2 and 3 h at 1, ending at hour 8."""
    assert best([([(0, 2.0), (5, 1.0), (8, 9.0)], [(0, 30)])], 4) == [(4.0, 5.0)]


def test_equal_costs_take_the_earliest_start() -> None:
    rows = [(0, 2.0), (5, 1.0), (6, 2.0), (20, 1.0), (21, 2.0)]
    assert best([(rows, [(0, 30)])], 1) == [(5.0, 1.0)]
    assert best([([(0, 0.3)], [(0, 30)])], 8) == [(0.0, pytest.approx(2.4))]


def test_costs_equal_in_decimals_are_equal_although_binary_sums_differ() -> None:
    """0.1 + 0.2 against 0.3: as floats the second is cheaper."""
    rows = [(0, 9.0), (1, 0.1), (2, 0.2), (3, 9.0), (4, 0.15), (6, 9.0)]
    assert best([(rows, [(0, 9)])], 2)[0][0] == 1.0


def test_a_window_never_spans_a_gap_and_never_leaves_the_known_time() -> None:
    rows = [(0, 5.0), (6, 1.0), (12, 9.0)]
    assert best([(rows, [(0, 8), (10, 30)])], 4) == [(4.0, 12.0)]
    assert best([(rows, [(0, 8), (10, 30)])], 8) == [(0.0, 32.0)]
    assert best([(rows, [(0, 3)])], 4) == [(None, pytest.approx(float("nan"), nan_ok=True))]


def test_time_before_the_first_row_is_unknown() -> None:
    assert best([([(6, 1.0)], [(0, 9)])], 4) == [(None, pytest.approx(float("nan"), nan_ok=True))]
    assert best([([(6, 1.0)], [(0, 10)])], 4) == [(6.0, 4.0)]


def test_it_stays_inside_the_asked_window_and_uses_the_price_standing_at_its_start() -> None:
    rows = [(0, 1.0), (10, 3.0), (40, 2.0)]
    assert best([(rows, [(0, 60)])], 4, low=5, high=50) == [(5.0, 4.0)]
    assert best([(rows, [(0, 60)])], 4, low=12, high=44) == [(40.0, 8.0)]


def test_prices_that_are_no_whole_units_still_get_an_answer() -> None:
    rows = [(0, 2.0), (5, 1 / 3), (9, 2.0)]
    assert best([(rows, [(0, 30)])], 4) == [(5.0, pytest.approx(4 / 3))]


def test_an_empty_book_and_a_bad_length() -> None:
    assert best_starts(book_of([]), from_us=0, to_us=1, hours=HOURS).start_us.shape == (0, 4)
    assert (
        best([([], [(0, 9)]), ([(0, 1.0)], [])], 1) == [(None, pytest.approx(float("nan"), nan_ok=True))] * 2
    )
    with pytest.raises(ValueError, match="above 0 hours"):
        best_starts(book_of([]), from_us=0, to_us=1, hours=[0])


@st.composite
def series(draw: st.DrawFn) -> Series:
    at = sorted(draw(st.sets(st.integers(0, 60), min_size=1, max_size=14)))
    prices = draw(st.lists(st.integers(1, 6), min_size=len(at), max_size=len(at)))
    edges = sorted(draw(st.sets(st.integers(0, 80), min_size=2, max_size=6)))
    return [(a, p / 10) for a, p in zip(at, prices, strict=True)], list(
        zip(edges[::2], edges[1::2], strict=False)
    )


def brute_force(one: Series, length: int, low: int, high: int) -> tuple[int, int] | None:
    """(Cost in tenths, start) over every whole hour: changes lie on whole hours, so a best start does too."""
    rows, spans = one
    prices: dict[int, int] = {}
    for span_low, span_high in spans:
        for hour in range(max(span_low, rows[0][0]), span_high):
            prices[hour] = round([price for at, price in rows if at <= hour][-1] * 10)
    joined = [
        (sum(prices[h] for h in range(start, start + length)), start)
        for start in range(low, high - length + 1)
        if any(max(a, rows[0][0]) <= start and start + length <= b for a, b in spans)
    ]
    return min(joined) if joined else None


@settings(max_examples=150, deadline=None)
@given(
    st.lists(series(), min_size=1, max_size=4), st.integers(0, 20), st.integers(21, 90), st.integers(1, 25)
)
def test_it_agrees_with_brute_force(many: list[Series], low: int, high: int, length: int) -> None:
    found = best(many, length, low, high)
    for one, (start, cost) in zip(many, found, strict=True):
        expected = brute_force(one, length, low, high)
        if expected is None:
            assert start is None
        else:
            assert start == expected[1]
            assert cost == pytest.approx(expected[0] / 10)


@settings(max_examples=40, deadline=None)
@given(st.lists(series(), min_size=3, max_size=6), st.integers(1, 12))
def test_threads_and_chunks_change_nothing(many: list[Series], length: int) -> None:
    book = book_of(many)
    window = {"from_us": 0, "to_us": 90 * US_PER_HOUR, "hours": (float(length), 2.0)}
    whole = best_starts(book, **window)
    before = windows_all.chunks
    windows_all.chunks = lambda book: before(book, 4)
    try:
        cut = best_starts(book, threads=2, **window)
    finally:
        windows_all.chunks = before
    assert cut.start_us.tolist() == whole.start_us.tolist()
    np.testing.assert_array_equal(cut.cost, whole.cost)


@settings(max_examples=60, deadline=None)
@given(series(), st.integers(0, 59), st.integers(1, 12))
def test_a_cheaper_hour_never_makes_the_best_start_dearer(one: Series, hour: int, length: int) -> None:
    rows, spans = one
    prices = dict(rows)
    standing = [price for at, price in rows if at <= hour]
    if not standing:
        return
    cheaper = sorted(
        {**prices, hour: 0.1, **({} if hour + 1 in prices else {hour + 1: standing[-1]})}.items()
    )
    before, after = best([one], length)[0], best([(cheaper, spans)], length)[0]
    assert (before[0] is None) is (after[0] is None)
    if before[0] is not None:
        assert after[1] <= before[1] + 1e-12
