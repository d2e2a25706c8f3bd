"""A turn that takes work back to Spot: one at a time, less than a minute long, by the moment of each look."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from apps.ingest.locks import held
from apps.launches.models import Attempt, AttemptState, Launch, LaunchState, LaunchTarget
from apps.launches.services import moving, outlook
from apps.launches.services.moving import moves_run
from finops.providers.base import TransientError
from finops.providers.launching import LaunchRefusedError
from tests.support.launches import OFFER, ON_DEMAND_OFFER, approved, launch, target

pytestmark = pytest.mark.django_db
MINUTES = timedelta(minutes=1)
JOB = {"hours": 20.0, "product": "", "provider": "aws", "restart_minutes": 6.0, "checkpoint_minutes": 10.0,
       "hazard_per_hour": 0.2}  # fmt: skip


@pytest.fixture
def now(settings: Any, tmp_path: Any) -> datetime:
    settings.OFFPEAK_HOME = tmp_path
    return timezone.now()


@pytest.fixture
def place(now: datetime) -> LaunchTarget:
    return target(
        executor="simulated", account="",
        settings={"pools": {"use1-az1": "1" * 200, "us-east-1": "1"}, "gap_seconds": 600,
                  "begins": (now - timedelta(hours=2)).isoformat()},
    )  # fmt: skip


def on_demand(place: LaunchTarget, now: datetime, name: str = "one", **changes: Any) -> Launch:
    """20 h of work that runs on demand since an hour, a checkpoint of which is fresh."""
    begun = now - timedelta(hours=1)
    made = approved(place, **{
        "name": name, "due_at": begun, "hours": 20.0, "deadline_hours": 30.0, "job": JOB, "cost_high": "9",
        "document": {"offers": [{**OFFER, "cost": "0.8"}, {**ON_DEMAND_OFFER, "cost": "2"}]}, **changes,
    })  # fmt: skip
    one = launch(made, state=LaunchState.RUNNING, first_started_at=begun, done_hours=0.89)
    Attempt.objects.create(
        launch=one, number=1, region="us-east-1", instance_type="m5.large", market="on-demand", price="0.1",
        currency="USD", parameters={}, tags={}, token=f"{one.pk}", state=AttemptState.RUNNING,
        prepared_at=begun, called_at=begun, machine=f"m-{one.pk}", started_at=begun,
    )  # fmt: skip
    return one


class Answers:
    """A place that answers each call with one error; `at`: when it was called."""

    def __init__(self, error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
        self.error, self.at = error, list[datetime]()
        monkeypatch.setattr(moving, "executor_of", lambda *_args: self)

    def launch(self, _call: Any, *, now: datetime) -> None:
        self.at.append(now)
        raise self.error


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> Answers:
    return Answers(LaunchRefusedError("InsufficientInstanceCapacity"), monkeypatch)


@pytest.mark.django_db(transaction=True)
def test_a_turn_beside_another_one_looks_at_nothing(
    place: LaunchTarget, now: datetime, full: Answers
) -> None:
    on_demand(place, now)
    taken, done = threading.Event(), threading.Event()

    def other() -> None:
        with held(moving._LOCK) as mine:
            assert mine
            taken.set()
            done.wait(timeout=30)
        connection.close()

    thread = threading.Thread(target=other)
    thread.start()
    assert taken.wait(timeout=30)
    assert moves_run(now=now) == 0
    assert full.at == []
    done.set()
    thread.join(timeout=30)
    moves_run(now=now)
    assert len(full.at) == 1


def test_a_turn_ends_before_the_next_one_and_looks_by_the_moment(
    place: LaunchTarget, now: datetime, full: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [on_demand(place, now, name=f"{number}") for number in range(5)]
    clock = [1000.0]

    def slowly(*args: Any) -> Any:
        clock[0] += 20
        return outlook.outlook(*args)

    monkeypatch.setattr(moving, "outlook", slowly)
    monkeypatch.setattr(moving.time, "monotonic", lambda: clock[0])
    moves_run(now=now)
    seconds = [(at - now).total_seconds() for at in full.at]
    assert seconds == [0.0, 20.0, 40.0]
    asked = Attempt.objects.filter(beside=True).values_list("launch", "prepared_at")
    assert {at for _, at in asked} == set(full.at)
    # The others have their turn: who was refused a minute ago is not in the way of it.
    monkeypatch.setattr(moving, "outlook", outlook.outlook)
    moves_run(now=now + MINUTES)
    assert set(Attempt.objects.filter(beside=True).values_list("launch", flat=True)) == {
        one.pk for one in jobs
    }


def test_a_database_that_is_gone_ends_the_turn(
    place: LaunchTarget, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        on_demand(place, now, name=f"{number}")
    looked: list[int] = []

    def gone(attempt: int, **_options: Any) -> str:
        looked.append(attempt)
        raise OperationalError("server closed the connection")

    monkeypatch.setattr(moving, "move_to_spot", gone)
    assert moves_run(now=now) == 0
    assert len(looked) == 1


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (LaunchRefusedError("InsufficientInstanceCapacity"), 6),
        (LaunchRefusedError("RequestLimitExceeded"), 6),
        (TransientError("no route to the place"), 6),
        (LaunchRefusedError("UnauthorizedOperation"), 61),
    ],
)
def test_when_spot_is_asked_for_again(
    place: LaunchTarget, now: datetime, monkeypatch: pytest.MonkeyPatch, error: Exception, again: int
) -> None:
    """A lack of capacity, a throttle and a line that is down pass by themselves; the rest is a person's."""
    one = on_demand(place, now)
    asked = Answers(error, monkeypatch)
    for minute in (0, 1, 4, again - 2, again):
        Launch.objects.filter(pk=one.pk).update(done_hours=0.89 + minute / 60)
        moves_run(now=now + minute * MINUTES)
    assert [(at - now) // MINUTES for at in asked.at] == [0, again]


def test_a_call_that_was_never_sent_is_asked_again_at_once(
    place: LaunchTarget, now: datetime, full: Answers
) -> None:
    one = on_demand(place, now)
    Attempt.objects.create(
        launch=one, number=2, region="us-east-1", zone="use1-az1", instance_type="m5.large", market="spot",
        parameters={}, tags={}, token="never", state=AttemptState.REFUSED, code="NotSent", beside=True,
        prepared_at=now - MINUTES,
    )  # fmt: skip
    moves_run(now=now)
    assert len(full.at) == 1
