"""How far a run is, written to its row often enough to watch and seldom enough to cost nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.db.models.functions import Now

from apps.ingest.models import IngestRun, RunState

EVERY_SECONDS = 1.0


@dataclass(frozen=True)
class Progress:
    """What a watcher sees; `files_total` is None where an archive hides it."""

    phase: str
    files_done: int
    files_total: int | None
    rows_seen: int
    bytes_done: int
    bytes_total: int | None


@dataclass
class Reporter:
    """Keeps the run's row, and `listener`, up to date."""

    run: IngestRun
    listener: Callable[[Progress], None] | None = None
    phase: str = "reading"
    files_done: int = 0
    files_total: int | None = None
    rows_seen: int = 0
    bytes_done: int = 0
    bytes_total: int | None = None
    _last: float = field(default=0.0, repr=False)

    def tell(self, *, now: bool = False) -> None:
        """Write the state if the last time was long enough ago."""
        moment = time.monotonic()
        if not now and moment - self._last < EVERY_SECONDS:
            return
        self._last = moment
        values: dict[str, Any] = {
            "phase": self.phase,
            "files_done": self.files_done,
            "files_total": self.files_total,
            "rows_seen": self.rows_seen,
            "bytes_done": self.bytes_done,
            "bytes_total": self.bytes_total,
        }
        IngestRun.objects.filter(pk=self.run.pk, state=RunState.RUNNING).update(heartbeat_at=Now(), **values)
        if self.listener is not None:
            self.listener(Progress(**values))

    def enter(self, phase: str) -> None:
        """A new part of the work begins."""
        self.phase = phase
        self.tell(now=True)
