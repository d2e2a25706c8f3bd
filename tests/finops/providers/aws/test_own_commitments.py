"""Answers about own commitments: terms, money and places as they are; one bad row is one refusal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from tenacity import wait_none

from finops.frames.commitments import CommitmentKind, PlanKind
from finops.frames.owned import Owned, plan_of, reserved_of
from finops.providers.aws.commitment_permissions import PLANS, RESERVED, check_commitments, commitment_policy
from finops.providers.aws.owned_commitments import owned_of, plan_pages
from finops.providers.aws.owned_live import open_account
from finops.providers.aws.session import Access
from finops.providers.base import PermanentError
from tests.support.ec2_server import RECORDED, RecordedAws, recorded_aws

SEEN = datetime(2026, 5, 1, 9, tzinfo=UTC)
PLAN_PAGES = ("own_plans_page_1.json", "own_plans_page_2_empty.json", "own_plans_page_3.json")


def reservation(**given: Any) -> dict[str, Any]:
    return {
        "ReservedInstancesId": "r-1", "InstanceType": "t2.micro", "Start": "2018-08-13T18:14:02+00:00",
        "End": "2019-08-13T18:14:01+00:00", "Duration": 31536000, "FixedPrice": 0.0, "UsagePrice": 0.0,
        "InstanceCount": 1, "ProductDescription": "Linux/UNIX (Amazon VPC)", "State": "active",
        "InstanceTenancy": "default", "CurrencyCode": "USD", "OfferingClass": "standard",
        "OfferingType": "No Upfront", "Scope": "Region",
        "RecurringCharges": [{"Amount": 0.0083, "Frequency": "Hourly"}], **given,
    }  # fmt: skip


def read(*rows: Any, name: str = "ri.json", key: str = "ReservedInstances", **given: Any) -> Any:
    return owned_of(name, json.dumps({key: list(rows)}).encode(), seen_at=SEEN, **given)


def test_a_reservation_as_the_command_line_prints_it() -> None:
    reading = read(reservation(), region="us-east-1", account="111122223333")
    ((row, one),) = reading.rows
    assert row == 1
    assert (one.kind, one.id, one.account, one.region, one.zone) == (
        CommitmentKind.RESERVED, "r-1", "111122223333", "us-east-1", "",
    )  # fmt: skip
    assert (one.platform, one.instance_type, one.count, one.state) == ("Linux/UNIX", "t2.micro", 1, "active")
    assert (one.fixed, one.hourly, one.payment) == (Decimal("0.0"), Decimal("0.0083"), "no-upfront")
    assert one.end == datetime(2019, 8, 13, 18, 14, 1, tzinfo=UTC)
    assert reserved_of(one).effective_hourly == Decimal("0.0083")
    assert plan_of(one) is None


@pytest.mark.parametrize(
    ("name", "given", "region"),
    [
        ("reservations_eu-west-1.json", {}, "eu-west-1"),
        ("us-east-1_eu-west-1.json", {}, ""),
        ("ri.json", {"AvailabilityZone": "ap-southeast-2c"}, "ap-southeast-2"),
        ("us-gov-west-1.json", {}, "us-gov-west-1"),
        ("ri.json", {}, ""),
    ],
)
def test_where_a_region_comes_from(name: str, given: dict[str, Any], region: str) -> None:
    ((_row, one),) = read(reservation(**given), name=name).rows
    assert (one.region, one.zone) == (region, given.get("AvailabilityZone", ""))


@pytest.mark.parametrize(
    ("given", "field", "reason"),
    [
        ({"ReservedInstancesId": ""}, "id", "empty"),
        ({"InstanceCount": 1.5}, "InstanceCount", "no whole number"),
        ({"InstanceCount": 0}, "count", "not above zero"),
        ({"Start": "yesterday"}, "Start", "no time"),
        ({"End": "soon"}, "End", "no time"),
        ({"End": None, "Duration": -1}, "Duration", "neither an end nor a duration in seconds"),
        ({"End": "2018-08-13T18:14:02+00:00"}, "end", "not after the start"),
        ({"ProductDescription": "BeOS"}, "ProductDescription", "not known: 'BeOS'"),
        ({"State": "asleep"}, "state", "not known: 'asleep'"),
        ({"FixedPrice": -1}, "fixed", "not an amount of money"),
        (
            {"RecurringCharges": [{"Amount": 1, "Frequency": "Monthly"}]},
            "RecurringCharges",
            "a frequency other than Hourly, or no amount",
        ),
    ],
)
def test_a_bad_row_is_one_refusal(given: dict[str, Any], field: str, reason: str) -> None:
    reading = read(reservation(), reservation(**given), "text", region="us-east-1")
    assert [row for row, _ in reading.rows] == [1]
    assert [tuple(refused) for refused in reading.refused] == [(2, field, reason), (3, "", "no object")]


def test_a_queued_one_ends_after_its_duration_and_old_times_are_seconds() -> None:
    ((_row, one),) = read(
        reservation(Start=1534184042.0, End=None, State="queued", UsagePrice="0.001"), region="us-east-1"
    ).rows
    assert (one.start, one.end) == (
        datetime(2018, 8, 13, 18, 14, 2, tzinfo=UTC), datetime(2019, 8, 13, 18, 14, 2, tzinfo=UTC),
    )  # fmt: skip
    assert (one.state, one.hourly) == ("queued", Decimal("0.0093"))


@pytest.mark.parametrize(
    ("document", "word"),
    [
        ({"ReservedDBInstances": []}, "RDS"),
        ({"ReservedCacheNodes": []}, "ElastiCache"),
        ({"ReservedInstances": [{"ReservedInstanceId": "x"}]}, "search"),
        ({"ReservedInstancesOfferings": []}, "import_offers"),
        ({"Reservations": []}, "describe-reserved-instances"),
        ([1], "describe-reserved-instances"),
    ],
)
def test_other_answers_are_refused_by_name(document: Any, word: str) -> None:
    reading = owned_of("x.json", json.dumps(document).encode(), seen_at=SEEN)
    assert reading.rows == []
    (refused,) = reading.refused
    assert refused.row is None
    assert word in refused.reason


def test_no_json_and_nothing_at_all_are_refused() -> None:
    for data in (b"", b"not json", b'{"ReservedInstances": ['):
        reading = owned_of("x.json", data, seen_at=SEEN)
        assert (reading.rows, [refused.row for refused in reading.refused]) == ([], [None])


def test_several_answers_in_one_file_count_on() -> None:
    data = json.dumps({"ReservedInstances": [reservation()]}) + (RECORDED / PLAN_PAGES[0]).read_text()
    reading = owned_of("us-east-1.json", data.encode(), seen_at=SEEN)
    assert [(row, one.kind.value) for row, one in reading.rows] == [(1, "reserved"), (2, "savings-plan")]


def plan(name: str) -> dict[str, Any]:
    (row,) = json.loads((RECORDED / name).read_text())["savingsPlans"]
    return row  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"savingsPlanArn": "arn:x"}, "savingsPlanArn"),
        ({"savingsPlanType": "Magic"}, "savingsPlanType"),
        ({"commitment": "lots"}, "commitment"),
        ({"commitment": "0"}, "commitment"),
        ({"start": ""}, "start"),
        ({"end": "", "termDurationInSeconds": None}, "termDurationInSeconds"),
        ({"currency": ""}, "currency"),
    ],
)
def test_a_bad_plan_is_one_refusal(given: dict[str, Any], field: str) -> None:
    reading = read(plan(PLAN_PAGES[0]) | given, key="savingsPlans")
    assert reading.rows == []
    assert [(refused.row, refused.field) for refused in reading.refused] == [(1, field)]


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[RecordedAws]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "made-up")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "made-up")
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.0)
    with recorded_aws() as server:
        server.answer("DescribeReservedInstances", "own_reserved_us-east-1.xml")
        server.answer("DescribeSavingsPlans", *((RECORDED / name).read_bytes() for name in PLAN_PAGES))
        yield server


def test_a_live_look_reads_what_the_files_say(aws: RecordedAws) -> None:
    account = open_account(Access(endpoint_url=aws.url), region="us-east-1", back_off=wait_none())
    reserved = [one for _, one in account.reserved("us-east-1", seen_at=SEEN).rows]
    plans = [one for _, one in account.plans(seen_at=SEEN).rows]
    assert [(r.id[:8], r.zone, r.count, r.state, r.offering_class) for r in reserved] == [
        ("3a2944f2", "", 1, "active", "standard"),
        ("2dbc59ec", "us-east-1b", 3, "active", "convertible"),
        ("766cbd37", "", 2, "retired", "standard"),
    ]
    assert {r.account for r in reserved} == {"111122223333"}
    assert reserved[0].start == datetime(2026, 4, 24, 0, 34, 1, tzinfo=UTC)
    assert [(p.plan, p.family, p.region, p.commitment_per_hour) for p in plans] == [
        ("compute", "", "", Decimal("1.50000000")),
        ("ec2-instance", "m5", "us-east-1", Decimal("0.40000000")),
    ]
    asked = aws.asked("DescribeSavingsPlans")
    assert [(r["maxResults"], r.get("nextToken")) for r in asked] == [
        (1000, None), (1000, "page-2"), (1000, "page-3"),
    ]  # fmt: skip
    engine = plan_of(plans[1])
    assert engine is not None
    assert (engine.plan, engine.family) == (PlanKind.INSTANCE, "m5")


def test_a_repeated_page_token_stops() -> None:
    class Client:
        def describe_savings_plans(self, **_given: Any) -> dict[str, Any]:
            return {"savingsPlans": [], "nextToken": "again"}

    with pytest.raises(PermanentError, match="repeats a page token"):
        list(plan_pages(Client(), back_off=wait_none()))


def test_an_amount_of_another_kind_is_no_plan_of_compute() -> None:
    row = plan(PLAN_PAGES[0]) | {"savingsPlanType": "SageMaker"}
    ((_row, one),) = read(row, key="savingsPlans").rows
    assert isinstance(one, Owned)
    assert plan_of(one) is None


def test_the_policy_narrows_the_call_that_has_regions() -> None:
    reserved, plans = commitment_policy(regions=["us-east-1"])["Statement"]
    assert (reserved["Action"], plans["Action"]) == ([RESERVED], [PLANS])
    assert reserved["Condition"] == {"StringEquals": {"aws:RequestedRegion": ["us-east-1"]}}
    assert "Condition" not in plans
    assert "Condition" not in commitment_policy()["Statement"][0]


def test_rights_are_asked_without_changing_anything(aws: RecordedAws) -> None:
    aws.answer("DescribeReservedInstances", "faulty_dry_run.xml", "faulty_denied.xml")
    account, found = check_commitments(Access(endpoint_url=aws.url), regions=["us-east-1", "eu-west-1"])
    assert account == "111122223333"
    assert [(f.action, f.region, f.verdict, bool(f.dark)) for f in found] == [
        (RESERVED, "us-east-1", "allowed", False),
        (RESERVED, "eu-west-1", "denied", True),
        (PLANS, "us-east-1", "allowed", False),
    ]
    assert [r["DryRun"] for r in aws.asked("DescribeReservedInstances")] == ["true", "true"]


def test_rights_are_unknown_where_nobody_answers(aws: RecordedAws) -> None:
    aws.answer("GetCallerIdentity", "faulty_sts_expired.xml")
    account, found = check_commitments(Access(endpoint_url=aws.url), regions=["us-east-1"])
    assert (account, [f.verdict for f in found]) == ("", ["unknown", "unknown"])
