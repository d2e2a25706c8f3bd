"""What people say about the rules of waste, and what lists and metrics say about resources."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _


class WasteSetting(models.Model):
    """A rule as the organisation (`team` null) or one team wants it. Thresholds are texts by name; without
    accounts or regions it is asked everywhere.
    """

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.CASCADE, related_name="waste_settings"
    )
    team = models.ForeignKey(
        "accounts.Team", on_delete=models.CASCADE, related_name="waste_settings", null=True, blank=True
    )
    rule = models.CharField(_("rule"), max_length=60)
    enabled = models.BooleanField(_("asked"), default=True)
    thresholds = models.JSONField(default=dict, blank=True)
    accounts = ArrayField(models.CharField(max_length=64), default=list, blank=True)
    regions = ArrayField(models.CharField(max_length=40), default=list, blank=True)
    set_by = models.CharField(max_length=254)
    set_at = models.DateTimeField()

    class Meta:
        ordering = ["rule", "team_id"]
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "rule", "team"],
                name="waste_setting_once",
                nulls_distinct=False,
            ),
            models.CheckConstraint(condition=~Q(rule=""), name="waste_setting_has_rule"),
        ]

    def __str__(self) -> str:
        return f"{self.rule}: {'on' if self.enabled else 'off'}"


class ListedResource(models.Model):
    """What a list says of a volume or snapshot; null is "not said", "" is "nothing"."""

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.CASCADE, related_name="listed_resources"
    )
    resource = models.CharField(_("resource"), max_length=300)
    kind = models.CharField(max_length=20)
    attached_to = models.CharField(max_length=300, null=True, blank=True)
    volume = models.CharField(max_length=300, null=True, blank=True)
    image = models.CharField(max_length=300, null=True, blank=True)
    created_at = models.DateTimeField(null=True, blank=True)
    source = models.CharField(max_length=300)
    listed_at = models.DateTimeField()

    class Meta:
        ordering = ["resource"]
        constraints = [
            models.UniqueConstraint(fields=["organisation", "resource"], name="listed_resource_once"),
            models.CheckConstraint(condition=~Q(resource=""), name="listed_resource_has_id"),
            models.CheckConstraint(
                condition=Q(kind__in=["volume", "snapshot"]), name="listed_resource_kind_known"
            ),
        ]

    def __str__(self) -> str:
        return self.resource


class MetricSummary(models.Model):
    """One metric of one resource over [`start`, `end`): exact percentiles of its samples."""

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.CASCADE, related_name="metric_summaries"
    )
    resource = models.CharField(_("resource"), max_length=300)
    metric = models.CharField(max_length=20)
    start = models.DateTimeField()
    end = models.DateTimeField()
    samples = models.PositiveIntegerField()
    p95 = models.FloatField()
    p99 = models.FloatField()
    high = models.FloatField()
    low = models.FloatField()
    source = models.CharField(max_length=300)
    loaded_at = models.DateTimeField()

    class Meta:
        ordering = ["resource", "metric"]
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "resource", "metric"], name="metric_summary_once"
            ),
            models.CheckConstraint(condition=Q(end__gt=F("start")), name="metric_summary_times_in_order"),
            models.CheckConstraint(
                condition=Q(samples__gt=0, p99__gte=F("p95"), high__gte=F("p99"), p95__gte=F("low")),
                name="metric_summary_percentiles_in_order",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.resource} {self.metric}"


class ClusterUse(models.Model):
    """Requests and use of one workload of a Kubernetes cluster over [`start`, `end`), and what it cost.

    CPU in cores, memory in GiB; null is "not said". `cost` is of the whole span, amortised where the source
    says so.
    """

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.CASCADE, related_name="cluster_uses"
    )
    cluster = models.CharField(max_length=200)
    namespace = models.CharField(max_length=200)
    workload = models.CharField(max_length=300)
    labels = models.JSONField(default=dict, blank=True)
    kind = models.CharField(max_length=10, default="work")
    start = models.DateTimeField()
    end = models.DateTimeField()
    cpu_request = models.FloatField(null=True, blank=True)
    cpu_p99 = models.FloatField(null=True, blank=True)
    cpu_mean = models.FloatField(null=True, blank=True)
    memory_request = models.FloatField(null=True, blank=True)
    memory_p99 = models.FloatField(null=True, blank=True)
    memory_mean = models.FloatField(null=True, blank=True)
    cpu_cost = models.DecimalField(max_digits=38, decimal_places=18, null=True, blank=True)
    memory_cost = models.DecimalField(max_digits=38, decimal_places=18, null=True, blank=True)
    cost = models.DecimalField(max_digits=38, decimal_places=18, null=True, blank=True)
    currency = models.CharField(max_length=10, blank=True)
    source = models.CharField(max_length=300)
    loaded_at = models.DateTimeField()

    class Meta:
        ordering = ["cluster", "namespace", "workload"]
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "cluster", "namespace", "workload", "kind"], name="cluster_use_once"
            ),
            models.CheckConstraint(condition=Q(end__gt=F("start")), name="cluster_use_times_in_order"),
            models.CheckConstraint(
                condition=Q(kind__in=["work", "idle", "shared"]), name="cluster_use_kind_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.cluster}/{self.namespace}/{self.workload}"
