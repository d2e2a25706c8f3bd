"""Launches and their attempts: who has a launch in hand, what was called, what came of it."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from apps.launches.models.fields import money
from apps.launches.models.plans import MAX_PRIORITY, LaunchPlan
from apps.recommendations.models.approval import Approval


class LaunchState(models.TextChoices):
    """Where a launch stands. `unknown`: a call has no answer; `interrupted`: it waits for a machine."""

    QUEUED = "queued", _("Waiting")
    CLAIMED = "claimed", _("Starting")
    RUNNING = "running", _("Running")
    INTERRUPTED = "interrupted", _("Interrupted")
    UNKNOWN = "unknown", _("Outcome not known")
    COMPLETED = "completed", _("Completed")
    FAILED = "failed", _("Failed")
    MISSED = "missed", _("Missed")
    CANCELLED = "cancelled", _("Cancelled")


WAITING = [LaunchState.QUEUED, LaunchState.INTERRUPTED]
# A machine may be there or come to be.
HELD = [LaunchState.CLAIMED, LaunchState.RUNNING, LaunchState.UNKNOWN]
OVER = [LaunchState.COMPLETED, LaunchState.FAILED, LaunchState.MISSED, LaunchState.CANCELLED]


class AttemptState(models.TextChoices):
    """What came of one call. `prepared` is stored before the call, `called` just before it is sent."""

    PREPARED = "prepared", _("Prepared")
    CALLED = "called", _("Called")
    UNKNOWN = "unknown", _("No clear answer")
    RUNNING = "running", _("Running")
    ENDED = "ended", _("Ended")
    REFUSED = "refused", pgettext_lazy("an attempt", "Refused")


OPEN = [AttemptState.PREPARED, AttemptState.CALLED, AttemptState.UNKNOWN, AttemptState.RUNNING]


class Market(models.TextChoices):
    """How a machine is bought."""

    SPOT = "spot", _("Spot")
    ON_DEMAND = "on-demand", _("On demand")


class Launch(models.Model):
    """One machine of a plan at one due time (`part` counts the machines of a turn from 1).

    It may be taken by a worker when its state waits and the database's clock has passed `next_at`; whoever
    turns its state has it until `lease_until`. A first start after `start_by` is missed. `done_hours` are
    the hours of work that a marked checkpoint holds. `asked_high`: what it would need in the worst case where
    the approved one is not enough, until people say yes; `approved_high`: what they raised it to. `why` is
    the reason for waiting or ending, a code of `apps.launches.wording`, with its values in `why_values`.
    """

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="launches"
    )
    plan = models.ForeignKey(LaunchPlan, on_delete=models.PROTECT, related_name="launches")
    due_at = models.DateTimeField(_("due"))
    part = models.PositiveIntegerField(default=1)
    start_by = models.DateTimeField(_("starts by"))
    deadline = models.DateTimeField(_("deadline"), null=True, blank=True)
    priority = models.PositiveSmallIntegerField(default=0)
    hours = models.FloatField(_("hours of work"))
    done_hours = models.FloatField(default=0.0)
    state = models.CharField(_("state"), max_length=12, choices=LaunchState, default=LaunchState.QUEUED)
    stated_at = models.DateTimeField()
    next_at = models.DateTimeField()
    lease_until = models.DateTimeField(null=True, blank=True)
    worker = models.CharField(max_length=120, blank=True)
    claims = models.PositiveIntegerField(default=0)
    first_started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    on_demand = models.BooleanField(default=False)
    why = models.CharField(max_length=40, blank=True)
    why_values = models.JSONField(default=dict, blank=True)
    paid = money(null=True, blank=True)
    currency = models.CharField(max_length=3, blank=True)
    lost_hours = models.FloatField(default=0.0)
    lost_cost = money(null=True, blank=True)
    asked_high = money(null=True, blank=True)
    approved_high = money(null=True, blank=True)

    class Meta:
        ordering = ["due_at", "pk"]
        indexes = [
            models.Index(
                fields=["next_at"], condition=Q(state__in=["queued", "interrupted"]), name="launch_waiting"
            ),
            models.Index(
                fields=["state"], condition=~Q(state__in=["completed", "failed", "missed", "cancelled"]),
                name="launch_not_over",
            ),
            models.Index(fields=["organisation", "due_at"], name="launch_by_due"),
        ]  # fmt: skip
        constraints = [
            models.UniqueConstraint(fields=["plan", "due_at", "part"], name="launch_once"),
            models.CheckConstraint(condition=Q(state__in=LaunchState.values), name="launch_state_known"),
            models.CheckConstraint(
                condition=Q(priority__lte=MAX_PRIORITY, part__gte=1, hours__gt=0, done_hours__gte=0),
                name="launch_in_range",
            ),
            models.CheckConstraint(
                condition=~Q(state="claimed") | Q(lease_until__isnull=False), name="launch_claimed_until"
            ),
            models.CheckConstraint(
                condition=Q(state__in=["completed", "failed", "missed", "cancelled"], ended_at__isnull=False)
                | ~Q(state__in=["completed", "failed", "missed", "cancelled"]) & Q(ended_at__isnull=True),
                name="launch_over_since",
            ),
            models.CheckConstraint(condition=Q(start_by__gte=F("due_at")), name="launch_starts_after_due"),
        ]

    def __str__(self) -> str:
        return f"{self.plan_id} {self.due_at:%Y-%m-%d %H:%M}: {self.state}"


class LaunchYes(Approval):
    """One person's yes to what a launch may cost after all: up to `high`."""

    launch = models.ForeignKey(Launch, on_delete=models.CASCADE, related_name="yeses")
    high = money()

    class Meta(Approval.Meta):
        constraints = [
            models.UniqueConstraint(fields=["launch", "user", "high"], name="launch_raised_once_by_person"),
            models.UniqueConstraint(fields=["launch", "role", "high"], name="launch_raised_once_by_role"),
            models.CheckConstraint(condition=Q(high__gt=0), name="launch_raised_to_something"),
        ]

    def __str__(self) -> str:
        return f"{self.launch_id}: {self.role} up to {self.high}"


