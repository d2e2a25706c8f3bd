"""Uses of resources and worlds of a test's own, straight for the rules."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from finops.engine.waste.model import World
from finops.frames.waste import Key, Measured, Use

END = datetime(2026, 3, 31, tzinfo=UTC)
START = END - timedelta(days=30)
HOURS = 720
KEY = Key("aws", "111122223333", "us-east-1", "i-1")


def use(resource: str = "i-1", kind: str = "instance", **more: Any) -> Use:
    """An instance of 0.192 an hour over the thirty days; costs as texts."""
    key = Key("aws", "111122223333", more.pop("region", "us-east-1"), resource)
    given: dict[str, Any] = {
        "usage_type": "BoxUsage:m5.xlarge", "operation": "RunInstances", "instance_type": "m5.xlarge",
        "currency": "USD", "quantity": Decimal(HOURS), "last_quantity": Decimal(24),
        "cost": Decimal("0.192") * HOURS, "covered": Decimal(0), "covered_cost": Decimal(0),
        "hours": HOURS, "night_hours": 468, "night_cost": Decimal("0.192") * 468, "first": START,
        "last": END, "days": 30, "platform": "Linux/UNIX", **more,
    }  # fmt: skip
    return Use(key=key, kind=kind, **given)


def world(*uses: Use, **more: Any) -> World:
    """The thirty days with these uses."""
    given: dict[str, Any] = {"start": START, "end": END, **more}
    return World(uses=list(uses), **given)


def measured(
    metric: str, p99: float, *, days: float = 14, high: float | None = None, low: float = 0
) -> Measured:
    """A metric of so many days; p95 is 0.8 of p99."""
    top = p99 if high is None else high
    return Measured(metric, END - timedelta(days=days), END, 4000, p99 * 0.8, p99, top, low, "test")
