"""What files, CloudWatch and Prometheus say of resources, kept: the newest word of each resource counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path, PurePath
from typing import Any

from django.db import transaction

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.accounts.services import audit_record
from apps.waste.models import ClusterUse, ListedResource, MetricSummary
from finops.frames.clusters import WORK, Work
from finops.frames.spot import Rejection
from finops.frames.waste import Listed, Measured
from finops.providers.aws.metrics import cloudwatch_measures
from finops.providers.aws.session import Access, client, open_session
from finops.providers.base import PermanentError
from finops.providers.files.measures import GIB, Measures, read_measures, summary
from finops.providers.prometheus import Series, range_query

BATCH = 1000
# Of a page or REST; read at once. Larger files go through the verb.
MOST_UPLOAD = 32 * 2**20
MOST_SHOWN = 100
_CLUSTER_QUERIES = {
    "cpu_request": 'sum by (namespace, workload) (kube_pod_container_resource_requests{resource="cpu"} '
    "* on (namespace, pod) group_left (workload) namespace_workload_pod:kube_pod_owner:relabel)",
    "memory_request": 'sum by (namespace, workload) (kube_pod_container_resource_requests{resource="memory"} '
    "* on (namespace, pod) group_left (workload) namespace_workload_pod:kube_pod_owner:relabel)",
    "cpu": 'sum by (namespace, workload) (rate(container_cpu_usage_seconds_total{container!=""}[5m]) '
    "* on (namespace, pod) group_left (workload) namespace_workload_pod:kube_pod_owner:relabel)",
    "memory": 'sum by (namespace, workload) (container_memory_working_set_bytes{container!=""} '
    "* on (namespace, pod) group_left (workload) namespace_workload_pod:kube_pod_owner:relabel)",
}
_NODE_QUERIES = {
    "cpu": '100 * (1 - avg by (%(label)s) (rate(node_cpu_seconds_total{mode="idle"}[5m])))',
    "memory": "100 * (1 - max by (%(label)s) (node_memory_MemAvailable_bytes / node_memory_MemTotal_bytes))",
    "network": 'sum by (%(label)s) (rate(node_network_receive_bytes_total{device!="lo"}[5m]) '
    '+ rate(node_network_transmit_bytes_total{device!="lo"}[5m])) * 8 / 1e6',
}


@dataclass
class Loaded:
    """What one source gave; read = stored + rejected, but for samples, which become summaries."""

    source: str
    kind: str
    rows_read: int
    stored: int
    rejections: list[Rejection] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        """As every way in tells it; at most a hundred rejections."""
        return {
            "source": self.source,
            "kind": self.kind,
            "rows_read": self.rows_read,
            "stored": self.stored,
            "rejected": len(self.rejections),
            "rejections": [
                {"file": one.file, "row": one.row, "field": one.field, "reason": one.reason}
                for one in self.rejections[:MOST_SHOWN]
            ],
        }


def measures_import(*, organisation: Organisation, path: str, now: datetime) -> Loaded:
    """Read one file and keep what it says. Raises PermanentError for a file of no known kind."""
    file = Path(path)
    try:
        content = file.read_bytes()
    except OSError as error:
        raise PermanentError(f"{path} cannot be read: {error.strerror}") from error
    return measures_keep(organisation=organisation, content=content, name=file.name, now=now)


def measures_keep(*, organisation: Organisation, content: bytes, name: str, now: datetime) -> Loaded:
    """The same of a file's bytes."""
    found = read_measures(content, file=name)
    stored = keep(organisation, found, now)
    return Loaded(name, found.kind, found.read, stored, found.rejections)


def measures_upload(
    *, organisation: Organisation, actor: Actor, content: bytes, name: str, now: datetime
) -> Loaded:
    """A file that somebody sent, with its audit row. Raises PermanentError; then nothing was stored."""
    shown = PurePath(name.replace("\\", "/")).name.replace("\x00", "")[-120:] or "upload"
    if len(content) > MOST_UPLOAD:
        raise PermanentError(f"{shown} is larger than {MOST_UPLOAD >> 20} MiB.")
    with transaction.atomic():
        found = measures_keep(organisation=organisation, content=content, name=shown, now=now)
        audit_record(
            organisation=organisation, actor=actor, action="waste_metrics.load", target=organisation,
            after={"source": shown, "kind": found.kind, "stored": found.stored,
                   "rejected": len(found.rejections)},
        )  # fmt: skip
    return found


def keep(organisation: Organisation, found: Measures, now: datetime) -> int:
    """Write everything at once; the newest word replaces the one before. Returns the rows written."""
    with transaction.atomic():
        return (
            _metrics(organisation, found.metrics, now)
            + _listed(organisation, found.listed, now)
            + _works(organisation, found.works, now)
        )


def _metrics(organisation: Organisation, rows: Sequence[tuple[str, Measured]], now: datetime) -> int:
    made = {
        (resource, one.metric): MetricSummary(
            organisation=organisation, resource=resource, metric=one.metric, start=one.start, end=one.end,
            samples=one.samples, p95=one.p95, p99=one.p99, high=one.high, low=one.low,
            source=one.source[:300], loaded_at=now,
        )
        for resource, one in rows
    }  # fmt: skip
    MetricSummary.objects.bulk_create(
        made.values(), batch_size=BATCH, update_conflicts=True,
        unique_fields=["organisation", "resource", "metric"],
        update_fields=["start", "end", "samples", "p95", "p99", "high", "low", "source", "loaded_at"],
    )  # fmt: skip
    return len(made)


