"""The arguments of launch calls are ones that EC2 takes; machines, notices and codes are read as meant."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from finops.frames.launches import Ending, LaunchCall, MachineState, NoticeKind
from finops.providers.aws.launching import AwsExecutor, machine_of
from finops.providers.aws.launching_call import call_parameters, settings_faults, tag_list
from finops.providers.aws.launching_signs import marker_there, read_notice
from finops.providers.aws.session import Access
from finops.providers.base import PermanentError
from finops.providers.launching import LaunchOutcomeUnknownError, LaunchRefusedError

AT = datetime(2026, 11, 30, 10, tzinfo=UTC)
SPOT = {"market": "spot", "region": "us-east-1", "zone_name": "us-east-1a", "type": "m5.large"}
IMAGES: dict[str, Any] = {"images": {"us-east-1": "ami-1"}}


def test_a_spot_machine_in_a_zone_and_in_a_subnet() -> None:
    made = call_parameters(IMAGES, SPOT, user_data="#!/bin/sh", max_price="0.05")
    assert (made["api"], made["region"]) == ("RunInstances", "us-east-1")
    assert made["arguments"]["Placement"] == {"AvailabilityZone": "us-east-1a"}
    assert made["arguments"]["InstanceMarketOptions"]["SpotOptions"] == {
        "SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate", "MaxPrice": "0.05",
    }  # fmt: skip
    settings = {
        **IMAGES, "subnets": {"us-east-1a": "subnet-1"}, "security_groups": {"us-east-1": ["sg-1"]},
        "instance_profile": "arn:aws:iam::1:instance-profile/x", "key_name": "k",
    }  # fmt: skip
    made = call_parameters(settings, {**SPOT, "market": "on-demand"}, max_price="0.05")["arguments"]
    assert made["SubnetId"] == "subnet-1"
    assert "Placement" not in made
    assert "InstanceMarketOptions" not in made
    assert made["IamInstanceProfile"] == {"Arn": "arn:aws:iam::1:instance-profile/x"}


def test_what_is_missing_is_said() -> None:
    for settings, offer, given in (
        ({"images": {"eu-west-1": "ami-1"}}, SPOT, {}),
        (IMAGES, {**SPOT, "market": "barter"}, {}),
        (IMAGES, SPOT, {"max_price": "cheap"}),
        (IMAGES, SPOT, {"user_data": "x" * 20_000}),
        ({"call": "CreateFleet", **IMAGES}, SPOT, {}),
        ({"call": "CreateFleet", "launch_template": {"id": "lt-1"}}, SPOT, {"user_data": "x"}),
    ):
        with pytest.raises(PermanentError):
            call_parameters(settings, offer, **given)
    assert settings_faults(IMAGES) == {}
    assert set(settings_faults({"imagse": 1, "call": "Buy", "volume_gib": 0})) == {
        "imagse", "call", "volume_gib", "images",
    }  # fmt: skip


def test_tags_are_ones_that_ec2_takes() -> None:
    tags = tag_list({"Name": "Nightly (EU), 夜间!", "offpeak:person": "a@b.example", "x": "v" * 300})
    assert [(one["Key"], one["Value"]) for one in tags[:2]] == [
        ("Name", "Nightly _EU__ 夜间_"), ("offpeak:person", "a@b.example"),
    ]  # fmt: skip
    assert len(tags[2]["Value"]) == 256


@pytest.mark.parametrize("call", ["RunInstances", "CreateFleet"])
def test_the_sdk_takes_both_calls(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"call": call, "launch_template": {"name": "work", "version": "3"}, **IMAGES}
    client = boto3.client("ec2", region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x")
    answer: dict[str, Any] = {
        "Instances": [{"InstanceId": "i-1", "LaunchTime": AT, "State": {"Name": "pending"}}]
    }
    if call == "CreateFleet":
        answer = {
            "Errors": [{"ErrorCode": "InsufficientInstanceCapacity", "ErrorMessage": "none"}],
            "Instances": [],
        }
    monkeypatch.setattr(AwsExecutor, "_client", lambda self, attempts=4: client)
    executor = AwsExecutor(boto3.Session(region_name="us-east-1"), Access(), "us-east-1")
    made = LaunchCall("t" * 64, "z", "spot", call_parameters(settings, SPOT), {"offpeak:job": "1"})
    name = "create_fleet" if call == "CreateFleet" else "run_instances"
    with Stubber(client) as stub:
        stub.add_response(name, answer)
        if call == "CreateFleet":
            with pytest.raises(LaunchRefusedError) as caught:
                executor.launch(made, now=AT)
            assert caught.value.code == "InsufficientInstanceCapacity"
        else:
            assert executor.launch(made, now=AT).id == "i-1"


@pytest.mark.parametrize(
    ("code", "status", "refused"),
    [
        ("InsufficientInstanceCapacity", 500, True), ("UnfulfillableCapacity", 500, True),
        ("MaxSpotInstanceCountExceeded", 400, True), ("RequestLimitExceeded", 503, True),
        ("InternalError", 500, False), ("Unavailable", 503, False), ("SomethingNew", 400, True),
        ("SomethingNew", 500, False),
    ],
)  # fmt: skip
def test_what_may_have_taken_effect_is_open(code: str, status: int, refused: bool) -> None:
    from finops.providers.aws import launching

    def send() -> Any:
        error = {"Error": {"Code": code, "Message": "m"}, "ResponseMetadata": {"HTTPStatusCode": status}}
        raise ClientError(error, "RunInstances")  # type: ignore[arg-type]

    with pytest.raises(LaunchRefusedError if refused else LaunchOutcomeUnknownError):
        launching._sent(send, "us-east-1")


@pytest.mark.parametrize(
    ("code", "ending"),
    [
        ("Server.SpotInstanceTermination", Ending.INTERRUPTED),
        ("Client.InstanceInitiatedShutdown", Ending.DONE),
        ("Client.UserInitiatedShutdown", Ending.STOPPED), ("Server.Other", Ending.UNKNOWN),
    ],
)  # fmt: skip
def test_why_a_machine_ended(code: str, ending: Ending) -> None:
    row = {
        "InstanceId": "i-1", "LaunchTime": AT, "State": {"Name": "terminated"}, "ClientToken": "t",
        "StateReason": {"Code": code}, "StateTransitionReason": "User initiated (2026-11-30 11:30:00 GMT)",
        "Tags": [{"Key": "aws:ec2:fleet-id", "Value": "fleet-1"}],
    }  # fmt: skip
    found = machine_of(row, "us-east-1")
    assert (found.state, found.ending) == (MachineState.ENDED, ending)
    assert found.ended_at == AT + timedelta(hours=1, minutes=30)
    # A fleet's machine carries the fleet's token: it is known by its tags.
    assert found.token is None


def test_notices_of_eventbridge_and_sns() -> None:
    event = {
        "detail-type": "EC2 Spot Instance Interruption Warning", "time": "2026-11-30T10:00:00Z",
        "detail": {"instance-id": "i-1", "instance-action": "terminate"},
    }  # fmt: skip
    for text in (json.dumps(event), json.dumps({"Type": "Notification", "Message": json.dumps(event)})):
        found = read_notice(text)
        assert found is not None
        assert (found.kind, found.machine, found.at) == (
            NoticeKind.INTERRUPTION, "i-1", AT + timedelta(minutes=2),
        )  # fmt: skip
    state = {"detail-type": "EC2 Instance State-change Notification", "time": "2026-11-30T10:00:00Z"}
    gone = read_notice(json.dumps({**state, "detail": {"instance-id": "i-1", "state": "terminated"}}))
    assert gone is not None
    assert (gone.kind, gone.at) == (NoticeKind.ENDED, AT)
    assert read_notice(json.dumps({**state, "detail": {"instance-id": "i-1", "state": "running"}})) is None
    assert read_notice(json.dumps({"detail-type": "Other", "detail": {}})) is None
    for wrong in ("x", "[]", json.dumps({**event, "time": "2026-11-30T10:00:00"})):
        with pytest.raises(ValueError, match=r"."):
            read_notice(wrong)


def test_a_marker_lies_in_s3_or_nowhere() -> None:
    for where in ("/tmp/x", "s3://bucket", "https://bucket/x"):
        with pytest.raises(PermanentError):
            marker_there(Access(), where, region="us-east-1")
