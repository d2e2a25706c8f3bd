"""Terraform plans: sides, unknown and sensitive values, references, what each resource is priced by."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from finops.engine.checks.alternatives import alternatives, cheaper
from finops.engine.checks.pricing import ABSENT, Priced, price_resources
from finops.frames.cost_items import CheckInputError, Range, Reading
from finops.frames.usage_file import Usage, parse_usage
from finops.providers.terraform.plan import read_plan
from tests.support.check_prices import prices_of
from tests.support.plans import change, plan

INSTANCE = {"instance_type": "c5.4xlarge", "root_block_device": [{"volume_type": "gp3", "volume_size": 8}]}


def read(content: bytes, usage: Usage | None = None) -> Reading:
    return read_plan(content, file="plan.json", usage=usage or Usage())


def cost(content: bytes, usage: Usage | None = None) -> Priced:
    resources = read(content, usage).resources
    return price_resources(resources, prices_of(resources))


def test_a_worked_plan() -> None:
    usage = parse_usage(
        b'resources: {"aws_nat_gateway.*": {gib_processed: {low: 0, expected: 500, high: 1000}}}'
    )
    found = cost(
        plan(
            *(change(f"aws_instance.etl[{i}]", INSTANCE) for i in range(4)),
            change("aws_ebs_volume.scratch", {"type": "gp2", "size": 500}),
            change("aws_instance.api", {**INSTANCE, "instance_type": "m5.2xlarge"},
                   {**INSTANCE, "instance_type": "m5.xlarge"}),
            change("aws_instance.legacy", None, {**INSTANCE, "instance_type": "r5.xlarge"}),
            change("aws_nat_gateway.etl", {}),
            change("aws_sagemaker_endpoint.score", {}),
            change("aws_security_group.free", {}),
        ),
        usage,
    )  # fmt: skip
    after = {line.resource.address: line.after for line in found.lines}
    # 0.68 x 730 + 8 x 0.08; 500 x 0.10; 0.384 x 730 + 0.64; 0.045 x 730 + 0.045 x GiB
    assert after["aws_instance.etl[0]"] == Range.of(Decimal("497.04"))
    assert after["aws_ebs_volume.scratch"] == Range.of(Decimal("50.0"))
    assert after["aws_instance.api"] == Range.of(Decimal("280.96"))
    assert after["aws_nat_gateway.etl"] == Range(Decimal("32.85"), Decimal("55.35"), Decimal("77.85"))
    assert after["aws_instance.legacy"] == ABSENT
    assert after["aws_sagemaker_endpoint.score"] is None
    assert after["aws_security_group.free"] == Range.of(0)
    total = found.total
    # before: 0.192 x 730 + 0.64 = 140.80 and 0.252 x 730 + 0.64 = 184.60
    assert total.before == Range.of(Decimal("325.40"))
    assert total.after == Range(Decimal("2351.97"), Decimal("2374.47"), Decimal("2396.97"))
    assert total.delta == Range(Decimal("2026.57"), Decimal("2049.07"), Decimal("2071.57"))
    assert [(one.address, one.reason) for one in found.unpriced] == [
        ("aws_sagemaker_endpoint.score", "no price is known for aws_sagemaker_endpoint")
    ]


def test_secrets_are_gone_before_anything_reads_them() -> None:
    reading = read(
        plan(
            change(
                "aws_db_instance.main",
                {"instance_class": "db.t3.large", "engine": "mysql", "allocated_storage": 20,
                 "password": "CANARY-1", "tags": {"note": "CANARY-2", "owner": "data"}},
                after_sensitive={"password": True, "tags": {"note": True}},
            )
        )
    )  # fmt: skip
    assert reading.sensitive_dropped == 2
    assert "CANARY" not in repr(reading)
    side = reading.resources[0].after
    assert side is not None
    assert side.tags == {"note": None, "owner": "data"}


def test_a_secret_size_has_no_price_and_says_why() -> None:
    found = cost(
        plan(
            change("aws_ebs_volume.a", {"type": "gp3", "size": 100}, after_sensitive={"size": True}),
            change("aws_ebs_volume.b", {"type": "gp3"}, after_unknown={"size": True, "id": True}),
            change("aws_ebs_volume.c", {"type": "gp3"}),
        )
    )
    assert [one.reason for one in found.unpriced] == [
        "storage: marked sensitive",
        "storage: known only after apply",
        "storage: not stated",
    ]
    assert found.total.after is None
    assert found.total.delta is None


@pytest.mark.parametrize(
    ("values", "cost_a_month"),
    [
        ({"type": "gp3", "size": 40, "iops": 4000, "throughput": 130}, "8.40"),
        ({"type": "io1", "size": 30, "iops": 300}, "23.25"),
        ({"type": "io2", "size": 30, "iops": 300}, "23.25"),
        ({"type": "st1", "size": 40}, "1.80"),
        ({"type": "sc1", "size": 50}, "0.75"),
        ({"size": 10}, "1.0"),
    ],
)
def test_volumes_cost_what_the_price_list_says(values: dict[str, Any], cost_a_month: str) -> None:
    assert cost(plan(change("aws_ebs_volume.a", values))).total.after == Range.of(Decimal(cost_a_month))


def test_databases_buckets_balancers_and_addresses() -> None:
    usage = parse_usage(
        b"""resources:
  aws_s3_bucket.logs: {storage_gib: 1000, put_requests: 2000, get_requests: 10000}
  aws_lb.web: {lcu_hours: 1000}
  aws_elb.old: {gib_processed: 10000}
