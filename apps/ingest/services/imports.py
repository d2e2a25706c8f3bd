"""A delivery into the lake, as one run: read, compare, commit, record."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, nullcontext
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import structlog
from django.conf import settings
from django.db import InterfaceError, OperationalError, transaction
from django.db.models.functions import Now

from apps.accounts.models import Organisation, User
from apps.catalog import selectors as catalog
from apps.ingest import finished, locks, merge, selectors
from apps.ingest.models import Feed, IngestRun, RejectedRow, RejectionKind, RunKind, RunState
from apps.ingest.progress import Progress, Reporter
from apps.ingest.services.claims import claimed
from apps.ingest.services.paths import upload_discard
from apps.ingest.services.rollup import rollup_in_step, rollup_read, rollup_store
from apps.ingest.staging import Staging, collector_paused
from finops.frames.spot import Rejection
from finops.lake import TABLES, LakeError, SnapshotMissingError
from finops.providers.base import ProviderError, SpotBatch
from finops.providers.files import FileEnd, FileSource, UnreadableError
from finops.providers.files.archives import NOTHING
from finops.providers.spot_rows import SpotContext

log = structlog.get_logger(__name__)

DEMO_FILE = "spot_p2_p3_2019-12_2020-03.csv.gz"
DEMO_SOURCE = "demo: p2 and p3 Spot prices, 2019-12 to 2020-03"
# What PostgreSQL takes in one statement without the parameters costing more than the rows.
REJECTION_BATCH = 2_000

Events = Iterable[SpotBatch | FileEnd]
Listener = Callable[[Progress], None]


@dataclass(frozen=True)
class ImportOptions:
    """What holds for all files of a delivery; empty means the files say it or the provider's rule does.

    `request_start` and `request_end` are the range that was asked for: in it "no row" means "no change".
    `timezone` is an IANA name for times without an offset.
    """

    region: str = ""
    format: str = "auto"
    account: str = ""
    product: str = ""
    currency: str = ""
    timezone: str = ""
    request_start: datetime | None = None
    request_end: datetime | None = None

    def as_json(self) -> dict[str, Any]:
        """For the run's row."""
        return {k: v.isoformat() if isinstance(v, datetime) else v for k, v in asdict(self).items() if v}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> ImportOptions:
        """Back from the run's row."""
        times = {
            k: datetime.fromisoformat(stored[k]) for k in ("request_start", "request_end") if k in stored
        }
        return cls(**{**stored, **times})


def ingest_run_create(
    *,
    source: str,
    location: str = "",
    provider: str = "aws",
    kind: str = RunKind.FILES,
    options: ImportOptions | None = None,
    organisation: Organisation | None = None,
    user: User | None = None,
    feed: Feed | None = None,
) -> IngestRun:
    """A run that waits for its turn. `source` is shown; `location` is the path to read, if another."""
    return IngestRun.objects.create(
        source=source,
        location=location or source,
        provider=provider,
        kind=kind,
        options=(options or ImportOptions()).as_json(),
        organisation=organisation,
        user=user,
        feed=feed,
    )


def ingest_run_execute(*, run_id: int, listener: Listener | None = None) -> IngestRun:
    """Do the work of a waiting run of files; one that was begun or is over is left as it is.

    Input that cannot be used ends as `refused`, trouble of ours as `failed`; neither raises.
    """
    run = IngestRun.objects.get(pk=run_id)
    options = ImportOptions.from_json(run.options)

    def open_source() -> FileSource:
        return FileSource(run.location, spot_context(run.provider, options), form=options.format)

    ranges = {merge.ANY_REGION: (options.request_start, options.request_end)}
    run = _execute(run, open_source, ranges, listener)
    # Handed out a second time it may still be read by who was first.
    if run.kind == RunKind.UPLOAD and run.is_over:
        upload_discard(run.location)
    return run


def prices_import(*, listener: Listener | None = None, **given: Any) -> IngestRun:
    """`ingest_run_create` and `ingest_run_execute` in one: for the command line."""
    run = ingest_run_create(**given)
    return ingest_run_execute(run_id=run.pk, listener=listener)


def prices_store(
    *,
    run: IngestRun,
    batches: Events,
    request_ranges: Mapping[str, merge.Range] | None = None,
    listener: Listener | None = None,
) -> IngestRun:
    """Store what a live feed yields, by the rules of files; `request_ranges`: what was asked for, per region.

    A batch is `finops.providers.spot_rows.spot_batch` of raw columns. Nothing is stored unless all batches
    came. Raises what the feed raises, after the run is marked as failed.
    """
    return _execute(run, lambda: batches, request_ranges or {}, listener, reraise=True)


