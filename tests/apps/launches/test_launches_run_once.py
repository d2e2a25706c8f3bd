"""A launch runs once, on time and inside its guards, whatever hands it out; against a local EC2."""

from __future__ import annotations

import threading
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from apps.launches.models import (
    Attempt,
    AttemptState,
    Launch,
    LaunchBudget,
    LaunchGuard,
    LaunchState,
    PlanState,
)
from apps.launches.services.clock import due_launches, launches_tick
from apps.launches.services.reconciling import reconcile_all
from apps.launches.services.running import launch_run
from faults.cloud import Cloud
from tests.support.launches import OFFER, ON_DEMAND_OFFER, approved, launch, plan, target

State = LaunchState
MINUTES = timedelta(minutes=1)


def due(**changes: Any) -> Launch:
    """A launch that has been due for a second."""
    now = timezone.now()
    made = approved(due_at=now - timedelta(seconds=1), **changes)
    return launch(made)


def run(one: Launch) -> str:
    """Carry it out now."""
    state = launch_run(launch_id=one.pk, now=timezone.now())
    one.refresh_from_db()
    return state


@pytest.mark.django_db(transaction=True)
def test_handed_out_four_times_at_once_it_is_launched_once(ec2: Cloud) -> None:
    """t5-01: four copies, one launch, one record."""
    one = due()
    states: list[str] = []

    def worker() -> None:
        states.append(launch_run(launch_id=one.pk, now=timezone.now()))
        connection.close()

    copies = [threading.Thread(target=worker) for _ in range(4)]
    for copy in copies:
        copy.start()
    for copy in copies:
        copy.join(timeout=30)
    assert sorted(states) == ["", "", "", "running"]
    assert run(one) == ""
    assert len(ec2.asked("RunInstances")) == 1
    assert ec2.launched() == {str(one.pk): 1}
    assert Attempt.objects.count() == 1


@pytest.mark.django_db
def test_what_is_sent_is_stored_before_and_carries_whose_it_is(ec2: Cloud) -> None:
    one = due(
        name="Nightly", job={"hours": 2.0, "user_data": "#!/bin/sh\ncurl {{launch_url}} {{launch_token}}"}
    )
    assert run(one) == State.RUNNING
    attempt = one.attempts.get()
    sent = ec2.asked("RunInstances")[0]
    assert sent["ClientToken"] == attempt.token
    assert len(attempt.token) == 64
    assert sent["InstanceMarketOptions.MarketType"] == "spot"
    assert sent["Placement.AvailabilityZone"] == "us-east-1a"
    box = ec2.running()[0]
    assert box.tags == attempt.tags
    assert set(attempt.tags) >= {"offpeak:owner", "offpeak:job", "offpeak:attempt", "offpeak:expires"}
    # The token that a machine calls us back with is not stored.
    assert "{{launch_token}}" in attempt.parameters["arguments"]["UserData"]
    assert f"/api/v1/launches/{one.pk} " in attempt.parameters["arguments"]["UserData"]
    assert (attempt.machine, attempt.state) == (box.id, AttemptState.RUNNING)


@pytest.mark.django_db
def test_not_before_it_is_due_and_not_after_its_start_deadline(ec2: Cloud) -> None:
    now = timezone.now()
    early = launch(approved(due_at=now + 5 * MINUTES))
    late = launch(approved(early.plan.target, name="Late", due_at=now - 90 * MINUTES))
    assert due_launches() == []
    assert (run(early), run(late)) == ("", "")
    assert launches_tick(now=now)["missed"] == 1
    late.refresh_from_db()
    assert (late.state, late.why) == (State.MISSED, "missed")
    assert ec2.asked("RunInstances") == []


@pytest.mark.django_db
def test_the_answer_is_lost_and_the_same_token_tells(ec2: Cloud) -> None:
    ec2.faults = ["cut"]
    one = due()
    assert run(one) == State.RUNNING
    assert [call["ClientToken"] for call in ec2.asked("RunInstances")] == [one.attempts.get().token] * 2
    assert ec2.launched() == {str(one.pk): 1}


