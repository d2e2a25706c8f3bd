"""Commands that carry a finding out: AWS CLI, each word quoted for a shell, and what to change in Terraform.

Nothing here is ever run by this project. What a person has to fill in stands in capitals.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

Commands = list[dict[str, str]]


def aws(*words: str, region: str = "") -> str:
    """One AWS CLI command.

    >>> aws("ec2", "delete-volume", "--volume-id", "vol-1; rm -rf /", region="eu-west-1")
    "aws ec2 delete-volume --volume-id 'vol-1; rm -rf /' --region eu-west-1"
    """
    tail = ["--region", region] if region else []
    return shlex.join(["aws", *words, *tail])


def last_part(resource: str) -> str:
    """`nat-0abc` of `arn:aws:ec2:eu-west-1:1:natgateway/nat-0abc`; what is no ARN as it is."""
    if not resource.startswith("arn:"):
        return resource
    return resource.split(":", 5)[-1].rpartition("/")[2]


def name_of(resource: str) -> str:
    """`prod` of `arn:aws:rds:us-east-1:1:db:prod`."""
    return last_part(resource).rpartition(":")[2]


Finding = Mapping[str, Any]


def _volume(found: Finding, *, detach: bool = False) -> list[str]:
    """One line: pasted, nothing is deleted before the snapshot is there."""
    volume, region = last_part(found["resource"]), found["region"]
    steps = [
        aws(
            "ec2", "create-snapshot", "--volume-id", volume, "--description", "before deletion", region=region
        ),
        aws(
            "ec2", "wait", "snapshot-completed", "--filters", f"Name=volume-id,Values={volume}",
            region=region,
        ),
    ]  # fmt: skip
    if detach:
        steps += [
            aws("ec2", "detach-volume", "--volume-id", volume, region=region),
            aws("ec2", "wait", "volume-available", "--volume-ids", volume, region=region),
        ]
    return [" && ".join([*steps, aws("ec2", "delete-volume", "--volume-id", volume, region=region)])]


def _modify_volume(found: Finding) -> list[str]:
    words = ["ec2", "modify-volume", "--volume-id", last_part(found["resource"]), "--volume-type", "gp3"]
    iops = found["target"].get("iops", "")
    if iops and float(iops) > 3000:
        words += ["--iops", iops]
    return [aws(*words, region=found["region"])]


def _iops(found: Finding) -> list[str]:
    words = ["ec2", "modify-volume", "--volume-id", last_part(found["resource"])]
    return [aws(*words, "--iops", found["target"]["iops"], region=found["region"])]


def _one(service: str, verb: str, option: str, take: Callable[[str], str] = last_part) -> Any:
    def made(found: Finding) -> list[str]:
        return [aws(service, verb, option, take(found["resource"]), region=found["region"])]

    return made


def _address(found: Finding) -> list[str]:
    region, resource = found["region"], last_part(found["resource"])
    if resource.startswith("eipalloc-"):
        return [aws("ec2", "release-address", "--allocation-id", resource, region=region)]
    query = "Addresses[?AssociationId==null].[AllocationId,PublicIp]"
    return [
        aws("ec2", "describe-addresses", "--query", query, "--output", "text", region=region),
        aws("ec2", "release-address", "--allocation-id", "ALLOCATION_ID", region=region),
    ]


def _balancer(found: Finding) -> list[str]:
    resource, region = found["resource"], found["region"]
    if any(f"loadbalancer/{kind}/" in resource for kind in ("app", "net", "gwy")):
        return [aws("elbv2", "delete-load-balancer", "--load-balancer-arn", resource, region=region)]
    return [aws("elb", "delete-load-balancer", "--load-balancer-name", last_part(resource), region=region)]


def _development(found: Finding) -> list[str]:
    name, region = last_part(found["resource"]), found["region"]
    if ":glue:" in found["resource"]:
        return [aws("glue", "delete-dev-endpoint", "--endpoint-name", name, region=region)]
    return [aws("sagemaker", "stop-notebook-instance", "--notebook-instance-name", name, region=region)]


def _schedule(found: Finding) -> list[str]:
    """Two schedules of EventBridge: one stops, one starts. The role is the account's own."""
    facts, resource = found["facts"], last_part(found["resource"])
    name = name_of(found["resource"])
    service, verbs, given = {
        "database": ("rds", ("stopDBInstance", "startDBInstance"), {"DbInstanceIdentifier": name}),
        "warehouse": ("redshift", ("pauseCluster", "resumeCluster"), {"ClusterIdentifier": name}),
    }.get(
        found["target"].get("kind", ""),
        ("ec2", ("stopInstances", "startInstances"), {"InstanceIds": [resource]}),
    )
    made = []
    for verb, hour in zip(verbs, (facts["to_hour"], facts["from_hour"]), strict=True):
        target = {
            "Arn": f"arn:aws:scheduler:::aws-sdk:{service}:{verb}",
            "RoleArn": "ROLE_ARN",
            "Input": json.dumps(given),
        }
        made.append(
            aws(
                "scheduler", "create-schedule", "--name", f"offpeak-{verb}-{name}"[:64],
                "--schedule-expression", f"cron(0 {int(hour)} ? * MON-FRI *)",
                "--schedule-expression-timezone", facts["timezone"], "--flexible-time-window", "Mode=OFF",
                "--target", json.dumps(target), region=found["region"],
            )
        )  # fmt: skip
    return made


