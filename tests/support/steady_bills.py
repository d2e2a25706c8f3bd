"""Made-up bills of April and May 2026: steady costs, a fee on the first, one day on which Glue triples."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

from apps.billing.models import Delivery
from tests.support.bill_lake import put_bill

MAY, APRIL = date(2026, 5, 1), date(2026, 4, 1)
NOW = datetime(2026, 5, 21, 12, tzinfo=UTC)


def lines(period: date, days: int, glue: dict[int, str] | None = None) -> list[dict[str, Any]]:
    """EC2 100 and Glue 50 a day, a fee of 30 on the first; `glue`: other costs of Glue by day of month."""
    made: list[dict[str, Any]] = [
        {"billed_cost": "30", "service_name": "Fees", "sub_account_id": "1", "x_day": period}
    ]
    for i in range(days):
        day = period + timedelta(days=i)
        cost = (glue or {}).get(day.day, "50")
        made += [
            {
                "billed_cost": "100", "service_name": "EC2", "region_id": "eu", "sub_account_id": "1",
                "pricing_category": "Standard", "x_day": day,
            },
            {
                "billed_cost": cost, "service_name": "Glue", "region_id": "us", "sub_account_id": "2",
                "x_usage_type": "DPU", "resource_id": "endpoint", "x_day": day,
            },
        ]  # fmt: skip
    return made


def put_steady_bills() -> Delivery:
    """April whole; May to the 20th, delivered on the 21st: Glue costs three times as much on the 15th."""
    put_bill(lines(APRIL, 30), period=APRIL)
    return put_bill(
        lines(MAY, 20, {15: "150"}),
        period=MAY,
        delivered_at=datetime(2026, 5, 21, 6, tzinfo=UTC),
        final=False,
    )