@pytest.mark.django_db
def test_no_answer_twice_is_unknown_until_the_reconciler_adopts(ec2: Cloud) -> None:
    """t5-07: the machine is found by its tags and adopted; no second launch."""
    ec2.faults = ["hang", "hang"]
    ec2.hang_seconds = 2
    one = due()
    assert run(one) == State.UNKNOWN
    assert run(one) == ""
    done = reconcile_all(now=timezone.now())
    one.refresh_from_db()
    assert (one.state, done["adopted"]) == (State.RUNNING, 1)
    assert ec2.launched() == {str(one.pk): 1}
    assert one.attempts.get().machine == "i-000001"


@pytest.mark.django_db
def test_a_machine_that_shows_late_is_not_launched_again(ec2: Cloud) -> None:
    """t5-07 in time: nothing shows at first, the same token is sent again and names the machine."""
    ec2.faults = ["cut", "cut"]
    ec2.shows_after = timedelta(hours=1)
    one = due()
    assert run(one) == State.UNKNOWN
    ec2.faults = ["500 before"]
    assert reconcile_all(now=timezone.now())["open"] == 1
    assert reconcile_all(now=timezone.now())["adopted"] == 1
    assert ec2.launched() == {str(one.pk): 1}
    assert {call["ClientToken"] for call in ec2.asked("RunInstances")} == {one.attempts.get().token}


@pytest.mark.django_db
def test_a_call_without_effect_is_absent_after_three_looks(ec2: Cloud) -> None:
    ec2.faults = ["500 before"] * 5
    one = due()
    assert run(one) == State.UNKNOWN
    now = timezone.now()
    assert reconcile_all(now=now)["open"] == 1
    assert reconcile_all(now=now + 3 * MINUTES)["open"] == 1
    assert reconcile_all(now=now + 6 * MINUTES)["absent"] == 1
    one.refresh_from_db()
    assert (one.state, one.why) == (State.QUEUED, "absent")
    assert one.attempts.get().state == AttemptState.REFUSED
    assert ec2.launched() == {}


@pytest.mark.django_db
def test_a_worker_killed_after_the_call_leaves_no_second_machine(ec2: Cloud, settings: Any) -> None:
    """t5-07: killed between the call and its record; the lease ends, the machine is adopted."""
    one = due()
    assert run(one) == State.RUNNING
    attempt = one.attempts.get()
    Attempt.objects.filter(pk=attempt.pk).update(state="called", machine="", started_at=None)
    Launch.objects.filter(pk=one.pk).update(
        state="claimed", lease_until=timezone.now() - MINUTES, first_started_at=None
    )
    done = reconcile_all(now=timezone.now())
    one.refresh_from_db()
    assert (done["leases"], done["adopted"], one.state) == (1, 1, State.RUNNING)
    assert ec2.launched() == {str(one.pk): 1}


@pytest.mark.django_db
def test_an_answer_that_came_after_the_lease_does_not_hold_it_for_ever(ec2: Cloud) -> None:
    one = due()
    Launch.objects.filter(pk=one.pk).update(state="unknown", claims=2)
    Attempt.objects.create(
        launch=one, number=1, market="spot", parameters={}, tags={}, token="t", state="refused",
        code="InsufficientInstanceCapacity", prepared_at=timezone.now(),
    )  # fmt: skip
    reconcile_all(now=timezone.now())
    one.refresh_from_db()
    assert (one.state, one.why) == (State.QUEUED, "lost_worker")


@pytest.mark.django_db
def test_a_worker_killed_before_the_call_hands_the_launch_back(ec2: Cloud) -> None:
    one = due()
    Launch.objects.filter(pk=one.pk).update(state="claimed", lease_until=timezone.now() - MINUTES, claims=1)
    assert reconcile_all(now=timezone.now())["leases"] == 1
    one.refresh_from_db()
    assert (one.state, one.why) == (State.QUEUED, "lost_worker")
    assert run(one) == State.RUNNING


