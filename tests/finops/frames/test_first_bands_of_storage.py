"""S3 costs less beyond 50 TB a month: the price of the first band holds for so much and no more."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from finops.frames.cost_items import Sku
from finops.frames.resource_prices import resource_price
from finops.frames.storage_classes import first_band

DAY = date(2026, 11, 1)


@pytest.mark.parametrize(
    ("storage_class", "detail", "up_to"),
    [
        ("STANDARD", "storage", Decimal(51200)),
        ("INTELLIGENT_TIERING", "storage", Decimal(51200)),
        ("STANDARD_IA", "storage", None),
        ("STANDARD", "put", None),
    ],
)
def test_the_price_says_how_far_it_holds(storage_class: str, detail: str, up_to: Decimal | None) -> None:
    price = resource_price("aws", Sku("s3", "us-east-1", storage_class, detail), DAY)
    assert price is not None
    assert price.up_to == up_to


def test_classes_of_one_price_have_no_band() -> None:
    assert first_band("aws", "eu-west-1", "STANDARD") is None
    assert first_band("alibaba", "cn-hangzhou", "Standard") is None
