"""A move to Spot that is cut off between two steps, or that others meet on its way."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.launches.models import Attempt, AttemptState, Launch, LaunchState, LaunchTarget, Preemption
from apps.launches.services import interruptions, moving, preemption, reconciling
from apps.launches.services.executors import executor_of
from apps.launches.services.moving import moves_run, take_over
from apps.launches.services.preemption import make_room
from apps.launches.services.reconciling import reconcile_all
from apps.launches.services.running import launch_run
from finops.frames.launches import OWNER, MachineState
from tests.support.launches import OFFER, ON_DEMAND_OFFER, approved, launch, target

pytestmark = pytest.mark.django_db
MINUTES = timedelta(minutes=1)
JOB = {"hours": 20.0, "product": "", "provider": "aws", "restart_minutes": 6.0, "checkpoint_minutes": 10.0,
       "hazard_per_hour": 0.2}  # fmt: skip


class Killed(BaseException):
    """`kill -9`: nothing that comes after it in this worker runs."""


@pytest.fixture
def now(settings: Any, tmp_path: Any) -> datetime:
    settings.OFFPEAK_HOME = tmp_path
    return timezone.now()


def place(now: datetime, pool: str) -> LaunchTarget:
    return target(
        executor="simulated", account="",
        settings={"pools": {"use1-az1": pool, "us-east-1": "1"}, "gap_seconds": 600,
                  "begins": now.isoformat()},
    )  # fmt: skip


def job(now: datetime, pool: str = "0" + "1" * 200, **changes: Any) -> Launch:
    """20 h of work with 90 minutes of slack, Spot away for its first ten minutes."""
    offers = [{**OFFER, "cost": "0.8"}, {**ON_DEMAND_OFFER, "cost": "2"}]
    made = approved(place(now, pool), **{
        "due_at": now - MINUTES, "hours": 20.0, "deadline_hours": 21.6, "job": JOB,
        "document": {"offers": offers}, "cost_high": "9", **changes,
    })  # fmt: skip
    one = launch(made)
    assert launch_run(launch_id=one.pk, now=now) == LaunchState.RUNNING
    return one


def moving_job(now: datetime, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> tuple[Launch, datetime]:
    """A job on demand whose Spot machine is there beside it; the worker was lost before it took over."""
    one = job(now, **changes)
    at = now + 15 * MINUTES
    Launch.objects.filter(pk=one.pk).update(done_hours=0.14)
    with Lost(monkeypatch, moving, "take_over"):
        moves_run(now=at)
    one.refresh_from_db()
    assert states(one)[-2:] == [("on-demand", "running", False), ("spot", "running", True)]
    return one, at


class Lost:
    """The worker is lost as it is about to call a function of a module."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> None:
        self.patch, self.module, self.name = monkeypatch, module, name

    def __enter__(self) -> None:
        def die(*_args: Any, **_kwargs: Any) -> None:
            raise Killed

        self.before: Callable[..., Any] = getattr(self.module, self.name)
        self.patch.setattr(self.module, self.name, die)

    def __exit__(self, kind: type[BaseException] | None, *_rest: object) -> bool:
        self.patch.setattr(self.module, self.name, self.before)
        assert kind is Killed, f"{self.name} was not reached"
        return True


def states(one: Launch) -> list[tuple[str, str, bool]]:
    return list(one.attempts.order_by("number").values_list("market", "state", "beside"))


def running(one: Launch, now: datetime) -> list[str]:
    """Markets of the machines that run, by the provider."""
    where = one.plan.target
    found = executor_of(where, "us-east-1", now).find({OWNER: where.owner}, now=now)
    alive = {machine.id for machine in found if machine.state is MachineState.RUNNING}
    return sorted(row.market for row in Attempt.objects.filter(machine__in=alive))


