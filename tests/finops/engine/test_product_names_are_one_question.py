"""Two product texts of one meaning: the preferred one where it is known, the other elsewhere, never mixed."""

from __future__ import annotations

import pandas as pd
import pytest

from finops.engine.products import preferred
from finops.engine.series import KEY_COLUMNS, US_PER_HOUR, PriceBook

VPC, PLAIN = "Linux/UNIX (Amazon VPC)", "Linux/UNIX"
Rows = dict[str, tuple[list[tuple[float, float]], list[tuple[float, float]]]]


def book(series: Rows) -> PriceBook:
    """{product: (changes (hour, price), known ranges in hours)} of one zone and type."""
    changes, known = [], []
    for product, (rows, spans) in series.items():
        key = dict(zip(KEY_COLUMNS, ("aws", "us-east-1", "a", "m5.large", product, "USD"), strict=True))
        changes += [key | {"at": int(hour * US_PER_HOUR), "price": price} for hour, price in rows]
        known += [
            key | {"known_from": int(a * US_PER_HOUR), "known_to": int(b * US_PER_HOUR)} for a, b in spans
        ]
    return PriceBook.from_frames(pd.DataFrame(changes), pd.DataFrame(known))


def price(found: PriceBook, hour: float) -> float:
    return float(found.price_at(0, int(hour * US_PER_HOUR)))


def test_the_vpc_text_counts_where_it_is_known_and_the_plain_one_elsewhere() -> None:
    found = preferred(
        book({VPC: ([(10, 0.3)], [(10, 20)]), PLAIN: ([(0, 2.0), (15, 3.0)], [(0, 30)])}), (VPC, PLAIN), PLAIN
    )
    assert [key.product for key in found.keys] == [PLAIN]
    assert [price(found, hour) for hour in (5, 12, 16, 25)] == [2.0, 0.3, 0.3, 3.0]
    # 10 h at 2.0, 10 h at 0.3, 10 h at 3.0
    assert float(found.cost(0, 0, 30 * US_PER_HOUR)) == pytest.approx(53.0)


def test_a_gap_of_both_stays_unknown() -> None:
    found = preferred(
        book({VPC: ([(20, 0.3)], [(20, 30)]), PLAIN: ([(0, 2.0)], [(0, 10)])}), (VPC, PLAIN), PLAIN
    )
    assert price(found, 5) == 2.0
    assert price(found, 15) != price(found, 15)
    assert price(found, 25) == 0.3


def test_a_single_observation_says_nothing_about_what_follows() -> None:
    found = preferred(
        book({VPC: ([(10, 0.3)], [(10, 10)]), PLAIN: ([(0, 2.0)], [(0, 30)])}), (VPC, PLAIN), PLAIN
    )
    assert price(found, 12) == 2.0


def test_other_products_are_left_out() -> None:
    found = preferred(
        book({"Windows": ([(0, 9.0)], [(0, 1)]), PLAIN: ([(0, 2.0)], [(0, 1)])}), (VPC, PLAIN), PLAIN
    )
    assert [key.product for key in found.keys] == [PLAIN]
    assert price(found, 0.5) == 2.0
