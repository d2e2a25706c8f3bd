"""Stop schedules carried out: approval first, one row a due time, caught up or missed, never twice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

import boto3
import pytest
from django.core.exceptions import ValidationError
from moto import mock_aws

from apps.accounts.actors import Actor
from apps.accounts.models import AuditEntry, Membership, Organisation, User
from apps.launches.models import LaunchGuard, ScheduleTurn, StopSchedule, TurnState
from apps.launches.services.schedules import (
    schedule_approve,
    schedule_cancel,
    schedule_pause,
    schedule_request,
    schedule_resume,
    schedules_settle,
    switch_plan,
    turn_run,
)
from finops.providers.aws.session import Access
from finops.providers.aws.switching import Switched, open_switcher
from finops.providers.base import PermanentError, TransientError
from tests.support.launches import target

ASKED = datetime(2026, 3, 2, 5, tzinfo=UTC)  # Monday, 06:00 in Rome
SYSTEM = Actor.system("test")


@dataclass
class Cloud:
    """Keeps what it was asked; `errors` are raised one by one first."""

    calls: list[tuple[str, bool]] = field(default_factory=list)
    errors: list[Exception] = field(default_factory=list)

    def __call__(self, _target: Any, _region: str) -> Cloud:
        return self

    def switch(self, action: str, *, tag: tuple[str, str], trial: bool = False) -> Switched:
        assert tag == ("Group", "office")
        if self.errors:
            raise self.errors.pop(0)
        self.calls.append((action, trial))
        return Switched(switched=["i-1"], left={"i-2": "a Spot machine"})


def asked(**changes: Any) -> StopSchedule:
    values: dict[str, Any] = {
        "organisation": Organisation.default(), "actor": SYSTEM, "name": "Office",
        "region": "us-east-1", "tag_key": "Group", "tag_value": "office", "start": "08:00", "stop": "19:00",
        "zone": "Europe/Rome", "now": ASKED, **changes,
    }  # fmt: skip
    return schedule_request(**{"target": values.pop("target", None) or target(), **values})


def approver(role: str = "finance") -> Membership:
    user = User.objects.create(email=f"{role}@example.com")
    return Membership.objects.create(user=user, organisation=Organisation.default(), role=role)


def approved(**changes: Any) -> StopSchedule:
    return schedule_approve(schedule=asked(**changes), membership=approver(), now=ASKED)


def tick(cloud: Cloud, now: datetime) -> list[str]:
    return [turn_run(turn_id=one, now=now, switching=cloud) for one in schedules_settle(now=now)]


def turns() -> list[tuple[str, str, str]]:
    rows = ScheduleTurn.objects.order_by("due_at")
    return [(f"{one.due_at:%a %H:%M}", one.action, one.state) for one in rows]


@pytest.mark.django_db
def test_nothing_happens_before_it_is_approved() -> None:
    asked()
    cloud = Cloud()
    assert tick(cloud, ASKED + timedelta(hours=24)) == []
    assert (cloud.calls, ScheduleTurn.objects.count()) == ([], 0)
    with pytest.raises(ValidationError):
        schedule_approve(schedule=StopSchedule.objects.get(), membership=approver("viewer"), now=ASKED)
    assert StopSchedule.objects.get().state == "requested"


@pytest.mark.django_db
def test_a_day_runs_once_however_often_the_clock_ticks() -> None:
    approved()
    cloud = Cloud()
    for minute in range(0, 24 * 60, 30):
        for _ in range(2):
            tick(cloud, ASKED + timedelta(minutes=minute))
    # Rome is an hour ahead of UTC.
    assert turns() == [("Mon 07:00", "start", "done"), ("Mon 18:00", "stop", "done")]
    assert cloud.calls == [("start", False), ("stop", False)]
    assert ScheduleTurn.objects.first().left == {"i-2": "a Spot machine"}  # type: ignore[union-attr]
    assert AuditEntry.objects.filter(action="stop_schedule.stop").count() == 1


@pytest.mark.django_db
def test_after_an_outage_the_stop_is_caught_up_and_the_rest_is_missed() -> None:
    approved()
    cloud = Cloud()
    assert tick(cloud, datetime(2026, 3, 4, 23, tzinfo=UTC)) == [TurnState.DONE]
    assert cloud.calls == [("stop", False)]
    assert [state for _, _, state in turns()] == ["missed"] * 5 + ["done"]


@pytest.mark.django_db
def test_a_start_is_not_caught_up_past_its_deadline() -> None:
    approved(stop="", start="11:00", start_minutes=30)
    cloud = Cloud()
    assert tick(cloud, datetime(2026, 3, 2, 13, tzinfo=UTC)) == []
    assert tick(cloud, datetime(2026, 3, 3, 10, 5, tzinfo=UTC)) == [TurnState.DONE]
    assert turns() == [("Mon 10:00", "start", "missed"), ("Tue 10:00", "start", "done")]


@pytest.mark.django_db
def test_what_could_not_be_reached_is_tried_again_while_it_still_says_how_things_should_be() -> None:
    approved()
    cloud = Cloud(errors=[TransientError("busy"), TransientError("busy")])
    start = datetime(2026, 3, 2, 7, tzinfo=UTC)
    assert tick(cloud, start) == [TurnState.DUE]
    assert tick(cloud, start + timedelta(minutes=1)) == [TurnState.DUE]
    assert tick(cloud, start + timedelta(minutes=2)) == [TurnState.DONE]
    cloud.errors = [TransientError("busy")] * 9
    for minute in range(9):
        tick(cloud, datetime(2026, 3, 2, 18, minute, tzinfo=UTC))
    assert turns()[-1] == ("Mon 18:00", "stop", "failed")
    cloud.errors = [PermanentError("no right")]
    assert tick(cloud, datetime(2026, 3, 3, 7, tzinfo=UTC)) == [TurnState.FAILED]


@pytest.mark.django_db
def test_paused_frozen_and_dry_runs_start_nothing() -> None:
    row = approved()
    cloud = Cloud()
    schedule_pause(schedule=row, actor=SYSTEM, now=ASKED)
    assert tick(cloud, datetime(2026, 3, 2, 7, tzinfo=UTC)) == []
    schedule_resume(schedule=row, actor=SYSTEM, now=datetime(2026, 3, 2, 20, tzinfo=UTC))
    LaunchGuard.objects.create(organisation=row.organisation, frozen=True, frozen_at=ASKED)
    assert tick(cloud, datetime(2026, 3, 3, 7, tzinfo=UTC)) == [TurnState.MISSED]
    assert ScheduleTurn.objects.get().message == "Launches are frozen: nothing is started."
    assert tick(cloud, datetime(2026, 3, 3, 18, tzinfo=UTC)) == [TurnState.DONE]
    StopSchedule.objects.update(dry_run=True)
    assert tick(cloud, datetime(2026, 3, 4, 18, tzinfo=UTC)) == [TurnState.TRIED]
    assert cloud.calls == [("stop", False), ("stop", True)]
    schedule_cancel(schedule=row, actor=SYSTEM, now=ASKED)
    assert tick(cloud, datetime(2026, 3, 9, tzinfo=UTC)) == []


@pytest.mark.django_db
def test_an_approval_that_was_taken_back_is_read_again_before_anything_is_switched() -> None:
    row = approved()
    cloud = Cloud()
    due = datetime(2026, 3, 2, 7, tzinfo=UTC)
    [turn] = schedules_settle(now=due)
    schedule_pause(schedule=row, actor=SYSTEM, now=due)
    assert turn_run(turn_id=turn, now=due, switching=cloud) == TurnState.MISSED
    assert cloud.calls == []


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"start": "", "stop": ""}, "start"),
        ({"start": "25:00"}, "start"),
        ({"days": "someday"}, "days"),
        ({"zone": "+02:00"}, "zone"),
        ({"region": "Rome"}, "region"),
        ({"tag_key": "aws:x"}, "tag_key"),
        ({"name": " "}, "name"),
        ({"start_minutes": 0}, "start_minutes"),
    ],
    ids=["nothing", "clock", "days", "zone", "region", "tag", "name", "minutes"],
)
def test_wrong_words_are_refused_and_nothing_is_kept(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(ValidationError) as refused:
        asked(**changes)
    assert list(refused.value.message_dict) == [field]
    assert StopSchedule.objects.count() == 0


@pytest.mark.django_db
def test_a_name_is_taken_once() -> None:
    first = asked(holidays=[date(2026, 12, 25)])
    assert date(2026, 12, 25) in switch_plan(first).holidays
    with pytest.raises(ValidationError, match="name"):
        asked(target=first.target)
    assert StopSchedule.objects.count() == 1


@pytest.fixture
def ec2(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with mock_aws():
        yield boto3.client("ec2", region_name="us-east-1")


def machine(ec2: Any, group: str = "office", **more: Any) -> str:
    tags = [{"Key": "Group", "Value": group}, *more.pop("tags", [])]
    made = ec2.run_instances(
        ImageId=ec2.describe_images()["Images"][0]["ImageId"], MinCount=1, MaxCount=1,
        InstanceType="t3.micro",
        TagSpecifications=[{"ResourceType": "instance", "Tags": tags}], **more,
    )  # fmt: skip
    return str(made["Instances"][0]["InstanceId"])


def states(ec2: Any) -> dict[str, str]:
    return {
        one["InstanceId"]: one["State"]["Name"]
        for group in ec2.describe_instances()["Reservations"]
        for one in group["Instances"]
    }


def test_machines_with_the_tag_are_stopped_and_started_and_others_are_left(ec2: Any) -> None:
    mine, other = machine(ec2), machine(ec2, "off*ce")
    fleet = machine(ec2, tags=[{"Key": "aws:autoscaling:groupName", "Value": "web"}])
    switcher = open_switcher(Access(), region="us-east-1")
    tried = switcher.switch("stop", tag=("Group", "office"), trial=True)
    assert (tried.switched, states(ec2)[mine]) == ([mine], "running")
    found = switcher.switch("stop", tag=("Group", "office"))
    assert (found.switched, list(found.left)) == ([mine], [fleet])
    assert states(ec2) == {mine: "stopped", other: "running", fleet: "running"}
    again = switcher.switch("stop", tag=("Group", "office"))
    assert (again.switched, again.already) == ([], [mine])
    assert switcher.switch("start", tag=("Group", "office")).switched == [mine]
    assert states(ec2)[mine] == "running"
    # A wildcard in the tag's value means itself.
    assert switcher.switch("stop", tag=("Group", "off*ce")).switched == [other]
