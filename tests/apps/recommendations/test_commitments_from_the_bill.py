"""Own commitments, their idle hours and advice on new ones, from bill lines and a price list."""

from __future__ import annotations

import io
import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import call_command

from apps.prices.models import ListPrice, ReservedPrice
from tests.support.bill_lake import put_bill

pytestmark = pytest.mark.django_db

START = datetime(2018, 11, 1, tzinfo=UTC)
LISTED = datetime(2018, 11, 29, tzinfo=UTC)
ARN = "arn:aws:ec2:us-east-1:1:reserved-instances/a"


def line(hour: int, kind: str, quantity: str, **more: Any) -> dict[str, Any]:
    at = START + timedelta(hours=hour)
    return {
        "x_day": at.date(), "x_product_code": "AmazonEC2", "x_line_item_type": "Usage",
        "x_operation": "RunInstances",
        "x_usage_type": f"BoxUsage:{kind}", "x_operating_system": "Linux", "x_tenancy": "Shared",
        "x_instance_type": kind, "x_quantity": quantity, "billed_cost": "1", "list_cost": "1",
        "availability_zone": "us-east-1a", "region_id": "us-east-1", "sub_account_id": "1",
        "charge_period_start": at, "charge_period_end": at + timedelta(hours=1), "billing_currency": "USD",
        **more,
    }  # fmt: skip


def bill() -> None:
    """48 hours: 2.5 m5.large on demand; one reserved m5.xlarge of which 1 m5.large uses half in all but
    8 hours.
    """
    rows = [line(h, "m5.large", "2.5") for h in range(48)]
    rows += [
        line(
            h, "m5.large", "1", x_line_item_type="DiscountedUsage", commitment_discount_id=ARN,
            billed_cost="0", effective_cost="0.05", x_normalized_quantity="4",
        )
        for h in range(40)
    ]  # fmt: skip
    rows.append(line(0, "t2.micro", "7", billed_cost="0", list_cost="0.08", region_id="eu-west-2"))
    rows.append(
        line(
            0, "m5.xlarge", "0", x_line_item_type="RIFee", x_usage_type="HeavyUsage:m5.xlarge",
            commitment_discount_id=ARN, pricing_quantity="48", x_normalized_quantity="384",
            effective_cost="3.5",
            charge_description="USD 0.1 hourly fee per Linux/UNIX (Amazon VPC), m5.xlarge instance",
            charge_period_start=START, charge_period_end=START + timedelta(hours=48) - timedelta(seconds=1),
        )
    )  # fmt: skip
    put_bill(rows, period=date(2018, 11, 1))


def prices() -> None:
    common = {
        "provider": "aws", "region": "us-east-1", "operating_system": "linux", "licence": "none",
        "tenancy": "shared", "currency": "USD", "effective_from": LISTED, "source": "made up",
    }  # fmt: skip
    for kind, price in (("m5.large", "0.1"), ("m5.xlarge", "0.2")):
        ListPrice.objects.create(**common, instance_type=kind, price=Decimal(price))
        for payment, fixed, hourly in (("all-upfront", 500, "0"), ("no-upfront", 0, "0.065")):
            factor = 1 if kind == "m5.large" else 2
            ReservedPrice.objects.create(
                **common, instance_type=kind, offering_class="standard", payment=payment, term_months=12,
                fixed=fixed * factor, hourly=Decimal(hourly) * factor,
            )  # fmt: skip


def asked(verb: str, *words: str) -> dict[str, Any]:
    out = io.StringIO()
    call_command(verb, *words, "--at", "2018-11-03T00:00:00Z", "--json", stdout=out, stderr=io.StringIO())
    return json.loads(out.getvalue())  # type: ignore[no-any-return]


def test_idle_hours_of_a_reservation_are_exact() -> None:
    bill()
    document = asked("commitments")
    (one,) = document["commitments"]
    # 48 h reserved at 8 units; 40 x 4 of 384 units were used: 20 of 48 h
    assert (one["type"], one["platform"], one["count"]) == ("m5.xlarge", "Linux/UNIX", 1)
    assert (one["reserved_hours"], one["idle_hours"], one["idle_cost"]) == ("48", "28", "3.5")
    assert one["utilisation_pct"] == round(20 / 48 * 100, 6)
    assert one["effective_hourly"] == "0.11458333"
    assert (one["end"], one["hours_left"]) == (None, None)
    assert document["coverage"][0]["covered_hours"] == 40.0
    assert document["coverage"][0]["on_demand_hours"] == 120.0


def test_advice_is_for_the_smallest_size_and_whole_numbers() -> None:
    bill()
    prices()
    document = asked("advise_commitments", "--lookback-days", "2")
    (one,) = document["advice"]
    # 2.5 run on demand: two are used whole; a third one half, 438 < 500
    assert (one["offer"], one["quantity"], one["upfront"]) == (
        "m5.large us-east-1 Linux/UNIX 1y standard all-upfront", 2, "1000",
    )  # fmt: skip
    assert (one["saving_low"], one["saving"], one["saving_high"]) == ("752", "752", "752")
    assert float(one["monthly_saving"]) == pytest.approx(752 / 12)
    assert one["break_even_months"] == pytest.approx(1000 / 146, abs=1e-6)
    assert one["loss_probability"] == 0.0
    assert one["claims"][0]["of"] == "m5"
    assert [(r["offer"].rpartition(" ")[2], r["code"]) for r in document["refused"]] == [
        ("no-upfront", "hours taken by")
    ]
    assert document["use"]["free_tier_hours"] == 7.0
    assert document["evidence"]["later_prices"] is True
    assert document["evidence"]["price_lists"] == ["2018-11-29T00:00:00Z"]


def test_limits_and_what_was_not_asked_for_are_named() -> None:
    bill()
    prices()
    limited = asked("advise_commitments", "--lookback-days", "2", "--max-upfront", "600")
    assert {one["payment"]: one["quantity"] for one in limited["advice"]} == {
        "all-upfront": 1,
        "no-upfront": 1,
    }
    assert sum(float(one["saving"]) for one in limited["advice"]) == pytest.approx(
        float(limited["total"]["saving"])
    )
    short = asked("advise_commitments", "--lookback-days", "2", "--horizon", "90d")
    assert short["advice"] == []
    assert {one["code"] for one in short["refused"]} == {"beyond the horizon"}


def test_without_bills_nothing_is_advised() -> None:
    prices()
    document = asked("advise_commitments")
    assert (document["advice"], document["refused"]) == ([], [])
    assert asked("commitments")["commitments"] == []
