"""What owners say about their buckets, which accounts' rules may be written, both as documents."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.accounts.services import audit_record
from apps.recommendations.models import LifecycleChange, StorageAccount, StorageMark
from apps.recommendations.models.storage import MAX_DAYS
from apps.recommendations.services.document import Document, iso
from apps.storage.selectors import bucket_of
from apps.workloads.selectors import workload_find
from finops.engine.workload import WorkloadError
from finops.frames.storage import CURRENT, NONCURRENT
from finops.providers.aws.names import ACCOUNT, role_account

PROVIDER = "aws"
_FIELDS = (
    "checkpoints", "workload", "life_days", "delete_after", "keep_versions", "may_wait", "one_zone",
)  # fmt: skip


def mark_save(
    *, organisation: Organisation, actor: Actor, now: datetime, bucket: str, prefix: str = "",
    state: str = CURRENT, **given: Any,
) -> StorageMark:  # fmt: skip
    """Keep what the owner says about a prefix. Raises ValidationError by field."""
    found = bucket_of(bucket, organisation=organisation)
    if found is None:
        raise ValidationError({"bucket": _("No bucket %(name)s was listed here.") % {"name": bucket}})
    _check(organisation, state, given)
    with transaction.atomic():
        row = (
            StorageMark.objects.select_for_update()
            .filter(
                organisation=organisation, provider=found.provider, bucket=bucket, prefix=prefix, state=state
            )
            .first()
        )
        before = None if row is None else mark_document(row)
        if row is None:
            row = StorageMark(
                organisation=organisation, provider=found.provider, bucket=bucket, prefix=prefix, state=state
            )
        for name in _FIELDS:
            if name in given:
                setattr(row, name, given[name])
        row.said_by, row.said_at = actor.label, now
        try:
            with transaction.atomic():
                row.save()
        except IntegrityError as error:
            raise ValidationError({"bucket": _("Somebody else said something meanwhile.")}) from error
        audit_record(
            organisation=organisation, actor=actor, action="storage_mark.save", target=row, before=before,
            after=mark_document(row),
        )  # fmt: skip
    return row


def mark_delete(*, mark: StorageMark, actor: Actor) -> None:
    """Nothing is said about the prefix any more."""
    with transaction.atomic():
        audit_record(
            organisation=mark.organisation, actor=actor, action="storage_mark.delete", target=mark,
            before=mark_document(mark), after=None,
        )  # fmt: skip
        mark.delete()


def _check(organisation: Organisation, state: str, given: dict[str, Any]) -> None:
    for name in ("life_days", "delete_after"):
        days = given.get(name)
        if days is not None and not 1 <= days <= MAX_DAYS:
            raise ValidationError({name: _("Between 1 and %(most)d.") % {"most": MAX_DAYS}})
    kept = given.get("keep_versions")
    if kept is not None and (state != NONCURRENT or not 1 <= kept <= 100):
        raise ValidationError({"keep_versions": _("1 to 100 of the old versions can stay.")})
    deletes = given.get("delete_after") is not None
    if deletes and state == CURRENT and not given.get("checkpoints"):
        raise ValidationError(
            {"delete_after": _("Only checkpoints and old versions may be deleted by a rule of ours.")}
        )
    workload = given.get("workload")
    if workload:
        try:
            given["workload"] = workload_find(organisation, workload).name
        except WorkloadError as error:
            raise ValidationError({"workload": error.message}) from error


def mark_document(row: StorageMark) -> Document:
    """What was said, as every way in shows it."""
    return {
        "id": row.pk,
        "provider": row.provider,
        "bucket": row.bucket,
        "prefix": row.prefix,
        "state": row.state,
        **{name: getattr(row, name) for name in _FIELDS},
        "said_by": row.said_by,
        "said_at": iso(row.said_at),
    }


def storage_account_save(
    *, organisation: Organisation, actor: Actor, account: str, role: str = "", external_id: str = "",
    active: bool = True,
) -> StorageAccount:  # fmt: skip
    """Name an account whose rules may be written, or change its role or switch. Raises ValidationError."""
    if not ACCOUNT.fullmatch(account):
        raise ValidationError({"account": _("An account's number has twelve digits.")})
    named = role_account(role)
    if role and not named:
        raise ValidationError({"role": _("No ARN of a role: arn:aws:iam::ACCOUNT:role/NAME.")})
    if named and named != account:
        raise ValidationError({"role": _("The role is of account %(account)s.") % {"account": named}})
    taken = ValidationError({"account": _("Another organisation has this account.")})
    with transaction.atomic():
        row = StorageAccount.objects.select_for_update().filter(provider=PROVIDER, account=account).first()
        if row is not None and row.organisation_id != organisation.pk:
            raise taken
        before = None if row is None else account_document(row)
        if row is None:
            row = StorageAccount(organisation=organisation, provider=PROVIDER, account=account)
        row.credentials, row.external_id, row.active = role, external_id.strip(), active
        try:
            with transaction.atomic():
                row.save()
        except IntegrityError as error:
            raise taken from error
        if before != account_document(row):
            audit_record(
                organisation=organisation, actor=actor, action="storage_account.save", target=row,
                before=before, after=account_document(row),
            )  # fmt: skip
    return row


def account_document(row: StorageAccount) -> Document:
    """An account whose rules may be written."""
    return {
        "id": row.pk,
        "provider": row.provider,
        "account": row.account,
        "role": row.credentials,
        "active": row.active,
    }


def change_document(row: LifecycleChange) -> Document:
    """A change in short."""
    return {
        "id": row.pk,
        "state": row.state,
        "stated_at": iso(row.stated_at),
        "message": row.message,
        "account": row.account.account,
        "region": row.region,
        "bucket": row.bucket,
        "rules": [rule.get("ID") for rule in row.rules],
        "deletes": row.deletes,
        "reverts": row.reverts_id,
        "recommendation": row.recommendation_id,
        "reason": row.reason,
        "requested_by": row.requested_by,
        "requested_at": iso(row.requested_at),
        "approvals_needed": row.approvals_needed,
        "not_before": iso(row.not_before) if row.not_before else None,
        "valid_until": iso(row.valid_until),
        "applied_at": iso(row.applied_at) if row.applied_at else None,
        "dry_run": row.trial,
    }


def change_detail(row: LifecycleChange) -> Document:
    """A change with its configurations, diff, way back and approvals."""
    return {
        **change_document(row),
        "before": row.before,
        "after": row.after,
        "diff": row.diff,
        "warnings": row.warnings,
        "rollback": row.rollback,
        "read_back": row.read_back,
        "approvals": [
            {"by": one.user.email, "role": one.role, "at": iso(one.at)} for one in row.approvals.all()
        ],
    }
