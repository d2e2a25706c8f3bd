"""What every feed of a bucket is asked before it is kept, and how it gets in."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from apps.ingest.models import Feed
from finops.providers.aws.bill_bucket import BUCKET, PREFIX, BillPlace
from finops.providers.aws.bill_setup import EXTERNAL_ID
from finops.providers.aws.names import ACCOUNT, REGION, role_account
from finops.providers.aws.session import Access


def bucket_fields(
    *, bucket: str, prefix: str, region: str, role_arn: str, external_id: str, account: str
) -> dict[str, Any]:
    """The fields of a feed: where its files lie and how it gets in. Raises ValidationError by field."""
    bucket, prefix = bucket.strip(), prefix.strip().strip("/")
    errors: dict[str, str] = {}
    if not BUCKET.fullmatch(bucket):
        errors["bucket"] = _("Not the name of a bucket: 3 to 63 of a-z, 0-9, dots and hyphens.")
    if not PREFIX.fullmatch(prefix):
        errors["prefix"] = _("Letters, digits and ! - _ . ( ) / = +, no slash at its ends.")
    if not REGION.fullmatch(region):
        errors["region"] = _("Not a region, for example us-east-1.")
    if role_arn and not role_account(role_arn):
        errors["role_arn"] = _("Not the ARN of a role.")
    if external_id and not EXTERNAL_ID.fullmatch(external_id):
        errors["external_id"] = _("2 or more letters, digits and + = , . @ : / _ -")
    if account and not ACCOUNT.fullmatch(account):
        errors["account"] = _("An AWS account has 12 digits.")
    if errors:
        raise ValidationError(errors)
    return {
        "account": account,
        "credentials": role_arn,
        "external_id": external_id,
        "regions": [region],
        "bucket": bucket,
        "prefix": prefix,
    }


def access_of(feed: Feed) -> Access:
    """How a feed gets in."""
    return Access(feed.credentials, feed.external_id, settings.AWS_ENDPOINT_URL)


def place_of(feed: Feed) -> BillPlace:
    """Where a feed's files lie."""
    return BillPlace(feed.bucket, feed.prefix, feed.regions[0])
