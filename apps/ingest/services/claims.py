"""A run is worked on once: whoever turns its row from queued to running does it."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from django.db.models.functions import Now

from apps.ingest import locks
from apps.ingest.models import IngestRun, RunKind, RunState
from apps.ingest.services.paths import upload_discard


class Work(Protocol):
    """What a run does, and how it ends where that raised."""

    def do(self) -> None: ...

    def failed(self, error: Exception) -> None: ...


@contextmanager
def claimed(run: IngestRun) -> Iterator[bool]:
    """Whether the run is ours to do; it is nobody else's until the end."""
    with locks.run_lock(run.pk) as ours:
        yield ours and bool(
            IngestRun.objects.filter(pk=run.pk, state=RunState.QUEUED).update(
                state=RunState.RUNNING,
                started_at=Now(),
                heartbeat_at=Now(),
                worker=f"{socket.gethostname()}:{os.getpid()}",
            )
        )


def run_do(run_id: int, work_of: Callable[[IngestRun], Work]) -> IngestRun:
    """Do the work of a waiting run; one that was begun or is over is left as it is."""
    run = IngestRun.objects.get(pk=run_id)
    with claimed(run) as ours:
        if ours:
            work = work_of(run)
            try:
                work.do()
            except Exception as error:
                work.failed(error)
            if run.kind == RunKind.UPLOAD:
                upload_discard(run.location)
    run.refresh_from_db()
    return run
