"""A machine on demand gives its place to one on Spot: asked for beside it, ended once the other is there.

The job says how often Spot is lost, every five hours, and its checkpoints are fresh: whether a move is worth
it then does not hang on the minute of the hour at which a test runs.
"""

from __future__ import annotations

import threading
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.utils import timezone

from apps.launches.models import (
    Attempt,
    AttemptState,
    Launch,
    LaunchGuard,
    LaunchState,
    LaunchTarget,
)
from apps.launches.services import moving
from apps.launches.services.callbacks import checkpoint_keep, launch_finish
from apps.launches.services.executors import executor_of
from apps.launches.services.moving import moves_run
from apps.launches.services.reconciling import reconcile_all
from apps.launches.services.running import launch_run
from finops.frames.launches import OWNER, MachineState
from finops.providers.launching import LaunchOutcomeUnknownError
from tests.support.launches import OFFER, ON_DEMAND_OFFER, approved, launch, target

pytestmark = pytest.mark.django_db
MINUTES = timedelta(minutes=1)
JOB = {"hours": 20.0, "product": "", "provider": "aws", "restart_minutes": 6.0, "checkpoint_minutes": 10.0,
       "hazard_per_hour": 0.2}  # fmt: skip
# Ticks of ten minutes: away for half an hour, then there.
LATER = "000" + "1" * 200


@pytest.fixture
def now(settings: Any, tmp_path: Any) -> datetime:
    settings.OFFPEAK_HOME = tmp_path
    return timezone.now()


def market(now: datetime, pool: str = LATER, **changes: Any) -> LaunchTarget:
    return target(
        executor="simulated", account="", **changes,
        settings={"pools": {"use1-az1": pool, "us-east-1": "1"}, "gap_seconds": 600,
                  "begins": now.isoformat()},
    )  # fmt: skip


def on_demand(now: datetime, place: LaunchTarget | None = None, **changes: Any) -> Launch:
    """20 h of work with 90 minutes of slack that runs on demand, Spot being away."""
    offers = [{**OFFER, "cost": "0.8"}, {**ON_DEMAND_OFFER, "cost": "2"}]
    made = approved(place or market(now), **{
        "due_at": now - MINUTES, "hours": 20.0, "deadline_hours": 21.6, "job": JOB,
        "document": {"offers": offers}, "cost_high": "9", **changes,
    })  # fmt: skip
    one = launch(made)
    assert launch_run(launch_id=one.pk, now=now) == LaunchState.RUNNING
    assert one.attempts.get(state=AttemptState.RUNNING).market == "on-demand"
    return one


def worked(one: Launch, now: datetime, hours: float) -> None:
    """A checkpoint of the machine that runs holds so many hours."""
    number = one.attempts.get(state=AttemptState.RUNNING).number
    checkpoint_keep(launch=one, attempt=number, work_hours=hours, name=f"{hours}", marked=True, now=now)


def machines(one: Launch, now: datetime) -> list[str]:
    """Markets of what runs, by the provider."""
    place = one.plan.target
    found = executor_of(place, "us-east-1", now).find({OWNER: place.owner}, now=now)
    alive = {machine.id for machine in found if machine.state is MachineState.RUNNING}
    return sorted(row.market for row in Attempt.objects.filter(machine__in=alive))


def states(one: Launch) -> list[tuple[str, str, bool]]:
    rows = one.attempts.order_by("number")
    return list(rows.values_list("market", "state", "beside"))


def test_refused_nothing_changes_and_given_the_work_moves(now: datetime) -> None:
    one = on_demand(now)
    begun = states(one)
    assert begun == [("spot", "refused", False), ("on-demand", "running", False)]
    assert moves_run(now=now + 4 * MINUTES) == 0
    assert states(one) == begun
    # Asked again five minutes after the last refusal, refused: the machine runs on.
    assert moves_run(now=now + 6 * MINUTES) == 0
    assert states(one) == [*begun, ("spot", "refused", True)]
    assert machines(one, now + 6 * MINUTES) == ["on-demand"]
    at = now + 33 * MINUTES
    worked(one, at, 0.44)
    assert moves_run(now=at) == 1
    one.refresh_from_db()
    assert states(one) == [
        begun[0], ("on-demand", "ended", False), ("spot", "refused", True), ("spot", "running", False),
    ]  # fmt: skip
    assert (one.state, one.why, one.done_hours) == (LaunchState.RUNNING, "", 0.44)
    # 33 minutes less six of the start are 0.45 h, 0.44 of them held.
    assert one.lost_hours == pytest.approx(0.01, abs=1e-4)
    former, spot = one.attempts.get(state="ended"), one.attempts.get(state="running")
    assert (former.ending, spot.from_hours) == ("moved", 0.44)
    assert machines(one, at) == ["spot"]
    assert one.events.get(kind="moving").document == {"machine": spot.machine, "former": former.machine}
    assert reconcile_all(now=at + MINUTES)["running"] == 1
    assert moves_run(now=at + MINUTES) == 0
    assert (
        launch_finish(launch=one, attempt=spot.number, ok=True, message="", now=at + MINUTES) == "completed"
    )


