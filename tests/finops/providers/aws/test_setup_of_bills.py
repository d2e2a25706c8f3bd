"""The texts a customer applies in AWS: valid, escaped, least privilege; and the check of what they grant."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import hcl2
import pytest
from cfnlint import api as cfnlint
from cfnlint.config import ManualArgs
from hypothesis import given
from hypothesis import strategies as st
from tenacity import wait_none

from finops.providers.aws import bill_setup
from finops.providers.aws.bill_bucket import BillPlace
from finops.providers.aws.bill_permissions import check_bills
from finops.providers.aws.bill_setup import BillSetup, SetupError, cloudformation, read_policy, terraform
from finops.providers.aws.cost_explorer import Totals, daily_totals, request_price, write_totals
from finops.providers.aws.errors import DeniedError
from finops.providers.aws.organizations import Account, accounts
from finops.providers.aws.session import Access
from finops.providers.base import PermanentError
from tests.support.aws_server import FakeAws, Fault, fake_aws

GOLDEN = Path(__file__).resolve().parents[3] / "data" / "onboarding"
SETUP = BillSetup(
    bucket="acme-bills",
    prefix="exports/finance",
    payer="111122223333",
    principal="arn:aws:iam::444455556666:role/offpeak",
    external_id="x7=secret,+@:/-",
)
TODAY = date(2026, 11, 30)
EXISTING = replace(SETUP, make_bucket=False, region="eu-central-1", table="focus", organizations=False)


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeAws]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "made-up")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "made-up")
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.0)
    with fake_aws() as server:
        yield server


@pytest.mark.parametrize("setup", [SETUP, EXISTING, replace(SETUP, table="focus", cost_explorer=False)])
def test_the_template_passes_the_linter_of_cloudformation(setup: BillSetup) -> None:
    found = cfnlint.lint(cloudformation(setup), config=ManualArgs(regions=["us-east-1"]))
    assert [str(match) for match in found] == []


def test_the_linter_does_find_a_wrong_template() -> None:
    wrong = cloudformation(SETUP).replace('"QueryStatement"', '"Query"')
    assert cfnlint.lint(wrong, config=ManualArgs(regions=["us-east-1"])) != []


@pytest.mark.parametrize(
    ("name", "setup"), [("new_bucket_cur2.tf", SETUP), ("own_bucket_focus.tf", EXISTING)]
)
def test_terraform_is_as_it_was_looked_at_and_parses(name: str, setup: BillSetup) -> None:
    text = terraform(setup)
    assert text == (GOLDEN / name).read_text()
    parsed = hcl2.loads(text)
    kinds = sorted(kind.strip('"') for block in parsed["resource"] for kind in block)
    assert kinds.count("aws_s3_bucket_policy") == (1 if setup.make_bucket else 0)
    assert "aws_bcmdataexports_export" in kinds
    assert "aws_iam_role" in kinds


def test_the_export_is_hourly_with_resources_in_parquet_and_replaced_in_place() -> None:
    template = json.loads(cloudformation(SETUP))
    export = template["Resources"]["BillsExport"]["Properties"]["Export"]
    assert export["DataQuery"]["TableConfigurations"] == {
        "COST_AND_USAGE_REPORT": {
            "TIME_GRANULARITY": "HOURLY",
            "INCLUDE_RESOURCES": "TRUE",
            "INCLUDE_SPLIT_COST_ALLOCATION_DATA": "FALSE",
            "INCLUDE_MANUAL_DISCOUNT_COMPATIBILITY": "FALSE",
        }
    }
    assert export["DestinationConfigurations"]["S3Destination"] == {
        "S3Bucket": "acme-bills",
        "S3Prefix": "exports/finance",
        "S3Region": "us-east-1",
        "S3OutputConfigurations": {
            "OutputType": "CUSTOM",
            "Format": "PARQUET",
            "Compression": "PARQUET",
            "Overwrite": "OVERWRITE_REPORT",
        },
    }
    statement, table, settings = bill_setup.query("focus")
    assert (table, settings) == ("FOCUS_1_2_AWS", {"TIME_GRANULARITY": "HOURLY"})
    assert statement.count(",") == 59  # 57 columns of FOCUS 1.2 and three of AWS
    assert statement.endswith("Tags, x_Discounts, x_Operation, x_ServiceCode FROM FOCUS_1_2_AWS")


def test_the_role_reads_one_bucket_below_one_prefix_and_nothing_more() -> None:
    assert read_policy("acme-bills", "exports", cost_explorer=False, organizations=False)["Statement"] == [
        {
            "Sid": "ListBills",
            "Effect": "Allow",
            "Action": ["s3:ListBucket"],
            "Resource": ["arn:aws:s3:::acme-bills"],
            "Condition": {"StringLike": {"s3:prefix": ["exports/*"]}},
        },
        {
            "Sid": "ReadBills",
            "Effect": "Allow",
            "Action": ["s3:GetObject"],
            "Resource": ["arn:aws:s3:::acme-bills/exports/*"],
        },
    ]
    whole = read_policy("acme-bills", "exports")
    assert sorted(action for statement in whole["Statement"] for action in statement["Action"]) == [
        "ce:GetCostAndUsage",
        "organizations:ListAccounts",
        "s3:GetObject",
        "s3:ListBucket",
    ]
    role = json.loads(cloudformation(SETUP))["Resources"]["BillsRole"]["Properties"]
    (trust,) = role["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Principal"] == {"AWS": "arn:aws:iam::444455556666:role/offpeak"}
    assert trust["Condition"] == {"StringEquals": {"sts:ExternalId": "x7=secret,+@:/-"}}
    assert SETUP.role_arn == "arn:aws:iam::111122223333:role/offpeak-bills"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("bucket", "Acme"), ("bucket", 'a"b'), ("bucket", "a/b"), ("prefix", ""), ("prefix", "/x"),
        ("prefix", "x/"), ("prefix", "a*"), ("prefix", "${x}"), ("prefix", "a//b"), ("prefix", "a/../b"),
        ("payer", "1111"), ("payer", "11112222333x"), ("principal", "root"), ("principal", "*"),
        ("principal", "arn:aws:iam::444455556666:role/x*"), ("external_id", "x"), ("external_id", "a b"),
        ("external_id", '"}'), ("region", "moon"), ("region", "eu-central-1"), ("export_name", "a b"),
        ("role_name", "a/b"), ("table", "cur3"), ("bucket", "acme-bills\n"), ("payer", "111122223333\n"),
    ],
)  # fmt: skip
def test_what_aws_does_not_take_is_refused_with_its_field(field: str, value: str) -> None:
    with pytest.raises(SetupError) as told:
        replace(SETUP, **{field: value})  # type: ignore[arg-type]
    assert told.value.field == field


@given(
    st.text(alphabet="aB9!_.()=+-", min_size=1, max_size=12),
    st.text(alphabet="aB9+=,.@:/_-", min_size=2, max_size=30),
)
def test_every_input_that_is_taken_stays_inside_its_string(prefix: str, external_id: str) -> None:
    if prefix in {".", ".."}:
        return
    setup = replace(SETUP, prefix=prefix, external_id=external_id)
    role = json.loads(cloudformation(setup))["Resources"]["BillsRole"]["Properties"]
    (trust,) = role["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Condition"]["StringEquals"]["sts:ExternalId"] == external_id
    assert bill_setup._hcl('${x} %{y} "\n') == '"$${x} %%{y} \\"\\n"'
    assert f's3_prefix = "{prefix}"' in terraform(setup)


def verdicts(aws: FakeAws, **options: Any) -> dict[str, str]:
    access = Access("arn:aws:iam::111122223333:role/bills", "x-1", aws.url)
    checked = check_bills(access, BillPlace("acme-bills", "cur", "us-east-1"), today=TODAY, **options)
    return {finding.action: finding.verdict for finding in checked.findings}


def test_each_permission_is_tried_and_says_what_stays_dark_without_it(aws: FakeAws) -> None:
    aws.put("cur/x.csv", "row")
    aws.answers["ListAccounts"] = [{"Accounts": []}]
    everything = {
        "sts:AssumeRole": "allowed",
        "s3:ListBucket": "allowed",
        "s3:GetObject": "allowed",
        "organizations:ListAccounts": "allowed",
        "ce:GetCostAndUsage": "unknown",
    }
    assert verdicts(aws) == everything
    assert aws.asked("GetCostAndUsage") == []
    aws.answers["GetCostAndUsage"] = [{"ResultsByTime": []}]
    assert verdicts(aws, pay=True) == {**everything, "ce:GetCostAndUsage": "allowed"}
    assert len(aws.asked("GetCostAndUsage")) == 1
    for action, call in (
        ("s3:ListBucket", "ListObjectsV2"),
        ("s3:GetObject", "GetObject"),
        ("organizations:ListAccounts", "ListAccounts"),
        ("sts:AssumeRole", "AssumeRole"),
    ):
        aws.always = {call: Fault(403, "AccessDeniedException", "not authorized")}
        got = verdicts(aws)
        assert got[action] == "denied"
        if action == "sts:AssumeRole":
            assert set(got.values()) == {"denied", "unknown"}
    checked = check_bills(
        Access("r" * 20, "", aws.url), BillPlace("acme-bills", "cur", "us-east-1"), today=TODAY
    )
    assert [(f.action, f.needed) for f in checked.findings][:3] == [
        ("sts:AssumeRole", True),
        ("s3:ListBucket", True),
        ("s3:GetObject", True),
    ]
    assert all(finding.dark for finding in checked.findings)


def test_reading_is_tried_before_there_is_anything_to_read(aws: FakeAws) -> None:
    aws.answers["ListAccounts"] = [{"Accounts": []}]
    assert verdicts(aws)["s3:GetObject"] == "allowed"
    assert aws.asked("GetObject")[0]["Key"] == "cur/offpeak-permission-check"
    aws.bucket = "another"
    got = verdicts(aws)
    assert (got["s3:ListBucket"], got["s3:GetObject"]) == ("unknown", "unknown")


def test_accounts_of_an_organisation_come_page_by_page_without_addresses(aws: FakeAws) -> None:
    def account(number: str, name: str) -> dict[str, str]:
        return {"Id": number, "Name": name, "Email": "secret@example.test", "Status": "ACTIVE"}

    aws.answers["ListAccounts"] = [
        {"Accounts": [account("111122223333", "Shop")], "NextToken": "2"},
        {"Accounts": [], "NextToken": "3"},
        {"Accounts": [account("444455556666", "Lab"), {"Id": "777788889999", "Status": "SUSPENDED"}]},
    ]
    aws.faults["ListAccounts"] = [Fault(400, "TooManyRequestsException", "slow")]
    assert list(accounts(Access(endpoint_url=aws.url), back_off=wait_none())) == [
        Account("111122223333", "Shop", "ACTIVE"),
        Account("444455556666", "Lab", "ACTIVE"),
    ]
    aws.always = {"ListAccounts": Fault(400, "AccessDeniedException", "no")}
    with pytest.raises(DeniedError, match="organizations:ListAccounts"):
        list(accounts(Access(endpoint_url=aws.url), back_off=wait_none()))
    aws.always, aws.answers["ListAccounts"] = {}, [{"Accounts": [], "NextToken": "1"}]
    with pytest.raises(PermanentError, match="repeats a page token"):
        list(accounts(Access(endpoint_url=aws.url), back_off=wait_none()))


def day(
    start: str, *groups: tuple[str, str, str], estimated: bool = True, unit: str = "USD"
) -> dict[str, Any]:
    names = ("UnblendedCost", "AmortizedCost", "NetUnblendedCost", "NetAmortizedCost")
    return {
        "TimePeriod": {"Start": start, "End": start},
        "Estimated": estimated,
        "Groups": [
            {"Keys": [service, account], "Metrics": {n: {"Amount": amount, "Unit": unit} for n in names}}
            for service, account, amount in groups
        ],
    }


def test_daily_totals_are_one_question_and_its_pages_each_counted(aws: FakeAws, tmp_path: Path) -> None:
    aws.answers["GetCostAndUsage"] = [
        {
            "ResultsByTime": [
                day("2026-11-01", ("AWS Glue", "111122223333", "0.0000300172"), estimated=False)
            ],
            "NextPageToken": "2",
        },
        {"ResultsByTime": [day("2026-11-02", ('Tax, "VAT"', "111122223333", "-12.10"))]},
    ]
    totals = daily_totals(
        Access(endpoint_url=aws.url),
        Totals(),
        start=date(2026, 11, 1),
        end=date(2026, 11, 3),
        back_off=wait_none(),
    )
    assert (totals.requests, totals.estimated, totals.account) == (2, True, "111122223333")
    asked = aws.asked("GetCostAndUsage")
    assert asked[0]["TimePeriod"] == {"Start": "2026-11-01", "End": "2026-11-03"}
    assert [group["Key"] for group in asked[0]["GroupBy"]] == ["SERVICE", "LINKED_ACCOUNT"]
    assert asked[1]["NextPageToken"] == "2"
    path = tmp_path / "totals.csv"
    write_totals(totals, path)
    assert path.read_text().splitlines()[1:] == [
        "2026-11-01,111122223333,111122223333,AWS Glue," + ",".join(["0.0000300172"] * 4) + ",USD,false",
        '2026-11-02,111122223333,111122223333,"Tax, ""VAT""",' + ",".join(["-12.10"] * 4) + ",USD,true",
    ]
    price, as_of = request_price()
    assert (price.amount, price.currency, as_of) == (Decimal("0.01"), "USD", date(2026, 11, 1))


def test_a_question_that_fails_midway_still_counts_what_it_asked(aws: FakeAws) -> None:
    aws.answers["GetCostAndUsage"] = [{"ResultsByTime": [], "NextPageToken": "2"}]
    totals = Totals()
    with pytest.raises(PermanentError, match="repeats a page token"):
        daily_totals(Access(endpoint_url=aws.url), totals, start=TODAY, end=TODAY, back_off=wait_none())
    assert totals.requests == 2
    aws.always = {"GetCostAndUsage": Fault(400, "AccessDeniedException", "no")}
    with pytest.raises(DeniedError, match="ce:GetCostAndUsage"):
        daily_totals(Access(endpoint_url=aws.url), totals, start=TODAY, end=TODAY, back_off=wait_none())
    assert totals.requests == 3
