"""Bill lines of two weeks: an idle gateway, a development instance that never sleeps, one that a reservation
pays.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

START = datetime(2026, 3, 17, tzinfo=UTC)
DAYS = 14
END = START + timedelta(days=DAYS)
GATEWAY = "arn:aws:ec2:us-east-1:1:natgateway/nat-idle"
BOX, COVERED = "i-dev", "i-covered"


def hours(resource: str, usage_type: str, cost: str, **more: Any) -> list[dict[str, Any]]:
    """A line an hour."""
    return [
        {
            "resource_id": resource, "x_usage_type": usage_type, "billed_cost": cost, "x_quantity": "1",
            "sub_account_id": "111122223333", "region_id": "us-east-1", "x_line_item_type": "Usage",
            "charge_period_start": START + timedelta(hours=n), "x_product_code": "AmazonEC2",
            "charge_period_end": START + timedelta(hours=n + 1), "service_name": "Amazon EC2",
            "x_day": (START + timedelta(hours=n)).date(), **more,
        }
        for n in range(DAYS * 24)
    ]  # fmt: skip


def lines() -> list[dict[str, Any]]:
    """An idle gateway, a development instance that never sleeps, one that a reservation pays."""
    instance = {"x_operation": "RunInstances", "x_instance_type": "m7i.large", "tags": {"user:env": "dev"}}
    return [
        *hours(GATEWAY, "NatGateway-Hours", "0.045"),
        *hours(BOX, "BoxUsage:m7i.large", "0.1008", **instance),
        *hours(
            COVERED, "BoxUsage:m7i.large", "0.06", **instance | {"x_line_item_type": "DiscountedUsage"},
        ),
    ]  # fmt: skip
