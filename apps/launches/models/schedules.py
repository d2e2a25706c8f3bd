"""Stop schedules of existing machines: when they are on, and what was done about it."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import ActorKind


class ScheduleState(models.TextChoices):
    """Where a schedule stands. Only an approved one does anything."""

    REQUESTED = "requested", _("Waiting for approval")
    APPROVED = "approved", _("In force")
    PAUSED = "paused", _("Paused")
    CANCELLED = "cancelled", _("Cancelled")


class StopSchedule(models.Model):
    """Machines with the tag `tag_key` = `tag_value` in a region are on from `start` to `stop` on `days`.

    One of the two may be "": then something is only stopped, or only started. Clock times and `holidays`
    (dates on which nothing is started) are of `zone`. `start_minutes`: how late a start that nothing undoes.
    `settled_until`: due times up to then are settled.
    """

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="stop_schedules"
    )
    target = models.ForeignKey(
        "launches.LaunchTarget", on_delete=models.PROTECT, related_name="stop_schedules"
    )
    name = models.CharField(_("name"), max_length=100)
    region = models.CharField(_("region"), max_length=40)
    tag_key = models.CharField(_("tag"), max_length=128)
    tag_value = models.CharField(_("value"), max_length=256)
    start = models.CharField(_("on from"), max_length=5, blank=True)
    stop = models.CharField(_("off from"), max_length=5, blank=True)
    days = models.CharField(_("days"), max_length=40, default="mon-fri")
    zone = models.CharField(_("time zone"), max_length=60)
    holidays = ArrayField(models.DateField(), default=list, blank=True)
    start_minutes = models.PositiveIntegerField(_("start deadline in minutes"), default=30)
    dry_run = models.BooleanField(_("dry run"), default=False)
    state = models.CharField(
        _("state"), max_length=10, choices=ScheduleState, default=ScheduleState.REQUESTED
    )
    stated_at = models.DateTimeField()
    message = models.CharField(max_length=1000, blank=True)
    requested_at = models.DateTimeField()
    requested_kind = models.CharField(max_length=6, choices=ActorKind)
    requested_id = models.BigIntegerField(null=True)
    requested_by = models.CharField(max_length=254)
    approved_by = models.CharField(max_length=254, blank=True)
    approved_at = models.DateTimeField(null=True, blank=True)
    settled_until = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["organisation", "name"], name="stop_schedule_once"),
            models.CheckConstraint(
                condition=Q(state__in=ScheduleState.values), name="stop_schedule_state_known"
            ),
            models.CheckConstraint(condition=~Q(start="", stop=""), name="stop_schedule_says_something"),
            models.CheckConstraint(
                condition=~Q(state="approved") | Q(approved_at__isnull=False, settled_until__isnull=False),
                name="stop_schedule_approved_by_somebody",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name}: {self.state}"


class TurnState(models.TextChoices):
    """What came of a due time."""

    DUE = "due", _("Being done")
    DONE = "done", _("Done")
    TRIED = "tried", _("Dry run")
    FAILED = "failed", _("Failed")
    MISSED = "missed", _("Missed")


class ScheduleTurn(models.Model):
    """One due time of a schedule: stored before anything is stopped or started, once.

    `machines`: ids that were switched; `left`: those that were not, with the reason.
    """

    schedule = models.ForeignKey(StopSchedule, on_delete=models.CASCADE, related_name="turns")
    action = models.CharField(max_length=5, choices=[("start", _("Start")), ("stop", _("Stop"))])
    due_at = models.DateTimeField(_("due"))
    state = models.CharField(_("state"), max_length=6, choices=TurnState, default=TurnState.DUE)
    acted_at = models.DateTimeField(null=True, blank=True)
    tries = models.PositiveSmallIntegerField(default=0)
    machines = ArrayField(models.CharField(max_length=40), default=list, blank=True)
    left = models.JSONField(default=dict, blank=True)
    message = models.CharField(max_length=1000, blank=True)

    class Meta:
        ordering = ["-due_at", "-pk"]
        constraints = [
            models.UniqueConstraint(fields=["schedule", "due_at", "action"], name="schedule_turn_once"),
            models.CheckConstraint(condition=Q(state__in=TurnState.values), name="schedule_turn_state_known"),
        ]

    def __str__(self) -> str:
        return f"{self.schedule_id}: {self.action} {self.due_at:%Y-%m-%d %H:%M}"
