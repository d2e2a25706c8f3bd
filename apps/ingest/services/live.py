"""Live feeds: which are due, and collecting one region after another into the lake.

Every region is a run of its own. Nothing of a region is stored unless all its pages came; the next
collection then asks from the same start again. Asking overlaps what is known by some minutes, and a repeat
is a duplicate, so two collections of one feed at the same time do no harm.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now

from apps.accounts.models import Organisation
from apps.catalog.services import zones_store
from apps.ingest.models import Feed, FeedKind, FeedState, IngestRun, RunKind, RunState
from apps.ingest.services.imports import ImportOptions, ingest_run_create, prices_store
from finops.providers.aws.client import SpotPriceQuestion
from finops.providers.aws.session import Access
from finops.providers.aws.spot import PROVIDER, open_region, question_start
from finops.providers.base import PermanentError, ProviderError, SpotBatch, TransientError

SPOT_PRICES = FeedKind.SPOT_PRICES


def feed_create(
    *,
    name: str,
    regions: list[str],
    interval: timedelta,
    instance_types: list[str] | None = None,
    products: list[str] | None = None,
    role_arn: str = "",
    external_id: str = "",
    account: str = "",
    organisation: Organisation | None = None,
) -> Feed:
    """A feed of live AWS Spot prices; it is due at once. No role = the credentials of the environment."""
    return Feed.objects.create(
        organisation=organisation,
        name=name,
        provider=PROVIDER,
        kind=SPOT_PRICES,
        account=account,
        credentials=role_arn,
        external_id=external_id,
        regions=regions,
        instance_types=instance_types or [],
        products=products or [],
        interval=interval,
    )


def _due() -> QuerySet[Feed]:
    waited = Q(last_try_at__isnull=True) | Q(last_try_at__lte=Now() - F("interval"))
    return Feed.objects.filter(waited, provider=PROVIDER, kind__in=FeedKind.values).exclude(
        state=FeedState.OFF
    )


def feeds_due_claim() -> list[int]:
    """Ids of the feeds that were due and are now claimed by the caller; by the clock of the database.

    Of several callers at once one gets a feed: the claim is a conditional update.
    """
    due = list(_due().order_by("last_try_at", "pk").values_list("pk", flat=True))
    return [pk for pk in due if _due().filter(pk=pk).update(last_try_at=Now()) == 1]


def feed_collect(*, feed: Feed, now: datetime) -> list[IngestRun]:
    """Collect every region of a feed up to `now`; one that fails does not keep the others from being
    collected.

    Raises the first TransientError after all regions were tried; a PermanentError only marks the feed as
    failing.
    """
    runs: list[IngestRun] = []
    errors: list[ProviderError] = []
    for region in feed.regions:
        try:
            runs.append(_region_collect(feed, region, now))
        except ProviderError as error:
            errors.append(error)
    Feed.objects.filter(pk=feed.pk).exclude(state=FeedState.OFF).update(
        last_try_at=Now(),
        last_error="\n".join(str(error) for error in errors)[:4000],
        state=FeedState.FAILING if errors else FeedState.OK,
        **({} if errors else {"last_success_at": Now()}),
    )
    if transient := next((error for error in errors if isinstance(error, TransientError)), None):
        raise transient
    return runs


def database_now() -> datetime:
    """The database's clock: several workers agree on it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        moment: datetime = cursor.fetchone()[0]
    return moment


def _region_collect(feed: Feed, region: str, now: datetime) -> IngestRun:
    scope = _scope(feed)
    start = question_start(known_to=_known_to(feed, region, scope), end=now)
    question = SpotPriceQuestion(region, start, now, tuple(feed.instance_types), tuple(feed.products))
    options = ImportOptions(region=region, account=feed.account, request_start=start, request_end=now)
    run = ingest_run_create(
        source=f"{feed.name}: AWS Spot prices of {region}",
        location=f"DescribeSpotPriceHistory {region}",
        provider=PROVIDER,
        kind=RunKind.LIVE,
        options=options,
        organisation=feed.organisation,
        feed=feed,
    )
    run.options |= {"scope": scope}
    run.save(update_fields=["options"])
    return prices_store(
        run=run, batches=_batches(feed, question), request_ranges={region: (question.start, question.end)}
    )


def _batches(feed: Feed, question: SpotPriceQuestion) -> Iterator[SpotBatch]:
    """Opens the region first, so that a refusal there is an error of the run."""
    access = Access(feed.credentials, feed.external_id, settings.AWS_ENDPOINT_URL)
    live = open_region(access, question)
    if feed.account and feed.account != live.account:
        raise PermanentError(
            f"The credentials belong to account {live.account}, the feed is set up for {feed.account}: "
            "correct one of them."
        )
    zones_store(
        provider=PROVIDER,
        account_id=live.account,
        region=live.region,
        region_name=live.region_name,
        zones=live.zone_ids,
        seen_at=question.end,
    )
    yield from live.batches()


def _scope(feed: Feed) -> str:
    """A name for what the feed asks for: with other types, products or account, history is asked anew."""
    asked: list[Any] = [feed.account, feed.credentials, sorted(feed.instance_types), sorted(feed.products)]
    return hashlib.sha256(repr(asked).encode()).hexdigest()[:16]


def _known_to(feed: Feed, region: str, scope: str) -> datetime | None:
    """Up to when the newest finished collection of the same question asked."""
    run = (
        feed.runs.filter(
            kind=RunKind.LIVE, state=RunState.FINISHED, options__region=region, options__scope=scope
        )
        .order_by("-pk")
        .first()
    )
    return None if run is None else datetime.fromisoformat(run.options["request_end"])
