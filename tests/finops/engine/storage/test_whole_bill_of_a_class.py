"""Field cases of storage: small objects, short lives, hidden versions, units; and properties of the bill."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finops.engine.storage.bill import Cell, Life, StorageError, break_even, life_cost, monthly, move
from finops.engine.storage.listing import gib_months, rate_is_plausible, reconcile
from finops.frames.storage_classes import StorageClass, storage_classes

D = Decimal
STANDARD = StorageClass("STANDARD", D("0.023"))


def cents(value: Decimal) -> Decimal:
    return value.quantize(D("0.01"))


def test_ten_million_small_files_never_pay_in_an_archive() -> None:
    """Case t4-01."""
    archive = StorageClass(
        "GLACIER",
        D("0.0036"),
        own_overhead_kib=D(32),
        standard_overhead_kib=D(8),
        transition_in_per_1000=D("0.03"),
    )
    small = Cell(10_000_000, D(8))
    answer = move([small], STANDARD, archive, STANDARD)
    assert small.gib.quantize(D("0.001")) == D("76.294")
    assert (cents(answer.before), cents(answer.after), answer.one_time) == (D("1.75"), D("3.13"), D("300"))
    assert answer.break_even_month is None
    packed = move([Cell(10_000, D(8_000))], STANDARD, archive, STANDARD)
    assert (cents(packed.one_time), cents(packed.after)) == (D("0.30"), D("0.28"))


def test_a_short_life_is_dearer_in_a_class_with_minimum_days() -> None:
    """Case t4-03."""
    instant = StorageClass(
        "GLACIER_IR",
        D("0.004"),
        min_days=90,
        transition_in_per_1000=D("0.02"),
        retrieval_per_gib=D("0.03"),
    )
    life = Life(D(1000), 100_000, delete_day=20, reads=(18,))
    assert cents(life_cost(life, STANDARD)) == D("15.33")
    moved = Life(D(1000), 100_000, delete_day=20, move_day=15, reads=(18,))
    assert cents(life_cost(moved, STANDARD, instant)) == D("55.50")
    unread = Life(D(1000), 100_000, delete_day=20, move_day=15)
    assert cents(life_cost(unread, STANDARD, instant)) == D("25.50")


SMALL = StorageClass(
    "GLACIER_IR", D("0.004"), min_billable_kib=D(128), min_days=90, retrieval_per_gib=D("0.03")
)
ARCHIVE = StorageClass(
    "GLACIER", D("0.0036"), own_overhead_kib=D(32), standard_overhead_kib=D(8), min_days=90
)
AUTO = StorageClass(
    "INTELLIGENT_TIERING", D("0.023"), monitoring_per_1000=D("0.0025"), min_monitored_kib=D(128)
)
LITTLE = D(1_048_576) * 8 / D(2**20)  # GiB of 2**20 objects of 8 KiB


@pytest.mark.parametrize(
    ("life", "where", "cost"),
    [
        # 128 KiB each are billed: 128 GiB x 0.004 x 90/30
        (Life(LITTLE, 2**20, delete_day=10, move_day=0), SMALL, "1.536"),
        # 8 GiB and 32 GiB of index at 0.0036, 8 GiB of names at 0.023, x 90/30
        (Life(LITTLE, 2**20, delete_day=10, move_day=0), ARCHIVE, "0.984"),
        # 8 KiB is under the size that is monitored; 128 KiB is not: 128 x 0.023 + 2**20 / 1000 x 0.0025
        (Life(LITTLE, 2**20, delete_day=30, move_day=0), AUTO, "0.184"),
        (Life(D(128), 2**20, delete_day=30, move_day=0), AUTO, "5.56544"),
        # Read and deleted on the same day: the read is paid, whether moved or written there.
        (Life(D(100), 100, delete_day=90, reads=(90,)), SMALL, "4.2"),
        (Life(D(100), 100, delete_day=90, move_day=0, reads=(90,)), SMALL, "4.2"),
    ],
)
def test_a_life_pays_for_smallest_sizes_overhead_and_the_read_of_the_last_day(
    life: Life, where: StorageClass, cost: str
) -> None:
    start = STANDARD if life.move_day is not None else where
    assert life_cost(life, start, where) == D(cost)


@pytest.mark.parametrize("read", [-1, 21])
def test_a_read_outside_of_a_life_is_refused(read: int) -> None:
    with pytest.raises(StorageError, match="a read is not between writing and deletion"):
        life_cost(Life(D(1), 1, delete_day=20, reads=(read,)), STANDARD)
    with pytest.raises(StorageError, match="cannot be negative"):
        Life(D(-1), 1, delete_day=20)


def test_a_listing_without_versions_stops_the_advice() -> None:
    """Case t4-05."""
    found = reconcile({"STANDARD": D(40000)}, {"current": D(2000)})
    assert (found.gap_gib, found.blocked) == (D(38000), "bill and listing differ")
    assert found.missing == ("noncurrent", "incomplete")
    assert cents(found.billed_gib * D("0.023")) == D("920.00")
    assert cents(found.gap_gib * D("0.023")) == D("874.00")


def test_a_complete_listing_does_not_block() -> None:
    found = reconcile(
        {"STANDARD": D(90), "GLACIER": D(10)},
        {"current": D(60), "noncurrent": D(38), "incomplete": D(0)},
    )
    assert (found.blocked, found.missing, found.gap_gib) == ("", (), D(2))


def test_the_unit_column_decides_what_an_amount_is() -> None:
    """Case t4-07."""
    assert gib_months(D("250.0"), "GB-Mo", D(720)) == D(250)
    hours = gib_months(D(180000), "GB-Hours", D(720))
    assert hours == D(250)
    # Divided once: a reciprocal of 744 hours leaves 249.99…
    assert gib_months(D(186000), "GB-Hours", D(744)) == D(250)
    assert (D("5.75") / D(250)) == D("0.023")
    assert rate_is_plausible(D("5.75"), D(250), D("0.023"))
    assert not rate_is_plausible(D("5.75"), D("0.0000000003"), D("0.023"))
    with pytest.raises(StorageError, match="not a unit of stored bytes: Bananas"):
        gib_months(D(1), "Bananas", D(720))


def test_classes_are_dated() -> None:
    assert "GLACIER_IR" not in storage_classes("aws", "us-east-1", date(2020, 1, 1))
    now = storage_classes("aws", "us-east-1", date(2026, 11, 30))
    assert (now["GLACIER_IR"].min_days, now["GLACIER_IR"].retrieval_per_gib) == (90, D("0.03"))
    assert storage_classes("aws", "mars-1", date(2026, 11, 30)) == {}


@pytest.mark.parametrize(
    ("one_time", "saving", "month"),
    [("300", "10", 30), ("300", "7", 43), ("0", "1", 0), ("1", "0", None), ("1", "-2", None)],
)
def test_break_even_is_the_month_that_has_paid(one_time: str, saving: str, month: int | None) -> None:
    assert break_even(D(one_time), D(saving)) == month


sizes = st.integers(1, 10**7).map(D)
classes = st.sampled_from(sorted(storage_classes("aws", "us-east-1", date(2026, 1, 1))))


@given(sizes, st.integers(1, 10**6), classes)
def test_an_object_more_never_costs_less(kib: Decimal, objects: int, name: str) -> None:
    found = storage_classes("aws", "us-east-1", date(2026, 1, 1))
    one = monthly([Cell(objects, kib)], found[name], found["STANDARD"]).total
    more = monthly([Cell(objects + 1, kib)], found[name], found["STANDARD"]).total
    assert more > one


@given(sizes, st.integers(1, 10**6), classes)
def test_a_histogram_costs_what_its_cells_cost(kib: Decimal, objects: int, name: str) -> None:
    found = storage_classes("aws", "us-east-1", date(2026, 1, 1))
    cells = [Cell(objects, kib), Cell(7, D(3))]
    apart = sum(monthly([cell], found[name], found["STANDARD"]).total for cell in cells)
    assert monthly(cells, found[name], found["STANDARD"]).total == pytest.approx(apart)


@given(st.integers(1, 400), st.integers(0, 400), classes)
def test_deleting_before_the_minimum_costs_as_much_as_the_minimum(day: int, extra: int, name: str) -> None:
    found = storage_classes("aws", "us-east-1", date(2026, 1, 1))
    cost = life_cost(Life(D(10), 5, delete_day=day), found[name])
    least = life_cost(Life(D(10), 5, delete_day=max(day, found[name].min_days)), found[name])
    assert cost == least
    assert life_cost(Life(D(10), 5, delete_day=day + extra), found[name]) >= cost
