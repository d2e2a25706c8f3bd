"""Imports of reference data: list prices, instance type facts, interruption bands. One run per path.

The rows of a run, its rejections and its run row are one database transaction: all are there or none. These
runs leave the lake alone (`snapshots` stays empty), so readers of Spot prices do not notice them.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from datetime import time as clock
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from apps.accounts.models import Organisation, User
from apps.catalog.services import instance_types_store
from apps.ingest.models import Feed, IngestRun, RejectedRow, RunKind, RunState
from apps.prices.services import Placed, interruption_bands_store, list_prices_store
from finops.frames.spot import Rejection
from finops.providers.aws.files import instance_types_of, interruption_of, list_prices_of
from finops.providers.aws.reading import Reading
from finops.providers.files.archives import NOTHING, Entry, UnreadableError, Walk

REJECTIONS_PER_INSERT = 2000
# A document is read whole. The EC2 offer of one region has about 300 MB as CSV, that of all regions 5 GB.
MAX_DOCUMENT_BYTES = 1024 * 1024 * 1024
Progress = Callable[[str], None]


@dataclass
class Delivery:
    """Everything that one path said."""

    placed: list[Placed] = field(default_factory=list)
    rejections: list[Rejection] = field(default_factory=list)
    ignored: Counter[str] = field(default_factory=Counter)
    assumed: dict[str, str] = field(default_factory=dict)
    files: int = 0
    files_rejected: int = 0
    bytes: int = 0

    def add(self, name: str, reading: Reading[Any]) -> None:
        """Take over what one document said."""
        self.files += 1
        self.placed += [Placed(name, row, value) for row, value in reading.rows]
        self.rejections += [Rejection(name, *refused) for refused in reading.refused]
        self.files_rejected += any(refused.row is None for refused in reading.refused)
        self.ignored += reading.ignored
        self.assumed |= reading.assumed


@dataclass(frozen=True)
class Outcome:
    stored: int
    duplicates: int
    series: int
    replaced: int = 0
    conflicts: Sequence[Rejection] = ()
    known_from: datetime | None = None
    known_to: datetime | None = None


def list_prices_import(
    *,
    path: str,
    listed_on: date | None = None,
    organisation: Organisation | None = None,
    user: User | None = None,
    progress: Progress = lambda _message: None,
) -> IngestRun:
    """On-demand list prices of a path; `listed_on` dates tables that carry no date of their own."""
    return run_import(
        lambda name, data: list_prices_of(name, data, listed_on=listed_on),
        _store_list_prices,
        what="list-prices",
        path=path,
        organisation=organisation,
        user=user,
        progress=progress,
    )


def instance_types_import(
    *,
    path: str,
    organisation: Organisation | None = None,
    user: User | None = None,
    progress: Progress = lambda _message: None,
) -> IngestRun:
    """Instance type facts of a path with answers of `describe-instance-types`."""
    return run_import(
        instance_types_of,
        _store_instance_types,
        what="instance-types",
        path=path,
        organisation=organisation,
        user=user,
        progress=progress,
    )


def interruption_import(
    *,
    path: str,
    as_of: date | None = None,
    organisation: Organisation | None = None,
    user: User | None = None,
    progress: Progress = lambda _message: None,
) -> IngestRun:
    """Interruption bands of a path with files of the Spot Advisor; `as_of` is their date of publication."""
    return run_import(
        lambda name, data: interruption_of(name, data, as_of=as_of),
        _store_bands,
        what="interruption",
        path=path,
        organisation=organisation,
        user=user,
        progress=progress,
    )


def _gather(path: str, read: Callable[[str, bytes], Reading[Any]], progress: Progress) -> Delivery:
    delivery = Delivery()
    try:
        walk = Walk(path)
        for entry in walk.entries():
            reading = _read(entry, read)
            delivery.add(entry.name, reading)
            delivery.bytes = walk.meter.taken
            progress(f"{entry.name}: {len(reading.rows)} rows, {len(reading.refused)} refused")
    except UnreadableError as error:
        delivery.add(path, Reading.unreadable(str(error)))
    if not delivery.files:
        delivery.add(path, Reading.unreadable(NOTHING))
    return delivery


def _read(entry: Entry, read: Callable[[str, bytes], Reading[Any]]) -> Reading[Any]:
    if entry.refused is not None or entry.stream is None:
        return Reading.unreadable(entry.refused or NOTHING)
    try:
        data = entry.stream.read(MAX_DOCUMENT_BYTES + 1)
    except UnreadableError as error:
        return Reading.unreadable(str(error))
    if len(data) > MAX_DOCUMENT_BYTES:
        return Reading.unreadable(
            f"larger than {MAX_DOCUMENT_BYTES >> 20} MiB: import the file of one region"
        )
    return read(entry.name, data)


def _store_list_prices(delivery: Delivery, source: str) -> Outcome:
    result = list_prices_store(rows=delivery.placed, source=source)
    dates = [item.value.key.effective_from for item in delivery.placed]
    return Outcome(
        stored=result.stored,
        duplicates=result.duplicates,
        series=result.keys,
        conflicts=[Rejection(c.file, c.row, "price", c.reason) for c in result.conflicts],
        known_from=min(dates, default=None),
        known_to=max(dates, default=None),
    )


def _store_instance_types(delivery: Delivery, source: str) -> Outcome:
    stored = instance_types_store(facts=[item.value for item in delivery.placed], source=source)
    return Outcome(
        stored=stored.new + stored.changed,
        duplicates=stored.same,
        replaced=stored.changed,
        series=len({item.value.instance_type for item in delivery.placed}),
    )


def _store_bands(delivery: Delivery, source: str) -> Outcome:
    result = interruption_bands_store(rows=delivery.placed, source=source)
    days = [datetime.combine(item.value.as_of, clock.min, UTC) for item in delivery.placed]
    return Outcome(
        stored=result.stored,
        duplicates=result.duplicates,
        series=result.keys,
        conflicts=[Rejection(c.file, c.row, "r", c.reason) for c in result.conflicts],
        known_from=min(days, default=None),
        known_to=max(days, default=None),
    )


def run_import(
    read: Callable[[str, bytes], Reading[Any]],
    store: Callable[[Delivery, str], Outcome],
    *,
    what: str,
    path: str,
    organisation: Organisation | None,
    user: User | None,
    progress: Progress,
) -> IngestRun:
    """Read a path, store what it says and keep the run: all of it or nothing."""
    started = time.monotonic()
    return run_keep(
        _gather(path, read, progress),
        store,
        what=what,
        source=path,
        name=Path(path).name or path,
        organisation=organisation,
        user=user,
        started=started,
    )


@transaction.atomic
def run_keep(
    delivery: Delivery,
    store: Callable[[Delivery, str], Outcome],
    *,
    what: str,
    source: str,
    name: str,
    organisation: Organisation | None,
    user: User | None = None,
    feed: Feed | None = None,
    kind: str = RunKind.FILES,
    started: float | None = None,
) -> IngestRun:
    """Store what a delivery says and keep its run. `name` is the short one that rows keep as their source."""
    started = time.monotonic() if started is None else started
    outcome = store(delivery, name)
    rejections = [*delivery.rejections, *outcome.conflicts]
    used = outcome.stored + outcome.duplicates
    refused = bool(rejections) and not used
    run = IngestRun.objects.create(
        organisation=organisation,
        user=user,
        feed=feed,
        kind=kind,
        source=source[-1000:],
        provider="aws",
        options={"what": what, "ignored": dict(delivery.ignored), "assumed": delivery.assumed},
        state=RunState.REFUSED if refused else RunState.FINISHED,
        started_at=Now(),
        finished_at=Now(),
        files_done=delivery.files,
        files_total=delivery.files,
        files_rejected=delivery.files_rejected,
        bytes_done=delivery.bytes,
        bytes_total=delivery.bytes,
        rows_seen=used + len(rejections),
        rows_read=used + len(rejections),
        stored=outcome.stored,
        duplicates=outcome.duplicates,
        rejected=len(rejections),
        replaced=outcome.replaced,
        series=outcome.series,
        known_from=outcome.known_from,
        known_to=outcome.known_to,
        seconds=round(time.monotonic() - started, 3),
        error=rejections[0].reason if refused else "",
    )
    RejectedRow.objects.bulk_create(
        [RejectedRow(run=run, file=r.file, row=r.row, field=r.field, reason=r.reason) for r in rejections],
        batch_size=REJECTIONS_PER_INSERT,
    )
    run.refresh_from_db()
    return run