def demo_load() -> IngestRun:
    """Load the demo prices by the way every import takes; again it stores nothing."""
    return prices_import(
        source=DEMO_SOURCE, location=str(Path(settings.BASE_DIR) / "fixtures" / DEMO_FILE), kind=RunKind.DEMO
    )


def spot_context(provider: str, options: ImportOptions) -> SpotContext:
    """The context of a delivery: its options, and the zone ids of its account where they are known."""
    return SpotContext(
        provider=provider,
        region=options.region or None,
        currency=options.currency or None,
        product=options.product or None,
        account=options.account,
        zone_ids=catalog.zone_ids(account_id=options.account, provider=provider) if options.account else {},
        naive_zone=ZoneInfo(options.timezone) if options.timezone else None,
    )


class DatabaseLostError(OperationalError):
    """The database went away during an import; the message is a sentence for who started it."""


def _execute(
    run: IngestRun,
    open_source: Callable[[], FileSource | Events],
    request_ranges: Mapping[str, merge.Range],
    listener: Listener | None,
    *,
    reraise: bool = False,
) -> IngestRun:
    try:
        return _claim_and_work(run, open_source, request_ranges, listener, reraise=reraise)
    except (OperationalError, InterfaceError) as error:
        # What was written and not named by a run is undone by the next import and by the upkeep.
        raise DatabaseLostError(
            f"The database was lost during the import of {run.source} ({_first_line(error)}). An import is "
            "stored as a whole or not at all: start it again when the database is back."
        ) from error


def _claim_and_work(
    run: IngestRun,
    open_source: Callable[[], FileSource | Events],
    request_ranges: Mapping[str, merge.Range],
    listener: Listener | None,
    *,
    reraise: bool,
) -> IngestRun:
    with claimed(run) as ours:
        if not ours:
            run.refresh_from_db()
            return run
        begun = time.monotonic()
        try:
            _work(run, open_source, request_ranges, Reporter(run, listener), begun)
        except UnreadableError as error:
            _end_refused(run, [Rejection(run.source, None, "", str(error))], 1, str(error), begun)
        except Exception as error:
            _end_failed(run, error, begun)
            if reraise:
                raise
    run.refresh_from_db()
    return run


def _work(
    run: IngestRun,
    open_source: Callable[[], FileSource | Events],
    request_ranges: Mapping[str, merge.Range],
    report: Reporter,
    begun: float,
) -> None:
    lake = selectors.lake()
    staging = Staging(lake)
    try:
        source = open_source()
        with collector_paused():
            _stage(source, staging, report)
        staging.finish()
        if isinstance(source, FileSource) and not staging.files:
            staging.refuse_file(run.source, NOTHING)
        if staging.files_refused and staging.files_refused == len(staging.files):
            _end_refused(run, staging.rejections, staging.rejected, "no file could be read", begun)
            return
        report.enter("waiting")
        with locks.import_lock(waiting=report.tell):
            _merge_and_finish(run, staging, request_ranges, report, begun)
    finally:
        staging.close()


def _stage(source: FileSource | Events, staging: Staging, report: Reporter) -> None:
    files = source if isinstance(source, FileSource) else None
    if files is not None:
        report.bytes_total = files.bytes_total
    # Closed at once, for files are read ahead in a thread.
    with closing(source.events()) if isinstance(source, FileSource) else nullcontext(source) as events:
        for event in events:
            if isinstance(event, SpotBatch):
                report.rows_seen += event.read
                staging.add(event)
            elif event.refused is not None:
                staging.refuse_file(event.file, event.refused)
            else:
                staging.end_file(event.file)
            report.files_done = len(staging.files)
            if files is not None:
                report.bytes_done = files.bytes_done
            report.tell()


def _merge_and_finish(
    run: IngestRun,
    staging: Staging,
    request_ranges: Mapping[str, merge.Range],
    report: Reporter,
    begun: float,
) -> None:
    lake = selectors.lake()
    lake_reconcile()
    before = selectors.current_snapshots()
    try:
        merged = merge.merge(
            staging,
            lake=lake,
            provider=run.provider,
            run_id=run.pk,
            snapshots=before,
            request_ranges=request_ranges,
            phase=report.enter,
        )
        rollup = _rollup(run, staging, merged, before)
        _end_finished(run, staging, merged, rollup, begun)
    except BaseException:
        # A commit that no finished run names is undone now; if even that fails, the next import does it.
        lake_reconcile()
        raise


