"""What a plan marks sensitive is in nothing that a check keeps: nested, in lists, in places of their own."""

from __future__ import annotations

from typing import Any

import pytest

from finops.frames.state_document import state_of
from finops.frames.usage_file import Usage
from finops.providers.terraform.plan import read_plan
from tests.support.plans import change, plan

CANARY = "CANARY-SECRET"
MACHINE = {"instance_type": "m5.large", "availability_zone": "us-east-1a"}


@pytest.mark.parametrize(
    ("address", "values", "marks"),
    [
        ("aws_instance.a", {"instance_type": CANARY}, {"instance_type": True}),
        ("aws_instance.a", MACHINE | {"availability_zone": CANARY}, {"availability_zone": True}),
        ("aws_instance.a", MACHINE | {"tags": {"k": CANARY}}, {"tags": {"k": True}}),
        ("aws_instance.a", MACHINE | {"tags": {"k": {"deep": [CANARY]}}}, {"tags": {"k": {"deep": [True]}}}),
        (
            "aws_instance.a",
            MACHINE | {"root_block_device": [{"volume_type": CANARY, "volume_size": 8}]},
            {"root_block_device": [{"volume_type": True}]},
        ),
        ("aws_s3_bucket.b", {"bucket": CANARY, "tags": {}}, {"bucket": True}),
        ("aws_s3_bucket.b", {"bucket": CANARY, "tags": {"k": CANARY}}, True),
    ],
    ids=["type", "zone", "tag", "deep", "block", "bucket", "all"],
)
@pytest.mark.parametrize("side", ["before", "after"])
def test_a_marked_value_is_dropped(side: str, address: str, values: dict[str, Any], marks: Any) -> None:
    kind = address.split(".")[0]
    plain = MACHINE if kind == "aws_instance" else {"bucket": "b", "tags": {}}
    before, after = (values, plain) if side == "before" else (plain, values)
    entry = change(address, after, before)
    entry["change"][f"{side}_sensitive"] = marks
    secret = {"values": {"root_module": {"resources": [{"values": {"p": CANARY}}]}}}
    content = plan(
        entry, prior_state=secret, planned_values=secret["values"], variables={"p": {"value": CANARY}}
    )
    reading = read_plan(content, file="plan.json", usage=Usage())
    assert reading.sensitive_dropped == 1
    assert CANARY not in repr(reading)
    assert CANARY not in str(state_of(reading.resources))


def test_ten_thousand_resources_in_deep_modules_are_read_each_once() -> None:
    names = [f'module.a["x{i}"].module.b[{i}].module.c.aws_instance.x[{i}]' for i in range(10_000)]
    content = plan(*(change(name, MACHINE) | {"address": name, "type": "aws_instance"} for name in names))
    reading = read_plan(content, file="plan.json", usage=Usage())
    assert [one.address for one in reading.resources] == sorted(names)
    assert {one.after.region for one in reading.resources if one.after} == {"us-east-1"}
