"""What happens to purchases by themselves: approved ones are carried out, open outcomes looked up."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import structlog

from apps.recommendations.models import Purchase, PurchaseState
from apps.recommendations.services.purchase_outcome import purchases_end_late, read_back, settle_unknown
from apps.recommendations.services.purchasing import desk_of, purchase_run
from finops.providers.aws.reserved_purchases import Desk
from finops.providers.base import ProviderError, TransientError

log = structlog.get_logger(__name__)
State = PurchaseState
Settle = Callable[[Purchase, Desk, datetime], str]


def purchases_tick(*, now: datetime) -> int:
    """One turn over all purchases that are not ended; how many changed. Safe to run twice at a time.

    One that cannot be carried out or looked up now keeps the others from nothing.
    """
    changed = purchases_end_late(now=now)
    for row in Purchase.objects.filter(state__in=[State.UNKNOWN, State.PAYING]).select_related(
        "buyer", "organisation", "recommendation"
    ):
        before = row.state
        settle: Settle = settle_unknown if row.state == State.UNKNOWN else read_back
        try:
            changed += settle(row, desk_of(row), now) != before
        except ProviderError as error:
            log.warning("purchase_not_looked_up", purchase=row.pk, error=str(error))
    for pk in Purchase.objects.filter(state=State.APPROVED).order_by("pk").values_list("pk", flat=True):
        try:
            changed += bool(purchase_run(purchase_id=pk, now=now))
        except TransientError as error:
            log.warning("purchase_waits", purchase=pk, error=str(error))
    return changed
