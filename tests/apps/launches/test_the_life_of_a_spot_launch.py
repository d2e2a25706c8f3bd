"""The whole life of a Spot launch against moto's EC2, SQS, S3 and STS over HTTP with the real boto3: launched
once, noticed through a queue, resumed from a checkpoint whose marker lies in S3, moved on demand at the last
safe moment, moved back to Spot where that is there again, an orphan ended.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import boto3
import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from apps.accounts.models import User
from apps.catalog.services import zones_store
from apps.ingest.services import ImportOptions, prices_import
from apps.launches.models import Launch, LaunchState, LaunchTarget, Stray
from apps.launches.services import executors
from apps.launches.services.callbacks import checkpoint_keep, launch_finish
from apps.launches.services.costs import costs_fill
from apps.launches.services.interruptions import notices_take
from apps.launches.services.moving import moves_run
from apps.launches.services.reconciling import reconcile_all
from apps.launches.services.running import launch_run
from apps.prices.services import Placed, list_prices_store
from apps.workloads.models import Workload
from finops.frames.launches import ATTEMPT, EXPIRES, JOB, OWNER
from finops.frames.list_prices import ListPrice, ListPriceKey
from finops.providers.aws.launching import AwsExecutor
from tests.support.lake import fresh_lake
from tests.support.launches import OFFER, ON_DEMAND_OFFER, approved, launch, target
from tests.support.moto_server import MotoCloud, moto_cloud
from tests.support.spot import answer, row

pytestmark = pytest.mark.django_db
REGION, ACCOUNT, IMAGE = "us-east-1", "123456789012", "ami-12c6146b"
HOUR, MINUTES = timedelta(hours=1), timedelta(minutes=1)


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[MotoCloud]:
    """A moto of our own."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "made-up")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "made-up")
    with moto_cloud() as made:
        settings.AWS_ENDPOINT_URL = made.url
        executors._aws.cache_clear()
        yield made


@pytest.fixture
def lake(db: None, settings: Any, tmp_path: Path) -> Iterator[Path]:
    """A folder for files to load into an empty lake."""
    with fresh_lake(settings, tmp_path / "lake"):
        yield tmp_path


@pytest.fixture
def moto(cloud: MotoCloud) -> str:
    """Its address."""
    return cloud.url


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


def prices(folder: Path, begins: datetime) -> None:
    """Spot at 0.04, at 0.05 two hours after `begins`; 0.1 on demand; us-east-1a is use1-az1 here."""
    zones_store(
        provider="aws", account_id=ACCOUNT, region=REGION, region_name="", zones={"us-east-1a": "use1-az1"},
        seen_at=begins,
    )  # fmt: skip
    times = (begins - HOUR, begins + 2 * HOUR)
    rows = [row(price, f"{at:%Y-%m-%dT%H:%M:%SZ}") for price, at in zip(("0.04", "0.05"), times, strict=True)]
    (folder / "spot.json").write_text(answer(*rows))
    known = ImportOptions(account=ACCOUNT, request_start=times[0], request_end=begins + 7 * HOUR)
    done = prices_import(source=str(folder / "spot.json"), provider="aws", options=known)
    assert done.state == "finished", done.error
    key = ListPriceKey("aws", REGION, "m5.large", "linux", "none", "shared", "USD", begins - HOUR)
    list_prices_store(rows=[Placed("list.csv", 1, ListPrice(key, Decimal("0.1")))], source="made-up")


def tags_of(box: dict[str, Any]) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in box["Tags"]}


def back_and_forth(begins: datetime) -> Launch:
    """4 h of work due at `begins` with an hour of slack; its script says from where it goes on."""
    saved = Workload.objects.create(
        organisation=place().organisation, name="Nightly", hours=4.0, types=["m5.large"], regions=[REGION],
        product="Linux/UNIX", slack_hours=1.0,
    )  # fmt: skip
    offers = [{**OFFER, "cost": "0.16"}, {**ON_DEMAND_OFFER, "cost": "0.4"}]
    return launch(approved(
        LaunchTarget.objects.get(), workload=saved, due_at=begins, start_minutes=600, hours=4.0,
        deadline_hours=5.0, checkpoint_location="s3://runs/nightly", checkpoint_marker="_DONE",
        cost=Decimal("0.16"), cost_high=Decimal("0.9"), document={"offers": offers},
        job={"hours": 4.0, "product": "Linux/UNIX", "provider": "aws", "restart_minutes": 6.0,
             "checkpoint_minutes": 10.0, "user_data": "#!/bin/sh\nwork --from {{done_hours}}"},
    ))  # fmt: skip


