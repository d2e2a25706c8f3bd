"""Feeds of commitments on offer, second-hand and new: each region a look and a run of its own.

A look keeps when each offer was seen; what it covers and does not show is gone. A look of which a row could
not be read, or whose filters cannot be checked on a stored row (prices, durations, ids), takes nothing for
gone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db.models.functions import Now

from apps.accounts.models import Organisation
from apps.billing.models import SeenOffer
from apps.billing.services.offers import Looked
from apps.ingest.models import Feed, FeedKind, FeedState, IngestRun
from apps.ingest.offers import offers_keep
from finops.frames.offers import OfferKind, platform_of
from finops.frames.products import texts_of_same_meaning
from finops.providers.aws import reserved_offers
from finops.providers.aws.reserved_offers import PAYMENTS, PROVIDER, live_offerings, question_problem
from finops.providers.aws.session import Access
from finops.providers.base import ProviderError, TransientError

# Listings come and go within hours; a region without filters has some hundred pages.
INTERVAL = timedelta(hours=1)
Check = Callable[[SeenOffer, Sequence[str]], bool]
# How a filter is checked on a stored offer.
_CHECKS: Mapping[str, Check] = {
    "instance-type": lambda row, values: row.instance_type in values,
    "product-description": lambda row, values: row.platform in {platform_of(value) for value in values},
    "availability-zone": lambda row, values: row.zone in values,
    "scope": lambda row, values: ("Region" if not row.zone else "Availability Zone") in values,
    "marketplace": lambda row, values: str(row.kind == OfferKind.SECOND_HAND).lower() in values,
    "InstanceTenancy": lambda row, values: row.tenancy in values,
    "OfferingClass": lambda row, values: row.offering_class in values,
    "OfferingType": lambda row, values: row.payment in {PAYMENTS.get(value, "") for value in values},
}


def offer_feed_create(
    *,
    name: str,
    regions: list[str],
    interval: timedelta = INTERVAL,
    instance_types: list[str] | None = None,
    products: list[str] | None = None,
    filters: Mapping[str, Sequence[str]] | None = None,
    role_arn: str = "",
    external_id: str = "",
    account: str = "",
    organisation: Organisation | None = None,
) -> Feed:
    """A feed of offers; it is due at once. `filters`: of the API's own. Raises ValidationError by field."""
    if problem := question_problem(filters or {}):
        raise ValidationError({"filters": problem})
    return Feed.objects.create(
        organisation=organisation,
        name=name,
        provider=PROVIDER,
        kind=FeedKind.OFFERS,
        account=account,
        credentials=role_arn,
        external_id=external_id,
        regions=regions,
        instance_types=instance_types or [],
        products=products or [],
        filters={key: list(values) for key, values in (filters or {}).items()},
        interval=interval,
    )


def offer_feed_collect(*, feed: Feed, now: datetime) -> list[IngestRun]:
    """Look at all regions; one that refuses does not keep the others from being read.

    Raises the first TransientError after everything was tried; a PermanentError only marks the feed as
    failing.
    """
    runs: list[IngestRun] = []
    errors: list[ProviderError] = []
    at = now.astimezone(UTC).replace(microsecond=0)
    for region in feed.regions:
        try:
            runs.append(_look(feed, region, at))
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


def question_of(feed: Feed) -> dict[str, list[str]]:
    """What the feed asks for, in the API's names."""
    asked = {name: list(values) for name, values in feed.filters.items()}
    if feed.instance_types:
        asked["instance-type"] = list(feed.instance_types)
    named = [*feed.products, *asked.get("product-description", ())]
    if named:
        # Both texts of a platform are one platform here, so both are asked for.
        same = [text for name in named for text in texts_of_same_meaning(name, provider=PROVIDER)]
        asked["product-description"] = list(dict.fromkeys(same))
    return asked


def covers(asked: Mapping[str, Sequence[str]]) -> Callable[[SeenOffer], bool] | None:
    """Whether a look with these filters would show a stored offer; None: that cannot be told."""
    if not asked.keys() <= _CHECKS.keys():
        return None
    return lambda row: all(_CHECKS[name](row, values) for name, values in asked.items())


def _look(feed: Feed, region: str, at: datetime) -> IngestRun:
    asked = question_of(feed)
    reading = live_offerings(
        Access(feed.credentials, feed.external_id, settings.AWS_ENDPOINT_URL),
        region=region,
        seen_at=at,
        account=feed.account,
        filters=asked,
        back_off=reserved_offers.BACK_OFF,
    )
    shows = covers(asked)
    whole = shows is not None and not reading.refused
    look = Looked(PROVIDER, region, at, shows) if whole and shows is not None else None
    return offers_keep(reading, look=look, source=f"DescribeReservedInstancesOfferings {region}", feed=feed)