"""
    )
    found = cost(
        plan(
            change("aws_db_instance.a", {"instance_class": "db.t3.large", "engine": "mysql",
                                         "multi_az": True, "allocated_storage": 30}),
            change("aws_s3_bucket.logs", {}),
            change("aws_lb.web", {"load_balancer_type": "application"}),
            change("aws_elb.old", {}),
            change("aws_eip.a", {}),
        ),
        usage,
    )  # fmt: skip
    after = {line.resource.address: line.after for line in found.lines}
    assert after == {
        "aws_db_instance.a": Range.of(Decimal("205.46")),  # 198.56 + 6.90
        "aws_s3_bucket.logs": Range.of(Decimal("23.014")),  # 23 + 2 x 0.005 + 10 x 0.0004
        "aws_lb.web": Range.of(Decimal("24.425")),  # 16.425 + 8
        "aws_elb.old": Range.of(Decimal("98.25")),  # 18.25 + 80
        "aws_eip.a": Range.of(Decimal("3.65")),
    }
    assert found.unpriced == ()


NOT_KNOWN = {"launch_template": [{"id": True}]}


def group_plan(group: dict[str, Any], template: dict[str, Any]) -> bytes:
    references = {"references": ["aws_launch_template.lt.id", "aws_launch_template.lt"]}
    block = "mixed_instances_policy" if "mixed_instances_policy" in group else "launch_template"
    configured = {
        "provider_config": {"aws": {"expressions": {"region": {"references": ["var.region"]}}}},
        "root_module": {
            "variables": {"region": {}},
            "module_calls": {
                "fleet": {
                    "module": {
                        "resources": [
                            {"address": "aws_autoscaling_group.g", "provider_config_key": "fleet:aws",
                             "expressions": {block: [{"id": references}]}}
                        ]
                    }
                }
            },
        },
    }  # fmt: skip
    return plan(
        change("module.fleet.aws_autoscaling_group.g[0]", group, after_unknown=NOT_KNOWN),
        change("module.fleet.aws_launch_template.lt[0]", template, after_unknown={"id": True}),
        configuration=configured,
        variables={"region": {"value": "us-east-1"}},
    )  # fmt: skip


def test_a_group_is_priced_by_its_template_from_smallest_to_largest() -> None:
    disks = [{"ebs": [{"volume_type": "gp3", "volume_size": "10"}]}]
    found = cost(
        group_plan(
            {
                "min_size": 1,
                "desired_capacity": 2,
                "max_size": 4,
                "launch_template": [{"version": "$Latest"}],
            },
            {"instance_type": "m5.xlarge", "block_device_mappings": disks},
        )
    )
    each = Decimal("140.96")  # 0.192 x 730 + 10 x 0.08
    assert found.total.after == Range(each, each * 2, each * 4)
    assert found.unpriced == ()


def test_mixed_instances_with_a_spot_share_round_on_demand_up() -> None:
    found = cost(
        group_plan(
            {
                "min_size": 5, "desired_capacity": 5, "max_size": 5,
                "mixed_instances_policy": [{
                    "instances_distribution": [
                        {"on_demand_base_capacity": 1, "on_demand_percentage_above_base_capacity": 30}
                    ],
                    "launch_template": [{"override": [
                        {"instance_type": "m5.xlarge"},
                        {"instance_type": "c5.4xlarge", "weighted_capacity": "4"},
                    ]}],
                }],
            },
            {"block_device_mappings": [{"ebs": [{"volume_type": "gp3", "volume_size": 10}]}]},
        )
    )  # fmt: skip
    # 1 + ceil(4 x 0.30 = 1.2) = 3 on demand, 2 Spot; a unit of c5.4xlarge costs 0.68 / 4 = 0.17.
    disks = Decimal("4.0")
    hours = Decimal(730)
    assert found.total.after == Range(
        3 * hours * Decimal("0.17") + 2 * hours * Decimal("0.05") + disks,
        3 * hours * Decimal("0.192") + 2 * hours * Decimal("0.08") + disks,
        3 * hours * Decimal("0.192") + 2 * hours * Decimal("0.09") + disks,
    )


def test_spot_requests_are_priced_on_spot() -> None:
    options = [{"market_type": "spot"}]
    found = cost(plan(change("aws_instance.a", {**INSTANCE, "instance_market_options": options})))
    assert found.total.after == Range(Decimal("146.64"), Decimal("183.14"), Decimal("234.24"))


def test_without_a_region_nothing_has_a_price_until_the_usage_file_says_it() -> None:
    content = plan(change("aws_ebs_volume.a", {"type": "gp3", "size": 10}), region=None)
    assert [one.reason for one in cost(content).unpriced] == [
        "the region is not in the plan; state it in the usage file"
    ]
    usage = parse_usage(b"defaults: {region: us-east-1}")
    assert cost(content, usage).total.after == Range.of(Decimal("0.80"))
    zoned = plan(
        change("aws_ebs_volume.a", {"type": "gp3", "size": 10, "availability_zone": "us-east-1a"}),
        region=None,
    )
    assert cost(zoned).total.after == Range.of(Decimal("0.80"))


def test_a_sensitive_variable_is_not_read_for_the_region() -> None:
    configuration = {
        "provider_config": {"aws": {"expressions": {"region": {"references": ["var.region"]}}}},
        "root_module": {"variables": {"region": {"sensitive": True}}},
    }
    content = plan(
        change("aws_ebs_volume.a", {"size": 10}),
        configuration=configuration,
        variables={"region": {"value": "CANARY"}},
    )
    assert "CANARY" not in repr(read(content))


def test_cheaper_ways_name_spot_and_gp3() -> None:
    usage = parse_usage(b"resources: {aws_instance.a: {interruptible: true}}")
    resources = read(
        plan(
            change("aws_instance.a", INSTANCE),
            change("aws_instance.b", INSTANCE),
            change("aws_ebs_volume.c", {"type": "gp2", "size": 100}),
            change("aws_ebs_volume.d", {"type": "gp2", "size": 500}),
        ),
        usage,
    ).resources
    found = [
        (one.address, one.instead, one.saving)
        for one in cheaper(alternatives(resources, prices_of(resources))).offered
    ]
    assert found == [
        ("aws_instance.a", "c5.4xlarge Spot", Range(Decimal("262.80"), Decimal("313.90"), Decimal("350.40"))),
        ("aws_ebs_volume.d", "gp3", Range.of(Decimal("5.0"))),  # 50 - 40 - 125 x 0.04
        ("aws_ebs_volume.c", "gp3", Range.of(Decimal("1.88"))),  # 10 - 8 - 3 x 0.04
    ]


NO_ADDRESS = b'{"format_version": "1.0", "resource_changes": [{"change": {}}]}'
_WRONG = change("aws_ebs_volume.a", {}, actions=["update"])
WRONG_BEFORE = plan({**_WRONG, "change": {**_WRONG["change"], "before": 3}})


@pytest.mark.parametrize(
    ("content", "address", "field"),
    [
        (b"not json", "", ""),
        (b'{"a": NaN}', "", ""),
        (b"\xff\xfe\x00", "", ""),
        (b"[]", "", ""),
        (b"{}", "", "format_version"),
        (b'{"format_version": "9.0", "resource_changes": []}', "", "format_version"),
        (b'{"format_version": "1.0", "values": {}}', "", "resource_changes"),
        (b'{"format_version": "1.0", "errored": true}', "", "errored"),
        (b'{"format_version": "1.0", "resource_changes": {}}', "", "resource_changes"),
        (b'{"format_version": "1.0", "resource_changes": [1]}', "resource_changes[0]", "change"),
        (NO_ADDRESS, "resource_changes[0]", "address"),
        (plan(change("aws_ebs_volume.a", {}), change("aws_ebs_volume.a", {})), "aws_ebs_volume.a", "address"),
        (plan(change("aws_ebs_volume.a", {}, actions=["explode"])), "aws_ebs_volume.a", "actions"),
        (WRONG_BEFORE, "aws_ebs_volume.a", "before"),
        (plan(change("aws_ebs_volume.a", {"size": "10,00"})), "aws_ebs_volume.a", "size"),
        (plan(change("aws_ebs_volume.a", {"size": -1})), "aws_ebs_volume.a", "size"),
        (plan(change("aws_ebs_volume.a", {"size": [1]})), "aws_ebs_volume.a", "size"),
        (plan(change("aws_instance.a", {"root_block_device": 3})), "aws_instance.a", "root_block_device"),
    ],
)  # fmt: skip
def test_what_is_no_plan_is_refused_by_file_address_and_field(
    content: bytes, address: str, field: str
) -> None:
    with pytest.raises(CheckInputError) as refused:
        read(content)
    assert (refused.value.file, refused.value.address, refused.value.field) == ("plan.json", address, field)


def test_deep_nesting_is_refused_not_a_crash() -> None:
    deep: Any = 1
    for _ in range(400):
        deep = {"a": deep}
    content = plan(change("aws_ebs_volume.a", {"size": 1, "tags": deep}))
    assert read(content).resources[0].address == "aws_ebs_volume.a"
    with pytest.raises(CheckInputError):
        read(b'{"format_version": "1.0", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}")


def test_a_key_in_an_address_is_masked() -> None:
    address = 'aws_ebs_volume.a["https://x.test/?key=SECRET1&page=2"]'
    reading = read(plan(change(address, {"size": 1})))
    assert "SECRET1" not in repr(reading)
    assert "page=2" in repr(reading)


def test_reads_and_data_sources_are_no_resources() -> None:
    data = {**change("aws_ami.a", {}), "mode": "data"}
    document = json.loads(plan(data, change("aws_ebs_volume.a", {"size": 1}, actions=["read"])))
    assert read(json.dumps(document).encode()).resources == ()


@pytest.mark.parametrize(
    ("text", "field"),
    [
        (b"resources: {a: {gib: 1}}", "gib"),
        (b"resources: {a: {hours: '1,234'}}", "hours"),
        (b"resources: {a: {hours: {low: 3, expected: 2, high: 4}}}", "hours"),
        (b"resources: {a: {hours: {low: 3}}}", "hours"),
        (b"resources: {a: {interruptible: maybe}}", "interruptible"),
        (b"nonsense: 1", "nonsense"),
        (b"resources: [1]", "resources"),
        (b"a: &x [1]\nb: *x", ""),
        (b"a: [", ""),
        (b"- 1", ""),
    ],
)
def test_what_is_no_usage_file_is_refused_by_name(text: bytes, field: str) -> None:
    with pytest.raises(CheckInputError) as refused:
        parse_usage(text)
    assert refused.value.field == field
