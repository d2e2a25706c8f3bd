"""Saved workloads: what an organisation runs again and again, in the words of launch advice."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower, Now
from django.utils.translation import gettext_lazy as _

from finops.engine.workload import MAX_HOURS, MAX_SLACK_HOURS

_SIZED = Q(min_vcpu__isnull=False) | Q(min_memory_gib__isnull=False) | Q(gpus__isnull=False) | ~Q(gpu="")
_ENDLESS = float("inf")  # NaN sorts above it, so "< inf" refuses both


class Workload(models.Model):
    """The fields of `finops.engine.workload.Workload`, named and owned; `at` is given with each question.

    Repeating work has `repeat` (weekdays of its due date: "daily", "mon-fri"), `done_by` ("08:00") on the
    clock of `timezone`, and slack: how much earlier than the latest start it may begin.
    """

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="workloads"
    )
    team = models.ForeignKey(
        "accounts.Team", on_delete=models.PROTECT, related_name="workloads", null=True, blank=True
    )
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, related_name="workloads", null=True, blank=True
    )
    name = models.CharField(_("name"), max_length=100)

    hours = models.FloatField(_("hours of work"))
    provider = models.CharField(_("provider"), max_length=20, default="aws")
    types = ArrayField(models.CharField(max_length=120), default=list, blank=True)
    min_vcpu = models.PositiveIntegerField(null=True, blank=True)
    min_memory_gib = models.FloatField(null=True, blank=True)
    gpu = models.CharField(max_length=60, blank=True)
    gpus = models.PositiveIntegerField(null=True, blank=True)
    regions = ArrayField(models.CharField(max_length=120))
    zones = ArrayField(models.CharField(max_length=120), default=list, blank=True)
    home_zone = models.CharField(max_length=120, blank=True)
    count = models.PositiveIntegerField(default=1)
    product = models.CharField(max_length=60)
    earliest = models.DateTimeField(null=True, blank=True)
    slack_hours = models.FloatField(null=True, blank=True)
    deadline = models.DateTimeField(null=True, blank=True)
    interruptible = models.BooleanField(default=True)
    splittable = models.BooleanField(default=False)
    checkpoint_minutes = models.FloatField(null=True, blank=True)
    restart_minutes = models.FloatField(default=0.0)
    data_gib = models.FloatField(null=True, blank=True)
    data_region = models.CharField(max_length=40, blank=True)
    discount_pct = models.FloatField(default=0.0)
    hazard_per_hour = models.FloatField(null=True, blank=True)

    repeat = models.CharField(max_length=40, blank=True)
    done_by = models.CharField(max_length=5, blank=True)
    timezone = models.CharField(max_length=60, blank=True)

    created_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = [Lower("name"), "pk"]
        constraints = [
            models.UniqueConstraint("organisation", Lower("name"), name="workload_name_once"),
            models.CheckConstraint(condition=Q(name__regex=r"\S"), name="workload_has_name"),
            models.CheckConstraint(
                condition=Q(hours__gt=0, hours__lte=MAX_HOURS, count__gte=1), name="workload_has_work"
            ),
            models.CheckConstraint(condition=Q(regions__len__gt=0), name="workload_has_regions"),
            models.CheckConstraint(condition=~Q(product=""), name="workload_has_product"),
            models.CheckConstraint(
                condition=(Q(types__len__gt=0) & ~_SIZED) | (Q(types__len=0) & _SIZED),
                name="workload_types_or_sizes",
            ),
            models.CheckConstraint(
                # A comparison with NULL is neither true nor false and would pass: said for both branches.
                condition=Q(slack_hours__isnull=False, deadline__isnull=True)
                & Q(slack_hours__gte=0, slack_hours__lte=MAX_SLACK_HOURS)
                | Q(slack_hours__isnull=True, deadline__isnull=False),
                name="workload_slack_or_deadline",
            ),
            models.CheckConstraint(
                condition=Q(splittable=False) | Q(interruptible=True), name="workload_pieces_interruptible"
            ),
            models.CheckConstraint(
                condition=Q(data_gib__isnull=True, data_region="")
                | (Q(data_gib__isnull=False, data_gib__gte=0, data_gib__lt=_ENDLESS) & ~Q(data_region="")),
                name="workload_data_and_region",
            ),
            models.CheckConstraint(
                condition=Q(discount_pct__gte=0, discount_pct__lt=100)
                & Q(restart_minutes__gte=0, restart_minutes__lte=24 * 60),
                name="workload_costs_in_range",
            ),
            models.CheckConstraint(
                condition=Q(repeat="", done_by="", timezone="")
                | (
                    Q(done_by__regex=r"^([01]?\d|2[0-4]):[0-5]\d$", deadline__isnull=True)
                    & ~Q(repeat="")
                    & ~Q(timezone="")
                ),
                name="workload_repeats_wholly",
            ),
        ]

    def __str__(self) -> str:
        return self.name
