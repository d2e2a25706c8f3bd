"""A place, plan or schedule that breaks in an unforeseen way keeps nobody else's from being looked at."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.actors import Actor
from apps.accounts.models import Membership, Organisation, User
from apps.launches import own_tasks
from apps.launches.models import Launch, LaunchPlan, ScheduleTurn, TurnState
from apps.launches.services import interruptions, schedules
from apps.launches.services.turns import turns_make
from faults.cloud import Cloud
from tests.support.launches import plan, target

pytestmark = pytest.mark.django_db


def test_a_plan_whose_zone_is_gone_keeps_no_other_from_being_due() -> None:
    now = timezone.now()
    place = target()
    LaunchPlan.objects.filter(
        pk=plan(place, name="Gone", due_at=now, repeat="every", clock="10:00", timezone="UTC").pk
    ).update(timezone="Atlantis/Nowhere")
    good = plan(place, due_at=now)
    assert turns_make(now=now) == 1
    assert Launch.objects.get().plan == good


def test_a_queue_that_breaks_keeps_no_other_from_being_read(monkeypatch: pytest.MonkeyPatch) -> None:
    first = target(name="a", notices="https://sqs.us-east-1.amazonaws.com/1/a")
    target(name="b", notices="https://sqs.us-east-1.amazonaws.com/1/b")

    def taken(access: Any, queue: str, **given: Any) -> int:
        if queue == first.notices:
            raise KeyError("ReceiptHandle")
        return 3

    monkeypatch.setattr(interruptions, "take_notices", taken)
    assert interruptions.notices_take(now=timezone.now()) == 3


def in_force(name: str, now: datetime) -> Any:
    """A schedule that stops every day at 10:00."""
    organisation = Organisation.default()
    place = organisation.launch_targets.first() or target()
    row = schedules.schedule_request(
        organisation=organisation, actor=Actor.system("test"), target=place, name=name, region="us-east-1",
        tag_key="stage", tag_value=name, stop="10:00", days="every", zone="UTC", now=now,
    )  # fmt: skip
    user = User.objects.filter(email="o@x.example").first() or User.objects.create_user("o@x.example", "pw")
    membership, _made = Membership.objects.get_or_create(user=user, organisation=organisation, role="admin")
    return schedules.schedule_approve(schedule=row, membership=membership, now=now)


def test_a_turn_that_breaks_keeps_no_other_machine_on(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        in_force(name, timezone.now() - timedelta(days=2))
    real, seen = schedules.turn_run, []

    def runs(*, turn_id: int, now: datetime) -> str:
        seen.append(turn_id)
        if len(seen) == 1:
            raise KeyError("InstanceId")
        return real(turn_id=turn_id, now=now, switching=lambda *_: Nothing())

    monkeypatch.setattr(own_tasks, "turn_run", runs)
    own_tasks.launches_schedules()
    assert len(seen) == 2
    states = ScheduleTurn.objects.filter(pk__in=seen).order_by("pk").values_list("state", flat=True)
    assert sorted(states) == [TurnState.DONE, TurnState.DUE]


class Nothing:
    """An account without machines."""

    def switch(self, action: str, **given: Any) -> Any:
        return schedules.Switched()


def test_credentials_of_another_account_stop_nothing(ec2: Cloud) -> None:
    row = in_force("a", datetime.combine(date(2026, 11, 1), datetime.min.time(), UTC))
    (turn, *_more) = schedules.schedules_settle(now=datetime(2026, 11, 1, 10, 1, tzinfo=UTC))
    ec2.account = "999999999999"
    assert schedules.turn_run(turn_id=turn, now=datetime(2026, 11, 1, 10, 2, tzinfo=UTC)) == TurnState.FAILED
    assert "999999999999" in row.turns.get().message
    assert ec2.asked("DescribeInstances") == ec2.asked("StopInstances") == []
