"""A bill import as one run: gather, stage, swap, record. The door for command line, upload and feeds."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import structlog
from django.conf import settings
from django.db.models import Q
from django.db.models.functions import Now

from apps.accounts.models import Organisation, User
from apps.billing.models import Delivery, DeliveryState
from apps.ingest import locks, selectors
from apps.ingest.bills import swap
from apps.ingest.bills.apart import same_lines_refuse, side_by_side
from apps.ingest.bills.gather import Bundle, gather
from apps.ingest.bills.kinds import AUTO
from apps.ingest.bills.own_totals import unclear
from apps.ingest.bills.stage import Stager, delivery_id_reserve, hashes_of, report_of
from apps.ingest.bills.staged import BillRefusedError, Identity, Staged, discard
from apps.ingest.bills.whole import doubts, parts_missing, rows_refuse
from apps.ingest.bills.work import workplace
from apps.ingest.models import Feed, IngestRun, RejectedRow, RunKind, RunState, RunSubject
from apps.ingest.progress import Progress, Reporter
from apps.ingest.services.claims import run_do
from apps.ingest.services.imports import lake_reconcile
from finops.frames.spot import Rejection
from finops.lake import LakeError
from finops.providers.files import UnreadableError
from finops.verbs import database_lost

log = structlog.get_logger(__name__)
Listener = Callable[[Progress], None]
REJECTIONS_PER_INSERT = 2_000
# DuckDB adds 18 decimals in 128 bits.
TOO_LARGE = "the lines add up to more than 170,141,183,460,469,231,731: that cannot be added up to the cent"


@dataclass(frozen=True)
class BillOptions:
    """What the files do not say. `expected` is {currency: total of the invoice}, with the month
    before the currency ("2018-10:USD") where there are several; `delivered_at` orders.

    `whole`: the files are all of the delivery, whatever their names say. `dates`: how dates with slashes are
    read (day-first, month-first), "" by what the file shows.
    """

    kind: str = AUTO
    report: str = ""
    delivered_at: datetime | None = None
    expected: dict[str, Decimal] = field(default_factory=dict)
    whole: bool = False
    dates: str = ""

    def as_json(self) -> dict[str, Any]:
        """For the run's row."""
        return {
            "kind": self.kind,
            "report": self.report,
            "delivered_at": self.delivered_at.isoformat() if self.delivered_at else None,
            "expected": {currency: str(total) for currency, total in self.expected.items()},
            "whole": self.whole,
            "dates": self.dates,
        }

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> BillOptions:
        """Back from the run's row."""
        moment = stored.get("delivered_at")
        return cls(
            kind=stored.get("kind", AUTO),
            report=stored.get("report", ""),
            delivered_at=datetime.fromisoformat(moment) if moment else None,
            expected={c: Decimal(t) for c, t in stored.get("expected", {}).items()},
            whole=stored.get("whole", False),
            dates=stored.get("dates", ""),
        )


def bill_run_create(
    *,
    paths: Sequence[str | Path],
    organisation: Organisation | None = None,
    kind: str = RunKind.FILES,
    options: BillOptions | None = None,
    user: User | None = None,
    feed: Feed | None = None,
    source: str = "",
) -> IngestRun:
    """A run that waits for its turn; `source` is shown, the paths are read."""
    told = [str(path) for path in paths]
    return IngestRun.objects.create(
        subject=RunSubject.BILLS,
        source=(source or told[0])[:1000],
        location=told[0][:1000],
        provider="aws",
        kind=kind,
        options={**(options or BillOptions()).as_json(), "paths": told},
        organisation=organisation,
        user=user,
        feed=feed,
    )


def bill_import(
    *,
    paths: Sequence[str | Path],
    organisation: Organisation | None = None,
    kind: str = AUTO,
    report: str = "",
    delivered_at: datetime | None = None,
    expected: dict[str, Decimal] | None = None,
    whole: bool = False,
    dates: str = "",
    listener: Listener | None = None,
    user: User | None = None,
    feed: Feed | None = None,
    source: str = "",
) -> IngestRun:
    """Import the deliveries behind `paths` as one run; refused and failed runs do not raise.

    `run.options["deliveries"]` are the ids of the deliveries that it made, `["unchanged"]` of those that were
    there already, `["refused"]` what was not taken and why.
    """
    options = BillOptions(kind, report, delivered_at, expected or {}, whole, dates)
    run = bill_run_create(
        paths=paths,
        organisation=organisation,
        kind=RunKind.LIVE if feed else RunKind.FILES,
        options=options,
        user=user,
        feed=feed,
        source=source,
    )
    return bill_run_execute(run_id=run.pk, listener=listener)


