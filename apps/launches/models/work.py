"""Work for an organisation's own machines: handed out by lease, taken back, never done twice."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _


class WorkState(models.TextChoices):
    """Where a piece of work stands. `leased`: one machine has it until `lease_until`."""

    QUEUED = "queued", _("Waits")
    LEASED = "leased", _("Running")
    DONE = "done", _("Done")
    FAILED = "failed", _("Failed")
    CANCELLED = "cancelled", _("Cancelled")


WORK_OVER = [WorkState.DONE, WorkState.FAILED, WorkState.CANCELLED]


class Work(models.Model):
    """One piece of work of a pool: what a launch call to own machines makes.

    `token` and `tags` are the call's, `document` what runs. `lease` counts hand-outs: only who names the
    present one may change anything. `checkpoint` is the last one told, `share` of the work it holds (0-1).
    `result` is written once.
    """

    pool = models.ForeignKey("catalog.Pool", on_delete=models.PROTECT, related_name="work")
    device = models.ForeignKey(
        "catalog.Device", on_delete=models.SET_NULL, related_name="work", null=True, blank=True
    )
    token = models.CharField(max_length=64, unique=True)
    tags = models.JSONField(default=dict)
    document = models.JSONField()
    priority = models.PositiveSmallIntegerField(default=0)
    state = models.CharField(_("state"), max_length=10, choices=WorkState, default=WorkState.QUEUED)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    lease = models.PositiveIntegerField(default=0)
    leased_at = models.DateTimeField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    worker = models.CharField(max_length=200, blank=True)
    checkpoint = models.CharField(max_length=1000, blank=True)
    share = models.FloatField(default=0.0)
    result = models.JSONField(null=True, blank=True)

    class Meta:
        ordering = ["-pk"]
        indexes = [models.Index(fields=["pool", "state"], name="work_by_pool")]
        constraints = [
            models.UniqueConstraint(
                fields=["device"], condition=Q(state="leased", device__isnull=False), name="work_one_a_device"
            ),
            models.CheckConstraint(condition=Q(state__in=WorkState.values), name="work_state_known"),
            models.CheckConstraint(condition=Q(share__gte=0, share__lte=1), name="work_share_in_range"),
            models.CheckConstraint(
                condition=~Q(state="leased") | Q(lease_until__isnull=False, lease__gt=0),
                name="work_leased_until",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["queued", "leased"], ended_at__isnull=True)
                | Q(state__in=["done", "failed", "cancelled"], ended_at__isnull=False),
                name="work_ends_once",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.pk}: {self.state}"


class WorkEvent(models.Model):
    """What happened to a piece of work: handed out, renewed no more, yielded, taken back, done."""

    work = models.ForeignKey(Work, on_delete=models.CASCADE, related_name="events")
    at = models.DateTimeField(db_default=Now(), editable=False)
    kind = models.CharField(max_length=20)
    lease = models.PositiveIntegerField(default=0)
    document = models.JSONField(default=dict)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.work_id}: {self.kind}"
