"""Kubernetes manifests and workload files: what they are priced by, what is counted, what is refused."""

from __future__ import annotations

from decimal import Decimal

import pytest

from finops.engine.checks.alternatives import alternatives, cheaper
from finops.engine.checks.pricing import Priced, price_resources
from finops.frames.cost_items import CheckInputError, MachineFacts, Range, Reading
from finops.frames.usage_file import Usage, parse_usage
from finops.providers.kubernetes.manifests import read_manifests
from finops.providers.workload.workload_file import read_workload
from tests.support.check_prices import prices_of

NODE = b"defaults: {region: us-east-1, node_type: m5.xlarge}"


def facts(name: str) -> MachineFacts | None:
    return MachineFacts(Decimal(4), Decimal(16384)) if name == "m5.xlarge" else None


def read(text: str, usage: bytes = NODE) -> Reading:
    return read_manifests(text.encode(), file="k.yaml", usage=parse_usage(usage), facts=facts)


def cost(text: str, usage: bytes = NODE) -> Priced:
    resources = read(text, usage).resources
    return price_resources(resources, prices_of(resources))


def workload(kind: str, containers: str, more: str = "", pod: str = "") -> str:
    return f"""
apiVersion: apps/v1
kind: {kind}
metadata: {{name: web, namespace: shop, labels: {{owner: data}}}}
spec:
  replicas: 3
  {more}
  template: {{spec: {{ {pod} containers: [{containers}]}}}}
"""


COMMA = "{name: a, resources: {requests: {cpu: '1,5'}}}"
POD = "{name: a, resources: {requests: {cpu: 500m, memory: 4Gi}}}"


def test_a_pod_costs_the_larger_share_of_its_node() -> None:
    found = cost(workload("Deployment", POD))
    # cpu 0.5 / 4 = 0.125, memory 4 / 16 = 0.25: 3 x 0.25 x 0.192 x 730
    assert found.total.after == Range.of(Decimal("105.12"))
    assert found.total.before == "absent"
    (resource,) = read(workload("Deployment", POD)).resources
    assert (resource.address, resource.after and resource.after.tags) == (
        "Deployment/shop/web",
        {"owner": "data"},
    )


def test_spot_nodes_ranges_of_replicas_lists_and_several_documents() -> None:
    spot = "nodeSelector: {karpenter.sh/capacity-type: spot},"
    text = (
        workload("Deployment", POD, pod=spot)
        + "---\n---\napiVersion: v1\nkind: List\nitems:\n"
        + "- {kind: ConfigMap, metadata: {name: c}}\n- {kind: DaemonSet, metadata: {name: d}}\n"
    )
    usage = NODE + b"\nresources: {Deployment/shop/web: {replicas: {low: 1, expected: 2, high: 4}}}"
    found = cost(text, usage)
    assert found.total.after == Range(
        Decimal("0.25") * 730 * Decimal("0.07"),
        Decimal("0.50") * 730 * Decimal("0.08"),
        Decimal(1) * 730 * Decimal("0.09"),
    )
    assert [(one.address, one.reason) for one in found.unpriced] == [
        ("DaemonSet/d", "no price is known for DaemonSet")
    ]


@pytest.mark.parametrize("size", ["-5Gi", "NaN", "Infinity", "1e40", "ten", "'5,5Gi'", "[1]"])
@pytest.mark.parametrize("usage", [b"{}", NODE], ids=["no region", "region"])
@pytest.mark.parametrize("named", ["storageClassName: gp2, ", ""], ids=["class", "no class"])
def test_a_size_that_is_none_is_refused_whatever_else_is_not_stated(
    size: str, usage: bytes, named: str
) -> None:
    text = f"""
kind: PersistentVolumeClaim
metadata: {{name: data}}
spec: {{{named}resources: {{requests: {{storage: {size}}}}}}}
"""
    with pytest.raises(CheckInputError) as refused:
        read(text, usage)
    assert (refused.value.file, refused.value.address) == ("k.yaml", "PersistentVolumeClaim/data")
    assert "storage" in refused.value.field


def test_claims_balancers_and_jobs() -> None:
    text = """
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {storageClassName: gp2, resources: {requests: {storage: 100Gi}}}
---
kind: Service
metadata: {name: in, annotations: {service.beta.kubernetes.io/aws-load-balancer-type: nlb}}
spec: {type: LoadBalancer}
---
kind: CronJob
metadata: {name: nightly}
spec: {jobTemplate: {spec: {template: {spec: {containers: [POD]}}}}}
""".replace("POD", POD)
    usage = NODE + b"\nresources: {CronJob/nightly: {runs_hours: 60}, Service/in: {lcu_hours: 100}}"
    after = {line.resource.address: line.after for line in cost(text, usage).lines}
    assert after == {
        "PersistentVolumeClaim/data": Range.of(Decimal("10.0")),
        "Service/in": Range.of(Decimal("17.025")),  # 0.0225 x 730 + 0.006 x 100
        "CronJob/nightly": Range.of(Decimal("2.88")),  # 60 x 0.25 x 0.192
    }
    assert [one.reason for one in cost(text).unpriced] == [
        "how long it runs a month is not stated; usage runs_hours",
        "capacity: usage lcu_hours is not stated",
    ]