def _type(found: Finding) -> list[str]:
    instance, region = last_part(found["resource"]), found["region"]
    kind = json.dumps({"Value": found["target"]["type"]})
    return [
        aws("ec2", "stop-instances", "--instance-ids", instance, region=region),
        aws("ec2", "wait", "instance-stopped", "--instance-ids", instance, region=region),
        aws(
            "ec2", "modify-instance-attribute", "--instance-id", instance, "--instance-type", kind,
            region=region,
        ),
        aws("ec2", "start-instances", "--instance-ids", instance, region=region),
    ]  # fmt: skip


def _support(found: Finding) -> list[str]:
    name, region = name_of(found["resource"]), found["region"]
    if ":eks:" in found["resource"]:
        name = last_part(found["resource"])
        return [
            aws(
                "eks",
                "update-cluster-version",
                "--name",
                name,
                "--kubernetes-version",
                "VERSION",
                region=region,
            )
        ]
    return [
        aws("rds", "describe-db-instances", "--db-instance-identifier", name, region=region),
        aws(
            "rds", "modify-db-instance", "--db-instance-identifier", name, "--engine-version", "VERSION",
            "--allow-major-version-upgrade", region=region,
        ),
    ]  # fmt: skip


def _retention(found: Finding) -> list[str]:
    group = found["resource"].partition(":log-group:")[2].removesuffix(":*") or found["resource"]
    return [
        aws(
            "logs", "put-retention-policy", "--log-group-name", group, "--retention-in-days",
            found["target"]["retention"], region=found["region"],
        )
    ]  # fmt: skip


def _restore(found: Finding) -> list[str]:
    snapshot, region = last_part(found["resource"]), found["region"]
    return [
        aws(
            "ec2", "describe-fast-snapshot-restores", "--filters", f"Name=snapshot-id,Values={snapshot}",
            region=region,
        ),
        aws(
            "ec2", "disable-fast-snapshot-restores", "--source-snapshot-ids", snapshot,
            "--availability-zones", "ZONE", region=region,
        ),
    ]  # fmt: skip


def _stop_database(found: Finding) -> list[str]:
    name, region = name_of(found["resource"]), found["region"]
    if found["target"].get("kind") == "warehouse":
        return [aws("redshift", "pause-cluster", "--cluster-identifier", name, region=region)]
    return [aws("rds", "stop-db-instance", "--db-instance-identifier", name, region=region)]


def _delete_database(found: Finding) -> list[str]:
    """The last snapshot is a part of the deletion: without it nothing is deleted."""
    name = name_of(found["resource"])
    return [
        aws(
            "rds", "delete-db-instance", "--db-instance-identifier", name, "--no-skip-final-snapshot",
            "--final-db-snapshot-identifier", f"{name}-last", region=found["region"],
        )
    ]  # fmt: skip


def _database(*options: str) -> Callable[[Finding], list[str]]:
    """A change of a database in its next maintenance window; `options` may hold names of targets."""

    def made(found: Finding) -> list[str]:
        words = [one.format(**found["target"]) for one in options]
        name = name_of(found["resource"])
        return [
            aws("rds", "modify-db-instance", "--db-instance-identifier", name, *words, region=found["region"])
        ]

    return made


def _table(found: Finding) -> list[str]:
    name, target = last_part(found["resource"]), found["target"]
    if not target:
        return [
            aws(
                "dynamodb", "update-table", "--table-name", name, "--billing-mode", "PAY_PER_REQUEST",
                region=found["region"],
            )
        ]  # fmt: skip
    units = [f"{one}={target[key]}" for one, key in _UNITS if key in target]
    return [
        aws("dynamodb", "update-table", "--table-name", name, "--provisioned-throughput", ",".join(units),
            region=found["region"])
    ]  # fmt: skip


_UNITS = (("ReadCapacityUnits", "reads"), ("WriteCapacityUnits", "writes"))