def _rollup(
    run: IngestRun, staging: Staging, merged: merge.Merged, before: Mapping[str, int]
) -> Callable[[], None] | None:
    """What puts the roll-up in step, for the transaction of the run row; None when it is in step.

    Where it was behind already, the upkeep makes it anew.
    """
    first = not selectors.price_snapshots(before)
    if merged.snapshots == before or not (first or rollup_in_step(before)):
        return None
    regions = list(merged.known)
    found = rollup_read(
        staging.con, selectors.lake(), merged.snapshots, provider=run.provider, regions=regions
    )
    only = None if first else (run.provider, regions)
    return partial(rollup_store, found, merged.snapshots, only=only)


def lake_reconcile() -> bool:
    """Take the lake back to what the newest finished run names; True when something was undone.

    Only under the import lock, where nobody is between a commit and its run row.
    """
    named, undone = selectors.current_snapshots(), False
    for table in TABLES:
        try:
            undone = selectors.lake().rollback(table, named.get(table)) or undone
        except SnapshotMissingError:
            log.error("lake_snapshot_missing", table=table, snapshot=named.get(table))
            raise
    if undone:
        log.warning("lake_rolled_back", snapshots=named)
    return undone


def _end_finished(
    run: IngestRun,
    staging: Staging,
    merged: merge.Merged,
    rollup: Callable[[], None] | None,
    begun: float,
) -> None:
    known = merged.known.values()
    with transaction.atomic():
        if rollup is not None:
            rollup()
        _rejections_store(run, staging.rejections, RejectionKind.REJECTED)
        _rejections_store(run, merged.replacements, RejectionKind.REPLACEMENT)
        IngestRun.objects.filter(pk=run.pk, state=RunState.RUNNING).update(
            state=RunState.FINISHED,
            phase="",
            finished_at=Now(),
            heartbeat_at=Now(),
            rows_read=staging.rows_read,
            rows_seen=staging.rows_read,
            stored=merged.stored,
            duplicates=merged.duplicates,
            rejected=staging.rejected,
            replaced=merged.replaced,
            files_done=len(staging.files),
            files_total=len(staging.files),
            files_rejected=staging.files_refused,
            series=merged.series,
            new_series=merged.new_series,
            known_from=min((start for start, _ in known), default=None),
            known_to=max((end for _, end in known), default=None),
            known={r: [_iso(start), _iso(end)] for r, (start, end) in merged.known.items()},
            seconds=time.monotonic() - begun,
            snapshots=merged.snapshots,
        )
        finished.tell(run.pk)


def _end_refused(
    run: IngestRun, rejections: list[Rejection], rejected: int, error: str, begun: float
) -> None:
    with transaction.atomic():
        _rejections_store(run, rejections, RejectionKind.REJECTED)
        IngestRun.objects.filter(pk=run.pk).update(
            state=RunState.REFUSED,
            phase="",
            finished_at=Now(),
            rows_read=rejected,
            rejected=rejected,
            files_rejected=rejected,
            seconds=time.monotonic() - begun,
            error=error,
        )


def _end_failed(run: IngestRun, error: Exception, begun: float) -> None:
    """Record the failure; when not even that is possible, the reconciler finds the run later."""
    plain = isinstance(error, LakeError | ProviderError | OSError)
    sentence = str(error) if plain else f"{type(error).__name__}: {error}"
    if isinstance(error, OperationalError | InterfaceError):
        plain, sentence = (
            True,
            f"the database could not go on ({_first_line(error)}); nothing was stored",
        )
    log.warning("ingest_run_failed", run=run.pk, error=sentence, exc_info=not plain)
    try:
        IngestRun.objects.filter(pk=run.pk, state=RunState.RUNNING).update(
            state=RunState.FAILED,
            phase="",
            finished_at=Now(),
            seconds=time.monotonic() - begun,
            error=sentence[:4000],
        )
    except (OperationalError, InterfaceError) as lost:
        log.warning("ingest_run_not_recorded", run=run.pk, error=_first_line(lost))
    except Exception:
        log.exception("ingest_run_not_recorded", run=run.pk)


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def _rejections_store(run: IngestRun, rejections: list[Rejection], kind: str) -> None:
    RejectedRow.objects.bulk_create(
        (
            RejectedRow(
                run=run,
                kind=kind,
                file=_storable(r.file)[:1000],
                row=r.row,
                field=_storable(r.field)[:100],
                reason=_storable(r.reason) or "not a price",
                region=r.region[:40] or None,
                instance_type=r.instance_type[:60] or None,
            )
            for r in rejections
        ),
        batch_size=REJECTION_BATCH,
    )


def _storable(text: str) -> str:
    """PostgreSQL's text holds no zero byte, and no half characters as file names in other encodings give."""
    return text.replace("\x00", "�").encode("utf-8", "replace").decode()


def _iso(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
