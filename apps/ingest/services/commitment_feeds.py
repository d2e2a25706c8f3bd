"""Feeds of own commitments: reservations of each region, savings plans once, each look a run of its own.

A look that failed leaves everything as it was. Looking twice stores nothing twice: what is as it was is a
duplicate or seen again.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db.models.functions import Now

from apps.accounts.models import Organisation
from apps.billing.services.owned import Look
from apps.ingest.models import Feed, FeedKind, FeedState, IngestRun
from apps.ingest.owned import commitments_keep
from finops.frames.commitments import CommitmentKind
from finops.providers.aws.owned_commitments import PROVIDER
from finops.providers.aws.owned_live import OwnAccount, open_account
from finops.providers.aws.session import Access
from finops.providers.base import PermanentError, ProviderError, TransientError

# A purchase or a change of state shows within the hour; the calls cost nothing.
INTERVAL = timedelta(hours=1)


def commitment_feed_create(
    *,
    name: str,
    regions: list[str],
    interval: timedelta = INTERVAL,
    role_arn: str = "",
    external_id: str = "",
    account: str = "",
    organisation: Organisation | None = None,
) -> Feed:
    """A feed of own commitments; it is due at once. No role = the credentials of the environment."""
    return Feed.objects.create(
        organisation=organisation,
        name=name,
        provider=PROVIDER,
        kind=FeedKind.COMMITMENTS,
        account=account,
        credentials=role_arn,
        external_id=external_id,
        regions=regions,
        interval=interval,
    )


def commitment_feed_collect(*, feed: Feed, now: datetime) -> list[IngestRun]:
    """Look at all regions and the savings plans; one refusal does not keep the others from being read.

    Raises the first TransientError after everything was tried; a PermanentError only marks the feed as
    failing.
    """
    runs: list[IngestRun] = []
    errors: list[ProviderError] = []
    at = now.astimezone(UTC).replace(microsecond=0)
    try:
        account = _open(feed)
        for region in (*feed.regions, ""):
            try:
                runs.append(_look(feed, account, region, at))
            except ProviderError as error:
                errors.append(error)
    except ProviderError as error:
        errors.append(error)
    refused = [run.error for run in runs if run.error]
    Feed.objects.filter(pk=feed.pk).exclude(state=FeedState.OFF).update(
        last_try_at=Now(),
        last_error="\n".join([*map(str, errors), *refused])[:4000],
        state=FeedState.FAILING if errors or refused else FeedState.OK,
        **({} if errors else {"last_success_at": Now()}),
    )
    if transient := next((error for error in errors if isinstance(error, TransientError)), None):
        raise transient
    return runs


def _open(feed: Feed) -> OwnAccount:
    access = Access(feed.credentials, feed.external_id, settings.AWS_ENDPOINT_URL)
    account = open_account(access, region=feed.regions[0])
    if feed.account and feed.account != account.account:
        raise PermanentError(
            f"The credentials belong to account {account.account}, the feed is set up for {feed.account}: "
            "correct one of them."
        )
    return account


def _look(feed: Feed, account: OwnAccount, region: str, at: datetime) -> IngestRun:
    """One region's reservations; with no region the account's savings plans."""
    if region:
        reading, kind = account.reserved(region, seen_at=at), CommitmentKind.RESERVED
        source = f"DescribeReservedInstances {region}"
    else:
        reading, kind = account.plans(seen_at=at), CommitmentKind.SAVINGS_PLAN
        source = "DescribeSavingsPlans"
    # Rows that could not be read may be commitments that are kept: only a whole look tells who is gone.
    looks = () if reading.refused else (Look(PROVIDER, account.account, kind, region, at),)
    return commitments_keep(reading, looks=looks, source=source, feed=feed)
