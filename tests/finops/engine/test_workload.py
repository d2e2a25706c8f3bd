"""Workloads: what is refused, with the field named; times."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from finops.engine.series import US_PER_HOUR
from finops.engine.workload import Workload, WorkloadError

AT = datetime(2020, 3, 6, 9, tzinfo=UTC)


def workload(**changes: Any) -> Workload:
    base: dict[str, Any] = {
        "hours": 8,
        "regions": ("us-east-1",),
        "product": "Linux/UNIX",
        "at": AT,
        "types": ("m5.large",),
        "slack_hours": 24,
    }
    return Workload(**(base | changes))


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("hours", {"hours": 0}),
        ("hours", {"hours": float("nan")}),
        ("count", {"count": 0}),
        ("regions", {"regions": ()}),
        ("product", {"product": ""}),
        ("types", {"types": ()}),
        ("types", {"min_vcpu": 4}),
        ("min_vcpu", {"types": (), "min_vcpu": 0}),
        ("slack_hours", {"slack_hours": None}),
        ("slack_hours", {"deadline": AT + timedelta(days=2)}),
        ("slack_hours", {"slack_hours": -1}),
        ("deadline", {"slack_hours": None, "deadline": AT + timedelta(hours=7)}),
        ("deadline", {"slack_hours": None, "deadline": AT + timedelta(days=90)}),
        ("earliest", {"earliest": datetime(2020, 3, 6)}),  # noqa: DTZ001 - the point of the case
        ("earliest", {"earliest": datetime(9999, 12, 31, tzinfo=UTC)}),
        ("earliest", {"earliest": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))}),
        ("at", {"at": datetime(1999, 12, 31, tzinfo=UTC)}),
        ("deadline", {"slack_hours": None, "deadline": datetime(2101, 1, 1, tzinfo=UTC)}),
        ("checkpoint_minutes", {"checkpoint_minutes": 0}),
        ("checkpoint_minutes", {"checkpoint_minutes": 1e26}),
        ("restart_minutes", {"restart_minutes": -1}),
        ("splittable", {"splittable": True, "interruptible": False}),
        ("data_gib", {"data_gib": -1, "data_region": "us-east-1"}),
        ("data_region", {"data_gib": 10}),
        ("data_gib", {"data_region": "us-east-1"}),
        ("discount_pct", {"discount_pct": 100}),
        ("hazard_per_hour", {"hazard_per_hour": -0.1}),
    ],
)
def test_a_workload_that_cannot_be_judged_names_its_field(field: str, changes: dict[str, Any]) -> None:
    with pytest.raises(WorkloadError) as refused:
        workload(**changes)
    assert refused.value.field == field
    assert refused.value.message


def test_a_deadline_leaves_the_slack_after_the_work() -> None:
    due = workload(slack_hours=None, deadline=AT + timedelta(hours=32))
    assert due.slack_us == 24 * US_PER_HOUR


def test_an_earliest_start_in_the_past_is_now() -> None:
    assert workload(earliest=AT - timedelta(hours=5)).earliest_us == workload().at_us
