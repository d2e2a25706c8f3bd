"""The policy names what is called and nothing else; DryRun tells allowed from denied from unknown."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from finops.providers.aws.permissions import check, policy
from finops.providers.aws.session import Access
from tests.support.ec2_server import RecordedAws, recorded_aws


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[RecordedAws]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "made-up")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "made-up")
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.0)
    with recorded_aws() as server:
        server.answer("DescribeSpotPriceHistory", "faulty_dry_run.xml")
        server.answer("DescribeAvailabilityZones", "faulty_dry_run.xml")
        yield server


def verdicts(aws: RecordedAws, role: str = "") -> list[tuple[str, str]]:
    _, findings = check(Access(role_arn=role, endpoint_url=aws.url), regions=["us-east-1"])
    return [(finding.action, finding.verdict) for finding in findings]


def test_the_policy_is_the_two_calls_narrowed_to_the_regions() -> None:
    assert policy(regions=["us-east-1", "eu-west-1"]) == {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Sid": "OffpeakReadSpotPrices",
                "Effect": "Allow",
                "Action": ["ec2:DescribeAvailabilityZones", "ec2:DescribeSpotPriceHistory"],
                "Resource": "*",
                "Condition": {"StringEquals": {"aws:RequestedRegion": ["eu-west-1", "us-east-1"]}},
            }
        ],
    }
    role = "arn:aws:iam::111122223333:role/offpeak"
    assert policy(take_role=role)["Statement"] == [
        {"Sid": "OffpeakTakeRole", "Effect": "Allow", "Action": ["sts:AssumeRole"], "Resource": role}
    ]


def test_a_dry_run_that_would_succeed_is_allowed(aws: RecordedAws) -> None:
    assert verdicts(aws) == [
        ("ec2:DescribeSpotPriceHistory", "allowed"),
        ("ec2:DescribeAvailabilityZones", "allowed"),
    ]
    assert {request["DryRun"] for request in aws.requests if request["Action"].startswith("Describe")} == {
        "true"
    }


def test_a_denied_action_says_what_stays_dark(aws: RecordedAws) -> None:
    aws.answer("DescribeAvailabilityZones", "faulty_denied.xml")
    account, findings = check(Access(endpoint_url=aws.url), regions=["us-east-1"])
    assert account == "111122223333"
    assert [finding.verdict for finding in findings] == ["allowed", "denied"]
    assert findings[1].dark.startswith("Zone names cannot be told from zone ids")


def test_what_could_not_be_asked_is_unknown_not_denied(aws: RecordedAws) -> None:
    aws.answer("DescribeSpotPriceHistory", "faulty_unavailable.xml")
    assert verdicts(aws)[0] == ("ec2:DescribeSpotPriceHistory", "unknown")
    aws.answer("GetCallerIdentity", "faulty_sts_wrong_credentials.xml")
    assert [verdict for _, verdict in verdicts(aws)] == ["unknown", "unknown"]


def test_a_role_that_cannot_be_taken_is_the_finding(aws: RecordedAws) -> None:
    aws.answer("AssumeRole", "faulty_sts_denied.xml")
    assert verdicts(aws, role="arn:aws:iam::111122223333:role/offpeak") == [
        ("sts:AssumeRole", "denied"),
        ("ec2:DescribeSpotPriceHistory", "unknown"),
        ("ec2:DescribeAvailabilityZones", "unknown"),
    ]
