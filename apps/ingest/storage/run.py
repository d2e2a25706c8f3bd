"""An import about storage as one run: sort, stage, swap, record.

The door for command line, upload and feeds.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import structlog
from django.db.models import Sum
from django.db.models.functions import Now

from apps.accounts.models import Organisation, User
from apps.ingest import locks, selectors
from apps.ingest.models import Feed, IngestRun, RejectedRow, RunKind, RunState, RunSubject
from apps.ingest.progress import Progress, Reporter
from apps.ingest.services.claims import run_do
from apps.ingest.services.imports import lake_reconcile
from apps.ingest.storage.gather import files_of
from apps.ingest.storage.lens import StagedTotals, totals_stage
from apps.ingest.storage.listings import ListingStager, StagedListing
from apps.ingest.storage.reads import ReadsStager
from apps.ingest.storage.recognise import Recogniser
from apps.ingest.storage.sources import Found, ListingSource, StorageOptions
from apps.ingest.storage.swap import Swap, rows_aside
from apps.storage.models import Listing
from apps.storage.services.reads import files_keep, files_taken
from finops.frames.spot import Rejection
from finops.lake import LakeError, open_duckdb
from finops.providers.files import UnreadableError
from finops.providers.storage import KEY_HASH, KNOWN_KEY, StorageFileError, key_id
from finops.verbs import database_lost

log = structlog.get_logger(__name__)
Listener = Callable[[Progress], None]
_REJECTIONS_PER_INSERT = 2_000


def storage_run_create(
    *,
    paths: Sequence[str | Path],
    options: StorageOptions | None = None,
    organisation: Organisation | None = None,
    kind: str = RunKind.FILES,
    user: User | None = None,
    feed: Feed | None = None,
    source: str = "",
) -> IngestRun:
    """A run that waits for its turn; `source` is shown, the paths are read."""
    told = [str(path) for path in paths]
    options = options or StorageOptions()
    return IngestRun.objects.create(
        subject=RunSubject.STORAGE,
        source=(source or told[0])[:1000],
        location=told[0][:1000],
        provider=options.provider,
        kind=kind,
        options={**options.as_json(), "paths": told},
        organisation=organisation,
        user=user,
        feed=feed,
    )


def storage_import(*, listener: Listener | None = None, **given: Any) -> IngestRun:
    """`storage_run_create` and `storage_run_execute` in one; refused and failed runs do not raise."""
    return storage_run_execute(run_id=storage_run_create(**given).pk, listener=listener)


def storage_run_execute(*, run_id: int, listener: Listener | None = None) -> IngestRun:
    """Do the work of a waiting run; one that was begun or is over is left as it is."""
    return run_do(
        run_id, lambda run: _Work(run, StorageOptions.from_json(run.options), Reporter(run, listener))
    )


@dataclass
class _Work:
    """One run while it is done."""

    run: IngestRun
    options: StorageOptions
    report: Reporter
    begun: float = field(default_factory=time.monotonic)
    found: Found = field(default_factory=Found)
    rejections: list[Rejection] = field(default_factory=list)
    aside: int = 0

    def do(self) -> None:
        """All of it; what cannot be used ends the run as refused."""
        lake = selectors.lake()
        spill = Path(lake.limits.spill or tempfile.gettempdir())
        spill.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix="storage-", dir=spill))
        con = open_duckdb(lake.limits)
        # Rows of a listing have no order; keeping one holds every reader to a single thread.
        con.execute("SET preserve_insertion_order = false")
        _check_hash(con)
        swap = Swap(
            con, lake, self.run.organisation, self.options.provider, self.run.pk,
            region=self.options.region, account=self.options.account,
        )  # fmt: skip
        listings = ListingStager(con, lake, self.options, swap.key)
        try:
            self._stage(swap, listings, folder)
        except UnreadableError as error:
            self.rejections.append(Rejection(self.run.source, None, "", str(error)))
            self._end(RunState.REFUSED, stored=0, rejected=len(self.rejections))
        except BaseException:
            lake.discard_files(listings.written)
            raise
        finally:
            con.close()
            shutil.rmtree(folder, ignore_errors=True)

    def _stage(self, swap: Swap, listings: ListingStager, folder: Path) -> None:
        files = files_of(self.run.options["paths"], folder)
        self.report.files_total = len(files)
        Recogniser(self.options, folder, self.found).sort(files)
        staged = [one for source in self._new_listings() for one in self._listing(listings, source)]
        reads = ReadsStager(swap.con, self.options, self._tell)
        rows = self._new_rows()
        said = reads.stage(rows)
        totals = totals_stage(swap.con, rows)
        self.rejections += [*self.found.refused, *said.rejections, *said.refused]
        self.rejections += [*totals.rejections, *totals.refused]
        if said.others:
            self.found.ignored["requests that read nothing"] += said.others
        if totals.others:
            self.found.ignored["totals of accounts, prefixes and other metrics"] += totals.others
        if any(
            "bucket" not in {n.casefold() for n in s.table.names}
            for s in rows
            if s.kind == "reads" and s.table
        ):
            self.found.assumed.setdefault("bucket", self.options.bucket or "the name of the file")
        if not (staged or said.rows_of or totals.rows_of or self.aside):
            if not self.rejections:
                self.rejections.append(Rejection(self.run.source, None, "", "no file about storage here"))
            self._end(RunState.REFUSED, stored=0, rejected=len(self.rejections))
            return
        self.report.enter("waiting")
        with locks.import_lock(waiting=self.report.tell):
            self._swap(swap, staged, reads, totals)

    def _tell(self, rows: int) -> None:
        self.report.rows_seen += rows
        self.report.tell()

    def _new_listings(self) -> list[ListingSource]:
        """Those that are not stored yet, each once."""
        seen: dict[tuple[Any, ...], ListingSource] = {}
        for source in self.found.listings:
            key = (source.bucket, source.listed_at, source.sha256)
            same = Listing.objects.filter(
                bucket__organisation=self.run.organisation,
                bucket__provider=self.options.provider,
                content_hash=source.sha256,
            )
            if source.bucket:
                same = same.filter(bucket__name=source.bucket)
            # A copied file is younger than what it was copied from, which makes it no newer listing.
            if source.bucket or self.options.listed_at:
                same = same.filter(listed_at=source.listed_at)
            if same.exists():
                self.aside += same.aggregate(rows=Sum("objects_count"))["rows"] or 0
                self.found.ignored["listings that are stored already"] += 1
            elif key in seen:
                self.found.ignored["listings that are there twice"] += 1
            else:
                seen[key] = source
        return list(seen.values())

    def _new_rows(self) -> list[Any]:
        """Files of reads and totals that were not taken over yet, each once."""
        taken = files_taken(self.run.organisation, (s.sha256 for s in self.found.rows))
        new = {}
        for source in self.found.rows:
            if source.sha256 in taken:
                self.aside += taken[source.sha256]
                self.found.ignored["files that were taken over before"] += 1
            elif source.sha256 in new:
                self.found.ignored["files that are there twice"] += 1
            else:
                new[source.sha256] = source
        return list(new.values())

    def _listing(self, stager: ListingStager, source: ListingSource) -> list[StagedListing]:
        try:
            found = stager.stage(source)
        except StorageFileError as error:
            self.rejections.append(Rejection(source.name, error.row, error.field, str(error)))
            return []
        self.rejections += [r for one in found for r in one.rejections]
        if repeated := sum(one.repeated for one in found):
            self.aside += repeated
            self.found.ignored["objects that are listed twice"] += repeated
        self.report.files_done += len(source.tables)
        self._tell(sum(one.good for one in found))
        return found

    def _swap(
        self, swap: Swap, staged: list[StagedListing], reads: ReadsStager, totals: StagedTotals
    ) -> None:
        self.report.enter("writing")
        lake_reconcile()
        before = selectors.current_snapshots()
        written: list[str] = []
        try:
            self._taken_meanwhile({*reads.staged.rows_of, *totals.rows_of})
            swap.decide(staged, reads.staged)
            written = reads.write(swap.lake, key_of=swap.key, run_id=self.run.pk)
            snapshots = swap.commit(written, before)
            self.report.enter("bands")
            swap.make_bands(snapshots)
            swap.record(totals, partial(self._finish, swap, reads, totals, snapshots))
        except BaseException:
            # A commit that no finished run names is undone now; if even that fails, the next import does it.
            lake_reconcile()
            raise
        for work in swap.buckets.values():
            late = [one.file for one, _ in work.listings if one is not work.current]
            swap.lake.discard_files(late)

    def _taken_meanwhile(self, hashes: set[str]) -> None:
        """Raises LakeError where another import took over one of these files while this one read it."""
        if files_taken(self.run.organisation, hashes):
            raise LakeError(
                "another import took over a file of this one meanwhile; nothing was stored, start it again"
            )

    def _finish(
        self, swap: Swap, reads: ReadsStager, totals: StagedTotals, snapshots: dict[str, int]
    ) -> None:
        kinds = {source.sha256: str(source.kind) for source in self.found.rows}
        for kind in sorted(set(kinds.values())):
            rows_of = {s: n for s, n in (reads.staged.rows_of | totals.rows_of).items() if kinds[s] == kind}
            files_keep(self.run.organisation, kind, rows_of, run_id=self.run.pk)
        stored, late = rows_aside(swap.buckets)
        self.aside += late
        self._end(
            RunState.FINISHED,
            stored=stored + reads.staged.reads + totals.used,
            rejected=len(self.rejections),
            snapshots=snapshots,
            buckets=sorted({*swap.buckets, *totals.places}),
        )

    def _end(
        self,
        state: str,
        *,
        stored: int,
        rejected: int,
        snapshots: dict[str, int] | None = None,
        buckets: Sequence[str] = (),
    ) -> None:
        _rejections_store(self.run, self.rejections)
        result = {
            "what": "storage",
            "ignored": dict(self.found.ignored),
            "assumed": self.found.assumed,
            "buckets": list(buckets),
        }
        refused = state == RunState.REFUSED
        duplicates = 0 if refused else self.aside
        IngestRun.objects.filter(pk=self.run.pk, state=RunState.RUNNING).update(
            state=state,
            phase="",
            finished_at=Now(),
            heartbeat_at=Now(),
            rows_read=stored + duplicates + rejected,
            rows_seen=stored + duplicates + rejected,
            stored=stored,
            duplicates=duplicates,
            rejected=rejected,
            series=len(buckets),
            files_done=self.found.files,
            files_total=self.found.files,
            files_rejected=len({r.file for r in self.found.refused}),
            seconds=time.monotonic() - self.begun,
            error=self.rejections[0].reason[:4000] if refused else "",
            options={**self.run.options, **json.loads(json.dumps(result))},
            **({"snapshots": snapshots} if snapshots else {}),
        )

    def failed(self, error: Exception) -> None:
        """Record the failure; when not even that is possible, the reconciler finds the run later."""
        lost = database_lost(error)
        plain = lost or isinstance(error, LakeError | OSError)
        sentence = " ".join(str(error).split()) if plain else f"{type(error).__name__}: {error}"
        log.warning("storage_run_failed", run=self.run.pk, error=sentence, exc_info=not plain)
        try:
            IngestRun.objects.filter(pk=self.run.pk, state=RunState.RUNNING).update(
                state=RunState.FAILED,
                phase="",
                finished_at=Now(),
                seconds=time.monotonic() - self.begun,
                error=sentence[:4000],
            )
        except Exception as again:
            told = " ".join(str(again).split())
            log.error("storage_run_not_recorded", run=self.run.pk, error=told)


def _check_hash(con: duckdb.DuckDBPyConnection) -> None:
    """Raises LakeError where DuckDB hashes another way than when reads were stored."""
    found = con.execute(f"SELECT {key_id('k')} FROM (SELECT ? AS k)", [KNOWN_KEY]).fetchall()
    if found != [(KEY_HASH,)]:
        raise LakeError(
            "this DuckDB hashes keys another way than the one that the lake was made with: reads of stored "
            "objects would not be found again"
        )


def _rejections_store(run: IngestRun, rejections: Sequence[Rejection]) -> None:
    def clean(text: str) -> str:
        return text.replace("\x00", "�").encode("utf-8", "replace").decode()

    RejectedRow.objects.bulk_create(
        (
            RejectedRow(
                run=run,
                file=clean(r.file)[:1000],
                row=r.row,
                field=clean(r.field)[:100],
                reason=clean(r.reason) or "not usable",
            )
            for r in rejections
        ),
        batch_size=_REJECTIONS_PER_INSERT,
    )
