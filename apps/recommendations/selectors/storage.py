"""Changes of lifecycle rules, the accounts whose rules may be written, the owner's words."""

from __future__ import annotations

from django.db.models import QuerySet

from apps.accounts.models import Organisation
from apps.recommendations.models import ChangeState, LifecycleChange, StorageAccount, StorageMark


def change_list(organisation: Organisation, state: str = "", bucket: str = "") -> QuerySet[LifecycleChange]:
    """The organisation's changes, newest first."""
    rows = LifecycleChange.objects.filter(organisation=organisation).select_related("account", "organisation")
    if state:
        rows = rows.filter(state=state)
    return rows.filter(bucket=bucket) if bucket else rows


def change_find(organisation: Organisation, change_id: int) -> LifecycleChange | None:
    """One of the organisation's own."""
    return (
        change_list(organisation)
        .select_related("recommendation", "reverts")
        .prefetch_related("approvals__user", "reverted_by")
        .filter(pk=change_id)
        .first()
    )


def changes_waiting(organisation: Organisation) -> int:
    """How many wait for an approval."""
    return change_list(organisation, ChangeState.REQUESTED).count()


def storage_account_list(organisation: Organisation) -> QuerySet[StorageAccount]:
    """The accounts whose lifecycle rules may be read and written."""
    return StorageAccount.objects.filter(organisation=organisation)


def mark_list(organisation: Organisation, bucket: str = "") -> QuerySet[StorageMark]:
    """What owners said."""
    rows = StorageMark.objects.filter(organisation=organisation)
    return rows.filter(bucket=bucket) if bucket else rows
