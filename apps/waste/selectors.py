"""Reading what people, lists and metrics say of resources."""

from __future__ import annotations

from datetime import datetime

from django.db.models import QuerySet

from apps.accounts.models import Organisation
from apps.waste.models import ClusterUse, ListedResource, MetricSummary, WasteSetting
from finops.engine.waste.model import Setting
from finops.frames.waste import Listed, Measured


def setting_list(organisation: Organisation | None) -> QuerySet[WasteSetting]:
    """What the organisation and its teams say, by rule."""
    rows = WasteSetting.objects.filter(organisation=organisation).select_related("team")
    return rows.order_by("rule", "team__slug")


def settings_of(organisation: Organisation | None) -> list[Setting]:
    """The same as the engine wants it."""
    return [
        Setting(
            row.rule,
            row.team.slug if row.team is not None else "",
            row.enabled,
            {str(name): str(value) for name, value in row.thresholds.items()},
            frozenset(row.accounts),
            frozenset(row.regions),
        )
        for row in setting_list(organisation)
    ]


def listed_of(organisation: Organisation | None, since: datetime) -> dict[str, Listed]:
    """Listed volumes and snapshots by id. An older list counts no more: what it calls free may be in use."""
    return {
        row.resource: Listed(row.resource, row.kind, row.attached_to, row.volume, row.created_at, row.image)
        for row in ListedResource.objects.filter(organisation=organisation, listed_at__gte=since)
    }


def measured_of(organisation: Organisation | None) -> dict[str, dict[str, Measured]]:
    """Metrics by resource and name."""
    found: dict[str, dict[str, Measured]] = {}
    for row in MetricSummary.objects.filter(organisation=organisation):
        found.setdefault(row.resource, {})[row.metric] = Measured(
            row.metric, row.start, row.end, row.samples, row.p95, row.p99, row.high, row.low, row.source
        )
    return found


def cluster_uses(organisation: Organisation | None) -> QuerySet[ClusterUse]:
    """Workloads of clusters."""
    return ClusterUse.objects.filter(organisation=organisation)
