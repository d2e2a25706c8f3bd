"""Own commitments from bill and interface: hours, idle cost, ends, what contradicts, what is not known."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from apps.accounts.models import Organisation
from apps.ingest.models import IngestRun
from apps.ingest.owned import commitments_import
from apps.prices.models import ListPrice
from apps.recommendations.services.commitments_hours import by_hour_of_week, commitment_series
from apps.recommendations.services.commitments_owned import commitments
from finops.engine.workload import WorkloadError
from tests.apps.recommendations.conftest import row
from tests.finops.providers.aws.test_own_commitments import reservation
from tests.support.bill_lake import put_bill
from tests.support.own_commitments import (
    PLAN,
    RI,
    START,
    fee,
    line,
    plan_fee,
    plan_use,
    reserved_use,
)

pytestmark = pytest.mark.django_db
NOV = date(2018, 11, 1)
END = datetime(2018, 12, 1, tzinfo=UTC)


def bill(*rows: dict[str, Any], **given: Any) -> None:
    """November with use in every hour, so that the bill reaches its end."""
    put_bill([*rows, *(line(h, "m5.large", "1") for h in (0, 719))], period=NOV, **given)


def asked(at: datetime = END, **given: Any) -> dict[str, Any]:
    return commitments(at=at, organisation=Organisation.default(), **given)


def only(document: dict[str, Any]) -> dict[str, Any]:
    (one,) = document["commitments"]
    return one  # type: ignore[no-any-return]


def api(folder: Path, *rows: dict[str, Any], seen_at: datetime = START, **given: Any) -> IngestRun:
    path = folder / "us-east-1.json"
    path.write_text(json.dumps({"ReservedInstances": list(rows)}))
    return commitments_import(path=str(path), seen_at=seen_at, account="111122223333", **given)


def test_a_micro_pays_for_an_eighth_of_a_large() -> None:
    # 1 of t2.micro pays 0.125 of t2.large in 100 h: 50 units of 360.
    bill(
        fee("t2.micro", "720", "360", "5.146"),
        *(reserved_use(h, "t2.large", "0.125", "0.5", list_cost="0.0116") for h in range(100)),
    )
    one = only(asked())
    assert (one["id"], one["short_id"], one["type"], one["platform"]) == (RI, "r-1", "t2.micro", "Linux/UNIX")
    assert (one["reserved_hours"], one["used_hours"], one["idle_hours"]) == ("720", "100", "620")
    assert (one["idle_cost"], one["effective_hourly"]) == ("5.146", "0.0083")
    assert one["effective_hourly_used"] == "0.10146"  # (100 x 0.05 + 5.146) / 100
    assert (one["start"], one["end"], one["hours_left"]) == (
        "2018-08-13T18:14:02Z", "2019-08-13T18:14:01Z", 6138.233611,
    )  # fmt: skip
    assert (one["state"], one["payment"], one["fixed"], one["hourly"]) == (
        "active", "no-upfront", "0", "0.0083",
    )  # fmt: skip
    # 1.16 in 720 h, 10.146 for the commitment
    assert one["after_expiry"] == {
        "monthly_on_demand": "1.17611111", "monthly_cost": "10.28691667", "monthly_increase": "-9.11080556",
        "based_on_hours": "720", "reason": None,
    }  # fmt: skip
    assert set(one["sources"].values()) == {"bill"}
    assert one["zone"] is None


def test_a_month_in_part_counts_its_hours_up_to_the_decision() -> None:
    bill(
        fee("t2.micro", "720", "360", "0"),
        *(reserved_use(h, "t2.micro", "1", "0.5", effective_cost="0.0083") for h in range(720)),
    )
    whole = only(asked())
    assert (whole["reserved_hours"], whole["idle_hours"], whole["period"]["whole"]) == ("720", "0", True)
    early = only(asked(datetime(2018, 11, 14, 12, tzinfo=UTC)))
    assert (early["reserved_hours"], early["used_hours"], early["period"]["whole"]) == ("324", "324", False)
    # An hour that has begun counts whole: its line began before the decision.
    assert only(asked(datetime(2018, 11, 30, 23, 59, 59, tzinfo=UTC)))["reserved_hours"] == "720"


def test_hours_that_the_bill_does_not_reach_are_not_idle() -> None:
    put_bill(
        [
            fee("t2.micro", "720", "360", "0"),
            *(reserved_use(h, "t2.micro", "1", "0.5", effective_cost="0.0083") for h in range(48)),
        ],
        period=NOV,
    )
    one = only(asked(datetime(2018, 11, 20, tzinfo=UTC)))
    assert (one["reserved_hours"], one["used_hours"], one["idle_hours"]) == ("48", "48", "0")
    assert one["period"]["to"] == "2018-11-03T00:00:00Z"


def test_the_hour_of_the_purchase_may_be_used_beyond_it() -> None:
    bill(
        fee(
            "t2.micro", "0.5", "0.25", "0",
            charge_period_start=datetime(2018, 11, 30, 23, 30, tzinfo=UTC),
            x_commitment_start=datetime(2018, 11, 30, 23, 30, tzinfo=UTC),
        ),
        reserved_use(719, "t2.micro", "1", "0.5"),
    )  # fmt: skip
    one = only(asked())
    assert (one["reserved_hours"], one["used_hours"], one["idle_hours"]) == ("0.5", "1", "0")
    assert one["utilisation_pct"] == 100.0
    series = only(commitment_series(at=END, organisation=Organisation.default()))
    assert [series[name][-1] for name in ("bought", "used", "idle", "over")] == [0.5, 1.0, 0.0, 0.5]


def test_a_savings_plan_counts_in_money() -> None:
    bill(
        *(plan_fee(h, "0.5") for h in range(720)),
        *(plan_use(h, "m5.large", "10", "1", "1.25") for h in range(720)),
    )
    one = only(asked())
    assert (one["kind"], one["plan"], one["region"], one["type"]) == ("savings-plan", "compute", None, None)
    assert (one["committed"], one["used_commitment"], one["idle_cost"]) == ("1080", "720", "360")
    assert (one["commitment_per_hour"], one["idle_hours"], one["reserved_hours"]) == ("1.5", "240", None)
    assert one["utilisation_pct"] == pytest.approx(200 / 3)
    assert (one["covered_on_demand_cost"], one["saved"]) == ("900", "-180")
    assert one["effective_hourly"] is None
    assert "many types" in one["reasons"]["spot_hourly"]
    total = asked()["coverage_total"]
    assert (total["plan_hours"], total["reserved_hours"], total["on_demand_hours"]) == (7200.0, 0.0, 2.0)
    (money,) = total["on_demand_equivalent"]
    assert (money["plans"], money["on_demand"]) == ("900", "2")


def test_negation_of_a_plan_counts_for_nothing() -> None:
    """Field case t1-08: 0.30 committed, 0.26 used, the negation row has the hours again."""
    put_bill(
        [
            plan_use(0, "m5.large", "2", "0.26", "0.40"),
            plan_use(
                0, "m5.large", "0", "0", "0", x_line_item_type="SavingsPlanNegation", billed_cost="-0.40",
                pricing_quantity="2",
            ),
            plan_fee(0, "0.04", "0.30", x_commitment_used="0.26"),
            line(0, "m5.large", "1", billed_cost="0.20", list_cost="0.20"),
        ],
        period=NOV,
    )  # fmt: skip
    document = asked(datetime(2018, 11, 1, 1, tzinfo=UTC))
    one = only(document)
    assert (one["committed"], one["used_commitment"], one["idle_cost"]) == ("0.3", "0.26", "0.04")
    assert one["utilisation_pct"] == pytest.approx(0.26 / 0.30 * 100)
    assert (document["coverage_total"]["plan_hours"], document["coverage_total"]["hours"]) == (2.0, 3.0)


def test_the_price_of_an_hour_by_its_own_terms(tmp_path: Path) -> None:
    api(
        tmp_path,
        reservation(
            FixedPrice=438.0, RecurringCharges=[], OfferingType="All Upfront", InstanceType="c5.large"
        ),
    )
    one = only(asked())
    assert (one["effective_hourly"], one["payment"], one["cost"]) == ("0.05", "all-upfront", None)


def test_the_interface_wins_and_what_contradicts_is_shown(tmp_path: Path) -> None:
    bill(fee("t2.micro", "720", "360", "5.976"))
    api(tmp_path, reservation(InstanceCount=2, ReservedInstancesId="r-1", OfferingClass="convertible"))
    one = only(asked())
    assert (one["count"], one["offering_class"], one["id"]) == (2, "convertible", RI)
    assert one["contradictions"] == [{"field": "count", "bill": "1", "api": "2"}]
    assert (one["sources"]["count"], one["sources"]["offering_class"]) == ("bill+api", "api")
    assert one["seen"]["first"] == "2018-11-01T00:00:00Z"


def test_what_the_bill_counts_otherwise_is_a_contradiction() -> None:
    bill(fee("t2.micro", "720", "360", "5.976", x_commitment_unused_units="700"))
    assert only(asked())["contradictions"] == [{"field": "idle_hours 2018-11", "bill": "700", "api": "720"}]


def test_one_that_no_bill_names_has_no_use_but_an_end(tmp_path: Path) -> None:
    bill()
    api(tmp_path, reservation(ReservedInstancesId="r-9", AvailabilityZone="us-east-1b"))
    one = only(asked())
    assert (one["id"], one["zone"], one["utilisation_pct"], one["idle_hours"]) == (
        "r-9", "us-east-1b", None, None,
    )  # fmt: skip
    assert one["hours_left"] == 6138.233611
    assert (one["effective_hourly"], one["fixed"], one["hourly"]) == ("0.0083", "0", "0.0083")
    assert "No bill line" in one["reasons"]["utilisation_pct"]
    assert one["after_expiry"]["monthly_on_demand"] is None


@pytest.mark.parametrize(
    ("start", "seen", "state"),
    [
        ("2018-08-13T18:14:02+00:00", datetime(2018, 11, 1, tzinfo=UTC), "active"),
        ("2018-12-05T00:00:00+00:00", datetime(2018, 11, 1, tzinfo=UTC), "queued"),
        # Begun before the decision and seen after it: there it was, but its later state is not known yet.
        ("2018-08-13T18:14:02+00:00", datetime(2026, 11, 1, tzinfo=UTC), "active"),
        ("2018-12-05T00:00:00+00:00", datetime(2026, 11, 1, tzinfo=UTC), None),
    ],
)
def test_nothing_later_than_the_decision_counts(
    tmp_path: Path, start: str, seen: datetime, state: str | None
) -> None:
    said = {"active": "active", "queued": "queued", None: "active"}[state]
    if seen.year == 2026 and state:
        said = "retired"
    api(tmp_path, reservation(Start=start, State=said), seen_at=seen)
    assert [one["state"] for one in asked()["commitments"]] == ([state] if state else [])


def test_what_has_ended_is_left_out_unless_it_was_used(tmp_path: Path) -> None:
    bill(fee("t2.micro", "720", "360", "5.976", x_commitment_end=datetime(2018, 11, 20, tzinfo=UTC)))
    api(tmp_path, reservation(ReservedInstancesId="old", End="2018-10-20T00:00:00+00:00"))
    one = only(asked())
    assert (one["short_id"], one["state"], one["hours_left"], one["after_expiry"]) == (
        "r-1", "expired", 0.0, None,
    )  # fmt: skip


def test_daily_lines_say_their_grain_and_are_spread() -> None:
    put_bill(
        [
            fee("t2.micro", "720", "360", "0"),
            *(
                reserved_use(h, "t2.micro", "24", "12", hours=24, effective_cost="0.1992")
                for h in range(0, 720, 24)
            ),
        ],
        period=NOV,
    )
    document = asked()
    one = only(document)
    assert (one["grain"], one["used_hours"], one["idle_hours"]) == ("day", "720", "0")
    assert document["coverage_total"]["grain"] == "day"
    series = commitment_series(at=END, organisation=Organisation.default())
    assert series["grain"] == "day"
    assert set(only(series)["used"]) == {1.0}


def test_exports_without_fees_say_used_and_unused() -> None:
    common = {"x_line_item_type": None, "x_provider": "azure", "commitment_discount_category": "Usage"}
    bill(
        *(reserved_use(h, "D2", "1", "0", effective_cost="0.3", **common) for h in range(100)),
        reserved_use(
            100, "D2", "0", "0", effective_cost="10", **{**common, "commitment_discount_status": "Unused"}
        ),
    )
    one = only(asked())
    assert (one["idle_cost"], one["used_commitment"], one["utilisation_pct"]) == ("10", "30", 75.0)
    assert (one["reserved_hours"], one["idle_hours"], one["end"]) == (None, None, None)


def test_another_billing_month_by_name() -> None:
    bill(fee("t2.micro", "720", "360", "5.976"))
    october = fee("t2.micro", "744", "372", "6.1752", billed_cost="6.1752")
    october["charge_period_start"] = datetime(2018, 10, 1, tzinfo=UTC)
    october["charge_period_end"] = datetime(2018, 10, 31, 23, 59, 59, tzinfo=UTC)
    put_bill([october, {**line(-1, "m5.large", "1"), "x_day": date(2018, 10, 31)}], period=date(2018, 10, 1))
    now = only(asked())
    assert [(m["billing_period"], m["idle_hours"]) for m in now["months"]] == [
        ("2018-10", "744"), ("2018-11", "720"),
    ]  # fmt: skip
    assert only(asked(billing_period=date(2018, 10, 1)))["idle_hours"] == "744"
    # Long after the last bill: the newest month that has one.
    late = asked(datetime(2026, 11, 30, tzinfo=UTC))
    assert (late["billing_period"], only(late)["state"]) == ("2018-11", "expired")
    with pytest.raises(WorkloadError):
        asked(billing_period=date(2018, 9, 1))


def test_prices_beside_an_hour_or_the_reason(load: Any) -> None:
    bill(fee("t2.micro", "720", "360", "5.976"))
    one = only(asked())
    assert (one["on_demand_hourly"], one["spot_hourly"]) == (None, None)
    assert set(one["reasons"]) == {"on_demand_hourly", "spot_hourly"}
    ListPrice.objects.create(
        provider="aws", region="us-east-1", operating_system="linux", licence="none", tenancy="shared",
        currency="USD", effective_from=START, source="made up", instance_type="t2.micro",
        price=Decimal("0.0116"),
    )  # fmt: skip
    load(
        [
            row(START, "0.0034", "us-east-1a", "t2.micro"),
            row(START + timedelta(days=15), "0.0036", "us-east-1a", "t2.micro"),
            row(START, "0.0050", "us-east-1b", "t2.micro"),
        ],
        request_start=START,
        request_end=END,
    )
    one = only(asked())
    assert (one["on_demand_hourly"], one["spot_hourly"], one["spot_mean_hourly"]) == (
        "0.0116", "0.0035", "0.00425",
    )  # fmt: skip
    assert (one["spot_zone"], one["spot_known_share"], one["reasons"]) == ("us-east-1a", 1.0, {})
    assert one["effective_vs_on_demand_pct"] == pytest.approx((1 - 0.0083 / 0.0116) * 100, abs=1e-6)
    assert one["effective_vs_spot_pct"] == pytest.approx((1 - 0.0083 / 0.0035) * 100, abs=1e-6)


def test_another_organisation_sees_its_own_only(tmp_path: Path) -> None:
    other = Organisation.objects.create(name="Other", slug="other")
    bill(fee("t2.micro", "720", "360", "5.976"), organisation=other)
    api(tmp_path, reservation(ReservedInstancesId="theirs"), organisation=other)
    assert asked()["commitments"] == []
    theirs = commitments(at=END, organisation=other)
    assert sorted(one["short_id"] for one in theirs["commitments"]) == ["r-1", "theirs"]


def test_without_anything_the_answer_is_empty() -> None:
    document = asked()
    assert (document["commitments"], document["coverage"], document["total"]) == ([], [], [])
    assert (document["period"], document["billing_period"]) == (None, None)
    series = commitment_series(at=END, organisation=Organisation.default())
    assert (series["hours"], series["commitments"]) == (0, [])


def test_series_of_one_commitment_and_wrong_questions() -> None:
    bill(
        fee("t2.micro", "720", "360", "0"),
        *(reserved_use(h, "t2.micro", "1", "0.5") for h in range(720)),
        *(plan_fee(h, "0.5") for h in range(24)),
        *(plan_use(h, "m5.large", "10", "1", "1.25") for h in range(24)),
    )
    organisation = Organisation.default()
    both = commitment_series(at=END, organisation=organisation)
    assert [one["id"] for one in both["commitments"]] == [RI, PLAN]
    one = only(
        commitment_series(
            at=END, organisation=organisation, ids=["p-1"], start=START, end=START + timedelta(hours=2)
        )
    )
    assert (one["bought"], one["used"], one["idle"], one["on_demand_cost"]) == (
        [1.5, 1.5], [1.0, 1.0], [0.5, 0.5], [1.25, 1.25],
    )  # fmt: skip
    for wrong in ({"ids": ["x"]}, {"start": END}, {"start": START - timedelta(days=3000)}):
        with pytest.raises(WorkloadError):
            commitment_series(at=END, organisation=organisation, **wrong)


def test_hours_of_the_week_begin_on_monday() -> None:
    import numpy as np

    values = np.array([1.0, np.nan, 3.0])
    week = by_hour_of_week(values, datetime(2018, 11, 4, 23, tzinfo=UTC))  # a Sunday
    assert (week[167], week[0], week[1]) == (1.0, None, 3.0)
