"""What a launch without a machine does next, by what its organisation has seen of the market."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import Organisation
from apps.launches.models import Attempt, AttemptState, Launch, LaunchState, LaunchTarget
from apps.launches.services.reconciling import reconcile_all
from apps.launches.services.running import launch_run
from tests.support.launches import OFFER, ON_DEMAND_OFFER, approved, launch, target

pytestmark = pytest.mark.django_db
MINUTES = timedelta(minutes=1)
OTHER = {**OFFER, "zone": "use1-az2", "zone_name": "us-east-1b", "price": "0.041", "cost": "0.82"}
JOB = {"hours": 20.0, "product": "", "provider": "aws", "restart_minutes": 6.0, "checkpoint_minutes": 10.0}


@pytest.fixture
def now(settings: Any, tmp_path: Any) -> datetime:
    settings.OFFPEAK_HOME = tmp_path
    return timezone.now()


def market(
    now: datetime, organisation: Organisation | None = None, name: str = "cloud", **pools: str
) -> LaunchTarget:
    """A simulated market of ticks of ten minutes from now on."""
    found = {"use1-az1": "0", "use1-az2": "0", "us-east-1": "1", **{
        name.replace("_", "-"): text for name, text in pools.items()
    }}  # fmt: skip
    return target(
        organisation, name=name, executor="simulated", account="",
        settings={"pools": found, "gap_seconds": 600, "begins": now.isoformat()},
    )  # fmt: skip


def due(place: LaunchTarget, now: datetime, *, slack: float, **changes: Any) -> Launch:
    """20 h of work with so much slack: 0.8 on Spot, 2 on demand."""
    offers = [{**OFFER, "cost": "0.8"}, OTHER, {**ON_DEMAND_OFFER, "cost": "2"}]
    made = approved(place, **{
        "due_at": now - MINUTES, "hours": 20.0, "deadline_hours": 20.0 + slack, "job": JOB,
        "document": {"offers": offers}, "cost_high": "9", **changes,
    })  # fmt: skip
    return launch(made)


def go(one: Launch, now: datetime) -> str:
    Launch.objects.filter(pk=one.pk).update(next_at=timezone.now())
    launch_run(launch_id=one.pk, now=now)
    one.refresh_from_db()
    return one.state


def seen(one: Launch, *, zone: str, begins: datetime, ends: datetime, ending: str = "interrupted") -> None:
    """A machine that ran before, of another launch of the same target."""
    other = launch(one.plan, due_at=begins, state=LaunchState.CANCELLED, ended_at=ends)
    Attempt.objects.create(
        launch=other, number=1, region="us-east-1", zone=zone, instance_type="m5.large", market="spot",
        parameters={}, token=f"{other.pk}", tags={}, state=AttemptState.ENDED, prepared_at=begins,
        machine="i-0", started_at=begins, ended_at=ends, ending=ending,
    )  # fmt: skip


def test_with_much_slack_it_waits_for_spot_and_looks_ever_less_often(now: datetime) -> None:
    """Four hours without Spot are 26 refusals in a row: no bound of attempts ends the launch."""
    one = due(market(now), now, slack=12)
    at, waits = now, []
    while at < now + timedelta(hours=4):
        assert go(one, at) == LaunchState.QUEUED
        assert one.why == "market"
        waits.append(round((one.next_at - at).total_seconds() / 60))
        at = one.next_at
    assert waits[:4] == [5, 5, 5, 5]
    assert waits[-1] == 30
    assert waits == sorted(waits)
    assert one.attempts.filter(state=AttemptState.REFUSED).count() == 2 * len(waits) > 12
    assert not one.on_demand


def test_with_little_slack_it_goes_on_demand_early_and_not_for_good(now: datetime) -> None:
    one = due(market(now), now, slack=1.5)
    assert go(one, now) == LaunchState.RUNNING
    attempts = list(one.attempts.order_by("number").values_list("market", "state"))
    assert attempts == [("spot", "refused"), ("spot", "refused"), ("on-demand", "running")]
    assert not one.on_demand
    assert one.events.filter(kind="early").count() == 1


def test_what_is_stopped_does_not_say_that_it_goes_on_demand(now: datetime) -> None:
    one = due(market(now), now, slack=1.5)
    for number, zone in enumerate(("use1-az1", "use1-az2"), 1):
        Attempt.objects.create(
            launch=one, number=number, region="us-east-1", zone=zone, instance_type="m5.large", market="spot",
            parameters={}, tags={}, token=zone, state=AttemptState.REFUSED, prepared_at=now,
            code="InsufficientInstanceCapacity",
        )  # fmt: skip
    LaunchTarget.objects.update(active=False)
    for turn in range(3):
        assert go(one, now + turn * MINUTES) == LaunchState.QUEUED
    assert (one.why, one.events.filter(kind="early").count()) == ("target_off", 0)
    LaunchTarget.objects.update(active=True)
    assert go(one, now + 3 * MINUTES) == LaunchState.RUNNING
    kinds = list(one.events.order_by("pk").values_list("kind", flat=True))
    assert kinds[-3:] == ["called", "early", "running"]


@pytest.mark.parametrize(
    "changes",
    [{"cost": "-0.8"}, {"cost": "0", "price": "0"}, {"cost": None, "price": None}, {"currency": "EUR"},
     {"cost": "1e-400"}, {"cost": None, "price": "-0.04"}],
)  # fmt: skip
def test_prices_that_cannot_be_planned_with_lose_no_launch(now: datetime, changes: dict[str, Any]) -> None:
    """The offers are tried in their order then, as without a plan."""
    offers = [{**OFFER, "cost": "0.8", **changes}, {**ON_DEMAND_OFFER, "cost": "2"}]
    one = due(market(now, use1_az1="1"), now, slack=12, document={"offers": offers})
    assert go(one, now) == LaunchState.RUNNING
    assert one.attempts.get().market == "spot"
    one = due(market(now, name="full"), now, slack=12, name="full", document={"offers": offers})
    assert go(one, now) == LaunchState.QUEUED
    assert one.why == "market"


def test_at_the_last_safe_moment_on_demand_is_for_good(now: datetime) -> None:
    one = due(market(now, use1_az1="1"), now, slack=0.4)
    assert go(one, now) == LaunchState.RUNNING
    assert one.attempts.get().market == "on-demand"
    assert one.on_demand


def test_without_checkpoints_the_offers_are_tried_in_their_order(now: datetime) -> None:
    job = {key: value for key, value in JOB.items() if key != "checkpoint_minutes"}
    one = due(market(now, use1_az2="1"), now, slack=40, job=job)
    assert go(one, now) == LaunchState.RUNNING
    assert [row.zone for row in one.attempts.order_by("number")] == ["use1-az1", "use1-az2"]


def test_a_zone_that_took_machines_back_loses_to_one_that_is_a_little_dearer(now: datetime) -> None:
    place = market(now, use1_az1="1", use1_az2="1")
    one = due(place, now, slack=20)
    for hour in range(2, 8):
        begins = now - timedelta(hours=hour)
        seen(one, zone="use1-az1", begins=begins, ends=begins + 30 * MINUTES)
    seen(one, zone="use1-az2", begins=now - timedelta(hours=8), ends=now - MINUTES, ending="done")
    assert go(one, now) == LaunchState.RUNNING
    assert one.attempts.get().zone == "use1-az2"


def test_what_other_organisations_saw_is_theirs(now: datetime) -> None:
    place = market(now, use1_az1="1", use1_az2="1")
    other = Organisation.objects.create(name="Other", slug="other")
    theirs = due(market(now, other, use1_az1="1"), now, slack=20)
    for hour in range(2, 8):
        begins = now - timedelta(hours=hour)
        seen(theirs, zone="use1-az1", begins=begins, ends=begins + 30 * MINUTES)
    one = due(place, now, slack=20)
    assert go(one, now) == LaunchState.RUNNING
    assert one.attempts.get().zone == "use1-az1"


def test_taken_back_it_goes_on_elsewhere_at_once(now: datetime) -> None:
    one = due(market(now, use1_az1="10", use1_az2="1"), now, slack=20)
    assert go(one, now) == LaunchState.RUNNING
    assert reconcile_all(now=now + 10 * MINUTES)["ended"] == 1
    assert go(one, now + 11 * MINUTES) == LaunchState.RUNNING
    assert one.attempts.order_by("-number").first().zone == "use1-az2"  # type: ignore[union-attr]