class Attempt(models.Model):
    """One call of an executor: parameters, token and tags stored before it is sent.

    `price` is a machine's an hour as planned; `paid` what its hours cost by the prices of the lake, null
    while they are not known. A gang's attempt has `count` machines, all of them in `members`, `machine` the
    first. `looks`: how often a call without an answer was looked up and nothing found. `beside`: made while
    another machine of the launch runs, whose place it takes once it has one itself.
    """

    launch = models.ForeignKey(Launch, on_delete=models.PROTECT, related_name="attempts")
    number = models.PositiveSmallIntegerField()
    region = models.CharField(max_length=40, blank=True)
    zone = models.CharField(max_length=60, blank=True)
    instance_type = models.CharField(max_length=60, blank=True)
    market = models.CharField(max_length=10, choices=Market)
    price = money(null=True, blank=True)
    currency = models.CharField(max_length=3, blank=True)
    parameters = models.JSONField()
    token = models.CharField(max_length=64, unique=True)
    tags = models.JSONField()
    state = models.CharField(max_length=8, choices=AttemptState, default=AttemptState.PREPARED)
    prepared_at = models.DateTimeField()
    called_at = models.DateTimeField(null=True, blank=True)
    looks = models.PositiveSmallIntegerField(default=0)
    looked_at = models.DateTimeField(null=True, blank=True)
    machine = models.CharField(max_length=100, blank=True)
    count = models.PositiveIntegerField(default=1)
    beside = models.BooleanField(default=False)
    members = ArrayField(models.CharField(max_length=100), default=list, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    noticed_at = models.DateTimeField(_("interruption notice"), null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    ending = models.CharField(max_length=20, blank=True)
    code = models.CharField(max_length=100, blank=True)
    message = models.CharField(max_length=1000, blank=True)
    from_hours = models.FloatField(default=0.0)
    paid = money(null=True, blank=True)
    priced_at = models.DateTimeField(null=True, blank=True)
    lost_hours = models.FloatField(null=True, blank=True)

    class Meta:
        ordering = ["launch", "number"]
        constraints = [
            models.UniqueConstraint(fields=["launch", "number"], name="launch_attempt_number_once"),
            # No second machine while one may be there, but one that takes the first one's place.
            models.UniqueConstraint(
                fields=["launch", "beside"],
                condition=Q(state__in=["prepared", "called", "unknown", "running"]),
                name="launch_one_open_attempt",
            ),
            models.CheckConstraint(
                condition=Q(state__in=AttemptState.values), name="launch_attempt_state_known"
            ),
            models.CheckConstraint(
                condition=~Q(state="running") | (~Q(machine="") & Q(started_at__isnull=False)),
                name="launch_attempt_running_on_a_machine",
            ),
            models.CheckConstraint(
                condition=Q(ended_at__isnull=True)
                | Q(started_at__isnull=False, ended_at__gte=F("started_at")),
                name="launch_attempt_ends_after_start",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.launch_id} try {self.number}: {self.state}"


class Checkpoint(models.Model):
    """Work that the job says it has written down; it counts once its marker is there."""

    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="checkpoints")
    at = models.DateTimeField()
    work_hours = models.FloatField()
    name = models.CharField(max_length=500, blank=True)
    marked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["attempt", "name", "work_hours"], name="launch_checkpoint_once"),
            models.CheckConstraint(condition=Q(work_hours__gte=0), name="launch_checkpoint_has_work"),
        ]

    def __str__(self) -> str:
        return f"{self.attempt_id}: {self.work_hours} h"