def test_lost_after_the_machine_on_demand_was_ended(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    one, at = moving_job(now, monkeypatch)
    with Lost(monkeypatch, moving, "attempt_ended"):
        take_over(one.attempts.get(beside=True), at)
    assert running(one, at) == ["spot"]
    # It was not somebody outside who ended it: the job goes on where it was to go on.
    reconcile_all(now=at + MINUTES)
    one.refresh_from_db()
    assert (one.state, one.why) == (LaunchState.RUNNING, "")
    former = one.attempts.get(market="on-demand")
    assert (former.state, former.ending) == ("ended", "moved")
    assert one.events.filter(kind="moving").count() == 1
    for turn in range(2, 5):
        reconcile_all(now=at + turn * MINUTES)
    assert running(one, at + 5 * MINUTES) == ["spot"]


def test_the_machine_on_demand_is_seen_to_end_in_the_look_that_would_move_it(
    now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, at = moving_job(now, monkeypatch)
    former = one.attempts.get(market="on-demand", state=AttemptState.RUNNING)
    executor_of(one.plan.target, "us-east-1", at).end(former.machine, now=at)
    # Its host was to be retired.
    Attempt.objects.filter(pk=former.pk).update(noticed_at=at)
    reconcile_all(now=at + MINUTES)
    one.refresh_from_db()
    assert one.state == LaunchState.RUNNING
    assert states(one)[-2:] == [("on-demand", "ended", False), ("spot", "running", False)]
    assert running(one, at + MINUTES) == ["spot"]


def test_a_machine_that_gave_its_place_up_is_not_told_as_one_too_many(
    now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, at = moving_job(now, monkeypatch)
    assert reconcile_all(now=at + MINUTES)["took_over"] == 1
    reconcile_all(now=at + 2 * MINUTES)
    kinds = list(one.events.order_by("pk").values_list("kind", flat=True))
    assert kinds[-3:] == ["called", "ended", "moving"]
    assert "extra_ended" not in kinds


def test_who_read_the_machine_before_it_took_over_ends_nothing(
    now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, at = moving_job(now, monkeypatch)
    first, second = one.attempts.get(beside=True), one.attempts.get(beside=True)
    assert take_over(first, at) == "moved"
    assert take_over(second, at) == "stays"
    assert running(one, at) == ["spot"]
    one.refresh_from_db()
    assert one.state == LaunchState.RUNNING


def test_spot_that_is_being_taken_back_does_not_take_over(
    now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, at = moving_job(now, monkeypatch)
    one.attempts.filter(beside=True).update(noticed_at=at + 2 * MINUTES)
    reconcile_all(now=at + MINUTES)
    one.refresh_from_db()
    assert (one.state, states(one)[-2:]) == (
        LaunchState.RUNNING, [("on-demand", "running", False), ("spot", "ended", True)],
    )  # fmt: skip
    assert running(one, at + MINUTES) == ["on-demand"]
    assert one.attempts.get(beside=True).ending == "interrupted"


def test_spot_that_is_found_too_late_for_the_deadline_does_not_take_over(
    now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, at = moving_job(now, monkeypatch)
    # 20 minutes more than the work that is left: a machine that is lost would be one too many.
    Launch.objects.filter(pk=one.pk).update(
        deadline=at + MINUTES + timedelta(hours=one.hours - 0.14, minutes=20)
    )
    assert reconcile_all(now=at + MINUTES)["ended"] == 1
    one.refresh_from_db()
    assert (one.state, one.on_demand) == (LaunchState.RUNNING, False)
    assert running(one, at + MINUTES) == ["on-demand"]
    assert one.attempts.get(beside=True).ending == "surplus"


def test_lost_after_the_last_moment_on_spot(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    one = job(now, "1" * 200)
    assert states(one) == [("spot", "running", False)]
    at = now + 90 * MINUTES
    with Lost(monkeypatch, interruptions, "attempt_ended"):
        _look(one, at)
    reconcile_all(now=at + MINUTES)
    one.refresh_from_db()
    assert (one.state, one.why) == (LaunchState.INTERRUPTED, "interrupted")
    assert one.attempts.get().ending == "moved"


def test_lost_after_a_machine_was_ended_for_a_launch_of_higher_priority(
    now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = job(now, "1" * 200)
    urgent = launch(approved(one.plan.target, name="urgent", priority=50, preemption=Preemption.LOWER))
    with Lost(monkeypatch, preemption, "attempt_ended"):
        make_room(urgent, now + MINUTES)
    reconcile_all(now=now + 2 * MINUTES)
    one.refresh_from_db()
    # Whose place it took is not known any more: the reason that is shown says nothing of it.
    assert (one.state, one.why) == (LaunchState.INTERRUPTED, "interrupted")
    assert one.attempts.get().ending == "preempted"


def test_a_machine_that_somebody_outside_ended_is_still_not_fought_for(now: datetime) -> None:
    one = job(now, "1" * 200)
    executor_of(one.plan.target, "us-east-1", now).end(one.attempts.get().machine, now=now)
    reconcile_all(now=now + MINUTES)
    one.refresh_from_db()
    assert (one.state, one.why) == (LaunchState.FAILED, "stopped_outside")


def _look(one: Launch, at: datetime) -> None:
    """The next look at its machine, which lets a loss of the worker through."""
    where = one.plan.target
    executor = executor_of(where, "us-east-1", at)
    machine = executor.find({OWNER: where.owner}, now=at)[0]
    reconciling._watch(Attempt.objects.get(launch=one), machine, executor, at)