@pytest.mark.django_db
def test_no_capacity_goes_to_the_next_place_with_another_token(ec2: Cloud) -> None:
    """t5-05: another type is another attempt with another token; one machine in the end."""
    other = {**OFFER, "type": "m5a.large", "price": "0.05"}
    ec2.refuse = lambda kind, zone, market: "InsufficientInstanceCapacity" if kind == "m5.large" else ""
    one = due(document={"offers": [OFFER, other, ON_DEMAND_OFFER]})
    assert run(one) == State.RUNNING
    first, second = one.attempts.order_by("number")
    assert (first.state, first.code) == (AttemptState.REFUSED, "InsufficientInstanceCapacity")
    assert (second.instance_type, second.token != first.token) == ("m5a.large", True)
    assert ec2.launched() == {str(one.pk): 1}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("code", "state", "why", "spot_calls"),
    [
        ("InvalidParameterValue", State.FAILED, "refused", 1),
        ("VcpuLimitExceeded", State.FAILED, "limit", 1),
        ("RequestLimitExceeded", State.QUEUED, "waits", 1),
        ("UnknownNewError", State.QUEUED, "waits", 1),
    ],
)
def test_what_follows_a_refusal(ec2: Cloud, code: str, state: str, why: str, spot_calls: int) -> None:
    """t5-10: the code decides."""
    ec2.refuse = lambda kind, zone, market: code
    one = due()
    assert run(one) == state
    assert one.why == why
    assert len(ec2.asked("RunInstances")) == spot_calls
    assert ec2.launched() == {}


@pytest.mark.django_db
def test_a_spot_limit_sends_no_other_spot_call(ec2: Cloud) -> None:
    """t5-10: ten minutes of slack: on demand now; no Spot attempt after the limit."""
    ec2.refuse = lambda kind, zone, market: "MaxSpotInstanceCountExceeded" if market == "spot" else ""
    places = [{**OFFER, "zone": f"use1-az{n}", "zone_name": f"us-east-1{'abcdef'[n]}"} for n in range(6)]
    one = due(document={"offers": [*places, ON_DEMAND_OFFER]}, hours=1 / 3, deadline_hours=None,
              job={"hours": 1 / 3, "checkpoint_minutes": 1.0})  # fmt: skip
    Launch.objects.filter(pk=one.pk).update(deadline=timezone.now() + 30 * MINUTES)
    assert run(one) == State.RUNNING
    markets = [
        call.get("InstanceMarketOptions.MarketType", "on-demand") for call in ec2.asked("RunInstances")
    ]
    assert markets == ["spot", "on-demand"]


@pytest.mark.django_db
def test_an_unknown_code_is_tried_three_times_and_then_stops(ec2: Cloud) -> None:
    ec2.refuse = lambda kind, zone, market: "UnknownNewError"
    one = due()
    for _ in range(5):
        Launch.objects.filter(pk=one.pk, state="queued").update(next_at=timezone.now())
        run(one)
    assert (one.state, one.why) == (State.FAILED, "attempts")
    assert len(ec2.asked("RunInstances")) == 3


@pytest.mark.django_db
def test_a_token_that_was_used_is_looked_for_and_adopted(ec2: Cloud) -> None:
    """t5-05: a mismatch means that something was launched: look, adopt, launch nothing."""
    one = due()
    assert run(one) == State.RUNNING
    token = one.attempts.get().token
    ec2.boxes["i-000001"].asked["InstanceType"] = "sent-otherwise"
    Attempt.objects.update(state="called", machine="", started_at=None)
    Launch.objects.update(state="claimed", lease_until=timezone.now() - MINUTES)
    ec2.shows_after = timedelta(hours=1)
    assert reconcile_all(now=timezone.now())["open"] == 1
    ec2.shows_after = timedelta(0)
    assert reconcile_all(now=timezone.now())["adopted"] == 1
    assert ec2.boxes["i-000001"].token == token
    assert ec2.launched() == {str(one.pk): 1}