def test_the_game_is_not_begun_where_it_may_not_be(now: datetime) -> None:
    one = on_demand(now, market(now, "0" + "1" * 200))
    at, before = now + 15 * MINUTES, states(one)
    worked(one, at, 0.14)
    for model, values in (
        (Launch, {"on_demand": True}),
        (Launch, {"deadline": at + timedelta(hours=20, minutes=15)}),
        (LaunchTarget, {"active": False}),
        (LaunchTarget, {"max_instances": 1}),
    ):
        row = model.objects.get()
        former = {name: getattr(row, name) for name in values}
        model.objects.update(**values)
        assert moves_run(now=at) == 0, values
        assert states(one) == before
        model.objects.update(**former)
    guard = LaunchGuard.objects.create(
        organisation=one.organisation, frozen=True, frozen_at=now, frozen_by="test", frozen_reason="audit"
    )
    assert moves_run(now=at) == 0
    guard.frozen, guard.frozen_at, guard.frozen_by, guard.frozen_reason = False, None, "", ""
    guard.max_price, guard.currency = Decimal("0.01"), "USD"
    guard.save()
    assert moves_run(now=at) == 0
    guard.delete()
    # What was approved would not pay for a Spot machine that is lost and all of the rest on demand.
    one.plan.cost_high = Decimal("2.02")
    one.plan.save()
    assert moves_run(now=at) == 0
    one.plan.cost_high = Decimal(9)
    one.plan.save()
    assert states(one) == before
    assert moves_run(now=at) == 1


