"""The whole life of a Spot launch against moto's EC2, SQS, S3 and STS over HTTP with the real boto3: launched
once, noticed through a queue, resumed from a checkpoint whose marker lies in S3, moved on demand at the last
safe moment, an orphan ended.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from urllib.request import Request, urlopen

import boto3
import pytest
from django.utils import timezone
from moto.server import ThreadedMotoServer

from apps.launches.models import Launch, LaunchState, LaunchTarget, Stray
from apps.launches.services import executors
from apps.launches.services.callbacks import checkpoint_keep, launch_finish
from apps.launches.services.interruptions import notices_take
from apps.launches.services.reconciling import reconcile_all
from apps.launches.services.running import launch_run
from finops.frames.launches import EXPIRES, JOB, OWNER
from finops.providers.aws.launching import AwsExecutor
from tests.support.launches import OFFER, ON_DEMAND_OFFER, approved, launch, target

pytestmark = pytest.mark.django_db
REGION, ACCOUNT, IMAGE = "us-east-1", "123456789012", "ami-12c6146b"
HOUR = timedelta(hours=1)


@pytest.fixture
def moto(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[str]:
    """The address of a moto of our own."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "made-up")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "made-up")
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    settings.AWS_ENDPOINT_URL = f"http://{host}:{port}"
    executors._aws.cache_clear()
    urlopen(Request(f"{settings.AWS_ENDPOINT_URL}/moto-api/reset", method="POST")).close()  # noqa: S310
    try:
        yield settings.AWS_ENDPOINT_URL
    finally:
        server.stop()


def client(service: str, url: str) -> Any:
    return boto3.client(service, region_name=REGION, endpoint_url=url)  # type: ignore[call-overload]


def place(**changes: Any) -> LaunchTarget:
    settings = {"images": {REGION: IMAGE}, **changes.pop("settings", {})}
    return target(account=ACCOUNT, settings=settings, **changes)


def running(url: str) -> list[dict[str, Any]]:
    pages = client("ec2", url).describe_instances(
        Filters=[{"Name": "instance-state-name", "Values": ["pending", "running"]}]
    )
    return [one for group in pages["Reservations"] for one in group["Instances"]]


def go(one: Launch, now: datetime) -> str:
    Launch.objects.filter(pk=one.pk).update(next_at=timezone.now())
    state = launch_run(launch_id=one.pk, now=now)
    one.refresh_from_db()
    return state


