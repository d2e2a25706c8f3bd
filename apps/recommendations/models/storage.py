"""The owner's word on what lies in buckets, and changes of lifecycle rules with who said yes."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import ActorKind
from apps.recommendations.models.approval import Approval
from finops.frames.storage import CURRENT, NONCURRENT

MAX_DAYS = 36_500


class StorageMark(models.Model):
    """What the owner of a bucket's prefix has said about it.

    `checkpoints`: it holds checkpoints, of the workload of this name where one is given. `life_days`: whoever
    writes the objects deletes them at that age. `delete_after`: a rule may delete at that age; with
    `keep_versions` the newest old versions stay. `may_wait`: a read may wait for a restore. `one_zone`: the
    bytes may lie in one zone.
    """

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="storage_marks"
    )
    provider = models.CharField(_("provider"), max_length=20, default="aws")
    bucket = models.CharField(_("bucket"), max_length=255)
    prefix = models.CharField(_("prefix"), max_length=1024, blank=True)
    state = models.CharField(
        _("which objects"),
        max_length=10,
        choices=[(CURRENT, _("current objects")), (NONCURRENT, _("old versions"))],
        default=CURRENT,
    )
    checkpoints = models.BooleanField(_("holds checkpoints"), default=False)
    workload = models.CharField(_("workload"), max_length=100, blank=True)
    life_days = models.PositiveIntegerField(_("deleted by its writer after days"), null=True, blank=True)
    delete_after = models.PositiveIntegerField(_("may be deleted after days"), null=True, blank=True)
    keep_versions = models.PositiveIntegerField(_("old versions that stay"), null=True, blank=True)
    may_wait = models.BooleanField(_("a read may wait for a restore"), default=False)
    one_zone = models.BooleanField(_("one zone is enough"), default=False)
    said_by = models.CharField(max_length=254)
    said_at = models.DateTimeField()

    class Meta:
        ordering = ["provider", "bucket", "prefix", "state"]
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "provider", "bucket", "prefix", "state"], name="storage_mark_once"
            ),
            models.CheckConstraint(
                condition=~Q(bucket="") & Q(state__in=[CURRENT, NONCURRENT]), name="storage_mark_names_bucket"
            ),
            models.CheckConstraint(
                condition=(Q(life_days__isnull=True) | Q(life_days__range=(1, MAX_DAYS)))
                & (Q(delete_after__isnull=True) | Q(delete_after__range=(1, MAX_DAYS)))
                & (Q(keep_versions__isnull=True) | Q(keep_versions__range=(1, 100), state=NONCURRENT)),
                name="storage_mark_days_in_range",
            ),
            models.CheckConstraint(
                condition=Q(delete_after__isnull=True) | Q(checkpoints=True) | Q(state=NONCURRENT),
                name="storage_mark_deletes_checkpoints_or_versions",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.bucket}/{self.prefix} {self.state}"


class StorageAccount(models.Model):
    """An account whose lifecycle rules may be read and written, and the role with the right to: one of its
    own, with nothing else. `active` is the freeze switch.
    """

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="storage_accounts"
    )
    provider = models.CharField(_("provider"), max_length=20)
    account = models.CharField(_("account"), max_length=64)
    credentials = models.CharField(_("role"), max_length=200, blank=True)
    external_id = models.CharField(_("external id"), max_length=1224, blank=True)
    active = models.BooleanField(_("rules may be written"), default=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["provider", "account"]
        constraints = [
            models.UniqueConstraint(fields=["provider", "account"], name="storage_account_once"),
            models.CheckConstraint(
                condition=Q(account__regex=r"^\d{12}$"), name="storage_account_has_number"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.provider} {self.account}"


class ChangeState(models.TextChoices):
    """Where a change of lifecycle rules stands."""

    REQUESTED = "requested", _("Waiting for approval")
    APPROVED = "approved", _("Approved")
    APPLYING = "applying", _("Being written")
    APPLIED = "applied", _("Written and read back")
    REFUSED = "refused", _("Refused, nothing written")
    CANCELLED = "cancelled", _("Cancelled")
    EXPIRED = "expired", _("Expired")


class LifecycleChange(models.Model):
    """A change of a bucket's lifecycle rules, frozen as it was asked for.

    `before` is the whole configuration that the diff was made against, `after` the one to write: {} where
    there is none. `rollback` takes it back, null where nothing can: `deletes`. Then `approvals_needed` is
    two and nothing is written before `not_before`. `reverts`: the change that this one takes back.
    """

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="lifecycle_changes"
    )
    account = models.ForeignKey(StorageAccount, on_delete=models.PROTECT, related_name="changes")
    recommendation = models.ForeignKey(
        "recommendations.Recommendation",
        on_delete=models.PROTECT,
        related_name="lifecycle_changes",
        null=True,
        blank=True,
    )
    reverts = models.ForeignKey(
        "self", on_delete=models.PROTECT, related_name="reverted_by", null=True, blank=True
    )
    region = models.CharField(_("region"), max_length=40)
    bucket = models.CharField(_("bucket"), max_length=255)
    rules = models.JSONField(default=list)
    before = models.JSONField(default=dict)
    after = models.JSONField(default=dict)
    diff = models.JSONField(default=list)
    warnings = models.JSONField(default=list)
    rollback = models.JSONField(null=True, blank=True)
    deletes = models.BooleanField(default=False)
    reason = models.CharField(_("reason"), max_length=500, blank=True)
    requested_at = models.DateTimeField()
    requested_kind = models.CharField(max_length=6, choices=ActorKind)
    requested_id = models.BigIntegerField(null=True)
    requested_by = models.CharField(max_length=254)
    approvals_needed = models.PositiveSmallIntegerField()
    not_before = models.DateTimeField(null=True, blank=True)
    valid_until = models.DateTimeField()
    state = models.CharField(_("state"), max_length=9, choices=ChangeState, default=ChangeState.REQUESTED)
    stated_at = models.DateTimeField()
    message = models.CharField(max_length=1000, blank=True)
    claimed_at = models.DateTimeField(null=True, blank=True)
    tried_at = models.DateTimeField(null=True, blank=True)
    trial = models.JSONField(null=True, blank=True)
    read_back = models.JSONField(null=True, blank=True)
    applied_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-pk"]
        indexes = [models.Index(fields=["organisation", "state"], name="lifecycle_change_by_state")]
        constraints = [
            models.UniqueConstraint(
                fields=["account", "bucket"],
                condition=Q(state=ChangeState.APPLYING),
                name="lifecycle_one_in_flight",
            ),
            models.CheckConstraint(
                condition=Q(state__in=ChangeState.values), name="lifecycle_change_state_known"
            ),
            models.CheckConstraint(
                condition=Q(deletes=True, rollback__isnull=True, approvals_needed=2)
                | Q(deletes=False, rollback__isnull=False, approvals_needed=1),
                name="lifecycle_deletes_takes_two",
            ),
            models.CheckConstraint(
                condition=~Q(state=ChangeState.APPLYING) | Q(claimed_at__isnull=False),
                name="lifecycle_in_flight_since",
            ),
            models.CheckConstraint(
                condition=~Q(state=ChangeState.APPLIED)
                | Q(applied_at__isnull=False, read_back__isnull=False),
                name="lifecycle_applied_was_read_back",
            ),
            models.CheckConstraint(
                condition=~Q(
                    deletes=True, state__in=[ChangeState.APPROVED, ChangeState.APPLYING, ChangeState.APPLIED]
                )
                | Q(not_before__isnull=False),
                name="lifecycle_deletes_waits",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.bucket}: {self.state}"


class LifecycleApproval(Approval):
    """One person's yes, in the role they had; a second one is another person."""

    change = models.ForeignKey(LifecycleChange, on_delete=models.CASCADE, related_name="approvals")

    class Meta(Approval.Meta):
        constraints = [
            models.UniqueConstraint(fields=["change", "user"], name="lifecycle_approved_once_by_person"),
        ]

    def __str__(self) -> str:
        return f"{self.change_id}: {self.role}"