@pytest.mark.django_db
def test_guards_stop_it_in_words_and_let_it_go_when_lifted(ec2: Cloud) -> None:
    one = due()
    organisation = one.organisation
    guard = LaunchGuard.objects.create(
        organisation=organisation, frozen=True, frozen_at=timezone.now(), frozen_reason="audit"
    )

    def stopped() -> str:
        Launch.objects.filter(pk=one.pk).update(next_at=timezone.now())
        assert run(one) == State.QUEUED
        return one.why

    assert stopped() == "frozen"
    LaunchGuard.objects.filter(pk=guard.pk).update(frozen=False, dry_run=True)
    assert stopped() == "dry_run"
    LaunchGuard.objects.filter(pk=guard.pk).update(dry_run=False, regions=["eu-central-1"])
    assert stopped() == "region"
    LaunchGuard.objects.filter(pk=guard.pk).update(regions=[], max_price="0.01", currency="USD")
    assert stopped() == "price_cap"
    LaunchGuard.objects.filter(pk=guard.pk).update(max_price=None, max_instances=0)
    assert stopped() == "instances"
    LaunchGuard.objects.filter(pk=guard.pk).update(max_instances=None)
    budget = LaunchBudget.objects.create(organisation=organisation, monthly=Decimal("0.2"), currency="USD")
    assert stopped() == "budget"
    budget.delete()
    one.plan.target.active = False
    one.plan.target.save()
    assert stopped() == "target_off"
    one.plan.target.active = True
    one.plan.target.save()
    one.plan.approvals.all().delete()
    assert stopped() == "not_approved"
    assert ec2.asked("RunInstances") == []
    kinds = list(one.events.filter(kind="stopped").values_list("document__code_why", flat=True))
    assert kinds == [
        "frozen", "dry_run", "region", "price_cap", "instances", "budget", "target_off", "not_approved",
    ]  # fmt: skip


@pytest.mark.django_db
def test_of_two_that_do_not_fit_the_budget_the_first_runs(ec2: Cloud) -> None:
    first = due()
    second = launch(
        approved(first.plan.target, name="Second", due_at=first.due_at + timedelta(milliseconds=1))
    )
    LaunchBudget.objects.create(
        organisation=first.organisation, monthly=Decimal("0.5"), currency="USD"
    )  # 0.3 + 0.3
    assert (run(second), second.why) == (State.QUEUED, "budget")
    assert run(first) == State.RUNNING
    assert first.plan.state == PlanState.APPROVED


@pytest.mark.django_db
def test_a_full_place_waits_and_a_higher_priority_takes_one(ec2: Cloud) -> None:
    low = due(priority=10)
    place = low.plan.target
    place.max_instances = 1
    place.save()
    assert run(low) == State.RUNNING
    equal = launch(
        approved(place, name="Equal", due_at=low.due_at, priority=10, preemption="PreemptLowerPriority")
    )
    never = launch(approved(place, name="Never", due_at=low.due_at, priority=500))
    high = launch(
        approved(place, name="High", due_at=low.due_at, priority=500, preemption="PreemptLowerPriority")
    )
    assert (run(equal), equal.why, run(never), never.why) == (State.QUEUED, "quota", State.QUEUED, "quota")
    assert run(high) == State.RUNNING
    low.refresh_from_db()
    assert (low.state, low.why) == (State.INTERRUPTED, "preempted")
    assert [box.job for box in ec2.running()] == [str(high.pk)]


@pytest.mark.django_db
def test_the_place_cannot_be_reached(ec2: Cloud, settings: Any) -> None:
    one = due()
    ec2.account = "999999999999"
    assert run(one) == State.QUEUED
    assert one.why == "away"
    assert "999999999999" in one.why_values["reason"]
    assert ec2.asked("RunInstances") == []


@pytest.mark.django_db
def test_another_organisation_has_guards_of_its_own(ec2: Cloud) -> None:
    one = due()
    from apps.accounts.models import Organisation

    other = Organisation.objects.create(name="Other", slug="other")
    LaunchGuard.objects.create(organisation=other, frozen=True, frozen_at=timezone.now())
    assert run(one) == State.RUNNING
    assert target(other, name="theirs").owner != one.plan.target.owner
    assert plan(target(other, name="more")).organisation == other