def test_from_the_first_machine_to_the_last(moto: str) -> None:
    sqs, s3 = client("sqs", moto), client("s3", moto)
    queue = sqs.create_queue(QueueName="notices")["QueueUrl"]
    s3.create_bucket(Bucket="runs")
    now = timezone.now()
    made = approved(
        place(notices=queue), due_at=now - timedelta(seconds=1), hours=4.0, deadline_hours=12.0,
        checkpoint_location="s3://runs/nightly", checkpoint_marker="_DONE",
        job={"hours": 4.0, "product": "Linux/UNIX", "provider": "aws", "restart_minutes": 6.0,
             "checkpoint_minutes": 30.0, "user_data": "#!/bin/sh\necho {{launch_token}}"},
        document={"offers": [OFFER, ON_DEMAND_OFFER]},
    )  # fmt: skip
    one = launch(made)

    assert go(one, now) == LaunchState.RUNNING
    (box,) = running(moto)
    tags = {tag["Key"]: tag["Value"] for tag in box["Tags"]}
    assert tags[JOB] == str(one.pk)
    assert tags[OWNER] == made.target.owner
    assert box["InstanceLifecycle"] == "spot"
    volumes = client("ec2", moto).describe_volumes()["Volumes"]
    assert {tag["Key"] for volume in volumes for tag in volume.get("Tags", [])} >= {JOB, OWNER}

    # An hour later two checkpoints were told, the marker of the first one is there; then the notice comes.
    one.attempts.update(started_at=now - HOUR - timedelta(minutes=6))
    for hours, name in ((0.5, "c1"), (0.75, "c2")):
        checkpoint_keep(launch=one, attempt=1, work_hours=hours, name=name, marked=True, now=now)
    assert one.attempts.get().checkpoints.filter(marked_at__isnull=False).count() == 0
    s3.put_object(Bucket="runs", Key="nightly/c1/_DONE", Body=b"")
    at = timezone.now()
    for detail in (
        {"detail-type": "EC2 Instance Rebalance Recommendation",
         "detail": {"instance-id": box["InstanceId"]}},
        {"detail-type": "EC2 Spot Instance Interruption Warning",
         "detail": {"instance-id": box["InstanceId"], "instance-action": "terminate"}},
    ):  # fmt: skip
        sqs.send_message(
            QueueUrl=queue, MessageBody=json.dumps({**detail, "time": f"{at:%Y-%m-%dT%H:%M:%SZ}"})
        )
    sqs.send_message(QueueUrl=queue, MessageBody="not an event")
    assert notices_take(now=at) == 3
    assert notices_take(now=at) == 0
    assert reconcile_all(now=at)["running"] == 1
    assert reconcile_all(now=at + timedelta(minutes=2))["interrupted"] == 1
    one.refresh_from_db()
    assert (one.state, one.done_hours, running(moto)) == (LaunchState.INTERRUPTED, 0.5, [])
    assert one.lost_hours == pytest.approx(0.5, abs=0.05)

    # It goes on where the marker says, until Spot is no longer safe for the deadline.
    assert go(one, timezone.now()) == LaunchState.RUNNING
    assert one.attempts.get(number=2).from_hours == 0.5
    late = one.deadline - timedelta(hours=3.5, minutes=6, seconds=299)  # type: ignore[operator]
    one.attempts.filter(number=2).update(started_at=late - timedelta(minutes=20))
    assert reconcile_all(now=late)["moved"] == 1
    assert go(one, late) == LaunchState.RUNNING
    (last,) = running(moto)
    assert "InstanceLifecycle" not in last
    assert launch_finish(launch=one, attempt=3, ok=True, message="", now=late + 3 * HOUR) == "completed"
    assert reconcile_all(now=late + 3 * HOUR)["surplus"] == 1
    assert running(moto) == []
    told = ["rebalance", "notice", "checkpoint", "fallback", "completed"]
    assert list(one.events.filter(kind__in=told).values_list("kind", flat=True)) == told


def test_an_orphan_is_ended_past_its_expiry(moto: str) -> None:
    cloud = place()
    now = timezone.now()
    one = launch(approved(cloud, due_at=now - timedelta(seconds=1)))
    assert go(one, now) == LaunchState.RUNNING
    tags = {OWNER: cloud.owner, JOB: "999999", "offpeak:attempt": "1", EXPIRES: "2020-01-01T00:00:00Z"}
    left = client("ec2", moto).run_instances(
        ImageId=IMAGE, MinCount=1, MaxCount=1, InstanceType="m5.large",
        TagSpecifications=[{"ResourceType": "instance",
                            "Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}],
    )["Instances"][0]["InstanceId"]  # fmt: skip
    assert reconcile_all(now=timezone.now())["orphans_ended"] == 1
    assert Stray.objects.get().machine == left
    assert [box["InstanceId"] for box in running(moto)] == [one.attempts.get().machine]


def test_a_fleet_through_a_launch_template(moto: str) -> None:
    template = client("ec2", moto).create_launch_template(
        LaunchTemplateName="work", LaunchTemplateData={"ImageId": IMAGE, "InstanceType": "m5.large"}
    )["LaunchTemplate"]["LaunchTemplateId"]
    cloud = place(settings={"call": "CreateFleet", "launch_template": {"id": template, "version": "1"}})
    one = launch(approved(cloud, due_at=timezone.now() - timedelta(seconds=1)))
    assert go(one, timezone.now()) == LaunchState.RUNNING
    attempt = one.attempts.get()
    executor = executors.executor_of(cloud, REGION, timezone.now())
    assert isinstance(executor, AwsExecutor)
    assert attempt.parameters["api"] == "CreateFleet"
    assert attempt.machine in {box["InstanceId"] for box in running(moto)}
    executor.end(attempt.machine, now=timezone.now())
    executor.end("i-00000000000000000", now=timezone.now())
    assert running(moto) == []
