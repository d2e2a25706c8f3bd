"""Feeds of storage files: the newest listing of each inventory, and the logs and reports since the last turn.

A listing is known by its manifest's ETag. Logs are taken in the order in which S3 got them, some thousand a
turn; what was written in the hour before the last one taken is looked at again, for lists of objects are not
sorted by time. The same content again changes nothing: files are known by their SHA-256.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import cast

from django.conf import settings
from django.db.models.functions import Now

from apps.accounts.models import Organisation
from apps.ingest import locks
from apps.ingest.models import (
    Feed,
    FeedDelivery,
    FeedKind,
    FeedObject,
    FeedState,
    FetchState,
    IngestRun,
    RunKind,
    RunState,
)
from apps.ingest.services.bucket_feeds import access_of, bucket_fields, place_of
from apps.ingest.storage.run import storage_import
from apps.ingest.storage.sources import StorageOptions
from finops.providers.aws.bill_bucket import BillObject
from finops.providers.aws.fetching import Limits, check_sizes, fetch
from finops.providers.aws.storage_bucket import FoundFiles, FoundListing, StorageBucket, newer
from finops.providers.base import ProviderError, TransientError

PROVIDER = "aws"
# Inventories come once a day, logs within hours.
INTERVAL = timedelta(hours=6)
MOST_FILES = 2_000
LOOK_BACK = timedelta(hours=1)
# The row that says how far logs are taken: of no listing and no day.
LOGS, NO_DAY = "logs and reports", date(2006, 3, 14)


def storage_feed_create(
    *,
    name: str,
    bucket: str,
    prefix: str,
    region: str,
    interval: timedelta = INTERVAL,
    role_arn: str = "",
    external_id: str = "",
    account: str = "",
    organisation: Organisation | None = None,
) -> Feed:
    """A feed of storage files; it is due at once. Raises ValidationError by field, IntegrityError for a used
    name.
    """
    place = bucket_fields(
        bucket=bucket, prefix=prefix, region=region, role_arn=role_arn, external_id=external_id,
        account=account,
    )  # fmt: skip
    return Feed.objects.create(
        organisation=organisation,
        name=name,
        provider=PROVIDER,
        kind=FeedKind.STORAGE,
        interval=interval,
        **place,
    )


def storage_feed_collect(*, feed: Feed, now: datetime, again: bool = False) -> list[IngestRun]:
    """Bring in what is new; [] also when another collection of the feed is at work.

    `again` takes up refused listings too. Raises the first TransientError after everything was tried.
    """
    with locks.feed_lock(feed.pk) as ours:
        return _collect(feed, again) if ours else []


def _collect(feed: Feed, again: bool) -> list[IngestRun]:
    runs: list[IngestRun] = []
    errors: list[ProviderError] = []
    try:
        bucket = cast(StorageBucket, StorageBucket.open(access_of(feed), place_of(feed)))
        found = bucket.found()
        # Logs first: a listing's idle times rest on them.
        parts: list[Callable[..., list[IngestRun]]] = [_logs]
        parts += [partial(_listing, one, again) for one in found.listings]
        for part in parts:
            try:
                runs += part(feed, bucket, found)
            except ProviderError as error:
                errors.append(error)
    except ProviderError as error:
        errors.append(error)
    said = [str(error) for error in errors]
    said += [run.error for run in runs if run.state in (RunState.REFUSED, RunState.FAILED) and run.error]
    Feed.objects.filter(pk=feed.pk).exclude(state=FeedState.OFF).update(
        last_try_at=Now(),
        last_error="\n".join(said)[:4000],
        state=FeedState.FAILING if said else FeedState.OK,
        **({} if errors else {"last_success_at": Now()}),
    )
    if transient := next((error for error in errors if isinstance(error, TransientError)), None):
        raise transient
    return runs


def _folder(feed: Feed, name: str) -> Path:
    return Path(settings.OFFPEAK_HOME) / "storage" / str(feed.pk) / name


def _fetched(bucket: StorageBucket, items: Sequence[BillObject], folder: Path) -> None:
    limits = Limits(settings.BILL_OBJECT_MAX_BYTES, settings.BILL_DELIVERY_MAX_BYTES)
    check_sizes(list(items), limits, folder)
    for item in items:
        fetch(bucket, item, folder)


def _import(feed: Feed, folder: Path, source: str) -> IngestRun:
    run = storage_import(
        paths=[folder],
        # Where the files lie says nothing of the region and account of the buckets that they tell of.
        options=StorageOptions(provider=feed.provider),
        organisation=feed.organisation,
        kind=RunKind.LIVE,
        feed=feed,
        source=f"{feed.name}: {source}",
    )
    shutil.rmtree(folder, ignore_errors=True)
    return run


def _logs(feed: Feed, bucket: StorageBucket, found: FoundFiles) -> list[IngestRun]:
    row = FeedDelivery.objects.filter(feed=feed, report=LOGS, billing_period=NO_DAY).first()
    since = row.modified - LOOK_BACK if row else None
    known = set(row.objects_fetched.values_list("key", "etag")) if row else set()
    items = newer(found.others, since, known, most=MOST_FILES)
    if not items:
        return []
    folder = _folder(feed, "logs")
    _fetched(bucket, items, folder)
    run = _import(feed, folder, f"s3://{feed.bucket}/{items[0].key} and {len(items) - 1} more")
    if run.state == RunState.FAILED:
        return [run]
    last = max(items[-1].modified, row.modified) if row else items[-1].modified
    row, _made = FeedDelivery.objects.update_or_create(
        feed=feed,
        report=LOGS,
        billing_period=NO_DAY,
        defaults={
            "manifest": items[-1].key, "etag": items[-1].etag[:100], "modified": last,
            "state": FetchState.LOADED, "run": run, "error": run.error[:4000], "updated_at": Now(),
        },
    )  # fmt: skip
    recent = [item for item in items if item.modified >= last - LOOK_BACK]
    row.objects_fetched.filter(fetched_at__lt=datetime.now(UTC) - timedelta(days=2)).delete()
    FeedObject.objects.bulk_create(
        (FeedObject(delivery=row, key=i.key, etag=i.etag[:100], size=i.size, sha256="") for i in recent),
        update_conflicts=True,
        unique_fields=["delivery", "key"],
        update_fields=["etag", "size"],
    )
    return [run]


def _listing(
    listing: FoundListing, again: bool, feed: Feed, bucket: StorageBucket, found: FoundFiles
) -> list[IngestRun]:
    """[] where the listing is loaded already, else its run."""
    seen = {
        "manifest": listing.manifest.key, "etag": listing.manifest.etag[:100],
        "modified": listing.manifest.modified, "state": FetchState.FETCHING, "error": "",
        "updated_at": Now(),
    }  # fmt: skip
    row, made = FeedDelivery.objects.get_or_create(
        feed=feed, report=listing.config[:1000], billing_period=listing.day, defaults=seen
    )
    same = not made and row.etag == listing.manifest.etag
    if same and (row.state == FetchState.LOADED or (row.state == FetchState.REFUSED and not again)):
        return []
    FeedDelivery.objects.filter(pk=row.pk).update(**seen)
    folder = _folder(feed, f"listing-{row.pk}")
    try:
        _fetched(bucket, [*bucket.files_of(listing, found), listing.manifest], folder)
    except ProviderError as error:
        FeedDelivery.objects.filter(pk=row.pk).update(
            state=FetchState.FAILED, error=str(error)[:4000], updated_at=Now()
        )
        raise
    run = _import(feed, folder, f"s3://{feed.bucket}/{listing.manifest.key}")
    states = {RunState.FINISHED: FetchState.LOADED, RunState.REFUSED: FetchState.REFUSED}
    state = states.get(RunState(run.state), FetchState.FAILED)
    FeedDelivery.objects.filter(pk=row.pk).update(
        state=state,
        run=run,
        error=run.error[:4000],
        updated_at=Now(),
        **({"loaded_etag": listing.manifest.etag[:100]} if state == FetchState.LOADED else {}),
    )
    return [run]
