"""Demand is what stays on demand with the commitments of the decision time, in units, with its shape."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from apps.accounts.models import Organisation
from apps.recommendations.services.commitments_demand import demand
from finops.engine.workload import WorkloadError
from tests.apps.recommendations.conftest import verb
from tests.support.bill_lake import put_bill
from tests.support.own_commitments import START, fee, line, plan_use, reserved_use

pytestmark = pytest.mark.django_db
NOV = date(2018, 11, 1)
AT = START + timedelta(days=3)
HOURS = range(72)


def asked(at: datetime = AT, **given: Any) -> dict[str, Any]:
    return demand(at=at, organisation=Organisation.default(), lookback_days=3, **given)


def family(document: dict[str, Any], name: str) -> dict[str, Any]:
    (one,) = [row for row in document["families"] if row["family"] == name]
    return one  # type: ignore[no-any-return]


def test_what_reservations_and_plans_take_is_no_demand() -> None:
    put_bill(
        [
            *(line(h, "m5.large", "1.5") for h in HOURS),
            *(line(h, "m5.xlarge", "1") for h in HOURS),
            *(reserved_use(h, "m5.large", "1", "4") for h in HOURS),
            *(plan_use(h, "m5.large", "0.5", "0.03", "0.05") for h in HOURS),
        ],
        period=NOV,
    )
    one = family(asked(), "m5")
    assert (one["unit"], one["zone"], one["types"]) == (
        "normalised unit", "us-east-1a", {"m5.large": 216.0, "m5.xlarge": 72.0},
    )  # fmt: skip
    # 72 h of 3 m5.large at 4 units and one m5.xlarge at 8; 4 units reserved, 2 by the plan, 14 left.
    assert (one["gross_unit_hours"], one["reserved_unit_hours"], one["plan_unit_hours"]) == (
        1440.0, 288.0, 144.0,
    )  # fmt: skip
    assert (one["left_unit_hours"], one["base"], one["mean"], one["maximum"]) == (1008.0, 14.0, 14.0, 14.0)
    assert (one["scenarios"]["low"], one["scenarios"]["expected"], one["scenarios"]["high"]) == (
        14.0, 14.0, 14.0,
    )  # fmt: skip


def test_a_family_without_factors_counts_instances() -> None:
    put_bill([line(h, "mac1.metal", "2") for h in HOURS], period=NOV)
    one = family(asked(), "mac1")
    assert (one["unit"], one["mean"]) == ("instance", 2.0)


def test_what_an_ended_reservation_paid_for_is_on_demand_again() -> None:
    put_bill(
        [
            fee("m5.large", "48", "192", "0", x_commitment_end=START + timedelta(days=2)),
            *(reserved_use(h, "m5.large", "1", "4") for h in range(48)),
            *(line(h, "m5.large", "1") for h in range(48, 72)),
        ],
        period=NOV,
    )
    one = family(asked(), "m5")
    assert (one["left_unit_hours"], one["reserved_unit_hours"]) == (288.0, 0.0)
    # A day earlier it was there.
    before = family(asked(START + timedelta(days=2, seconds=-1)), "m5")
    assert (before["left_unit_hours"], before["reserved_unit_hours"]) == (0.0, 188.0)


def test_a_reservation_that_began_later_takes_its_part_of_the_hours_before() -> None:
    began = START + timedelta(days=2)
    put_bill(
        [
            {
                **fee("m5.large", "24", "96", "0", x_commitment_start=began),
                "charge_period_start": began,
            },
            *(line(h, "m5.large", "3") for h in range(48)),
            *(line(h, "m5.large", "2") for h in range(48, 72)),
            *(reserved_use(h, "m5.large", "1", "4") for h in range(48, 72)),
        ],
        period=NOV,
    )
    one = family(asked(), "m5")
    assert (one["base"], one["mean"], one["maximum"]) == (8.0, 8.0, 8.0)
    assert one["reserved_unit_hours"] == 288.0
    hours = family(asked(with_hours=True), "m5")["hours"]
    assert hours == [8.0] * 72


def test_an_hour_that_no_bill_reaches_is_unknown() -> None:
    put_bill([line(h, "m5.large", "1") for h in range(30)], period=NOV)
    document = asked(with_hours=True)
    one = family(document, "m5")
    assert one["hours"].count(None) == 42
    assert (one["base"], one["scenarios"], document["known_hours"]) == (None, None, 24)
    assert "two whole days" in one["reason"]


def test_daily_lines_are_spread_and_say_so() -> None:
    put_bill([line(24 * d, "m5.large", "36", hours=24) for d in range(3)], period=NOV)
    document = asked()
    assert (document["grain"], family(document, "m5")["base"]) == ("day", 6.0)


def test_dedicated_instances_are_another_family() -> None:
    put_bill(
        [
            *(line(h, "m5.large", "1") for h in HOURS),
            *(
                line(h, "m5.large", "2", x_usage_type="DedicatedUsage:m5.large", x_tenancy="Dedicated")
                for h in HOURS
            ),
        ],
        period=NOV,
    )
    assert [(row["tenancy"], row["mean"]) for row in asked()["families"]] == [
        ("dedicated", 8.0), ("default", 4.0),
    ]  # fmt: skip


def test_the_verb_and_wrong_questions(capsys: pytest.CaptureFixture[str]) -> None:
    put_bill([line(h, "m5.large", "1") for h in HOURS], period=NOV)
    document = verb(capsys, "demand", "--at", AT.isoformat(), "--lookback-days", "3", "--term-hours", "48")
    assert document["families"][0]["scenarios"]["term_hours"] == 48
    assert document["from"] == "2018-11-01T00:00:00Z"
    for wrong in ({"term_hours": 0}, {"term_hours": 10**6}):
        with pytest.raises(WorkloadError):
            asked(**wrong)
    assert demand(at=datetime(2017, 1, 1, tzinfo=UTC), organisation=None)["families"] == []
