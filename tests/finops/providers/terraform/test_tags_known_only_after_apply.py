"""A tag that is there and whose value only apply will tell is neither missing nor fine."""

from __future__ import annotations

from typing import Any

import pytest

from finops.engine.checks.policies import judge, policies_of
from finops.engine.checks.pricing import price_resources
from finops.frames.cost_items import CheckInputError
from finops.frames.usage_file import Usage
from finops.providers.terraform.plan import read_plan
from tests.support.plans import change, plan

ANY = {"kind": "required_tag", "tag": "owner", "level": "deny"}
DATA = {**ANY, "value": "data"}
SIZE = {"type": "gp3", "size": 1}
GROUP = {"min_size": 1, "max_size": 1}


def verdict(content: bytes, rule: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
    (policy,) = policies_of({"policies": [rule]})
    reading = read_plan(content, file="plan.json", usage=Usage())
    found = judge(policy, price_resources(reading.resources, {}))
    return found.verdict.value, found.addresses


def volume(after: dict[str, Any], **more: Any) -> bytes:
    return plan(change("aws_ebs_volume.a", {**SIZE, **after}, **more))


@pytest.mark.parametrize(
    ("content", "any_value", "this_value"),
    [
        (volume({"tags": {"owner": "data"}}), "pass", "pass"),
        (volume({"tags": {"Owner": "web"}}), "pass", "deny"),
        (volume({"tags": {"team": "data"}}), "deny", "deny"),
        (volume({"tags": {"owner": None}}), "deny", "deny"),
        (volume({"tags": {}}, after_unknown={"tags": {"owner": True}}), "cannot judge", "cannot judge"),
        (volume({"tags": {"owner": "x"}}, after_sensitive={"tags": {"owner": True}}), *["cannot judge"] * 2),
        (volume({"tags": {"team": "a"}}, after_unknown={"tags_all": True}), *["cannot judge"] * 2),
        (volume({"tags": {"owner": "data"}}, after_unknown={"tags_all": True}), "pass", "pass"),
        (volume({}, after_unknown={"tags": True, "tags_all": True}), *["cannot judge"] * 2),
        (volume({"tags": {}, "tags_all": {"owner": "data"}}), "pass", "pass"),
    ],
)
def test_a_tag_on_a_volume(content: bytes, any_value: str, this_value: str) -> None:
    for rule, expected in ((ANY, any_value), (DATA, this_value)):
        found, where = verdict(content, rule)
        assert found == expected
        assert where == (() if found == "pass" else ("aws_ebs_volume.a",))


@pytest.mark.parametrize(
    ("tag", "unknown", "expected"),
    [
        ({"key": "owner", "value": "data"}, {}, "pass"),
        ({"key": "owner"}, {"value": True}, "cannot judge"),
        ({"key": "owner", "value": None}, {}, "deny"),
        ({"value": "data"}, {"key": True}, "cannot judge"),
        ({"key": "team", "value": "data"}, {}, "deny"),
    ],
)
def test_a_tag_of_a_group(tag: dict[str, Any], unknown: dict[str, Any], expected: str) -> None:
    content = plan(
        change("aws_autoscaling_group.g", {**GROUP, "tag": [tag]}, after_unknown={"tag": [unknown]})
    )
    assert verdict(content, ANY)[0] == expected


def test_more_than_all_machines_on_demand_is_refused() -> None:
    policy = {
        "instances_distribution": [{"on_demand_percentage_above_base_capacity": 300}],
        "launch_template": [{"override": [{"instance_type": "m5.xlarge"}]}],
    }
    content = plan(change("aws_autoscaling_group.g", {**GROUP, "mixed_instances_policy": [policy]}))
    with pytest.raises(CheckInputError) as refused:
        read_plan(content, file="plan.json", usage=Usage())
    assert refused.value.field == "on_demand_percentage_above_base_capacity"
    assert refused.value.reason == "above 100 percent"
