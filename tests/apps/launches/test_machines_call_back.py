"""What a machine tells by its launch's token, interruptions, resuming, and the last safe moment."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from apps.launches.models import Attempt, Launch, LaunchState, Stray
from apps.launches.services.calls import machine_token
from apps.launches.services.interruptions import notice_keep
from apps.launches.services.reconciling import reconcile_all
from apps.launches.services.running import launch_run
from faults.cloud import Box, Cloud
from finops.frames.launches import Notice, NoticeKind
from tests.support.launches import approved, launch

pytestmark = pytest.mark.django_db
State = LaunchState
HOUR = timedelta(hours=1)
MARKED = {"hours": 2.0, "product": "Linux/UNIX", "provider": "aws", "restart_minutes": 6.0,
          "checkpoint_minutes": 15.0}  # fmt: skip


@pytest.fixture
def one(ec2: Cloud) -> Launch:
    """A launch that runs since now."""
    made = launch(approved(due_at=timezone.now() - timedelta(seconds=1), job=MARKED))
    return again(made)


def again(made: Launch) -> Launch:
    Launch.objects.filter(pk=made.pk).update(next_at=timezone.now())
    launch_run(launch_id=made.pk, now=timezone.now())
    made.refresh_from_db()
    return made


def since(made: Launch, ago: timedelta) -> None:
    """As if its machine had started so long ago."""
    Attempt.objects.filter(launch=made, state="running").update(started_at=timezone.now() - ago)


def tell(made: Launch, what: str, token: str = "", **body: Any) -> Any:
    return Client().post(
        f"/api/v1/launches/{made.pk}/{what}", {"attempt": 1, **body}, content_type="application/json",
        headers={"Authorization": f"Bearer {token or machine_token(made)}"},
    )  # fmt: skip


def test_only_the_token_of_the_launch_opens_it(one: Launch) -> None:
    other = launch(approved(one.plan.target, name="Other"))
    for token in (machine_token(other), "opl_1_x", "x", machine_token(one)[:-1] + "0" * 2):
        answer = tell(one, "finish", token, ok=True)
        assert answer.status_code in {401, 404}, token
    one.refresh_from_db()
    assert one.state == State.RUNNING
    address = f"/api/v1/launches/{one.pk}/machine?attempt=1"
    answer = Client().get(address, headers={"Authorization": f"Bearer {machine_token(one)}"})
    assert (answer.status_code, answer.json()["go_on"]) == (200, True)


def test_done_by_its_own_word_and_the_machine_is_ended(one: Launch, ec2: Cloud) -> None:
    assert tell(one, "finish", ok=True).json()["state"] == "completed"
    assert tell(one, "finish", ok=True).status_code == 200
    assert tell(one, "finish", ok=False).status_code == 409
    assert reconcile_all(now=timezone.now())["surplus"] == 1
    assert ec2.running() == []
    one.refresh_from_db()
    assert (one.state, one.done_hours, one.lost_hours) == (State.COMPLETED, 2.0, 0.0)


def test_a_job_that_fails_says_so(one: Launch) -> None:
    assert tell(one, "finish", ok=False, message="exit 3").json()["state"] == "failed"
    one.refresh_from_db()
    assert (one.why, one.why_values) == ("job_failed", {"message": "exit 3"})


def test_wrong_words_change_nothing(one: Launch) -> None:
    for what, body in (
        ("checkpoints", {"work_hours": 2.5}), ("checkpoints", {"work_hours": -1}), ("checkpoints", {}),
        ("notices", {"kind": "interruption", "at": "2026-11-30T10:00:00"}), ("notices", {"kind": "ended"}),
        ("finish", {"ok": True, "attempt": 2}), ("finish", {"ok": "perhaps"}),
    ):  # fmt: skip
        assert tell(one, what, **body).status_code in {400, 409}, (what, body)
    one.refresh_from_db()
    assert (one.state, one.done_hours) == (State.RUNNING, 0.0)
    assert one.attempts.get().checkpoints.count() == 0


def test_taken_back_it_goes_on_from_its_last_marked_checkpoint(one: Launch, ec2: Cloud) -> None:
    """Ran 1 h 06 min: 1 h of work; a checkpoint of 0.75 h is marked, one of 0.9 h is not: 0.25 h are lost."""
    since(one, HOUR + timedelta(minutes=6))
    tell(one, "checkpoints", work_hours=0.75, name="c3", marked=True)
    tell(one, "checkpoints", work_hours=0.9, name="c4")
    ec2.take_back("i-000001")
    assert reconcile_all(now=timezone.now())["ended"] == 1
    one.refresh_from_db()
    assert (one.state, one.done_hours) == (State.INTERRUPTED, 0.75)
    assert one.lost_hours == pytest.approx(0.25, abs=0.001)
    assert one.lost_cost == pytest.approx(Decimal("0.01"), abs=Decimal("0.0001"))
    assert again(one).state == State.RUNNING
    second = one.attempts.get(number=2)
    assert (second.from_hours, second.machine) == (0.75, "i-000002")
    assert tell(one, "checkpoints", work_hours=1.0, name="c5", marked=True).status_code == 409
    assert tell(one, "finish", attempt=2, ok=True).json()["state"] == "completed"


def test_the_same_checkpoint_twice_is_one(one: Launch) -> None:
    for _ in range(2):
        assert tell(one, "checkpoints", work_hours=0.5, name="c", marked=True).json()["done_hours"] == 0.5
    assert one.attempts.get().checkpoints.count() == 1
    assert one.events.filter(kind="checkpoint").count() == 1


def test_a_notice_gives_two_minutes_then_the_work_moves(one: Launch, ec2: Cloud) -> None:
    now = timezone.now()
    at = now + timedelta(minutes=2)
    answer = tell(one, "notices", kind="interruption", at=at.isoformat())
    assert answer.json()["go_on"] is False
    reconcile_all(now=now + timedelta(minutes=1))
    one.refresh_from_db()
    assert one.state == State.RUNNING
    assert reconcile_all(now=at)["interrupted"] == 1
    one.refresh_from_db()
    assert (one.state, ec2.running()) == (State.INTERRUPTED, [])
    kinds = list(one.events.values_list("kind", flat=True))
    assert kinds.count("notice") == 1


def test_notices_of_a_queue_are_kept_once_and_for_our_machines(one: Launch) -> None:
    now = timezone.now()
    place = one.plan.target
    for kind, machine, news in (
        (NoticeKind.REBALANCE, "i-000001", True), (NoticeKind.REBALANCE, "i-000001", False),
        (NoticeKind.INTERRUPTION, "i-000001", True), (NoticeKind.INTERRUPTION, "i-000001", False),
        (NoticeKind.INTERRUPTION, "i-999999", False),
    ):  # fmt: skip
        assert notice_keep(place, Notice(kind, machine, now), now) is news
    assert list(one.events.filter(kind__in=["notice", "rebalance"]).values_list("kind", flat=True)) == [
        "rebalance", "notice",
    ]  # fmt: skip


def test_at_the_last_safe_moment_it_moves_on_demand(one: Launch, ec2: Cloud) -> None:
    """2 h left, a start of 6 min, a look of 5: 2 h 11 min before it stays, a minute later not."""
    now = timezone.now()
    Launch.objects.update(deadline=now + timedelta(hours=2, minutes=11))
    assert reconcile_all(now=now)["running"] == 1
    assert reconcile_all(now=now + timedelta(minutes=1))["moved"] == 1
    one.refresh_from_db()
    assert (one.state, one.on_demand) == (State.INTERRUPTED, True)
    assert again(one).state == State.RUNNING
    assert [box.market for box in ec2.running()] == ["on-demand"]


def test_somebody_else_ended_it(one: Launch, ec2: Cloud) -> None:
    ec2.take_back("i-000001", "Client.UserInitiatedShutdown")
    reconcile_all(now=timezone.now())
    one.refresh_from_db()
    assert (one.state, one.why) == (State.FAILED, "stopped_outside")


def test_it_ended_itself_because_it_was_done(one: Launch, ec2: Cloud) -> None:
    ec2.take_back("i-000001", "Client.InstanceInitiatedShutdown")
    reconcile_all(now=timezone.now())
    one.refresh_from_db()
    assert (one.state, one.done_hours) == (State.COMPLETED, 2.0)


def test_cancelled_while_it_runs(one: Launch, ec2: Cloud) -> None:
    from apps.accounts.actors import Actor
    from apps.launches.services.approving import launch_cancel

    launch_cancel(launch=one, actor=Actor.system("ada"), now=timezone.now(), reason="enough")
    assert reconcile_all(now=timezone.now())["stopped"] == 1
    assert ec2.running() == []
    assert one.attempts.get().ending == "cancelled"


def test_a_machine_that_shows_no_more_is_gone_after_three_looks(one: Launch, ec2: Cloud) -> None:
    ec2.boxes.clear()
    now = timezone.now()
    for minute in range(3):
        assert reconcile_all(now=now + timedelta(minutes=minute))["gone"] == (minute == 2)
    one.refresh_from_db()
    assert one.state == State.INTERRUPTED


def _stranger(ec2: Cloud, name: str, **tags: str) -> None:
    at = timezone.now() - HOUR
    ec2.boxes[name] = Box(name, f"t-{name}", {}, tags, "m5.large", "us-east-1a", "spot", at)


def test_machines_of_no_live_launch_are_told_or_ended(one: Launch, ec2: Cloud) -> None:
    owner = one.plan.target.owner
    past, future = "2020-01-01T00:00:00Z", "2099-01-01T00:00:00Z"

    def ours(job: str, expires: str) -> dict[str, str]:
        return {
            "offpeak:owner": owner,
            "offpeak:job": job,
            "offpeak:attempt": "1",
            "offpeak:expires": expires,
        }

    _stranger(ec2, "i-old", **ours("999999", past))
    _stranger(ec2, "i-new", **ours("999998", future))
    _stranger(ec2, "i-theirs", **{"offpeak:owner": "somebody", "offpeak:job": "1", "offpeak:expires": past})
    _stranger(ec2, "i-second", **ours(str(one.pk), future))
    done = reconcile_all(now=timezone.now())
    assert (done["orphans_ended"], done["orphans"], done["surplus"]) == (1, 1, 1)
    assert sorted(box.id for box in ec2.running()) == ["i-000001", "i-new", "i-theirs"]
    strays = dict(Stray.objects.values_list("machine", "ended_by_us"))
    assert strays == {"i-old": True, "i-new": False}
    assert Stray.objects.get(machine="i-new").price == Decimal("0.04")
    one.refresh_from_db()
    assert one.state == State.RUNNING


def test_many_pages_of_machines(one: Launch, ec2: Cloud) -> None:
    ec2.page = 1
    for number in range(3):
        _stranger(
            ec2,
            f"i-x{number}",
            **{"offpeak:owner": one.plan.target.owner, "offpeak:job": f"{10**6 + number}"},
        )
    assert reconcile_all(now=timezone.now())["orphans"] == 3
    assert len(ec2.asked("DescribeInstances")) == 4


def test_what_a_person_reads(one: Launch) -> None:
    from apps.launches.selectors.launches import launch_detail

    at = datetime.now(tz=timezone.now().tzinfo)
    texts = [line["text"] for line in launch_detail(one, at)["timeline"]]
    assert texts[1:] == [
        "Attempt 1: m5.large in us-east-1a, Spot, at $0.0400 an hour.",
        "Machine i-000001 runs.",
    ]
