"""Staged listings, reads and totals into lake and database: all of a run or nothing.

The caller holds the import lock. Order: reads written, objects and reads committed, bands made from what is
then in the lake, and one database transaction with listings, bands, spans and the run row that names the
snapshots. Readers go by the run row; what a killed process committed is undone by `lake_reconcile`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

import duckdb
from django.db import transaction

from apps.accounts.models import Organisation
from apps.ingest.storage.lens import StagedTotals
from apps.ingest.storage.listings import StagedListing, objects_relation
from apps.ingest.storage.reads import StagedReads
from apps.storage.models import Bucket, Listing, ListingState
from apps.storage.services.buckets import bucket_key, bucket_store
from apps.storage.services.listings import bands_store, listing_state, listing_store, reported_store
from apps.storage.services.reads import (
    Span,
    known_spans,
    read_days_replace,
    span_for,
    spans_merged,
    spans_of,
    spans_replace,
)
from finops.lake import STORAGE_OBJECTS, STORAGE_READS, Lake
from finops.lake import storage_bands as bands
from finops.lake.filters import any_of, equals

# Two years of days; older reads stay in the lake and say little about the next ones.
DAYS_IN_BANDS = timedelta(days=730)
_NO_READS = "(SELECT NULL::BIGINT AS key_id, NULL::DATE AS day WHERE false)"


@dataclass
class BucketWork:
    """One bucket of a run: what is new of it, and what its bands are afterwards."""

    name: str
    listings: list[tuple[StagedListing, str]] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    new_reads: bool = False
    cells: dict[int, list[tuple[Any, ...]]] = field(default_factory=dict)
    logs: dict[int, Span | None] = field(default_factory=dict)
    old_cells: list[tuple[Any, ...]] | None = None
    old_log: Span | None = None
    days: list[tuple[Any, ...]] | None = None

    @property
    def current(self) -> StagedListing | None:
        """The new listing that becomes current."""
        return next((one for one, state in self.listings if state == ListingState.CURRENT), None)


@dataclass
class Swap:
    """The work of one run under the lock."""

    con: duckdb.DuckDBPyConnection
    lake: Lake
    organisation: Organisation | None
    provider: str
    run_id: int
    region: str = ""
    account: str = ""
    buckets: dict[str, BucketWork] = field(default_factory=dict)

    def key(self, name: str) -> str:
        """What the lake calls a bucket of this run's organisation."""
        return bucket_key(self.organisation.pk if self.organisation else None, self.provider, name)

    def row(self, name: str) -> Bucket | None:
        """The bucket as it is stored, if it is."""
        return Bucket.objects.filter(
            organisation=self.organisation, provider=self.provider, name=name
        ).first()

    def decide(self, listings: Sequence[StagedListing], reads: StagedReads) -> None:
        """The newest listing of each bucket becomes current, if no newer one is already."""
        for one in sorted(listings, key=lambda s: s.listed_at):
            work = self.buckets.setdefault(one.bucket, BucketWork(one.bucket))
            state = listing_state(self.row(one.bucket), one.listed_at)
            if state == ListingState.CURRENT:
                work.listings = [(old, _behind(old_state)) for old, old_state in work.listings]
            work.listings.append((one, state))
        for name in reads.buckets:
            work = self.buckets.setdefault(name, BucketWork(name))
            work.new_reads = True
            new = [*spans_of(reads.days.get(name, ())), *reads.ranges.get(name, ())]
            work.spans = spans_merged([*known_spans(self.row(name)), *new])
        for name, work in self.buckets.items():
            if not work.new_reads:
                work.spans = known_spans(self.row(name))

    def commit(self, read_files: Sequence[str], before: Mapping[str, int]) -> dict[str, int]:
        """Both tables; returns the snapshots to read from now on."""
        after = dict(before)
        current = {name: work.current for name, work in self.buckets.items() if work.current}
        if current:
            files = [one.file for one in current.values() if one]
            gone = any_of(*(equals("bucket", self.key(name)) for name in current))
            after[STORAGE_OBJECTS] = self.lake.commit(STORAGE_OBJECTS, files, delete=gone)
        if read_files:
            after[STORAGE_READS] = self.lake.commit(STORAGE_READS, read_files)
        return after

    def make_bands(self, snapshots: Mapping[str, int]) -> None:
        """The bands of every bucket that changed."""
        for work in self.buckets.values():
            self._bands(work, snapshots)

    def _bands(self, work: BucketWork, snapshots: Mapping[str, int]) -> None:
        only = equals("bucket", self.key(work.name))
        filters = {STORAGE_OBJECTS: only, STORAGE_READS: only}
        self.lake.add_views(self.con, snapshots, filters=filters)
        newest = max(work.spans, default=None)
        if work.spans:
            self._reads(work.spans[0][0], max(last for _, last in work.spans))
        reads = "bucket_reads" if work.spans else _NO_READS
        for one, _state in work.listings:
            span = span_for(work.spans, one.listed_on)
            work.logs[id(one)] = span
            work.cells[id(one)] = bands.bands_of(
                self.con, one.relation, one.listed_on, reads=reads, span=_span(span)
            )
        row = self.row(work.name)
        stored = row.listings.filter(state=ListingState.CURRENT).first() if row else None
        objects = objects_relation(STORAGE_OBJECTS)
        if work.new_reads and work.current is None and stored is not None:
            work.old_log = span_for(work.spans, stored.listed_at.date())
            work.old_cells = bands.bands_of(
                self.con, objects, stored.listed_at.date(), reads=reads, span=_span(work.old_log)
            )
        if newest is not None:
            first = max(newest[0], newest[1] - DAYS_IN_BANDS)
            listed = objects if work.current or stored else ""
            work.days = bands.reads_by_day(
                self.con, "bucket_reads", bands.Span(first, newest[1]), objects=listed
            )

    def _reads(self, first: date, last: date) -> None:
        """`bucket_reads`: a row per object and day; two sources of one day tell of the same reads."""
        self.con.execute(
            "CREATE OR REPLACE TEMP TABLE bucket_reads AS "
            "SELECT key_id, any_value(prefix) AS prefix, day, CAST(max(requests) AS BIGINT) AS requests, "
            "CAST(max(bytes) AS BIGINT) AS bytes FROM (SELECT key_id, any_value(prefix) AS prefix, day, "
            f"source, sum(requests) AS requests, sum(bytes) AS bytes FROM {STORAGE_READS} "
            "WHERE day BETWEEN $first AND $last GROUP BY key_id, day, source) GROUP BY key_id, day",
            {"first": first, "last": last},
        )

    def record(self, totals: StagedTotals, also: Callable[[], None]) -> None:
        """Buckets, listings, bands, spans and reports; `also` ends the run in the same transaction."""
        with transaction.atomic():
            for work in self.buckets.values():
                self._record(work)
            self._totals(totals)
            also()

    def _record(self, work: BucketWork) -> None:
        versioned = any(one.noncurrent or one.deleted for one, _ in work.listings)
        bucket = bucket_store(
            organisation=self.organisation,
            provider=self.provider,
            name=work.name,
            region=self.region,
            account=self.account,
            versioning="Enabled" if versioned and not self._versioning(work.name) else "",
        )
        for one, state in work.listings:
            listing_store(
                bucket=bucket,
                state=state,
                listed_at=one.listed_at,
                source=one.source.name,
                states=one.states,
                content_hash=one.source.sha256,
                log=work.logs[id(one)],
                objects=one.objects,
                size=one.bytes,
                run_id=self.run_id,
                cells=work.cells[id(one)],
            )
        if work.new_reads:
            spans_replace(bucket, work.spans)
        if work.old_cells is not None:
            stored = Listing.objects.get(bucket=bucket, state=ListingState.CURRENT)
            bands_store(stored, work.old_cells, work.old_log)
        if work.days is not None:
            read_days_replace(bucket, work.days)

    def _versioning(self, name: str) -> str:
        row = self.row(name)
        return row.versioning if row else ""

    def _totals(self, totals: StagedTotals) -> None:
        by_day: dict[tuple[str, date], list[tuple[str, str, int | None, int]]] = {}
        for (name, day, storage_class, state), part in totals.parts.items():
            if part.bytes is not None:
                by_day.setdefault((name, day), []).append((storage_class, state, part.objects, part.bytes))
        for name, (region, account) in totals.places.items():
            bucket_store(
                organisation=self.organisation,
                provider=self.provider,
                name=name,
                region=self.region or region,
                account=self.account or account,
                versioning="Enabled" if name in totals.versioned else "",
            )
        for (name, day), parts in by_day.items():
            bucket = self.row(name)
            assert bucket is not None  # noqa: S101 - stored a moment ago
            reported_store(bucket=bucket, day=day, parts=parts, run_id=self.run_id)


def _behind(state: str) -> str:
    return ListingState.SUPERSEDED if state == ListingState.CURRENT else state


def _span(span: Span | None) -> bands.Span | None:
    return bands.Span(*span) if span else None


def rows_aside(work: Mapping[str, BucketWork]) -> tuple[int, int]:
    """(rows of listings that became current, rows of those that did not)."""
    stored = aside = 0
    for one_bucket in work.values():
        for one, state in one_bucket.listings:
            if state == ListingState.CURRENT:
                stored += one.good
            else:
                aside += one.good
    return stored, aside
