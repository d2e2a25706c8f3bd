"""Tasks of own machines: work handed to own servers' queues, run there, taken back; stop schedules."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from typing import Any

import structlog
from celery import shared_task
from django.db import close_old_connections
from kombu.exceptions import OperationalError

from apps.catalog.models import PoolUse
from apps.launches.models import Work, WorkState
from apps.launches.services.clock import database_now
from apps.launches.services.schedules import schedules_settle, turn_run
from apps.launches.services.work import (
    LEASE,
    LeaseLostError,
    work_claim,
    work_finish,
    work_renew,
    work_take_back,
)

log = structlog.get_logger(__name__)
HAND_OUT_SECONDS = 60
RENEW_SECONDS = LEASE.total_seconds() / 3
# What a process may take to write its checkpoint after it was asked to end.
GRACE_SECONDS = 60
TAIL = 4000
PASSED_ON = ("PATH", "HOME", "LANG", "LC_", "TMPDIR", "TZ", "CUDA", "NVIDIA", "LD_LIBRARY_PATH")


def tell_own_servers(work: Work) -> None:
    """Put a message on the pool's queue; lost or doubled, it does no harm."""
    queue = work.pool.queue or f"own-{work.pool_id}"
    try:
        launches_own_run.apply_async((work.pk,), queue=queue, expires=HAND_OUT_SECONDS)
    except OperationalError as error:
        log.warning("own_work_not_handed_out", work=work.pk, error=str(error))


@shared_task(name="launches.own_run", acks_late=False)
def launches_own_run(work_id: int) -> None:
    """Run one piece of work on this server; a second message finds it taken."""
    waiting = Work.objects.select_related("pool").filter(pk=work_id).first()
    if waiting is None:
        return
    now = database_now()
    work = work_claim(pool=waiting.pool, worker=socket.gethostname(), now=now, only=work_id)
    if work is not None:
        run_here(work)


def run_here(work: Work) -> None:
    """Run the command, renewing the lease; end it when the lease is lost or the work cancelled."""
    document = work.document
    # Of the worker's environment only what any program needs: its secrets are not the job's.
    kept = {name: value for name, value in os.environ.items() if name.startswith(PASSED_ON)}
    environment = {**kept, **document.get("env", {}), "OFFPEAK_RESUME": work.checkpoint}
    try:
        process = subprocess.Popen(
            document["command"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        _finish(work, {"error": str(error)}, succeeded=False)
        return
    lost = threading.Event()
    over = threading.Event()
    renewer = threading.Thread(target=_renew, args=(work, process, lost, over), daemon=True)
    renewer.start()
    tail = b""
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    while chunk := process.stdout.read(65536):
        tail = (tail + chunk)[-TAIL:]
    code = process.wait()
    over.set()
    renewer.join()
    if not lost.is_set():
        _finish(work, {"exit_code": code, "tail": tail.decode(errors="replace")}, succeeded=code == 0)


def _renew(
    work: Work, process: subprocess.Popen[bytes], lost: threading.Event, over: threading.Event
) -> None:
    while not over.wait(RENEW_SECONDS):
        try:
            work_renew(work_id=work.pk, lease=work.lease, now=database_now())
        except LeaseLostError:
            lost.set()
            _end(process, over)
            break
        except Exception as error:  # the database may be away for a while: the lease decides
            log.warning("own_work_not_renewed", work=work.pk, error=str(error))
        finally:
            close_old_connections()


def _end(process: subprocess.Popen[bytes], over: threading.Event) -> None:
    """Ask the group to end, then make it."""
    for sign, wait in ((signal.SIGTERM, GRACE_SECONDS), (signal.SIGKILL, 0)):
        try:
            os.killpg(process.pid, sign)
        except ProcessLookupError:
            return
        if over.wait(wait):
            return


def _finish(work: Work, result: dict[str, Any], *, succeeded: bool) -> None:
    for turn in range(5):
        try:
            work_finish(
                work_id=work.pk, lease=work.lease, succeeded=succeeded, result=result, now=database_now()
            )
        except LeaseLostError as error:
            log.info("own_work_result_late", work=work.pk, state=error.state)
        except Exception as error:
            if turn == 4:
                raise
            log.warning("own_work_result_not_kept", work=work.pk, error=str(error))
            close_old_connections()
            time.sleep(2**turn)
            continue
        return


@shared_task(name="launches.work_take_back")
def launches_work_take_back() -> None:
    """Queue again what silent machines had, and tell own servers what waits."""
    taken = work_take_back(now=database_now())
    waiting = Work.objects.filter(state=WorkState.QUEUED, pool__kind=PoolUse.OWN).select_related("pool")
    for work in waiting.order_by("-priority", "pk")[:500]:
        tell_own_servers(work)
    if taken:
        log.info("work_taken_back", taken=taken)


@shared_task(name="launches.schedules")
def launches_schedules() -> None:
    """Carry out stop schedules: rows for due times first, then one switch each."""
    for turn_id in schedules_settle(now=database_now()):
        try:
            state = turn_run(turn_id=turn_id, now=database_now())
        except Exception:  # one organisation's odd machine must not keep the others' machines on
            log.exception("schedule_turn_broken", turn=turn_id)
            continue
        if state:
            log.info("schedule_turn", turn=turn_id, state=state)


__all__ = [
    "launches_own_run",
    "launches_schedules",
    "launches_work_take_back",
    "tell_own_servers",
]