def _listed(organisation: Organisation, rows: Sequence[Listed], now: datetime) -> int:
    """A list is whole for its kind: what a new one does not name any more is forgotten."""
    made = {
        one.resource: ListedResource(
            organisation=organisation, resource=one.resource, kind=one.kind, attached_to=one.attached_to,
            volume=one.volume, image=one.image, created_at=one.created_at, source="list", listed_at=now,
        )
        for one in rows
    }  # fmt: skip
    kinds = {one.kind for one in rows}
    ListedResource.objects.filter(organisation=organisation, kind__in=kinds).delete()
    ListedResource.objects.bulk_create(made.values(), batch_size=BATCH)
    return len(made)


def _works(organisation: Organisation, rows: Sequence[Work], now: datetime) -> int:
    """A cluster's rows replace all that it had."""
    made = {
        (one.cluster, one.namespace, one.workload, one.kind): ClusterUse(
            organisation=organisation, cluster=one.cluster, namespace=one.namespace, workload=one.workload,
            kind=one.kind, start=one.start, end=one.end, cpu_request=one.cpu_request, cpu_p99=one.cpu_p99,
            cpu_mean=one.cpu_mean, memory_request=one.memory_request, memory_p99=one.memory_p99,
            memory_mean=one.memory_mean, labels=dict(one.labels), cpu_cost=one.cpu_cost,
            memory_cost=one.memory_cost, cost=one.cost,
            currency=one.currency, source="file", loaded_at=now,
        )
        for one in rows
    }  # fmt: skip
    clusters = {one.cluster for one in rows}
    ClusterUse.objects.filter(organisation=organisation, cluster__in=clusters).delete()
    ClusterUse.objects.bulk_create(made.values(), batch_size=BATCH)
    return len(made)


def cloudwatch_collect(
    *,
    organisation: Organisation,
    resources: Sequence[str],
    region: str,
    now: datetime,
    days: int = 14,
    access: Access | None = None,
) -> Loaded:
    """Ask CloudWatch for the last days of these resources. Raises TransientError or PermanentError."""
    given = access or Access()
    session = open_session(given, region=region)
    cloudwatch = client(session, given, "cloudwatch", region=region)
    rows = list(
        cloudwatch_measures(cloudwatch, resources, now - timedelta(days=days), now, summarise=summary)
    )
    stored = keep(organisation, Measures("metrics", metrics=rows), now)
    return Loaded(f"CloudWatch {region}", "metrics", len(rows), stored)


def prometheus_nodes(
    *, organisation: Organisation, url: str, label: str, now: datetime, days: int = 14, token: str = ""
) -> Loaded:
    """CPU, memory and network of nodes whose label `label` is the instance id."""
    start, rows = now - timedelta(days=days), []
    for metric, query in _NODE_QUERIES.items():
        found = range_query(url, query % {"label": label}, start, now, (label,), token=token)
        rows += [(key[0], summary(metric, values, "Prometheus")) for key, values in found.items()]
    whole = [(resource, one) for resource, one in rows if one.end > one.start]
    stored = keep(organisation, Measures("metrics", metrics=whole), now)
    return Loaded("Prometheus", "metrics", len(rows), stored)


def prometheus_cluster(
    *,
    organisation: Organisation,
    url: str,
    cluster: str,
    now: datetime,
    core_hour: Decimal | None = None,
    gib_hour: Decimal | None = None,
    currency: str = "",
    days: int = 14,
    token: str = "",
) -> Loaded:
    """Requests and use of a cluster's workloads; with prices of a core and a GiB an hour also their cost."""
    start = now - timedelta(days=days)
    found = {
        name: range_query(url, query, start, now, ("namespace", "workload"), token=token)
        for name, query in _CLUSTER_QUERIES.items()
    }
    keys = sorted({key for series in found.values() for key in series})
    works = [_work(cluster, key, found, core_hour, gib_hour, currency) for key in keys]
    made = [one for one in works if one is not None]
    stored = keep(organisation, Measures("clusters", works=made), now)
    return Loaded("Prometheus", "clusters", len(keys), stored)


def _work(
    cluster: str,
    key: tuple[str, ...],
    found: dict[str, Series],
    core_hour: Decimal | None,
    gib_hour: Decimal | None,
    currency: str,
) -> Work | None:
    told = {name: summary(name, series[key], "") for name, series in found.items() if key in series}
    if not told:
        return None
    start, end = min(one.start for one in told.values()), max(one.end for one in told.values())
    if end <= start:
        return None
    hours = Decimal((end - start).total_seconds()) / 3600
    cpu = told["cpu_request"].high if "cpu_request" in told else None
    memory = told["memory_request"].high / GIB if "memory_request" in told else None
    cpu_cost = None if core_hour is None or cpu is None else core_hour * Decimal(repr(cpu)) * hours
    memory_cost = None if gib_hour is None or memory is None else gib_hour * Decimal(repr(memory)) * hours
    both = None if cpu_cost is None or memory_cost is None else cpu_cost + memory_cost
    return Work(
        cluster, key[0], key[1] or "unknown", WORK, start, end, cpu,
        told["cpu"].p99 if "cpu" in told else None, memory,
        told["memory"].p99 / GIB if "memory" in told else None, cpu_cost, memory_cost, both, currency,
    )  # fmt: skip
