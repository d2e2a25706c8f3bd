"""Upkeep: runs whose worker is gone, many small files, snapshots nobody needs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models.functions import Now

from apps.ingest import locks, selectors
from apps.ingest.models import IngestRun, RunKind, RunState
from apps.ingest.services.imports import lake_reconcile
from apps.ingest.services.paths import upload_discard
from apps.ingest.services.rollup import rollup_move, rollup_rebuild
from finops.lake import SPOT_CHANGES, STORAGE_READS

# A run writes its heartbeat every second while it reads; a lock that is free for longer means its worker is
# gone.
SILENT = timedelta(seconds=30)
# Live polling adds a file a month and region each time: 20 files of a partition plan and read in 5 ms.
SMALL_FILES = 20
# Tables to which live collections add a little each time: prices, and reads of buckets by their logs.
COMPACTED = (SPOT_CHANGES, STORAGE_READS)
KEEP_SNAPSHOTS = timedelta(days=30)

# Apps above add a function that gives the snapshot ids their stored answers cite: those are never expired.
# While nobody has said what is cited, nothing expires.
cited_snapshots: list[Callable[[], set[int]]] = []


def runs_reconcile(*, now: datetime) -> int:
    """End the runs whose worker died as failed; returns how many. What they committed is undone."""
    ended = 0
    for run in IngestRun.objects.filter(state=RunState.RUNNING, heartbeat_at__lt=now - SILENT):
        with locks.run_lock(run.pk) as free:
            if free:
                gone = IngestRun.objects.filter(pk=run.pk, state=RunState.RUNNING).update(
                    state=RunState.FAILED,
                    phase="",
                    finished_at=Now(),
                    error="the process that did this run ended before it was done; nothing of it was stored",
                )
                if gone and run.kind == RunKind.UPLOAD:
                    upload_discard(run.location)
                ended += gone
    with locks.import_lock():
        lake_reconcile()
        rollup_rebuild()
    return ended


def lake_compact() -> int:
    """Join the files of partitions that have many; returns how many partitions. The rows stay the same."""
    with locks.import_lock():
        lake_reconcile()
        lake, snapshots = selectors.lake(), selectors.current_snapshots()
        after, joined = dict(snapshots), 0
        for table in COMPACTED:
            if table in after:
                after[table], found = lake.compact(table, after[table], files=SMALL_FILES)
                joined += found
        if joined:
            with transaction.atomic():
                IngestRun.objects.create(
                    kind=RunKind.UPKEEP,
                    source="compaction",
                    provider="aws",
                    state=RunState.FINISHED,
                    started_at=Now(),
                    finished_at=Now(),
                    files_done=joined,
                    snapshots=after,
                )
                rollup_move(snapshots, after)
        return joined


def lake_expire(*, now: datetime) -> int:
    """Forget snapshots older than a month that no stored answer cites, and their files; returns how many."""
    if not cited_snapshots:
        return 0
    keep = set(selectors.current_snapshots().values())
    for cited in cited_snapshots:
        keep |= cited()
    with locks.import_lock():
        return selectors.lake().expire(older_than=now - KEEP_SNAPSHOTS, keep=keep)
