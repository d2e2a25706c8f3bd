"""Age of what the pages of storage rest on."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Max
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.dashboard import format as fmt
from apps.dashboard.freshness import DataAge
from apps.dashboard.words import lang
from apps.storage.models import Listing
from apps.storage.selectors import buckets_visible

# Inventories come daily or weekly.
LATE = timedelta(days=8)


def listing_age(organisation: Organisation | None, now: datetime) -> DataAge:
    """For the top bar: when the newest listing was made."""
    seen = buckets_visible(organisation=organisation)
    newest = Listing.objects.filter(bucket__in=seen).aggregate(at=Max("listed_at"))["at"]
    if newest is None:
        return DataAge("none", _("No listing yet"))
    text = _("Listing %(age)s") % {"age": fmt.age(newest, now, lang())}
    return DataAge("" if now - newest <= LATE else "late", text)