def the_same_by_page_api_and_command(one: Launch, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """What all of them say of a launch that is over."""
    browser = Client()
    browser.force_login(User.objects.get())
    page = browser.get(f"/launches/{one.pk}/").content.decode()
    for words in ('Nightly is done and cost <span class="key">$0.26</span>', "$0.11", "$0.15", "$0.0020"):
        assert words in page, words
    capsys.readouterr()
    call_command("launch", str(one.pk), "--json")
    said: dict[str, Any] = json.loads(capsys.readouterr().out)["launch"]
    answered = browser.get(f"/api/v1/launches/{one.pk}").json()
    assert {name: answered[name] for name in said} == said
    return answered  # type: ignore[no-any-return]


def test_on_demand_while_there_is_no_spot_and_back_once_there_is(
    cloud: MotoCloud, lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By hand: 66 min on demand at 0.1 are 0.11; 54 min on Spot at 0.04 and 133.2 min at 0.05 are 0.147."""
    begins = timezone.now().replace(second=0, microsecond=0) - 7 * HOUR
    ec2, s3 = client("ec2", cloud.url), client("s3", cloud.url)
    s3.create_bucket(Bucket="runs")
    prices(lake, begins)
    one = back_and_forth(begins)
    cloud.away = {"spot"}
    assert go(one, begins) == LaunchState.RUNNING
    (former,) = running(cloud.url)
    assert ("InstanceLifecycle" in former, cloud.refused) == (False, 1)
    one.attempts.filter(number=2).update(started_at=begins)

    # Asked for beside it and refused: the same machine runs on.
    assert moves_run(now=begins + 6 * MINUTES) == 0
    assert [cloud.refused, *(box["InstanceId"] for box in running(cloud.url))] == [2, former["InstanceId"]]

    # An hour of work later the marker of 0.98 h is there, that of 1 h is not. Spot is there again.
    at = begins + 66 * MINUTES
    for hours, name in ((0.98, "c1"), (1.0, "c2")):
        checkpoint_keep(launch=one, attempt=2, work_hours=hours, name=name, marked=True, now=at)
    s3.put_object(Bucket="runs", Key="nightly/c1/_DONE", Body=b"")
    assert reconcile_all(now=at)["running"] == 1
    cloud.away = set()
    assert moves_run(now=at) == 1
    (box,) = running(cloud.url)
    assert (box["InstanceLifecycle"], box["Placement"]["AvailabilityZone"]) == ("spot", "us-east-1a")
    script = ec2.describe_instance_attribute(InstanceId=box["InstanceId"], Attribute="userData")
    assert base64.b64decode(script["UserData"]["Value"]) == b"#!/bin/sh\nwork --from 0.98"
    one.attempts.filter(number=4).update(started_at=at)
    assert reconcile_all(now=at + MINUTES)["running"] == 1

    # The 3.02 h that were left are done 6 min and 3.02 h later.
    done = at + 187.2 * MINUTES
    assert launch_finish(launch=one, attempt=4, ok=True, message="", now=done) == "completed"
    assert reconcile_all(now=done + MINUTES)["surplus"] == 1
    assert running(cloud.url) == []
    assert costs_fill(now=done + HOUR) == 2

    boxes = [box for group in ec2.describe_instances()["Reservations"] for box in group["Instances"]]
    assert {box["InstanceId"]: tags_of(box)[ATTEMPT] for box in boxes} == {
        former["InstanceId"]: "2", box["InstanceId"]: "4"
    }  # fmt: skip
    # An hour after 1.5 times the work that was left.
    for each, expires in ((former, begins + 7 * HOUR), (box, at + 5.53 * HOUR)):
        tags = tags_of(each)
        assert (tags[OWNER], tags[JOB]) == (one.plan.target.owner, str(one.pk))
        assert tags["offpeak:workload"] == "Nightly"
        assert timedelta(0) <= datetime.fromisoformat(tags[EXPIRES]) - expires < MINUTES
    said = the_same_by_page_api_and_command(one, capsys)
    assert [(row["market"], row["state"], row["ending"], row["paid"]) for row in said["attempts"]] == [
        ("spot", "refused", None, None), ("on-demand", "ended", "moved", "0.11"),
        ("spot", "refused", None, None), ("spot", "ended", "done", "0.147"),
    ]  # fmt: skip
    assert (said["paid"], said["currency"], said["lost_hours"], said["lost_cost"]) == (
        "0.257", "USD", 0.02, "0.002"
    )  # fmt: skip
    assert said["plan_against_actual"]["in_time"] is True


def test_an_orphan_is_ended_past_its_expiry(moto: str) -> None:
    target_of_it = place()
    now = timezone.now()
    one = launch(approved(target_of_it, due_at=now - timedelta(seconds=1)))
    assert go(one, now) == LaunchState.RUNNING
    tags = {OWNER: target_of_it.owner, JOB: "999999", "offpeak:attempt": "1", EXPIRES: "2020-01-01T00:00:00Z"}
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
    fleet = place(settings={"call": "CreateFleet", "launch_template": {"id": template, "version": "1"}})
    one = launch(approved(fleet, due_at=timezone.now() - timedelta(seconds=1)))
    assert go(one, timezone.now()) == LaunchState.RUNNING
    attempt = one.attempts.get()
    executor = executors.executor_of(fleet, REGION, timezone.now())
    assert isinstance(executor, AwsExecutor)
    assert attempt.parameters["api"] == "CreateFleet"
    assert attempt.machine in {box["InstanceId"] for box in running(moto)}
    executor.end(attempt.machine, now=timezone.now())
    executor.end("i-00000000000000000", now=timezone.now())
    assert running(moto) == []
