"""Rows of buckets, and the name that the lake gives them."""

from __future__ import annotations

from apps.accounts.models import Organisation
from apps.storage.models import Bucket


def bucket_key(organisation_id: int | None, provider: str, name: str) -> str:
    """What the lake calls a bucket: one bucket of two organisations is two."""
    return f"{organisation_id or 0}:{provider}:{name}"


def bucket_store(
    *,
    organisation: Organisation | None,
    provider: str,
    name: str,
    region: str = "",
    account: str = "",
    versioning: str = "",
) -> Bucket:
    """The bucket's row, made if it is not there; what is told now replaces what was told before."""
    bucket, _ = Bucket.objects.get_or_create(organisation=organisation, provider=provider, name=name[:255])
    told = {"region": region[:40], "account": account[:64], "versioning": versioning}
    changed = {field: value for field, value in told.items() if value and getattr(bucket, field) != value}
    if changed:
        for field, value in changed.items():
            setattr(bucket, field, value)
        bucket.save(update_fields=list(changed))
    return bucket