def test_init_containers_count_where_they_ask_for_more() -> None:
    init = "initContainers: [{name: i, resources: {requests: {cpu: '2', memory: 1Gi}}}],"
    assert cost(workload("Deployment", POD, pod=init)).total.after == Range.of(
        Decimal("210.24")  # cpu 2 / 4 = 0.5
    )


@pytest.mark.parametrize(
    ("text", "usage", "reason"),
    [
        (workload("Deployment", "{name: a}"), NODE, "a container requests no cpu or memory"),
        (
            workload("Deployment", POD),
            b"",
            "the node's type or region is not stated; usage node_type and region",
        ),
        (
            workload("Deployment", POD),
            b"defaults: {region: us-east-1, node_type: z9}",
            "the size of z9 is not known",
        ),
    ],
)
def test_what_is_not_stated_is_counted_not_zero(text: str, usage: bytes, reason: str) -> None:
    found = cost(text, usage)
    assert [one.reason for one in found.unpriced] == [reason]
    assert found.total.after is None


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("a: [", ""),
        ("- 1", "kind"),
        ("kind: ConfigMap", "metadata.name"),
        ("kind: Pod\nmetadata: {name: a}\nspec: [1]", "spec"),
        ("kind: List\nitems: 3", "items"),
        ("kind: ConfigMap\nmetadata: &m {name: a}\nx: *m", ""),
        ("kind: X\nmetadata: {name: a}\n---\nkind: X\nmetadata: {name: a}", "metadata.name"),
        (workload("Deployment", COMMA), "containers[0].resources.cpu"),
        (workload("Deployment", POD).replace("replicas: 3", "replicas: -3"), "spec.replicas"),
        (workload("Deployment", POD).replace("replicas: 3", "replicas: 1e99"), "spec.replicas"),
        (workload("Deployment", POD.replace("4Gi", "9" * 30 + "Pi")), "containers[0].resources.memory"),
        ("kind: Pod\nmetadata: {name: a}\nspec: {containers: {name: a}}", "containers"),
    ],
)  # fmt: skip
def test_what_is_no_manifest_is_refused_by_name(text: str, field: str) -> None:
    with pytest.raises(CheckInputError) as refused:
        read(text)
    assert refused.value.field == field


def test_a_workload_file_is_priced_on_demand_with_spot_beside_it() -> None:
    text = b"""
workloads:
- {name: etl, hours: 10, types: [m5.xlarge], regions: [us-east-1], product: Linux/UNIX, count: 2,
   runs_per_month: 20}
- {name: sized, hours: 1, min_vcpu: 4, regions: [us-east-1], product: Linux/UNIX}
- {name: daily, hours: 1, types: [m5.xlarge], regions: [us-east-1], product: Linux/UNIX, repeat: daily}
"""
    resources = read_workload(text, file="w.yaml", usage=Usage()).resources
    found = price_resources(resources, prices_of(resources))
    assert found.total.after == Range.of(Decimal("76.8"))  # 10 x 20 x 2 x 0.192
    assert [(one.address, one.reason) for one in found.unpriced] == [
        ("workload/daily", "runs_per_month is not stated"),
        ("workload/sized", "types are chosen at launch; name them"),
    ]
    (offer,) = cheaper(alternatives(resources, prices_of(resources))).offered
    assert offer.saving.expected == Decimal("44.8")  # 400 x (0.192 - 0.08)


@pytest.mark.parametrize(
    ("text", "field"),
    [
        (b"{hours: 1, regions: [r]}", "product"),
        (b"{hours: '1,234', regions: [r], product: p, types: [t]}", "hours"),
        (b"{hours: 1, regions: r, product: p}", "regions"),
        (b"{hours: 1, regions: [r], product: p, huors: 2}", "huors"),
        (b"{hours: 1, regions: [r], product: p, interruptible: often}", "interruptible"),
        (b"{hours: 1, regions: [r], product: p, provider: gcp}", "provider"),
        (b"workloads: 3", "workloads"),
    ],
)
def test_what_is_no_workload_is_refused_by_name(text: bytes, field: str) -> None:
    with pytest.raises(CheckInputError) as refused:
        read_workload(text, file="w.yaml", usage=Usage())
    assert refused.value.field == field


@pytest.mark.parametrize("text", ["null", "~", "''"])
def test_a_null_is_what_is_left_out(text: str) -> None:
    written = workload("Deployment", POD).replace("replicas: 3", f"replicas: {text}")
    written = written.replace("labels: {owner: data}", f"labels: {text}, annotations: {text}")
    assert cost(written).total.after == Range.of(Decimal("35.04"))  # one replica, as Kubernetes has it


@pytest.mark.parametrize("containers", ["{name: a, resources: {requests: {cpu: 0, memory: 0}}}", ""])
def test_work_that_asks_for_nothing_does_not_cost_nothing(containers: str) -> None:
    found = cost(workload("Deployment", containers))
    assert found.total.after is None
    assert [one.reason for one in found.unpriced] == ["a container requests no cpu or memory"]


@pytest.mark.parametrize(
    ("discount", "told"), [("", 0), (", discount_pct: 0", 0), (", discount_pct: 12.5", 1)]
)
def test_a_discount_that_is_not_taken_off_is_said(discount: str, told: int) -> None:
    text = f"{{hours: 10, types: [m5.xlarge], regions: [us-east-1], product: Linux/UNIX{discount}}}"
    reading = read_workload(text.encode(), file="w.yaml", usage=Usage())
    assert len(reading.assumptions) == told
