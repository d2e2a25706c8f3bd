"""Made-up lines of reservations and savings plans, as an AWS report has them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

START = datetime(2018, 11, 1, tzinfo=UTC)
RI = "arn:aws:ec2:us-east-1:111122223333:reserved-instances/r-1"
PLAN = "arn:aws:savingsplans::111122223333:savingsplan/p-1"


def line(hour: float, kind: str, quantity: str, **more: Any) -> dict[str, Any]:
    """An instance line; `hours` is its length."""
    at = START + timedelta(hours=hour)
    length = timedelta(hours=more.pop("hours", 1))
    return {
        "x_day": at.date(), "x_product_code": "AmazonEC2", "x_line_item_type": "Usage",
        "x_operation": "RunInstances", "x_usage_type": f"BoxUsage:{kind}", "x_operating_system": "Linux",
        "x_tenancy": "Shared", "x_instance_type": kind, "x_quantity": quantity, "billed_cost": "1",
        "list_cost": "1", "availability_zone": "us-east-1a", "region_id": "us-east-1",
        "sub_account_id": "111122223333", "charge_period_start": at, "charge_period_end": at + length,
        "billing_currency": "USD", **more,
    }  # fmt: skip


def reserved_use(hour: float, kind: str, quantity: str, units: str, **more: Any) -> dict[str, Any]:
    """A line that the reservation paid for."""
    return line(
        hour, kind, quantity,
        **{
            "x_line_item_type": "DiscountedUsage", "commitment_discount_id": RI, "billed_cost": "0",
            "effective_cost": "0.05", "list_cost": "0.1", "x_normalized_quantity": units,
            "commitment_discount_status": "Used", "commitment_discount_category": "Usage", **more,
        },
    )  # fmt: skip


def fee(kind: str, hours: str, units: str, unused: str, **more: Any) -> dict[str, Any]:
    """The fee of November of one reservation of t2.micro at 0.0083 an hour."""
    return {
        **line(0, kind, "0"), "x_line_item_type": "RIFee", "x_usage_type": f"HeavyUsage:{kind}",
        "availability_zone": None,
        "commitment_discount_id": RI, "pricing_quantity": hours, "x_normalized_quantity": units,
        "effective_cost": unused, "list_cost": "0", "billed_cost": "5.976", "x_quantity": "0",
        "charge_description": f"USD 0.0083 hourly fee per Linux/UNIX (Amazon VPC), {kind} instance",
        "charge_period_end": datetime(2018, 11, 30, 23, 59, 59, tzinfo=UTC),
        "x_commitment_start": datetime(2018, 8, 13, 18, 14, 2, tzinfo=UTC),
        "x_commitment_end": datetime(2019, 8, 13, 18, 14, 1, tzinfo=UTC), "x_commitment_count": "1",
        "x_commitment_upfront": "0", "x_commitment_amortized_upfront": "0", **more,
    }  # fmt: skip


def plan_fee(hour: float, unused: str, total: str = "1.5", **more: Any) -> dict[str, Any]:
    """An hour of a compute savings plan of 1.5 an hour."""
    return {
        **line(hour, "", "0", hours=more.pop("hours", 1)), "x_line_item_type": "SavingsPlanRecurringFee",
        "x_product_code": "ComputeSavingsPlans", "x_usage_type": "ComputeSP:1yrNoUpfront",
        "x_instance_type": None, "commitment_discount_id": PLAN, "effective_cost": unused, "x_quantity": "0",
        "list_cost": "0", "billed_cost": total, "x_commitment_total": total,
        "x_commitment_class": "ComputeSavingsPlans", "x_commitment_payment": "No Upfront",
        "x_commitment_start": datetime(2018, 3, 1, tzinfo=UTC),
        "x_commitment_end": datetime(2019, 3, 1, tzinfo=UTC), "commitment_discount_category": "Spend",
        **more,
    }  # fmt: skip


def plan_use(hour: float, kind: str, quantity: str, cost: str, listed: str, **more: Any) -> dict[str, Any]:
    """A line that the savings plan paid for."""
    return line(
        hour, kind, quantity,
        **{
            "x_line_item_type": "SavingsPlanCoveredUsage", "commitment_discount_id": PLAN,
            "effective_cost": cost, "list_cost": listed, "billed_cost": listed,
            "commitment_discount_status": "Used", "commitment_discount_category": "Spend", **more,
        },
    )  # fmt: skip
