"""What happened to plans and launches, and machines that nobody asked for."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from apps.launches.models.fields import money
from apps.launches.models.guards import LaunchTarget
from apps.launches.models.launches import Launch
from apps.launches.models.plans import LaunchPlan


class LaunchEvent(models.Model):
    """A line of a timeline. `kind` and `document` are put into words by `apps.launches.wording`."""

    plan = models.ForeignKey(LaunchPlan, on_delete=models.PROTECT, related_name="events")
    launch = models.ForeignKey(Launch, on_delete=models.PROTECT, related_name="events", null=True, blank=True)
    at = models.DateTimeField(db_default=Now(), editable=False)
    kind = models.CharField(max_length=40)
    document = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["pk"]
        indexes = [models.Index(fields=["launch", "id"], name="launch_event_by_launch")]
        constraints = [models.CheckConstraint(condition=~Q(kind=""), name="launch_event_has_kind")]

    def __str__(self) -> str:
        return f"{self.plan_id} {self.kind}"


class Stray(models.Model):
    """A machine with our tags that no live launch answers to, as the reconciler saw it.

    `price` is its hour's, null where it is not known. `ended_at`: we ended it, or it was seen ended.
    """

    target = models.ForeignKey(LaunchTarget, on_delete=models.CASCADE, related_name="strays")
    machine = models.CharField(max_length=100)
    region = models.CharField(max_length=40, blank=True)
    instance_type = models.CharField(max_length=60, blank=True)
    tags = models.JSONField(default=dict)
    launched_at = models.DateTimeField()
    first_seen_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    ours = models.BooleanField(default=False)
    price = money(null=True, blank=True)
    currency = models.CharField(max_length=3, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    ended_by_us = models.BooleanField(default=False)

    class Meta:
        ordering = ["-pk"]
        constraints = [models.UniqueConstraint(fields=["target", "machine"], name="launch_stray_once")]

    def __str__(self) -> str:
        return f"{self.machine}: {'ended' if self.ended_at else 'running'}"
