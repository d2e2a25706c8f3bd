"""Machines of one launch that start together or not at all, are lost together and go on together."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from apps.launches.models import Attempt, Launch, LaunchGuard, LaunchState
from apps.launches.selectors.money import machines_of, standing_of
from apps.launches.services.costs import attempt_price
from apps.launches.services.gangs import incomplete
from apps.launches.services.reconciling import reconcile_all
from apps.launches.services.running import launch_run
from faults.cloud import Cloud
from finops.frames.launches import LaunchCall, Machine, MachineState
from finops.providers.aws.launching import AwsExecutor
from finops.providers.aws.launching_call import call_parameters
from finops.providers.aws.session import Access
from finops.providers.kubernetes.launching import machine_of
from finops.providers.launching import LaunchRefusedError
from tests.support.launches import OFFER, approved, launch, target

State = LaunchState
pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 2, 9, tzinfo=UTC)


def gang(**changes: Any) -> Launch:
    """Four machines of one launch, due for a second; 0.32 expected, 1.2 approved."""
    given = {"count": 4, "gang": True, "cost": Decimal("0.32"), "cost_high": Decimal("1.2"), **changes}
    offer = {**OFFER, "cost": "0.32"}
    made = approved(due_at=timezone.now() - timedelta(seconds=1), document={"offers": [offer]}, **given)
    return launch(made)


def run(one: Launch) -> str:
    Launch.objects.filter(pk=one.pk).update(next_at=timezone.now())
    state = launch_run(launch_id=one.pk, now=timezone.now())
    one.refresh_from_db()
    return state


def test_all_start_by_one_call_and_count_as_four(ec2: Cloud) -> None:
    one = gang()
    assert run(one) == State.RUNNING
    (call,) = ec2.asked("RunInstances")
    assert (call["MinCount"], call["MaxCount"]) == ("4", "4")
    attempt = one.attempts.get()
    assert (attempt.count, sorted(attempt.members)) == (4, [f"i-{n:06d}" for n in (1, 2, 3, 4)])
    assert machines_of(one.organisation) == 4
    assert standing_of(one.organisation, None, at=one.due_at, currency="USD").promised == Decimal("1.2")
    done = reconcile_all(now=timezone.now())
    assert (done["running"], done["surplus"], len(ec2.running())) == (1, 0, 4)


def test_none_starts_where_there_is_no_room_for_all(ec2: Cloud) -> None:
    one = gang()
    LaunchGuard.objects.create(organisation=one.organisation, max_instances=3)
    assert (run(one), one.why) == (State.QUEUED, "instances")
    assert ec2.asked("RunInstances") == []
    LaunchGuard.objects.update(max_instances=4)
    assert run(one) == State.RUNNING


def test_one_that_is_taken_back_ends_the_others_and_all_go_on_together(ec2: Cloud) -> None:
    one = gang()
    assert run(one) == State.RUNNING
    box = ec2.boxes["i-000003"]
    box.ended_at, box.reason = datetime.now(UTC), "Server.SpotInstanceTermination"
    assert reconcile_all(now=timezone.now())["ended"] == 1
    one.refresh_from_db()
    assert (one.state, ec2.running()) == (State.INTERRUPTED, [])
    assert run(one) == State.RUNNING
    assert len(ec2.running()) == 4


def test_done_is_done_once_all_are(ec2: Cloud) -> None:
    one = gang()
    assert run(one) == State.RUNNING
    for number, state in ((1, State.RUNNING), (2, State.RUNNING), (3, State.RUNNING), (4, State.COMPLETED)):
        box = ec2.boxes[f"i-{number:06d}"]
        box.ended_at, box.reason = datetime.now(UTC), "Client.InstanceInitiatedShutdown"
        reconcile_all(now=timezone.now())
        one.refresh_from_db()
        assert one.state == state


def test_a_lost_answer_is_adopted_whole(ec2: Cloud) -> None:
    ec2.faults = ["cut", "cut"]
    one = gang()
    assert run(one) == State.UNKNOWN
    assert reconcile_all(now=timezone.now())["adopted"] == 1
    assert (len(one.attempts.get().members), len(ec2.boxes), len(ec2.running())) == (4, 4, 4)


def test_a_gang_of_which_some_are_there_is_released(ec2: Cloud) -> None:
    ec2.faults = ["cut", "cut"]
    one = gang()
    assert run(one) == State.UNKNOWN
    ec2.boxes.pop("i-000004")
    ec2.faults = ["500 before"] * 9
    now = timezone.now()
    for minutes in (0, 3, 6):
        reconcile_all(now=now + timedelta(minutes=minutes))
    one.refresh_from_db()
    assert (one.state, one.why, ec2.running()) == (State.QUEUED, "absent", [])


def test_its_hours_cost_four_times_one_machine_s(ec2: Cloud) -> None:
    place = target(settings={"images": {"us-east-1": "ami-1"}, "price": "0.5", "currency": "USD"})
    one = launch(approved(place, count=4, gang=True))
    attempt = Attempt.objects.create(
        launch=one, number=1, market="on-demand", parameters={}, tags={}, token="t", state="ended",
        prepared_at=NOW, started_at=NOW, ended_at=NOW + timedelta(minutes=90), machine="i-1", count=4,
    )  # fmt: skip
    assert attempt_price(attempt, NOW + timedelta(hours=2))
    attempt.refresh_from_db()
    assert attempt.paid == Decimal("3")  # 4 x 1.5 x 0.5


SETTINGS = {"call": "CreateFleet", "launch_template": {"id": "lt-1"}}


def test_an_instant_fleet_is_all_or_nothing_in_one_zone() -> None:
    made = call_parameters(SETTINGS, OFFER, count=4)["arguments"]
    assert made["TargetCapacitySpecification"]["TotalTargetCapacity"] == 4
    assert made["SpotOptions"]["MinTargetCapacity"] == 4
    assert made["SpotOptions"]["SingleAvailabilityZone"] is True
    on_demand = call_parameters(SETTINGS, {**OFFER, "market": "on-demand"}, count=4)["arguments"]
    assert on_demand["OnDemandOptions"]["MinTargetCapacity"] == 4


def test_a_fleet_that_came_in_part_is_released(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[str] = []

    class Client:
        def create_fleet(self, **given: Any) -> dict[str, Any]:
            return {"Instances": [{"InstanceIds": ["i-1", "i-2"]}], "Errors": []}

        def terminate_instances(self, InstanceIds: list[str]) -> None:  # noqa: N803 - EC2's own name
            ended.extend(InstanceIds)

    monkeypatch.setattr(AwsExecutor, "_client", lambda self, attempts=4: Client())
    call = LaunchCall("t", "z", "spot", call_parameters(SETTINGS, OFFER, count=3), {})
    with pytest.raises(LaunchRefusedError) as refused:
        AwsExecutor(None, Access(), "us-east-1").launch(call, now=NOW)  # type: ignore[arg-type]
    assert (refused.value.code, ended) == ("InsufficientInstanceCapacity", ["i-1", "i-2"])


def test_pods_that_never_come_release_the_others() -> None:
    job = {
        "metadata": {"name": "j", "namespace": "n", "creationTimestamp": "2026-11-02T09:00:00Z"},
        "spec": {"parallelism": 4}, "status": {"active": 4, "ready": 3},
    }  # fmt: skip
    seen = machine_of(job, NOW)
    assert seen.missing == 1
    assert machine_of({**job, "spec": {"parallelism": 4, "suspend": True}}, NOW).missing == 0
    attempt = Attempt(count=4, started_at=NOW)
    assert not incomplete(attempt, seen, NOW + timedelta(minutes=9))
    assert incomplete(attempt, seen, NOW + timedelta(minutes=10))
    whole: Machine = replace(seen, missing=0)
    assert whole.state is MachineState.RUNNING
    assert not incomplete(attempt, whole, NOW + timedelta(hours=1))
