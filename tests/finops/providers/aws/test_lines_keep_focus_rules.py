"""What a CUR line can give for FOCUS without inventing anything, and what it leaves out."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from finops.providers.aws.bills import CurLegacy
from tests.support.bill_kinds import read
from tests.support.bills import cur_csv

RATE, COST, LISTED = "lineItem/UnblendedRate", "lineItem/UnblendedCost", "pricing/publicOnDemandRate"


def _line(**cells: str) -> dict[str, Any]:
    row = {name.replace("__", "/"): cell for name, cell in cells.items()}
    [line] = read(CurLegacy(), cur_csv([row])).lines
    return line


@pytest.mark.parametrize(
    ("kind", "rate", "cost", "price"),
    [
        ("Usage", "0.10", "0.20", Decimal("0.10")),
        ("Usage", "0.0000000000", "0.0000032", None),
        ("Usage", "0.0000000000", "0", Decimal(0)),
        ("Usage", "", "1", None),
        ("DiscountedUsage", "0.0000000000", "0", Decimal("0.12")),
    ],
)
def test_a_rate_of_nothing_that_costs_is_no_price(
    kind: str, rate: str, cost: str, price: Decimal | None
) -> None:
    row = {"lineItem/LineItemType": kind, RATE: rate, COST: cost, LISTED: "0.12"}
    [line] = read(CurLegacy(), cur_csv([row])).lines
    assert line["contracted_unit_price"] == price


def test_a_region_has_the_name_that_aws_published_for_its_code() -> None:
    assert _line(product__region="us-east-1")["region_name"] == "US East (N. Virginia)"
    named = _line(
        product__region="us-east-1", product__location="Somewhere", product__locationType="AWS Region"
    )
    assert named["region_name"] == "Somewhere"
    edge = _line(
        product__region="us-east-1", product__location="Edge", product__locationType="AWS Edge Location"
    )
    assert edge["region_name"] == "US East (N. Virginia)"
    assert _line(product__region="mars-1")["region_name"] is None


def test_a_type_of_resource_needs_a_resource() -> None:
    assert _line(product__productFamily="API Request")["resource_type"] is None
    assert _line(product__productFamily="Storage", lineItem__ResourceId="vol-1")["resource_type"] == "Storage"


def test_a_price_is_of_one_sku() -> None:
    assert _line(product__sku="S1", pricing__RateId="208673312")["sku_price_id"] == "S1.208673312"
    assert (
        _line(product__sku="S1", pricing__RateId="2", pricing__RateCode="S1.A.B")["sku_price_id"] == "S1.A.B"
    )
    assert _line(pricing__RateId="2")["sku_price_id"] is None
