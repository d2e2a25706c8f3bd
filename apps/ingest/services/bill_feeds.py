"""Feeds of bills: the newest delivery of each period in a bucket, fetched and imported once.

A delivery is known by its manifest's ETag: what is loaded is not fetched again, what was refused waits for a
newer one. Fetched objects are rows with ETag and SHA-256 and files in a folder of the delivery, so a killed
collection goes on where it stopped. One collection of a feed works at a time; another one finds it locked and
leaves. Where the feed asks for it, daily totals of Cost Explorer fill a month until its first export arrives:
one question a day at most, and each paid request is counted before its answer is used.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from apps.accounts.models import Organisation
from apps.billing.models import Delivery, DeliveryState
from apps.ingest import locks
from apps.ingest.bills.run import bill_import
from apps.ingest.models import (
    Feed,
    FeedDelivery,
    FeedKind,
    FeedObject,
    FeedState,
    FetchState,
    IngestRun,
    RunState,
)
from apps.ingest.services.bucket_feeds import access_of, bucket_fields, place_of
from finops.providers.aws import cost_explorer
from finops.providers.aws.bill_bucket import (
    BillBucket,
    BillObject,
    FoundDelivery,
)
from finops.providers.aws.bills_cost_explorer import NAME as COST_EXPLORER_KIND
from finops.providers.aws.fetching import Limits, check_sizes, fetch, is_fetched, target_of
from finops.providers.base import ProviderError, TransientError

PROVIDER = "aws"
# AWS writes exports up to three times a day; asking more often costs list requests and finds nothing.
INTERVAL = timedelta(hours=6)
COST_EXPLORER_EVERY = timedelta(hours=24)
COST_EXPLORER_REPORT = "Cost Explorer daily totals"


def bill_feed_create(
    *,
    name: str,
    bucket: str,
    prefix: str,
    region: str,
    interval: timedelta = INTERVAL,
    role_arn: str = "",
    external_id: str = "",
    account: str = "",
    cost_explorer: bool = False,
    organisation: Organisation | None = None,
) -> Feed:
    """A feed of bills; it is due at once. Raises ValidationError by field, IntegrityError for a used name."""
    place = bucket_fields(
        bucket=bucket, prefix=prefix, region=region, role_arn=role_arn, external_id=external_id,
        account=account,
    )  # fmt: skip
    return Feed.objects.create(
        organisation=organisation,
        name=name,
        provider=PROVIDER,
        kind=FeedKind.BILLS,
        cost_explorer=cost_explorer,
        interval=interval,
        **place,
    )


def bill_feed_collect(*, feed: Feed, now: datetime, again: bool = False) -> list[IngestRun]:
    """Bring in what is new; [] also when another collection of the feed is at work.

    `again` takes up refused deliveries too. Raises the first TransientError after everything was tried; a
    PermanentError only marks the feed as failing.
    """
    with locks.feed_lock(feed.pk) as ours:
        return _collect(feed, now, again) if ours else []


def _collect(feed: Feed, now: datetime, again: bool) -> list[IngestRun]:
    runs: list[IngestRun] = []
    errors: list[ProviderError] = []
    seen: set[tuple[str, date]] = set()
    try:
        bucket = BillBucket.open(access_of(feed), place_of(feed))
        for found in bucket.deliveries():
            seen.add((found.report, found.period))
            try:
                runs += _delivery_collect(feed, bucket, found, again)
            except ProviderError as error:
                errors.append(error)
    except ProviderError as error:
        errors.append(error)
    try:
        runs += _stopgap_collect(feed, now)
    except ProviderError as error:
        errors.append(error)
    _note(feed, errors, [*_not_taken(runs), *_refused(feed, seen)])
    if transient := next((error for error in errors if isinstance(error, TransientError)), None):
        raise transient
    return runs


def _not_taken(runs: Iterable[IngestRun]) -> list[str]:
    return [run.error for run in runs if run.state in (RunState.REFUSED, RunState.FAILED) and run.error]


def _refused(feed: Feed, seen: set[tuple[str, date]]) -> list[str]:
    """Why deliveries that lie in the bucket are not loaded: it stays so until newer ones take their place."""
    rows = feed.deliveries.filter(state__in=(FetchState.REFUSED, FetchState.FAILED)).order_by(
        "billing_period"
    )
    return [row.error for row in rows if (row.report, row.billing_period) in seen and row.error]


def _note(feed: Feed, errors: list[ProviderError], refused: Iterable[str]) -> None:
    said = list(dict.fromkeys([*(str(error) for error in errors), *refused]))
    Feed.objects.filter(pk=feed.pk).exclude(state=FeedState.OFF).update(
        last_try_at=Now(),
        last_error="\n".join(said)[:4000],
        state=FeedState.FAILING if said else FeedState.OK,
        **({} if errors else {"last_success_at": Now()}),
    )


def _delivery_collect(feed: Feed, bucket: BillBucket, found: FoundDelivery, again: bool) -> list[IngestRun]:
    """[] where nothing is new, else the run."""
    row, made = FeedDelivery.objects.get_or_create(
        feed=feed,
        report=found.report,
        billing_period=found.period,
        defaults=_seen(found),
    )
    same = not made and row.etag == found.manifest.etag
    if same and (row.state == FetchState.LOADED or (row.state == FetchState.REFUSED and not again)):
        return []
    FeedDelivery.objects.filter(pk=row.pk).update(**_seen(found))
    folder = staging_of(feed, found)
    try:
        _fetch_all(bucket, found, row, folder)
    except ProviderError as error:
        FeedDelivery.objects.filter(pk=row.pk).update(
            state=FetchState.FAILED, error=str(error)[:4000], updated_at=Now()
        )
        raise
    run = bill_import(
        paths=[folder],
        organisation=feed.organisation,
        delivered_at=found.manifest.modified,
        feed=feed,
        source=f"{feed.name}: s3://{feed.bucket}/{found.manifest.key}",
    )
    _record(row, found, run, folder)
    return [run]


def _seen(found: FoundDelivery) -> dict[str, Any]:
    return {
        "manifest": found.manifest.key,
        "etag": found.manifest.etag,
        "modified": found.manifest.modified,
        "state": FetchState.FETCHING,
        "error": "",
        "updated_at": Now(),
    }


def _record(row: FeedDelivery, found: FoundDelivery, run: IngestRun, folder: Path) -> None:
    """What became of it; the files go unless the trouble was ours and the next try needs them."""
    states = {RunState.FINISHED: FetchState.LOADED, RunState.REFUSED: FetchState.REFUSED}
    state = states.get(RunState(run.state), FetchState.FAILED)
    with transaction.atomic():
        FeedDelivery.objects.filter(pk=row.pk).update(
            state=state,
            run=run,
            error=run.error[:4000],
            updated_at=Now(),
            **({"loaded_etag": found.manifest.etag} if state == FetchState.LOADED else {}),
        )
    if state != FetchState.FAILED:
        shutil.rmtree(folder, ignore_errors=True)


def staging_of(feed: Feed, found: FoundDelivery) -> Path:
    """The folder of a delivery's files: one a feed, export and period."""
    name = hashlib.sha256(f"{found.report}\0{found.period}".encode()).hexdigest()[:16]
    return Path(settings.OFFPEAK_HOME) / "bills" / str(feed.pk) / name


