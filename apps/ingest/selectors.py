"""What is in the lake and how it came there. Reads only."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from urllib.parse import quote, urlencode

from django.conf import settings
from django.db import connection
from django.db.models import Q, QuerySet

from apps.accounts.models import Organisation
from apps.ingest.loaded import Choice, Loaded, read_loaded
from apps.ingest.models import (
    IngestRun,
    LoadedRegion,
    RejectedRow,
    RejectionKind,
    RunKind,
    RunState,
    RunSubject,
)
from finops.lake import SPOT_CHANGES, SPOT_KNOWN, Lake

# A run waits longer only behind others or because its message is gone; handed out twice it is done once.
WAITS_LONG = timedelta(minutes=3)

_lakes: dict[tuple[int, str, str], Lake] = {}
_lock = threading.Lock()


def database_url() -> str:
    """The address of the database Django uses now: in a test run that is the test database."""
    given = connection.settings_dict
    user = quote(given.get("USER") or "", safe="")
    password = quote(given.get("PASSWORD") or "", safe="")
    login = f"{user}:{password}@" if password else (f"{user}@" if user else "")
    host, port = given.get("HOST") or "", given.get("PORT") or ""
    options = {k: v for k, v in given.get("OPTIONS", {}).items() if isinstance(v, str | int)}
    if host.startswith("/"):
        options["host"] = host
        if port:
            options["port"] = port
        host = port = ""
    query = f"?{urlencode(options)}" if options else ""
    return f"postgresql://{login}{host}{f':{port}' if port else ''}/{given['NAME']}{query}"


def lake() -> Lake:
    """The lake of this installation, opened once per process."""
    # A forked worker must not share its parent's database sockets, hence the process id.
    key = (os.getpid(), database_url(), str(settings.LAKE_WAREHOUSE))
    with _lock:
        if key not in _lakes:
            _lakes[key] = Lake.open(
                key[1], key[2], memory_limit=settings.LAKE_MEMORY_LIMIT, threads=settings.LAKE_THREADS
            )
        return _lakes[key]


def newest_finished_run() -> IngestRun | None:
    """The run whose snapshots everybody reads."""
    finished = IngestRun.objects.filter(state=RunState.FINISHED).exclude(snapshots={})
    return finished.order_by("-finished_at", "-pk").first()


def runs_forgotten(*, now: datetime) -> list[int]:
    """Ids of the runs of files that wait for a worker longer than a message takes, oldest first."""
    waiting = IngestRun.objects.filter(
        state=RunState.QUEUED, kind__in=(RunKind.FILES, RunKind.UPLOAD), queued_at__lt=now - WAITS_LONG
    )
    return list(waiting.order_by("pk").values_list("pk", flat=True))


def current_snapshots() -> dict[str, int]:
    """Snapshot id per table as the newest finished run left it; {} when nothing was ever loaded."""
    run = newest_finished_run()
    return {} if run is None else {table: int(snapshot) for table, snapshot in run.snapshots.items()}


def price_snapshots(snapshots: Mapping[str, int]) -> dict[str, int]:
    """The part of `snapshots` that names the price tables; {} when no prices were ever loaded."""
    return {table: snapshots[table] for table in (SPOT_CHANGES, SPOT_KNOWN) if table in snapshots}


def loaded_regions(snapshots: Mapping[str, int]) -> list[Loaded]:
    """What is loaded in this state of the lake, by provider and region.

    From the roll-up where it speaks of this state, else from the lake itself, which takes fifty times as
    long.
    """
    prices = price_snapshots(snapshots)
    if not prices:
        return []
    # One statement: rows and the state that they belong to are of one moment.
    rows = list(LoadedRegion.objects.select_related("state"))
    if rows and rows[0].state.snapshots == prices:
        return [_loaded(row) for row in rows]
    with lake().connect(prices) as con:
        return read_loaded(con)


def _loaded(row: LoadedRegion) -> Loaded:
    return Loaded(
        row.provider,
        row.region,
        row.series,
        row.types,
        row.gaps,
        row.known_from,
        row.known_to,
        tuple(Choice(*choice) for choice in row.choices),
    )


def run_subject(run_id: int) -> str:
    """What a run brings in; prices for one that is not there."""
    found = IngestRun.objects.filter(pk=run_id).values_list("subject", flat=True).first()
    return found or RunSubject.PRICES


def runs_visible(*, organisation: Organisation) -> QuerySet[IngestRun]:
    """The runs an organisation may see: its own and the installation's (demo data, the command line)."""
    return IngestRun.objects.filter(Q(organisation=organisation) | Q(organisation__isnull=True))


def price_rejections(*, provider: str, regions: Collection[str], types: Collection[str]) -> dict[str, str]:
    """Why the newest refused price of each type was none, for the types that have one in these regions."""
    rows = RejectedRow.objects.filter(
        kind=RejectionKind.REJECTED,
        run__provider=provider,
        region__in=list(regions),
        instance_type__in=list(types),
    )
    newest = rows.order_by("instance_type", "-pk").distinct("instance_type")
    return {
        kind: reason.removeprefix("invalid price: ")
        for kind, reason in newest.values_list("instance_type", "reason")
        if kind is not None
    }
