"""What is done with a feed of any kind: pausing it, and trying its permissions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.accounts.services import audit_record
from apps.ingest.models import Feed, FeedKind, FeedState
from apps.ingest.services.bill_feeds import bill_feed_create
from apps.ingest.services.bucket_feeds import access_of, place_of
from apps.ingest.services.live import feed_create
from apps.ingest.services.storage_feeds import storage_feed_create
from finops.providers.aws.bill_permissions import Checked, check_bills
from finops.providers.aws.commitment_permissions import check_commitments
from finops.providers.aws.permissions import Finding, check
from finops.providers.aws.session import Access


def bill_feed_add(*, organisation: Organisation, actor: Actor, **fields: Any) -> Feed:
    """A new feed of bills with its row in the audit trail. Raises ValidationError by field."""
    return _added(bill_feed_create, organisation, actor, fields, ("name", "bucket", "prefix"))


def storage_feed_add(*, organisation: Organisation, actor: Actor, **fields: Any) -> Feed:
    """A new feed of storage files with its row in the audit trail. Raises ValidationError by field."""
    return _added(storage_feed_create, organisation, actor, fields, ("name", "bucket", "prefix"))


def price_feed_add(*, organisation: Organisation, actor: Actor, **fields: Any) -> Feed:
    """A new feed of Spot prices with its row in the audit trail. Raises ValidationError by field."""
    return _added(feed_create, organisation, actor, fields, ("name", "regions"))


def _added(
    make: Callable[..., Feed],
    organisation: Organisation,
    actor: Actor,
    fields: dict[str, Any],
    told: tuple[str, ...],
) -> Feed:
    try:
        with transaction.atomic():
            feed = make(organisation=organisation, **fields)
            audit_record(
                organisation=organisation,
                actor=actor,
                action="feed.create",
                target=feed,
                after={name: getattr(feed, name) for name in told},
            )
    except IntegrityError as error:
        raise ValidationError({"name": _("There is a feed of this name already.")}) from error
    return feed


@transaction.atomic
def feed_pause(*, feed: Feed, actor: Actor, paused: bool) -> Feed:
    """Pause a feed or let it go on; a repeat changes nothing. What it brought stays."""
    found = Feed.objects.select_for_update(of=("self",)).get(pk=feed.pk)
    if paused == (found.state == FeedState.OFF):
        return found
    before, after = found.state, FeedState.OFF if paused else FeedState.NEW
    Feed.objects.filter(pk=found.pk).update(state=after)
    audit_record(
        organisation=found.organisation,
        actor=actor,
        action="feed.switch",
        target=found,
        before={"state": str(before)},
        after={"state": str(after)},
    )
    found.refresh_from_db()
    return found


def feed_permissions(*, feed: Feed, now: datetime, pay: bool = False) -> Checked:
    """Every permission of a feed tried, reading only. `pay`: Cost Explorer too, which takes money.

    Raises ValueError for a kind of feed whose permissions cannot be tried by themselves.
    """
    if feed.kind == FeedKind.BILLS:
        return check_bills(access_of(feed), place_of(feed), today=now.date(), pay=pay)
    tries = {FeedKind.SPOT_PRICES: check, FeedKind.COMMITMENTS: check_commitments}
    if feed.kind in tries:
        access = Access(feed.credentials, feed.external_id, settings.AWS_ENDPOINT_URL)
        account, findings = tries[FeedKind(feed.kind)](access, regions=feed.regions)
        return Checked(account, findings)
    raise ValueError(_("The permissions of this kind of feed cannot be tried by themselves."))


def permissions_document(account: str, findings: Sequence[Finding], paid: int) -> dict[str, Any]:
    """The document of `check_permissions`."""
    return {
        "account": account or None,
        "actions": [
            {
                "action": finding.action,
                "region": finding.region,
                "verdict": finding.verdict,
                "needed": finding.needed,
                "dark": finding.dark or None,
                "reason": finding.reason or None,
            }
            for finding in findings
        ],
        "paid_requests": paid,
        "all_needed_allowed": all(f.verdict == "allowed" for f in findings if f.needed),
    }