def lost_in_the_call(one: Launch, at: datetime, monkeypatch: pytest.MonkeyPatch) -> Attempt:
    """The call takes effect and the worker dies before it hears of it."""

    class Killed(BaseException):
        pass

    def die(*_args: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(moving, "_given", die)
        with pytest.raises(Killed):
            moves_run(now=at)
    mine = one.attempts.get(beside=True)
    assert mine.state == AttemptState.CALLED
    assert machines_running(one, at) == 2
    return mine


def machines_running(one: Launch, now: datetime) -> int:
    place = one.plan.target
    found = executor_of(place, "us-east-1", now).find({OWNER: place.owner}, now=now)
    return sum(machine.state is MachineState.RUNNING for machine in found)


def test_a_worker_lost_in_the_call_leaves_one_machine(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    one = on_demand(now, market(now, "0" + "1" * 200))
    at = now + 15 * MINUTES
    worked(one, at, 0.14)
    lost_in_the_call(one, at, monkeypatch)
    # While it is open nobody asks for another one, and nobody takes its machine for one too many.
    assert moves_run(now=at + MINUTES / 2) == 0
    reconcile_all(now=at + MINUTES / 2)
    assert machines_running(one, at) == 2
    late = at + timedelta(seconds=django_settings.LAUNCH_LEASE_SECONDS + 1)
    done = reconcile_all(now=late)
    assert (done["adopted"], done["took_over"]) == (1, 1)
    one.refresh_from_db()
    assert one.state == LaunchState.RUNNING
    assert machines(one, late + MINUTES) == ["spot"]
    assert states(one)[-2:] == [("on-demand", "ended", False), ("spot", "running", False)]


def test_the_machine_on_demand_ends_while_the_call_is_open(
    now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = on_demand(now, market(now, "0" + "1" * 200))
    at = now + 15 * MINUTES
    worked(one, at, 0.14)
    mine = lost_in_the_call(one, at, monkeypatch)
    former = one.attempts.get(state=AttemptState.RUNNING, beside=False)
    executor_of(one.plan.target, "us-east-1", at).end(former.machine, now=at)
    Attempt.objects.filter(pk=former.pk).update(noticed_at=at)
    reconcile_all(now=at + MINUTES)
    one.refresh_from_db()
    assert (one.state, one.why) == (LaunchState.UNKNOWN, "no_answer")
    Launch.objects.filter(pk=one.pk).update(next_at=timezone.now())
    assert launch_run(launch_id=one.pk, now=at + MINUTES) == ""
    late = at + timedelta(seconds=django_settings.LAUNCH_LEASE_SECONDS + 1)
    assert reconcile_all(now=late)["adopted"] == 1
    one.refresh_from_db()
    mine.refresh_from_db()
    assert (one.state, mine.state, mine.beside) == (LaunchState.RUNNING, "running", False)
    assert machines_running(one, late) == 1


@pytest.mark.parametrize("over", ["done", "cancelled"])
def test_a_launch_that_is_over_keeps_no_machine(
    now: datetime, monkeypatch: pytest.MonkeyPatch, over: str
) -> None:
    one = on_demand(now, market(now, "0" + "1" * 200))
    at = now + 15 * MINUTES
    worked(one, at, 0.14)
    lost_in_the_call(one, at, monkeypatch)
    if over == "done":
        number = one.attempts.get(state=AttemptState.RUNNING).number
        assert launch_finish(launch=one, attempt=number, ok=True, message="", now=at) == "completed"
    else:
        Launch.objects.filter(pk=one.pk).update(state=over, ended_at=at)
    late = at + timedelta(seconds=django_settings.LAUNCH_LEASE_SECONDS + 1)
    for turn in range(3):
        reconcile_all(now=late + turn * MINUTES)
    assert machines_running(one, late + 3 * MINUTES) == 0
    assert not one.attempts.filter(state__in=["prepared", "called", "unknown", "running"]).exists()
    one.refresh_from_db()
    assert one.state == ("completed" if over == "done" else over)


def test_spot_that_is_taken_back_before_it_took_over_changes_nothing(
    now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = on_demand(now, market(now, "01" + "0" * 200))
    at = now + 15 * MINUTES
    worked(one, at, 0.14)
    lost_in_the_call(one, at, monkeypatch)
    late = at + timedelta(seconds=django_settings.LAUNCH_LEASE_SECONDS + 1)
    assert late - now > 20 * MINUTES
    assert reconcile_all(now=late)["found_ended"] == 1
    one.refresh_from_db()
    assert one.state == LaunchState.RUNNING
    assert machines(one, late) == ["on-demand"]


def test_no_clear_answer_is_left_to_the_reconciler(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    one = on_demand(now, market(now, "0" + "1" * 200))
    at = now + 15 * MINUTES
    worked(one, at, 0.14)
    kept = executor_of

    class Mute:
        def __init__(self, inner: Any) -> None:
            self.inner = inner

        def launch(self, call: Any, *, now: datetime) -> None:
            self.inner.launch(call, now=now)
            raise LaunchOutcomeUnknownError("timeout")

    monkeypatch.setattr(moving, "executor_of", lambda *args: Mute(kept(*args)))
    assert moves_run(now=at) == 0
    assert states(one)[-1] == ("spot", "unknown", True)
    monkeypatch.undo()
    one.refresh_from_db()
    assert one.state == LaunchState.RUNNING
    done = reconcile_all(now=at + MINUTES)
    assert (done["adopted"], done["took_over"]) == (1, 1)
    assert machines(one, at + 3 * MINUTES) == ["spot"]


def test_who_decided_before_another_worker_moved_it_asks_for_none(
    now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = on_demand(now, market(now, "0" + "1" * 200))
    at = now + 15 * MINUTES
    worked(one, at, 0.14)
    decide = moving._worth_asking

    def slowly(attempt: Attempt, moment: datetime) -> Any:
        found = decide(attempt, moment)
        with monkeypatch.context() as other:
            other.setattr(moving, "_worth_asking", decide)
            assert moves_run(now=at) == 1
        return found

    monkeypatch.setattr(moving, "_worth_asking", slowly)
    assert moves_run(now=at) == 0
    assert states(one)[1:] == [("on-demand", "ended", False), ("spot", "running", False)]
    assert machines(one, at) == ["spot"]


@pytest.mark.django_db(transaction=True)
def test_two_at_once_ask_for_one_machine(now: datetime) -> None:
    one = on_demand(now, market(now, "0" + "1" * 200))
    at = now + 15 * MINUTES
    worked(one, at, 0.14)

    def go() -> None:
        moves_run(now=at)
        connection.close()

    both = [threading.Thread(target=go) for _ in range(3)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join(timeout=30)
    assert machines(one, at + MINUTES) == ["spot"]
    assert [row[:2] for row in states(one)].count(("spot", "running")) == 1
    assert one.attempts.filter(market="spot", started_at__isnull=False).count() == 1
