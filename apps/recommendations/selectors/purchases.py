"""Which purchases and buying accounts an organisation has."""

from __future__ import annotations

from django.db.models import QuerySet

from apps.accounts.models import Organisation
from apps.recommendations.models import BuyingAccount, Purchase, PurchaseState


def purchase_list(organisation: Organisation, state: str = "") -> QuerySet[Purchase]:
    """The organisation's purchases, newest first; `state` one of `PurchaseState`."""
    rows = Purchase.objects.filter(organisation=organisation).select_related("buyer", "organisation")
    return rows.filter(state=state) if state else rows


def purchase_find(organisation: Organisation, purchase_id: int) -> Purchase | None:
    """One of the organisation's own."""
    return (
        purchase_list(organisation)
        .select_related("recommendation")
        .prefetch_related("approvals__user", "attempts")
        .filter(pk=purchase_id)
        .first()
    )


def purchases_waiting(organisation: Organisation) -> int:
    """How many wait for a person: an approval, or a word on what came of an order."""
    return (
        purchase_list(organisation).filter(state__in=[PurchaseState.REQUESTED, PurchaseState.UNKNOWN]).count()
    )


def buyer_list(organisation: Organisation) -> QuerySet[BuyingAccount]:
    """The accounts that may buy."""
    return BuyingAccount.objects.filter(organisation=organisation)


def buyer_find(organisation: Organisation, account: str) -> BuyingAccount | None:
    """The account of this number, of the organisation's own."""
    return buyer_list(organisation).filter(account=account).first()
