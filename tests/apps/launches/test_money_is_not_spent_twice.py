"""What could start a second machine, a dearer one than was approved, or leave one that nobody looks for."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from apps.accounts.actors import Actor
from apps.launches.models import (
    AttemptState,
    Launch,
    LaunchBudget,
    LaunchGuard,
    LaunchState,
)
from apps.launches.services import running
from apps.launches.services.claims import launch_claim
from apps.launches.services.reconciling import reconcile_all
from apps.launches.services.running import launch_run
from apps.launches.services.switches import target_save
from faults.cloud import Cloud
from tests.support.launches import OFFER, ON_DEMAND_OFFER, approved, launch

State = LaunchState
MINUTES = timedelta(minutes=1)


def due(**changes: Any) -> Launch:
    """A launch that has been due for a second."""
    return launch(approved(due_at=timezone.now() - timedelta(seconds=1), **changes))


def run(one: Launch, now: Any = None) -> str:
    """Carry it out now."""
    state = launch_run(launch_id=one.pk, now=now or timezone.now())
    one.refresh_from_db()
    return state


@pytest.mark.django_db
@pytest.mark.parametrize("second", ["throttle", "away"])
def test_a_refusal_that_never_looked_at_the_token_does_not_settle_the_first_call(
    ec2: Cloud, monkeypatch: pytest.MonkeyPatch, second: str
) -> None:
    """The first call took effect and lost its answer; the second one was not even read."""
    ec2.faults = ["cut", "throttle"]
    if second == "away":
        from finops.providers.aws.launching import AwsExecutor
        from finops.providers.base import TransientError

        real, calls = AwsExecutor.launch, []

        def once(self: Any, call: Any, *, now: Any) -> Any:
            calls.append(call)
            if len(calls) == 2:
                raise TransientError("AWS could not be reached.")
            return real(self, call, now=now)

        monkeypatch.setattr(AwsExecutor, "launch", once)
        ec2.faults = ["cut"]
    one = due()
    assert run(one) == State.UNKNOWN
    Launch.objects.filter(pk=one.pk).update(next_at=timezone.now() - MINUTES)
    assert run(one) == ""
    assert reconcile_all(now=timezone.now())["adopted"] == 1
    one.refresh_from_db()
    assert one.state == State.RUNNING
    assert ec2.launched() == {str(one.pk): 1}
    assert one.attempts.count() == 1


@pytest.mark.django_db
def test_the_reconciler_does_not_take_a_busy_answer_for_no_machine(ec2: Cloud) -> None:
    ec2.faults = ["cut", "cut", "throttle"]
    ec2.shows_after = timedelta(hours=1)
    one = due()
    assert run(one) == State.UNKNOWN
    assert reconcile_all(now=timezone.now())["open"] == 1
    assert one.attempts.get().state == AttemptState.UNKNOWN
    assert reconcile_all(now=timezone.now())["adopted"] == 1
    assert ec2.launched() == {str(one.pk): 1}


@pytest.mark.django_db
def test_no_capacity_at_the_second_send_settles_the_first(ec2: Cloud) -> None:
    """t5-05: the token was looked at, so nothing was launched with it."""
    ec2.faults = ["500 before"]
    ec2.refuse = lambda kind, zone, market: "InsufficientInstanceCapacity" if market == "spot" else ""
    one = due(deadline_hours=2.5)
    assert run(one) == State.RUNNING
    assert [each.market for each in one.attempts.all()] == ["on-demand"]


@pytest.mark.django_db
def test_a_freeze_that_comes_after_the_check_stops_the_call(
    ec2: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = due()
    real = running.executor_of

    def slow(*given: Any) -> Any:
        LaunchGuard.objects.create(
            organisation=one.organisation, frozen=True, frozen_reason="stop", frozen_at=timezone.now()
        )
        return real(*given)

    monkeypatch.setattr(running, "executor_of", slow)
    assert (run(one), one.why) == (State.QUEUED, "frozen")
    assert ec2.asked("RunInstances") == []
    assert one.attempts.get().state == AttemptState.REFUSED


@pytest.mark.django_db
def test_no_offer_is_taken_that_alone_costs_more_than_was_approved(ec2: Cloud) -> None:
    """2 h at most 0.3: the fallback of 0.2 is in it, one at 24.48 an hour was never approved."""
    dear = {**ON_DEMAND_OFFER, "type": "p4d.24xlarge", "price": "24.48", "cost": "48.96"}
    ec2.refuse = lambda kind, zone, market: "" if kind == "p4d.24xlarge" else "InsufficientInstanceCapacity"
    one = due(document={"offers": [OFFER, ON_DEMAND_OFFER, dear]}, deadline_hours=2.5)
    assert run(one) == State.QUEUED
    assert ec2.launched() == {}
    alone = due_beside(one, document={"offers": [dear]})
    assert (run(alone), alone.why) == (State.QUEUED, "above_plan")


def due_beside(other: Launch, **changes: Any) -> Launch:
    """Another launch on the same target."""
    return launch(approved(other.plan.target, name="Beside", due_at=other.due_at, **changes))


@pytest.mark.django_db
def test_two_workers_at_once_do_not_keep_each_other_from_the_last_of_a_budget(ec2: Cloud) -> None:
    """Both are claimed before either is checked: the one that is due first runs."""
    first = due()
    second = due_beside(first)
    LaunchBudget.objects.create(organisation=first.organisation, monthly=Decimal("0.5"), currency="USD")
    assert launch_claim(second.pk) is not None
    assert run(first) == State.RUNNING
    assert ec2.launched() == {str(first.pk): 1}


@pytest.mark.django_db
def test_a_place_that_was_cleared_is_taken_at_once_and_by_nobody_else(ec2: Cloud) -> None:
    low = due(priority=10)
    place = low.plan.target
    place.max_instances = 1
    place.save()
    assert run(low) == State.RUNNING
    high = due_beside(low, priority=500, preemption="PreemptLowerPriority")
    assert run(high) == State.RUNNING
    low.refresh_from_db()
    assert (low.state, low.why) == (State.INTERRUPTED, "preempted")
    assert run(low) == ""
    assert low.next_at > timezone.now() + timedelta(seconds=30)
    assert [box.job for box in ec2.running()] == [str(high.pk)]


@pytest.mark.django_db
def test_a_target_with_machines_cannot_move_to_another_account(ec2: Cloud) -> None:
    """In the other account its machines would not show: taken for gone and launched again."""
    one = due()
    assert run(one) == State.RUNNING
    place = one.plan.target
    with pytest.raises(ValidationError) as refused:
        target_save(
            organisation=one.organisation, actor=Actor.system("test"), name=place.name,
            values={"account": "222233334444"},
        )  # fmt: skip
    assert list(refused.value.message_dict) == ["account"]
    place.refresh_from_db()
    assert place.account == "111122223333"
    target_save(
        organisation=one.organisation, actor=Actor.system("test"), name=place.name, values={"active": False}
    )
    place.refresh_from_db()
    assert not place.active


@pytest.mark.django_db
def test_one_target_that_breaks_keeps_no_other_from_being_looked_at(
    ec2: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    from apps.launches.services import reconciling
    from tests.support.launches import target

    broken = launch(approved(target(name="a broken one"), due_at=timezone.now() - timedelta(seconds=1)))
    assert run(broken) == State.RUNNING
    one = due()
    ec2.faults = ["cut", "cut"]
    assert run(one) == State.UNKNOWN
    real = reconciling.reconcile

    def breaks(*, target: Any, **given: Any) -> Any:
        if target.pk == broken.plan.target_id:
            raise KeyError("LaunchTime")
        return real(target=target, **given)

    monkeypatch.setattr(reconciling, "reconcile", breaks)
    done = reconcile_all(now=timezone.now())
    assert (done["broken"], done["adopted"]) == (1, 1)


@pytest.mark.django_db
def test_what_never_reached_the_provider_is_no_attempt(ec2: Cloud) -> None:
    """A place that was away for ten minutes does not use the attempts up."""
    one = due()
    ec2.account = "999999999999"
    for _turn in range(13):
        assert (run(one), one.why) == (State.QUEUED, "away")
        Launch.objects.filter(pk=one.pk).update(next_at=timezone.now() - MINUTES)
    ec2.account = "111122223333"
    ec2.refuse = lambda kind, zone, market: "InsufficientInstanceCapacity" if zone == "us-east-1a" else ""
    assert (run(one), one.why) == (State.QUEUED, "market")
    assert one.attempts.filter(code="NotReached").count() == 13
