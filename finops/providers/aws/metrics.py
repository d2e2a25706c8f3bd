"""CloudWatch metrics of instances, volumes and databases as exact percentiles of five-minute samples.

Quirks of `GetMetricData`: at most 500 questions a call and pages by NextToken; a metric without data gives an
empty list; five-minute data are kept for 63 days; memory exists only where the CloudWatch agent sends it
(namespace CWAgent); network comes as bytes in a period.
https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from finops.frames.waste import Measured
from finops.providers.aws.errors import translated

PERIOD = 300
QUESTIONS = 500


@dataclass(frozen=True, slots=True)
class Wanted:
    """One metric of one resource. `factor`: what a value is multiplied with; parts of one name add up."""

    metric: str
    namespace: str
    name: str
    dimension: str
    stat: str
    factor: float = 1.0


_MBIT = 8 / PERIOD / 1e6
_INSTANCE = (
    Wanted("cpu", "AWS/EC2", "CPUUtilization", "InstanceId", "Average"),
    Wanted("network", "AWS/EC2", "NetworkIn", "InstanceId", "Sum", _MBIT),
    Wanted("network", "AWS/EC2", "NetworkOut", "InstanceId", "Sum", _MBIT),
    Wanted("credits", "AWS/EC2", "CPUCreditBalance", "InstanceId", "Minimum"),
    Wanted("memory", "CWAgent", "mem_used_percent", "InstanceId", "Average"),
)
_VOLUME = (
    Wanted("iops", "AWS/EBS", "VolumeReadOps", "VolumeId", "Sum", 1 / PERIOD),
    Wanted("iops", "AWS/EBS", "VolumeWriteOps", "VolumeId", "Sum", 1 / PERIOD),
)
_DATABASE = (
    Wanted("cpu", "AWS/RDS", "CPUUtilization", "DBInstanceIdentifier", "Average"),
    Wanted("connections", "AWS/RDS", "DatabaseConnections", "DBInstanceIdentifier", "Maximum"),
    Wanted("memory_free", "AWS/RDS", "FreeableMemory", "DBInstanceIdentifier", "Minimum", 1 / 2**30),
    Wanted("iops", "AWS/RDS", "ReadIOPS", "DBInstanceIdentifier", "Average"),
    Wanted("iops", "AWS/RDS", "WriteIOPS", "DBInstanceIdentifier", "Average"),
)
_WAREHOUSE = (Wanted("connections", "AWS/Redshift", "DatabaseConnections", "ClusterIdentifier", "Maximum"),)
# Consumed units are sent only where there were some: what is provisioned is sent always, and counted 0 times
# it says when the table was there.
_TABLE = (
    Wanted("reads", "AWS/DynamoDB", "ConsumedReadCapacityUnits", "TableName", "Sum", 1 / PERIOD),
    Wanted("reads", "AWS/DynamoDB", "ProvisionedReadCapacityUnits", "TableName", "Average", 0.0),
    Wanted("writes", "AWS/DynamoDB", "ConsumedWriteCapacityUnits", "TableName", "Sum", 1 / PERIOD),
    Wanted("writes", "AWS/DynamoDB", "ProvisionedWriteCapacityUnits", "TableName", "Average", 0.0),
)


def wanted_of(resource: str) -> tuple[str, Sequence[Wanted]]:
    """The id that CloudWatch knows, and what is asked of it."""
    if resource.startswith("i-"):
        return resource, _INSTANCE
    if resource.startswith("vol-"):
        return resource, _VOLUME
    if ":db:" in resource:
        return resource.rpartition(":")[2], _DATABASE
    if ":redshift:" in resource and ":cluster:" in resource:
        return resource.rpartition(":")[2], _WAREHOUSE
    if ":dynamodb:" in resource and ":table/" in resource:
        return resource.rpartition(":table/")[2], _TABLE
    return resource, ()


def cloudwatch_measures(
    client: Any, resources: Sequence[str], start: datetime, end: datetime, *, summarise: Any
) -> Iterator[tuple[str, Measured]]:
    """Each resource's metrics over [start, end); `summarise(metric, samples, source)` makes percentiles.

    Raises as `errors.translated`.
    """
    asked = [
        (resource, name, wanted)
        for resource in resources
        for name, all_of in [wanted_of(resource)]
        for wanted in all_of
    ]
    sums: dict[tuple[str, str], dict[datetime, float]] = {}
    for some in _batches(asked):
        for (resource, _name, wanted), values in _answers(client, some, start, end):
            held = sums.setdefault((resource, wanted.metric), {})
            for at, value in values.items():
                held[at] = held.get(at, 0.0) + value * wanted.factor
    for (resource, metric), values in sums.items():
        if len(values) > 1:
            yield resource, summarise(metric, sorted(values.items()), "CloudWatch")


Question = tuple[str, str, Wanted]


def _batches(asked: Sequence[Question]) -> Iterator[Sequence[Question]]:
    for first in range(0, len(asked), QUESTIONS):
        yield asked[first : first + QUESTIONS]


def _answers(
    client: Any, asked: Sequence[Question], start: datetime, end: datetime
) -> Iterator[tuple[Question, Mapping[datetime, float]]]:
    queries = [
        {
            "Id": f"q{place}",
            "MetricStat": {
                "Metric": {
                    "Namespace": wanted.namespace,
                    "MetricName": wanted.name,
                    "Dimensions": [{"Name": wanted.dimension, "Value": name}],
                },
                "Period": PERIOD,
                "Stat": wanted.stat,
            },
        }
        for place, (_resource, name, wanted) in enumerate(asked)
    ]
    found: dict[str, dict[datetime, float]] = {}
    token = ""
    while True:
        more = {"NextToken": token} if token else {}
        with translated("asking CloudWatch for metrics"):
            answer = client.get_metric_data(
                MetricDataQueries=queries, StartTime=start, EndTime=end, ScanBy="TimestampAscending", **more
            )
        for one in answer.get("MetricDataResults", ()):
            held = found.setdefault(one["Id"], {})
            for at, value in zip(one.get("Timestamps", ()), one.get("Values", ()), strict=False):
                held[at.astimezone(UTC)] = float(value)
        token = answer.get("NextToken") or ""
        if not token:
            break
    for place, question in enumerate(asked):
        if found.get(f"q{place}"):
            yield question, found[f"q{place}"]
