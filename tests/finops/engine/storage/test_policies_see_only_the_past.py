"""Online policies of storage: what they cost by hand, never below the optimum, never by looking ahead."""

from __future__ import annotations

from datetime import date
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.engine.storage.backtest import backtest, policies
from finops.engine.storage.bill import StorageError
from finops.engine.storage.optimum import optimum
from finops.engine.storage.policies import Advice, Automatic, Stay, run
from finops.engine.storage.rates import AUTO, COLD, COOL, HOT, MONTH_DAYS, Rates, rates
from finops.engine.storage.reads import Reads, reads_from_days
from finops.frames.storage_classes import INTELLIGENT, lifecycle_moves, storage_classes, tiers

ON = date(2026, 11, 30)
GIB = 1 << 30


def real_rates(size: int = GIB) -> Rates:
    found = storage_classes("aws", "us-east-1", ON)
    return rates(found, tiers("aws", "us-east-1", INTELLIGENT, ON), lifecycle_moves("aws"), size)


def reads_of(*objects: list[int], days: int) -> Reads:
    read = np.zeros((len(objects), days), dtype=bool)
    for i, on in enumerate(objects):
        read[i, on] = True
    keys = tuple(str(i) for i in range(len(objects)))
    return Reads(keys, date(2025, 1, 1), read, np.zeros(len(objects), dtype=np.int64))


def test_intelligent_tiering_takes_thirty_and_ninety_days() -> None:
    cost = run(Automatic(), reads_of([], days=120), real_rates())[0]
    fee = 0.0025 / 1000
    by_hand = (30 * (0.023 + fee) + 60 * (0.0125 + fee) + 30 * (0.004 + fee)) / MONTH_DAYS
    assert cost.sum() == pytest.approx(by_hand + 0.005 / 1000, rel=1e-12)
    again = run(Automatic(), reads_of([100], days=120), real_rates())[0]
    assert again[100] == pytest.approx((0.023 + fee) / MONTH_DAYS + 0.0004 / 1000, rel=1e-12)


def test_small_objects_stay_in_the_first_tier_and_are_not_monitored() -> None:
    small = real_rates(64 << 10)
    assert small.auto_day == pytest.approx(np.full(91, 0.023 / MONTH_DAYS))
    # 64 KiB are billed as 128 KiB in the cool classes.
    assert small.day[COOL] == pytest.approx(2 * 0.0125 / MONTH_DAYS)


def test_a_move_up_is_a_copy_and_a_move_down_a_transition() -> None:
    found = real_rates()
    assert found.move[HOT, COLD] == pytest.approx(0.02 / 1000)
    assert found.move[COLD, HOT] == pytest.approx(0.03 + 0.01 / 1000 + 0.005 / 1000)
    assert found.move[COOL, AUTO] == pytest.approx(0.01 / 1000)


def test_the_optimum_of_an_object_never_read_is_the_cold_class() -> None:
    found = real_rates()
    least = optimum(reads_of([], days=200), found)[0]
    assert least == pytest.approx(200 * found.day[COLD] + found.upload[COLD], rel=1e-12)


@settings(max_examples=6, deadline=None)
@given(st.lists(st.sets(st.integers(0, 59)), min_size=1, max_size=4))
def test_no_policy_beats_the_optimum(objects: list[set[int]]) -> None:
    found = real_rates()
    reads = reads_of(*[sorted(on) for on in objects], days=60)
    least = optimum(reads, found)
    for policy in policies(found, learn_until=None).values():
        assert (run(policy, reads, found).sum(axis=1) >= least - 1e-9).all()


def _brute(reads: Reads, found: Rates) -> float:
    """The cheapest of all sequences of classes of one object over few days, by the rules of `run`."""

    class Fixed(Stay):
        def __init__(self, path: tuple[int, ...]) -> None:
            self.path = path

        def choose(self, now):  # type: ignore[no-untyped-def]
            return np.full(1, self.path[now.day])

    return min(float(run(Fixed(path), reads, found).sum()) for path in product(range(4), repeat=reads.days))


@pytest.mark.parametrize("on", [[], [1], [0, 1, 2], [4]])
def test_the_optimum_equals_trying_every_sequence(on: list[int]) -> None:
    found = real_rates()
    reads = reads_of(on, days=5)
    # A sequence that stays is not charged again; leaving and coming back is what the optimum may do too.
    assert optimum(reads, found)[0] == pytest.approx(_brute(reads, found), rel=1e-9)


def test_later_reads_do_not_change_earlier_costs() -> None:
    found = real_rates()
    generator = np.random.default_rng(7)
    read = generator.random((6, 160)) < 0.08
    base = Reads(tuple("abcdef"), date(2025, 1, 1), read, np.zeros(6, dtype=np.int64))
    other = read.copy()
    other[:, 100:] = ~other[:, 100:]
    changed = Reads(base.keys, base.first, other, base.born)
    for name in policies(found, learn_until=None):
        before, after = (
            run(policies(found, learn_until=None)[name], one, found)[:, :100] for one in (base, changed)
        )
        np.testing.assert_array_equal(before, after, err_msg=name)


def test_nothing_is_learnt_after_the_given_day() -> None:
    found = real_rates()
    policy = Advice(found, learn_until=50)
    run(policy, reads_of([3, 60], days=80), found)
    assert (policy._model.days.sum(), policy._model.reads.sum()) == (50, 1)


def test_cold_objects_are_put_where_cold_objects_belong() -> None:
    """Objects that are hardly ever read: the advice learns it and ends below the automatic class."""
    objects = [[d for d in range(400) if (d + 97 * i) % 390 == 389] for i in range(30)]
    reads = reads_of(*objects, days=400)
    found = backtest(reads, {GIB: real_rates()}, since=200)
    assert found["optimum"].ratio_to_optimum == 1.0
    advice, auto = found["advice"].ratio_to_optimum, found["intelligent_tiering"].ratio_to_optimum
    assert advice is not None
    assert auto is not None
    assert advice < 0.9 * auto
    assert found["stay"].cost_share_of_standard == 1.0


def test_days_below_the_limit_are_no_reads() -> None:
    days = pd.DataFrame(
        {
            "key": ["a", "a", "b"],
            "day": pd.to_datetime(["2025-01-01", "2025-01-03", "2025-01-02"]),
            "bytes": [10.0, 5.0, 10.0],
        }
    )
    reads = reads_from_days(days, access_bytes=10)
    assert reads.read.tolist() == [[True, False, False], [False, True, False]]
    assert (reads.born.tolist(), reads.days) == ([0, 1], 3)
    with pytest.raises(StorageError, match="2024-12-31 is not within 2025-01-01 to 2025-01-03"):
        reads.day_of(date(2024, 12, 31))