def _fetch_all(bucket: BillBucket, found: FoundDelivery, row: FeedDelivery, folder: Path) -> None:
    """Every object of the delivery that is not here yet, then the manifest: its ETag proves that it still is
    the delivery whose objects were fetched.
    """
    items = bucket.objects(found)
    check_sizes(items, Limits(settings.BILL_OBJECT_MAX_BYTES, settings.BILL_DELIVERY_MAX_BYTES), folder)
    for item in [*items, found.manifest]:
        _fetch_one(bucket, item, row, folder)
    wanted = {target_of(bucket, item, folder) for item in [*items, found.manifest]}
    for root, _folders, names in os.walk(folder):
        for name in names:
            if Path(root, name) not in wanted:
                Path(root, name).unlink()
    FeedObject.objects.filter(delivery=row).exclude(
        key__in=[item.key for item in [*items, found.manifest]]
    ).delete()


def _fetch_one(bucket: BillBucket, item: BillObject, row: FeedDelivery, folder: Path) -> None:
    known = FeedObject.objects.filter(delivery=row, key=item.key, etag=item.etag, size=item.size).first()
    if known and is_fetched(target_of(bucket, item, folder), size=item.size, sha256=known.sha256):
        return
    sha = fetch(bucket, item, folder)
    FeedObject.objects.update_or_create(
        delivery=row,
        key=item.key,
        defaults={"etag": item.etag, "size": item.size, "sha256": sha, "fetched_at": Now()},
    )


def months_without_export(feed: Feed, now: datetime) -> list[date]:
    """The last month and this one, without those that an export covers: one that this feed loaded, or any
    current one of the feed's account.
    """
    this = now.astimezone(UTC).date().replace(day=1)
    both = [(this - timedelta(days=1)).replace(day=1), this]
    there = set(feed.deliveries.exclude(loaded_etag="").values_list("billing_period", flat=True))
    if feed.account:
        there |= set(
            Delivery.objects.filter(
                report__organisation=feed.organisation_id,
                report__provider=PROVIDER,
                report__payer=feed.account,
                state=DeliveryState.CURRENT,
                stopgap=False,
                billing_period__in=both,
            ).values_list("billing_period", flat=True)
        )
    return [month for month in both if month not in there]


def _stopgap_collect(feed: Feed, now: datetime) -> list[IngestRun]:
    """Daily totals of the months without an export, one question for all of them, at most once a day."""
    if not feed.cost_explorer:
        return []
    months = months_without_export(feed, now)
    today = now.astimezone(UTC).date()
    if not months or months[0] >= today:
        return []
    due = Feed.objects.filter(pk=feed.pk).exclude(cost_explorer_at__gt=now - COST_EXPLORER_EVERY)
    if due.update(cost_explorer_at=now) == 0:
        return []
    totals = cost_explorer.Totals()
    try:
        cost_explorer.daily_totals(access_of(feed), totals, start=months[0], end=today)
    finally:
        Feed.objects.filter(pk=feed.pk).update(paid_requests=F("paid_requests") + totals.requests)
    return [run for month in months for run in _stopgap_import(feed, totals, month, now)]


def _stopgap_import(feed: Feed, totals: cost_explorer.Totals, month: date, now: datetime) -> list[IngestRun]:
    """The days of one month as a delivery of their own."""
    of_month = cost_explorer.Totals(rows=[row for row in totals.rows if row[0].startswith(f"{month:%Y-%m}")])
    if not of_month.rows:
        return []
    folder = Path(settings.OFFPEAK_HOME) / "bills" / str(feed.pk) / "cost-explorer"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / f"daily-totals-{month:%Y-%m}.csv"
    try:
        cost_explorer.write_totals(of_month, path)
        run = bill_import(
            paths=[path],
            organisation=feed.organisation,
            kind=COST_EXPLORER_KIND,
            report=COST_EXPLORER_REPORT,
            delivered_at=now,
            feed=feed,
            source=f"{feed.name}: Cost Explorer, {month:%Y-%m}",
        )
    finally:
        path.unlink(missing_ok=True)
    return [run]