_AWS: Mapping[str, Callable[[Finding], list[str]]] = {
    "volume-unattached": _volume,
    "volume-of-stopped-instance": partial(_volume, detach=True),
    "snapshot-old": _one("ec2", "delete-snapshot", "--snapshot-id"),
    "snapshot-of-deleted-volume": _one("ec2", "delete-snapshot", "--snapshot-id"),
    "address-idle": _address,
    "balancer-idle": _balancer,
    "gateway-idle": _one("ec2", "delete-nat-gateway", "--nat-gateway-id"),
    "private-endpoint-idle": _one("ec2", "delete-vpc-endpoints", "--vpc-endpoint-ids"),
    "transit-idle": _one("ec2", "delete-transit-gateway-vpc-attachment", "--transit-gateway-attachment-id"),
    "model-endpoint-idle": _one("sagemaker", "delete-endpoint", "--endpoint-name"),
    "development-endpoint-always-on": _development,
    "nights-and-weekends": _schedule,
    "volume-gp2": _modify_volume,
    "volume-provisioned": _modify_volume,
    "volume-unused-iops": _iops,
    "old-generation": _type,
    "instance-too-large": _type,
    "extended-support": _support,
    "capacity-unused": _one("ec2", "cancel-capacity-reservation", "--capacity-reservation-id"),
    "fast-restore": _restore,
    "logs-without-retention": _retention,
    "instance-idle": _one("ec2", "stop-instances", "--instance-ids"),
    "database-idle": _stop_database,
    "database-stopped": _delete_database,
    "database-provisioned": _database("--storage-type", "gp3"),
    "database-too-large": _database("--db-instance-class", "{type}"),
    "database-unused-iops": _database("--iops", "{iops}"),
    "table-idle": _table,
    "table-capacity-unused": _table,
    "burst-surplus": _type,
}
# The resource of Terraform, and what to do with its block; {name} is a target of the finding.
_TERRAFORM: Mapping[str, tuple[str, str]] = {
    "volume-unattached": ("aws_ebs_volume", "remove the block"),
    "volume-of-stopped-instance": ("aws_ebs_volume", "remove the block"),
    "snapshot-old": ("aws_ebs_snapshot", "remove the block"),
    "snapshot-of-deleted-volume": ("aws_ebs_snapshot", "remove the block"),
    "address-idle": ("aws_eip", "remove the block"),
    "balancer-idle": ("aws_lb", "remove the block"),
    "gateway-idle": ("aws_nat_gateway", "remove the block and its routes"),
    "private-endpoint-idle": ("aws_vpc_endpoint", "remove the block"),
    "transit-idle": ("aws_ec2_transit_gateway_vpc_attachment", "remove the block"),
    "model-endpoint-idle": ("aws_sagemaker_endpoint", "remove the block"),
    "development-endpoint-always-on": ("aws_glue_dev_endpoint", "remove the block"),
    "nights-and-weekends": ("aws_scheduler_schedule", "add one that stops and one that starts it"),
    "volume-gp2": ("aws_ebs_volume", 'type = "gp3"'),
    "volume-provisioned": ("aws_ebs_volume", 'type = "gp3"'),
    "volume-unused-iops": ("aws_ebs_volume", "iops = {iops}"),
    "old-generation": ("aws_instance", 'instance_type = "{type}"'),
    "instance-too-large": ("aws_instance", 'instance_type = "{type}"'),
    "extended-support": ("aws_db_instance", 'engine_version = "VERSION"'),
    "capacity-unused": ("aws_ec2_capacity_reservation", "remove the block"),
    "fast-restore": ("aws_ebs_fast_snapshot_restore", "remove the block"),
    "logs-without-retention": ("aws_cloudwatch_log_group", "retention_in_days = {retention}"),
    "spot-eligible": ("aws_instance", 'instance_market_options {{ market_type = "spot" }}'),
    "instance-idle": ("aws_instance", "remove the block"),
    "database-idle": ("aws_db_instance", "remove the block"),
    "database-stopped": ("aws_db_instance", "remove the block"),
    "database-provisioned": ("aws_db_instance", 'storage_type = "gp3", and no iops'),
    "database-too-large": ("aws_db_instance", 'instance_class = "{type}"'),
    "database-unused-iops": ("aws_db_instance", "iops = {iops}"),
    "table-idle": ("aws_dynamodb_table", 'billing_mode = "PAY_PER_REQUEST"'),
    "table-capacity-unused": ("aws_dynamodb_table", "read_capacity and write_capacity as above"),
    "burst-surplus": ("aws_instance", 'instance_type = "{type}"'),
    "kubernetes-requests": ("kubernetes_deployment", "resources.requests: cpu = {cpu}, memory = {memory}"),
}


def commands(found: Finding) -> Commands:
    """What to run and what to change, in order; [] where nothing is ready.

    `found`: rule, resource, region, facts, target.
    """
    made: Commands = []
    if found["resource"] or found["rule"] == "address-idle":
        make = _AWS.get(found["rule"])
        made = [{"tool": "aws", "text": text} for text in (make(found) if make is not None else ())]
    if found["rule"] in _TERRAFORM:
        kind, change = _TERRAFORM[found["rule"]]
        text = f"{kind}: {change.format(**found['target'])}"
        made.append({"tool": "terraform", "text": text})
    return made