def bill_run_execute(*, run_id: int, listener: Listener | None = None) -> IngestRun:
    """Do the work of a waiting run of bills; one that was begun or is over is left as it is."""
    return run_do(run_id, lambda run: _Work(run, BillOptions.from_json(run.options), Reporter(run, listener)))


@dataclass
class _Work:
    """One run while it is done."""

    run: IngestRun
    options: BillOptions
    report: Reporter
    begun: float = field(default_factory=time.monotonic)
    rejections: list[Rejection] = field(default_factory=list)
    refused: list[dict[str, Any]] = field(default_factory=list)
    unchanged: list[int] = field(default_factory=list)
    files: int = 0
    _ids: dict[tuple[Bundle, Identity], tuple[int, int]] = field(default_factory=dict)

    def do(self) -> None:
        """All of it; what cannot be used ends the run as refused."""
        lake = selectors.lake()
        with workplace(lake.limits) as (folder, con):
            self._do(
                Stager(
                    lake,
                    con,
                    folder,
                    self.options.kind,
                    self._resolve,
                    self._tell,
                    dates=self.options.dates,
                    keep_all=settings.BILL_KEEP_SOURCE_COLUMNS,
                )
            )

    def _do(self, stager: Stager) -> None:
        try:
            bundles = gather(self.run.options["paths"], delivered_at=self.options.delivered_at)
            self.report.files_total = sum(len(bundle.files) for bundle in bundles)
            staged = self._clear(stager, [one for b in bundles for one in self._stage(stager, b)])
            if not staged and not self.unchanged:
                self._end_refused()
                return
            self.report.enter("waiting")
            with locks.import_lock(waiting=self.report.tell):
                self._swap(stager, staged)
        except UnreadableError as error:
            self._refuse(BillRefusedError(str(error)), self.run.source)
            self._end_refused()
        except duckdb.OutOfRangeException:
            discard(stager.written)
            self._refuse(BillRefusedError(TOO_LARGE), self.run.source)
            self._end_refused()
        except BaseException:
            discard(stager.written)
            raise

    def _stage(self, stager: Stager, bundle: Bundle) -> list[Staged]:
        self.files += len(bundle.files)
        shown = bundle.manifest or ", ".join(name for name, _ in bundle.files)
        try:
            if bundle.refused:
                raise BillRefusedError(bundle.refused)
            if not self.options.whole and (told := parts_missing(bundle)):
                raise BillRefusedError(told)
            files = hashes_of(bundle)
            if known := self._known(bundle, {file["sha256"] for file in files}):
                self.unchanged += known
                return []
            once = _once(bundle, files)
            found = stager.stage(once, files)
            self._look_at(stager, once, found)
        except BillRefusedError as error:
            self._refuse(error, shown)
            return []
        self.report.files_done = self.files
        self.report.tell()
        self.rejections += [r for one in found for part in one.parts for r in part.rejections]
        return found

    def _look_at(self, stager: Stager, bundle: Bundle, found: list[Staged]) -> None:
        """Raises BillRefusedError for what only all files together show; nothing of them is left then."""
        try:
            rows_refuse(bundle, found)
            for one in found:
                same_lines_refuse(stager.con, one)
                one.doubts = [] if self.options.whole else doubts(bundle)
        except BillRefusedError:
            for one in found:
                discard(one.lake_files)
            raise

    def _clear(self, stager: Stager, staged: list[Staged]) -> list[Staged]:
        """Without those of which nothing says which one counts."""
        refused = side_by_side(staged)
        if told := unclear(self.options.expected, [one.identity.period for one in staged]):
            refused = [(one, told) for one in staged]
        for reason in dict.fromkeys(reason for _, reason in refused):
            self._refuse(BillRefusedError(reason), self.run.source)
        for one, _reason in refused:
            one.discard()
        return [one for one in staged if not any(one is other for other, _ in refused)]

    def _known(self, bundle: Bundle, hashes: set[str]) -> list[int]:
        """Deliveries made of these very files: current ones, else older ones that nothing says are newer now.

        A copy of an older delivery has a younger file, which makes it no newer delivery.
        """
        mine = Q()
        for found in hashes:
            mine |= Q(files__contains=[{"sha256": found}])
        same = Delivery.objects.filter(mine, report__organisation=self.run.organisation_id)
        whole = [d for d in same if {file["sha256"] for file in d.files} <= hashes]
        current = [d for d in whole if d.state == DeliveryState.CURRENT]
        for group in (current, whole):
            if {file["sha256"] for d in group for file in d.files} == hashes:
                newer = group is whole and bundle.dated
                if newer and bundle.delivered_at > max(d.delivered_at for d in group):
                    return []
                return [d.pk for d in group]
        return []

    def _resolve(self, bundle: Bundle, identity: Identity, kind: str) -> tuple[int, int]:
        key = (bundle, identity)
        if key not in self._ids:
            if self.options.report:
                bundle = Bundle(bundle.files, bundle.delivered_at, report=self.options.report)
            report = report_of(self.run.organisation, bundle, identity, kind)
            self._ids[key] = (report.pk, delivery_id_reserve())
        return self._ids[key]

    def _tell(self, rows: int) -> None:
        self.report.rows_seen += rows

    def _refuse(self, error: BillRefusedError, shown: str) -> None:
        told = error.rejections or [Rejection(shown, None, "", error.reason)]
        self.refused.append(
            {
                "source": shown,
                "reason": error.reason,
                "rejections": [
                    {"file": r.file, "row": r.row, "field": r.field, "reason": r.reason} for r in told[:100]
                ],
            }
        )
        self.rejections += told

    def _swap(self, stager: Stager, staged: list[Staged]) -> None:
        self.report.enter("writing")
        lake_reconcile()
        before = selectors.current_snapshots()
        try:
            decided = swap.decide(stager.con, staged)
            snapshots = before | swap.commit(stager.con, selectors.lake(), decided)
            finish = partial(self._finish, decided, snapshots)
            swap.record(decided, run_id=self.run.pk, expected=self.options.expected, also=finish)
        except BaseException:
            # A commit that no finished run names is undone now; if even that fails, the next import does it.
            lake_reconcile()
            raise

    def _finish(self, decided: Sequence[swap.Decided], snapshots: dict[str, int]) -> None:
        current = [d.staged for d in decided if d.state == DeliveryState.CURRENT]
        others = [d.staged for d in decided if d.state != DeliveryState.CURRENT]
        stored = sum(s.rows_read - s.rejected for s in current)
        aside = sum(s.rows_read - s.rejected for s in others)
        again = Delivery.objects.filter(pk__in=self.unchanged)
        aside += sum(again.values_list("stored", flat=True))
        rejected = sum(d.staged.rejected for d in decided) + len(self.refused)
        self._end(
            RunState.FINISHED,
            stored=stored,
            duplicates=aside,
            rejected=rejected,
            snapshots=snapshots,
            deliveries=[d.staged.delivery for d in decided],
        )

    def _end_refused(self) -> None:
        reason = "; ".join(entry["reason"] for entry in self.refused)
        self._end(RunState.REFUSED, stored=0, duplicates=0, rejected=len(self.refused), error=reason)

    def _end(
        self,
        state: str,
        *,
        stored: int,
        duplicates: int,
        rejected: int,
        snapshots: dict[str, int] | None = None,
        deliveries: Sequence[int] = (),
        error: str = "",
    ) -> None:
        _rejections_store(self.run, self.rejections)
        result = {"deliveries": list(deliveries), "unchanged": self.unchanged, "refused": self.refused}
        IngestRun.objects.filter(pk=self.run.pk, state=RunState.RUNNING).update(
            state=state,
            phase="",
            finished_at=Now(),
            heartbeat_at=Now(),
            rows_read=stored + duplicates + rejected,
            stored=stored,
            duplicates=duplicates,
            rejected=rejected,
            files_done=self.files,
            files_total=self.files,
            files_rejected=len(self.refused),
            seconds=time.monotonic() - self.begun,
            error=error[:4000],
            options={**self.run.options, **json.loads(json.dumps(result))},
            **({"snapshots": snapshots} if snapshots else {}),
        )

    def failed(self, error: Exception) -> None:
        """Record the failure; when not even that is possible, the reconciler finds the run later."""
        lost = database_lost(error)
        plain = lost or isinstance(error, LakeError | OSError)
        sentence = " ".join(str(error).split()) if plain else f"{type(error).__name__}: {error}"
        log.warning("bill_run_failed", run=self.run.pk, error=sentence, exc_info=not plain)
        try:
            IngestRun.objects.filter(pk=self.run.pk, state=RunState.RUNNING).update(
                state=RunState.FAILED,
                phase="",
                finished_at=Now(),
                seconds=time.monotonic() - self.begun,
                error=sentence[:4000],
            )
        except Exception as again:
            gone = database_lost(again)
            told = " ".join(str(again).split())
            log.error("bill_run_not_recorded", run=self.run.pk, error=told, exc_info=not gone)


def _once(bundle: Bundle, files: list[dict[str, Any]]) -> Bundle:
    """Without files whose content is there already: a delivery copied into one folder twice is one."""
    seen: dict[object, tuple[str, Path]] = {}
    for told, file in zip(files, bundle.files, strict=True):
        seen.setdefault(told["sha256"], file)
    return Bundle(**{**bundle.__dict__, "files": tuple(seen.values())})


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
        batch_size=REJECTIONS_PER_INSERT,
    )
