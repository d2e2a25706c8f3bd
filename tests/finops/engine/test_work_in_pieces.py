"""Work in pieces: exact bounds of the optimum, and a rule that splits only where it has paid."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from finops.engine.flexibility import cheapest_now, walk
from finops.engine.series import US_PER_HOUR, PriceBook
from finops.engine.splitting import (
    HourCosts,
    Slots,
    backtest_split,
    cheapest_piece,
    cheapest_pieces,
    choose_pieces,
    levels,
    pieces_of,
    restarts,
)
from tests.support.price_books import START_US, book_of, walk_steps

prices = st.lists(st.floats(0.1, 5.0), min_size=3, max_size=9)
FIRST = np.array([0], np.int64)


def slots_of(hours: float, slack: float, restart_minutes: float = 0.0) -> Slots:
    return Slots.of(
        length_us=round(hours * US_PER_HOUR),
        slack_us=round(slack * US_PER_HOUR),
        restart_us=round(restart_minutes * 60_000_000),
    )


def hourly(values: list[float]) -> PriceBook:
    steps: Any = {("a", "m5.large"): [(float(i), price) for i, price in enumerate(values)]}
    return book_of(steps, hours=len(values))


def real(values: list[float], slots: Slots) -> HourCosts:
    """The costs from the second hour on, so that a restart before the first has a price."""
    return HourCosts.real(hourly(values), FIRST, np.array([START_US + US_PER_HOUR]), slots)


@given(
    values=prices, hours=st.floats(0.1, 5.0), restart=st.sampled_from([0.0, 5.0, 60.0, 75.0]),
)  # fmt: skip
@settings(deadline=None)
def test_the_best_pieces_are_the_best_of_all_ways_and_never_dearer_than_one(
    values: list[float], hours: float, restart: float
) -> None:
    slack = len(values) - 1 - np.ceil(hours)
    assume(slack >= 0)
    slots = slots_of(hours, slack, restart)
    costs = real(values, slots)
    least, runs = cheapest_pieces(costs, slots)
    assert least[0] <= cheapest_piece(costs, slots)[0] * (1 + 1e-9)
    assert least[0] == pytest.approx(costs.paid(runs, slots)[0])

    allowed = []
    for chosen in combinations(range(slots.window), slots.work):
        if all(b - a == 1 or b - a > slots.gap for a, b in pairwise(chosen)):
            one = np.zeros((1, slots.window), np.bool_)
            one[0, list(chosen)] = True
            allowed.append(costs.paid(one, slots)[0])
    assert least[0] == pytest.approx(min(allowed))


@given(values=prices, hours=st.floats(0.1, 5.0), restart=st.sampled_from([0.0, 10.0, 90.0]))
@settings(deadline=None)
def test_pieces_sum_to_the_work_and_lie_in_the_window(
    values: list[float], hours: float, restart: float
) -> None:
    slack = len(values) - 1 - np.ceil(hours)
    assume(slack >= 0)
    slots = slots_of(hours, slack, restart)
    _, runs = cheapest_pieces(real(values, slots), slots)
    pieces = pieces_of(runs[0], START_US, slots)
    length = round(hours * US_PER_HOUR)
    assert sum(end - start for start, end in pieces) == length + (len(pieces) - 1) * slots.restart_us
    assert pieces[0][0] >= START_US
    assert pieces[-1][1] <= START_US + round(slack * US_PER_HOUR) + length
    for (_, before), (after, _) in pairwise(pieces):
        assert after >= before


def test_a_restart_is_paid_at_the_price_before_the_piece() -> None:
    slots = slots_of(2, 2, 30)
    costs = real([1.0, 1.0, 5.0, 4.0, 1.0], slots)
    least, runs = cheapest_pieces(costs, slots)
    # Hours 1, 5, 4, 1: both cheap ones, and half an hour of the 4 before the second.
    assert runs[0].tolist() == [True, False, False, True]
    assert least[0] == pytest.approx(1 + 1 + 4 * 0.5)
    assert costs.restart[0, 3] == pytest.approx(2.0)
    assert restarts(runs)[0].tolist() == [False, False, False, True]


def test_the_last_hour_counts_its_part() -> None:
    slots = slots_of(1.5, 2)
    assert (slots.work, slots.last, slots.window) == (2, 0.5, 4)
    least, runs = cheapest_pieces(real([9.0, 1.0, 9.0, 9.0, 1.0], slots), slots)
    assert least[0] == pytest.approx(1.5)
    assert pieces_of(runs[0], 0, slots) == (
        (0, US_PER_HOUR), (3 * US_PER_HOUR, 3 * US_PER_HOUR + US_PER_HOUR // 2),
    )  # fmt: skip


def days(of_day: Any, count: int = 90) -> PriceBook:
    """The same prices every day: `of_day(hour)`."""
    steps: Any = {
        ("a", "m5.large"): [(float(24 * d + h), of_day(h)) for d in range(count) for h in range(24)]
    }
    return book_of(steps, hours=count * 24)


def back_test(book: PriceBook, slots: Slots, *, length_us: int, slack_us: int) -> Any:
    walked = walk(
        book, FIRST, FIRST, at_us=int(book.known_to.max()), length_us=length_us, wait_us=slack_us
    )  # fmt: skip
    return backtest_split(book, walked, FIRST, FIRST, cheapest_now, slots, slack_us=slack_us)


def test_a_price_that_is_dear_every_second_hour_is_worth_pieces() -> None:
    book = days(lambda hour: 2.0 if hour % 2 else 1.0)
    slots = slots_of(4, 8)
    found = back_test(book, slots, length_us=4 * US_PER_HOUR, slack_us=8 * US_PER_HOUR)
    assert found.worth_it
    assert found.share == 1.0
    assert found.over_one.saving_pct == pytest.approx(100 * (1 - 4 / 6))
    assert found.errors == pytest.approx(np.ones(len(found.errors)))


def test_restarts_that_cost_more_than_they_save_leave_one_piece() -> None:
    book = days(lambda hour: 1.05 if hour % 2 else 1.0)
    found = back_test(book, slots_of(4, 8, 30), length_us=4 * US_PER_HOUR, slack_us=8 * US_PER_HOUR)
    assert (found.share, found.over_one.saving_pct, found.worth_it) == (0.0, 0.0, False)


@given(seed=st.integers(0, 200))
@settings(max_examples=15, deadline=None)
def test_a_wandering_price_is_not_worth_pieces_whatever_they_promise(seed: int) -> None:
    book = book_of({("a", "m5.large"): walk_steps(seed, hours=24 * 60)}, hours=24 * 60)
    found = back_test(book, slots_of(4, 24), length_us=4 * US_PER_HOUR, slack_us=24 * US_PER_HOUR)
    assert found.over_one.saving_pct < 2.0


@given(seed=st.integers(0, 1000), restart=st.sampled_from([0.0, 15.0]))
@settings(max_examples=15, deadline=None)
def test_changing_the_future_changes_no_choice_of_pieces(seed: int, restart: float) -> None:
    past: Any = {("a", "m5.large"): walk_steps(seed, hours=24 * 40)}
    dearer: Any = {key: [*steps, (24 * 40 + 1.0, 9.0)] for key, steps in past.items()}
    slots, at = slots_of(6, 24, restart), np.array([START_US + 24 * 40 * US_PER_HOUR])
    found = []
    for book in (book_of(past, hours=24 * 40), book_of(dearer, hours=24 * 50)):
        choice = choose_pieces(book.price_at(FIRST, at), levels(book, FIRST, at, slots), slots)
        found.append((choice.splits.tolist(), choice.runs.tolist(), choice.expected.tolist()))
    assert found[0] == found[1]
