"""Through a real Celery worker and a real Valkey: work of own servers; copies of one message (t5-01)."""

from __future__ import annotations

import ast
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from celery.contrib.testing.worker import start_worker
from celery.signals import task_postrun
from django.utils import timezone

from apps.catalog.models import Pool
from apps.launches.models import Attempt, Launch, LaunchState, Work, WorkState
from apps.launches.own_tasks import launches_own_run
from apps.launches.services.reconciling import reconcile_all
from apps.launches.services.running import launch_run
from apps.launches.tasks import launches_launch_run
from faults.cloud import Cloud
from finops.celery import app
from tests.support.launches import approved, launch, target

SECONDS = 20.0
ROOT = Path(__file__).parents[3]


@contextmanager
def worker(queue: str, threads: int = 1) -> Iterator[None]:
    """A worker that takes from one queue of the session's own Valkey."""
    with start_worker(
        app, pool="threads", concurrency=threads, queues=[queue], perform_ping_check=False,
        shutdown_timeout=SECONDS, loglevel="WARNING",
    ):  # fmt: skip
        yield


def until(holds: Callable[[], bool]) -> bool:
    end = time.monotonic() + SECONDS
    while not (found := holds()) and time.monotonic() < end:
        time.sleep(0.05)
    return found


@pytest.fixture
def queue() -> str:
    """A queue that no other test uses."""
    return f"test-{uuid.uuid4().hex}"


def on_servers(queue: str, command: str) -> Launch:
    """A due launch on a pool of own servers that listen to the queue."""
    place = target(name="rack", executor="celery", account="", settings={"pool": "rack"})
    Pool.objects.create(
        organisation=place.organisation, name="rack", kind="own", queue=queue, currency="USD",
        power=Decimal(0), wear=Decimal(0),
    )  # fmt: skip
    offer = {"market": "on-demand", "region": "", "zone": None, "zone_name": None, "type": "", "price": None,
             "currency": None, "cost": None}  # fmt: skip
    return launch(
        approved(
            place,
            job={"hours": 1.0, "command": command},
            document={"offers": [offer]},
            due_at=timezone.now() - timedelta(seconds=1),
            cost_low=None,
            cost=None,
            cost_high=None,
        )
    )


@pytest.mark.django_db(transaction=True)
def test_own_servers_run_what_a_launch_put_on_their_queue(queue: str, tmp_path: Path) -> None:
    told = tmp_path / "told"
    one = on_servers(queue, f'echo "$OFFPEAK_ATTEMPT" >> {told}; echo written')
    assert launch_run(launch_id=one.pk, now=timezone.now()) == LaunchState.RUNNING
    work = Work.objects.get()
    # A second message, as the broker and the clock may send: it finds the work taken.
    launches_own_run.apply_async((work.pk,), queue=queue)
    with worker(queue, threads=2):
        assert until(lambda: Work.objects.get().state == WorkState.DONE)
    work.refresh_from_db()
    assert (work.lease, work.result) == (1, {"exit_code": 0, "tail": "written\n"})
    assert told.read_text() == "1\n"
    assert reconcile_all(now=timezone.now())["ended"] == 1
    one.refresh_from_db()
    assert one.state == LaunchState.COMPLETED


@pytest.mark.django_db(transaction=True)
def test_a_command_that_fails_fails_the_launch(queue: str) -> None:
    one = on_servers(queue, "echo no; exit 3")
    launch_run(launch_id=one.pk, now=timezone.now())
    with worker(queue):
        assert until(lambda: Work.objects.get().state == WorkState.FAILED)
    assert Work.objects.get().result == {"exit_code": 3, "tail": "no\n"}
    reconcile_all(now=timezone.now())
    one.refresh_from_db()
    assert (one.state, one.why) == (LaunchState.FAILED, "job_failed")


@pytest.mark.django_db(transaction=True)
def test_four_copies_of_a_message_launch_once(ec2: Cloud, queue: str) -> None:
    """t5-01: 4 copies reach four workers at once: 1 launch, 1 record."""
    one = launch(approved(due_at=timezone.now() - timedelta(seconds=1)))
    for _copy in range(4):
        launches_launch_run.apply_async((one.pk,), queue=queue)
    ran: list[str] = []

    def note(task_id: str, **_: Any) -> None:
        ran.append(task_id)

    task_postrun.connect(note, sender=launches_launch_run)
    try:
        with worker(queue, threads=4):
            assert until(lambda: len(ran) == 4)
    finally:
        task_postrun.disconnect(note, sender=launches_launch_run)
    assert len(set(ran)) == 4
    assert len(ec2.asked("RunInstances")) == 1
    assert (Attempt.objects.count(), ec2.launched()) == (1, {str(one.pk): 1})
    one.refresh_from_db()
    assert one.claims == 1


def test_nothing_is_sent_for_a_far_time() -> None:
    """A task with an ETA is handed out anew each visibility timeout: a time is a row, never a message's."""
    found: list[Any] = []
    for path in [*(ROOT / "apps").rglob("*.py"), *(ROOT / "finops").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                names = {word.arg for word in node.keywords}
                found += [(path.name, node.lineno)] if names & {"eta", "countdown"} else []
    assert found == []
