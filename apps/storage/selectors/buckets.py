"""Buckets that an organisation may see, and their listings."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Q, QuerySet

from apps.accounts.models import Organisation
from apps.storage.models import Bucket, Listing
from apps.storage.models.listings import ListingState


def buckets_visible(*, organisation: Organisation | None) -> QuerySet[Bucket]:
    """An organisation's own buckets and those of everybody here; None: those of everybody only.

    Of a bucket that is there both ways the organisation's own counts.
    """
    shared = Q(organisation__isnull=True)
    if organisation is None:
        return Bucket.objects.filter(shared)
    own = Bucket.objects.filter(organisation=organisation)
    hidden = [
        pk
        for provider, name in own.values_list("provider", "name")
        for pk in Bucket.objects.filter(shared, provider=provider, name=name).values_list("pk", flat=True)
    ]
    return Bucket.objects.filter(Q(organisation=organisation) | shared).exclude(pk__in=hidden)


def bucket_of(name: str, *, organisation: Organisation | None, provider: str = "") -> Bucket | None:
    """The bucket of this name that an organisation sees; the first provider by name where two have one."""
    found = buckets_visible(organisation=organisation).filter(name=name)
    return (found.filter(provider=provider) if provider else found).first()


def listing_of(bucket: Bucket, *, at: datetime | None = None) -> Listing | None:
    """The newest listing of a bucket, or the newest that was made at or before `at`."""
    if at is None:
        return bucket.listings.filter(state=ListingState.CURRENT).first()
    return bucket.listings.filter(listed_at__lte=at).first()
