"""S3 costs less beyond 50 TB a month: what the bands are, and where they end that are known."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.engine.checks.pricing import band_change
from finops.engine.checks.tables import table_price
from finops.frames.cost_items import Range, Sku
from finops.frames.resource_prices import resource_price
from finops.frames.storage_classes import first_band, price_bands

DAY = date(2026, 11, 1)
STANDARD = Sku("s3", "us-east-1", "STANDARD", "storage")


@pytest.mark.parametrize(
    ("storage_class", "detail", "up_to", "bands"),
    [
        ("STANDARD", "storage", None, [("51200", "0.022"), ("512000", "0.021")]),
        ("INTELLIGENT_TIERING", "storage", Decimal(51200), []),
        ("STANDARD_IA", "storage", None, []),
        ("STANDARD", "put", None, []),
    ],
)
def test_the_price_says_how_far_it_holds(
    storage_class: str, detail: str, up_to: Decimal | None, bands: list[tuple[str, str]]
) -> None:
    price = resource_price("aws", Sku("s3", "us-east-1", storage_class, detail), DAY)
    assert price is not None
    assert price.up_to == up_to
    assert [(str(start), str(each)) for start, each in price.bands] == bands


def test_a_day_before_the_list_knows_the_first_band_only() -> None:
    assert price_bands("aws", "us-east-1", "STANDARD", date(2022, 12, 31)) == ((), Decimal(51200))


def test_classes_of_one_price_have_no_band() -> None:
    assert first_band("aws", "eu-west-1", "STANDARD") is None
    assert first_band("alibaba", "cn-hangzhou", "Standard") is None
    assert price_bands("aws", "us-east-1", "STANDARD_IA", DAY) == ((), None)


@pytest.mark.parametrize(
    ("gib", "cost"),
    [
        ("0", "0"),
        ("1000.5", "23.0115"),
        ("51200", "1177.60"),
        ("51201", "1177.622"),
        ("60000", "1371.20"),
        ("512000", "11315.20"),
        ("600000", "13163.20"),
    ],
)
def test_each_gib_costs_what_its_own_band_says(gib: str, cost: str) -> None:
    price = table_price("aws", STANDARD, DAY)
    assert price is not None
    assert price.cost(Range.of(Decimal(gib))) == Range.of(Decimal(cost))


def test_each_end_of_a_range_is_in_its_own_band() -> None:
    price = table_price("aws", STANDARD, DAY)
    assert price is not None
    found = price.cost(Range(Decimal(51200), Decimal(60000), Decimal(600000)))
    assert found == Range(Decimal("1177.60"), Decimal("1371.20"), Decimal("13163.20"))


@settings(max_examples=50)
@given(units=st.decimals(0, 10**7, places=3))
def test_bands_are_a_sum_of_parts(units: Decimal) -> None:
    price = table_price("aws", STANDARD, DAY)
    assert price is not None
    rates = ((Decimal(0), Decimal("0.023")), *price.bands)
    ends = [start for start, _ in price.bands] + [Decimal(10**9)]
    parts = sum(
        (
            max(min(units, end) - start, Decimal(0)) * rate
            for (start, rate), end in zip(rates, ends, strict=True)
        ),
        Decimal(0),
    )
    assert price.cost(Range.of(units)) == Range.of(parts)
    assert band_change(units, Decimal("0.023"), price.bands) <= 0
