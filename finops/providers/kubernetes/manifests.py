"""Kubernetes manifests (YAML, several documents, lists) as resources with items that have prices.

A pod costs its part of a node: the larger of cpu requested / vCPUs and memory requested / memory, times the
node's price. The node's type and region are in a node selector, or the usage file says them (`node_type`,
`region`); without requests the part is unknown, never 0. Sources: "Resource Management for Pods and
Containers", "Persistent Volumes" and "Well-Known Labels" of the Kubernetes documentation, read 2026-11.
Quirks: quantities are text with suffixes (500m, 1Gi); init containers run before the others, so the larger of
their largest and the others' sum counts; a class of storage is a name that each cluster gives a meaning to.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import yaml

from finops.frames.check_words import check_whole_text
from finops.frames.cost_items import (
    MACHINE,
    ON_DEMAND,
    SPOT,
    CheckInputError,
    Item,
    MachineFacts,
    Range,
    Reading,
    Resource,
    Side,
    Sku,
)
from finops.frames.usage_file import Usage, amount_of, hours_of, run_of, word_of
from finops.text.addresses import masked

MAX_BYTES, MAX_OBJECTS, MAX_DEPTH = 8 * 1024 * 1024, 5000, 60
# Larger amounts than any cluster's; sums of what is larger have more digits than are counted with.
_MOST = Decimal(10) ** 18
_NONE = (None, "", "null", "Null", "NULL", "~")  # every scalar is read as text
_SUFFIX = {
    "": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15,
    "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50,
}  # fmt: skip
_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(m|[kMGTP]|[KMGTP]i|[eE][0-9]{1,2})?")
_REPEATED = frozenset({"Deployment", "StatefulSet", "ReplicaSet", "ReplicationController"})
_RUNS = frozenset({"Job", "CronJob"})
# Kinds that are only words inside the cluster; a kind that is not here and not priced is counted.
_FREE = frozenset(
    {
        "ConfigMap", "Secret", "ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding",
        "Namespace", "NetworkPolicy", "PodDisruptionBudget", "ResourceQuota", "LimitRange", "PriorityClass",
        "StorageClass", "CustomResourceDefinition", "HorizontalPodAutoscaler", "Endpoints",
    }
)  # fmt: skip
_ASSUMED = "nodes are filled by requests, so a pod costs its share of a node"


@dataclass(frozen=True)
class _Source:
    file: str
    usage: Usage
    facts: Callable[[str], MachineFacts | None]
    assumed: dict[str, None]


def read_manifests(
    content: bytes, *, file: str, usage: Usage, facts: Callable[[str], MachineFacts | None]
) -> Reading:
    """The objects of a file. Raises CheckInputError that names document and field.

    `facts`: the size of an instance type, None for one that is not known.
    """
    source = _Source(file, usage, facts, {})
    found: dict[str, Resource] = {}
    for place, row in _objects(content, file):
        one = _resource(row, place, source)
        if one.address in found:
            raise CheckInputError("is there twice", file=file, address=one.address, field="metadata.name")
        found[one.address] = one
    return Reading(tuple(found[name] for name in sorted(found)), tuple(source.assumed))


def _objects(content: bytes, file: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if len(content) > MAX_BYTES:
        raise CheckInputError(f"larger than {MAX_BYTES >> 20} MiB", file=file)
    try:
        text = content.decode("utf-8-sig")
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            if isinstance(event, yaml.AliasEvent):
                raise CheckInputError("aliases (*name) are not taken", file=file)
        documents = list(yaml.load_all(text, Loader=yaml.CBaseLoader))
    except UnicodeDecodeError as error:
        raise CheckInputError("not UTF-8 text", file=file) from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        raise CheckInputError(f"not YAML{where}", file=file) from error
    except RecursionError as error:
        raise CheckInputError("nested too deep", file=file) from error
    check_whole_text(documents, file=file)
    rows = [row for i, one in enumerate(documents) for row in _listed(one, f"document {i + 1}", file, 0)]
    if len(rows) > MAX_OBJECTS:
        raise CheckInputError(f"more than {MAX_OBJECTS} objects", file=file)
    yield from rows


def _listed(one: Any, place: str, file: str, depth: int) -> Iterator[tuple[str, dict[str, Any]]]:
    if one in (None, ""):
        return
    if not isinstance(one, dict) or not one.get("kind") or not isinstance(one["kind"], str):
        raise CheckInputError("not an object with a kind", file=file, address=place, field="kind")
    if one["kind"] == "List" or (one["kind"].endswith("List") and isinstance(one.get("items"), list)):
        items = one.get("items") or []
        if not isinstance(items, list) or depth > 3:
            raise CheckInputError("not a list", file=file, address=place, field="items")
        for i, row in enumerate(items):
            yield from _listed(row, f"{place}, item {i + 1}", file, depth + 1)
        return
    yield place, one


def _resource(row: Mapping[str, Any], place: str, source: _Source) -> Resource:
    kind = row["kind"]
    meta = _map(row.get("metadata"), place, "metadata", source)
    name = meta.get("name") or meta.get("generateName")
    if not isinstance(name, str) or not name:
        raise CheckInputError("has no name", file=source.file, address=place, field="metadata.name")
    space = meta.get("namespace")
    address = masked(f"{kind}/{space}/{name}" if isinstance(space, str) and space else f"{kind}/{name}")
    spec = _map(row.get("spec"), address, "spec", source)
    labels = _map(meta.get("labels"), address, "metadata.labels", source)
    tags = {str(key): value if isinstance(value, str) else "" for key, value in labels.items()}
    items, summary = _items(kind, spec, meta, address, source)
    word = word_of(source.usage.of(address), "interruptible")
    side = Side(
        items,
        tags,
        word_of(source.usage.of(address), "region"),
        summary,
        None if not word else word == "true",
        run_of(source.usage.of(address)),
    )
    return Resource(address, kind, "create", None, side, taggable=bool(items))


def _map(value: Any, address: str, field: str, source: _Source) -> Mapping[str, Any]:
    if isinstance(value, str | None) and value in _NONE:
        return {}
    if not isinstance(value, dict):
        raise CheckInputError("not a mapping", file=source.file, address=address, field=field)
    return value


def _items(
    kind: str, spec: Mapping[str, Any], meta: Mapping[str, Any], address: str, source: _Source
) -> tuple[tuple[Item, ...], str]:
    if kind in _REPEATED or kind == "Pod" or kind in _RUNS:
        pods, runs = _pods(kind, spec, address, source)
        made = [_share(pods, runs, address, source)]
        claims = spec.get("volumeClaimTemplates") if kind == "StatefulSet" else None
        for i, claim in enumerate(claims if isinstance(claims, list) else []):
            inner = _map(_map(claim, address, f"volumeClaimTemplates[{i}]", source).get("spec"),
                         address, f"volumeClaimTemplates[{i}].spec", source)  # fmt: skip
            made.append(
                _claim(inner, f"volume {i} storage", _replicas(spec, address, source), address, source)
            )
        return tuple(made), ""
    if kind == "PersistentVolumeClaim":
        return (_claim(spec, "storage", Range.of(1), address, source),), ""
    if kind == "Service" and spec.get("type") == "LoadBalancer":
        return _balancer(meta, address, source)
    if kind in _FREE or kind == "Service":
        return (), ""
    return (Item("all", "", (), None, f"no price is known for {kind}"),), ""


def _pods(
    kind: str, spec: Mapping[str, Any], address: str, source: _Source
) -> tuple[Mapping[str, Any], Range | None]:
    """The pod's spec and the pods that run at a time; None for work whose hours nobody stated."""
    said = source.usage.of(address)
    if kind == "Pod":
        return spec, Range.of(1)
    if kind == "CronJob":
        job = _map(spec.get("jobTemplate"), address, "spec.jobTemplate", source)
        spec = _map(job.get("spec"), address, "spec.jobTemplate.spec", source)
    template = _map(spec.get("template"), address, "spec.template", source)
    inner = _map(template.get("spec"), address, "spec.template.spec", source)
    if kind in _RUNS:
        return inner, Range.of(1) if amount_of(said, "runs_hours") else None
    return inner, _replicas(spec, address, source)


def _replicas(spec: Mapping[str, Any], address: str, source: _Source) -> Range:
    told = amount_of(source.usage.of(address), "replicas")
    value = spec.get("replicas")
    value = "1" if isinstance(value, str | None) and value in _NONE else value
    return told or Range.of(_quantity(value, address, "spec.replicas", source))


def _quantity(value: Any, address: str, field: str, source: _Source) -> Decimal:
    """500m, 1.5, 2Gi, 1e3 as a number."""
    match = _QUANTITY.fullmatch(value) if isinstance(value, str) and len(value) < 40 else None
    if match is None:
        raise CheckInputError(
            "not a quantity like 500m or 1Gi", file=source.file, address=address, field=field
        )
    number, suffix = Decimal(match[1]), match[2] or ""
    if suffix == "m":
        found = number / 1000
    elif suffix[:1] in {"e", "E"} and len(suffix) > 1:
        found = number.scaleb(int(suffix[1:]))
    else:
        found = number * _SUFFIX[suffix]
    if found > _MOST:
        raise CheckInputError("out of range", file=source.file, address=address, field=field)
    return found


def _requests(pod: Mapping[str, Any], name: str, address: str, source: _Source) -> Decimal | None:
    """What all containers ask for; None where one does not say (its limit stands for a request)."""
    sums: dict[str, Decimal | None] = {}
    for group in ("containers", "initContainers"):
        total: Decimal | None = Decimal(0)
        rows = pod.get(group)
        rows = [] if isinstance(rows, str | None) and rows in _NONE else rows
        if not isinstance(rows, list):
            raise CheckInputError("not a list", file=source.file, address=address, field=group)
        for i, container in enumerate(rows):
            field = f"{group}[{i}].resources"
            asked = _map(
                _map(container, address, f"{group}[{i}]", source).get("resources"), address, field, source
            )
            value = _map(asked.get("requests"), address, field, source).get(name)
            value = value or _map(asked.get("limits"), address, field, source).get(name)
            if value in (None, ""):
                if group == "containers":
                    total = None
                continue
            one = _quantity(value, address, f"{field}.{name}", source)
            if total is not None:
                total = max(total, one) if group == "initContainers" else total + one
        sums[group] = total
    main = sums["containers"]
    if main is None or not isinstance(pod.get("containers"), list) or not pod["containers"]:
        return None
    return max(main, sums["initContainers"] or Decimal(0))


def _selector(pod: Mapping[str, Any], *names: str) -> str:
    rows = pod.get("nodeSelector")
    for name in names:
        if isinstance(rows, dict) and isinstance(rows.get(name), str) and rows[name]:
            return str(rows[name])
    return ""


def _share(pod: Mapping[str, Any], count: Range | None, address: str, source: _Source) -> Item:
    """The part of a node that the pods take, in instance-hours a month."""
    said = source.usage.of(address)

    def unknown(reason: str) -> Item:
        return Item("pods", "instance-hour", (), None, reason)

    kind = _selector(pod, "node.kubernetes.io/instance-type") or word_of(said, "node_type")
    region = _selector(pod, "topology.kubernetes.io/region") or word_of(said, "region")
    if not kind or not region:
        return unknown("the node's type or region is not stated; usage node_type and region")
    facts = source.facts(kind)
    if facts is None:
        return unknown(f"the size of {kind} is not known")
    if count is None:
        return unknown("how long it runs a month is not stated; usage runs_hours")
    cpu, memory = (_requests(pod, name, address, source) for name in ("cpu", "memory"))
    if cpu is None or memory is None:
        return unknown("a container requests no cpu or memory")
    share = max(cpu / facts.vcpus, memory / (facts.memory_mib * 2**20))
    if share == 0:  # a request of 0 is none: it runs all the same
        return unknown("a container requests no cpu or memory")
    source.assumed[_ASSUMED] = None
    market = _selector(pod, "karpenter.sh/capacity-type", "eks.amazonaws.com/capacityType").lower()
    sku = Sku(MACHINE, region, kind, word_of(said, "operating_system") or "Linux/UNIX")
    hours = amount_of(said, "runs_hours") or hours_of(said)
    amount = hours.times(count).times(Range.of(share))
    return Item("pods", "instance-hour", (sku,), amount, market=SPOT if market == "spot" else ON_DEMAND)


def _claim(spec: Mapping[str, Any], component: str, count: Range, address: str, source: _Source) -> Item:
    said = source.usage.of(address)
    kind = word_of(said, "storage_class") or spec.get("storageClassName")
    region = word_of(said, "region")
    asked = _map(spec.get("resources"), address, "spec.resources", source)
    size = _map(asked.get("requests"), address, "spec.resources.requests", source).get("storage")
    # A size that is none is refused whatever else is not stated.
    told = size not in (None, "")
    gib = _quantity(size, address, "spec.resources.requests.storage", source) / 2**30 if told else None
    if not isinstance(kind, str) or not kind:
        return Item(
            component, "GiB-month", (), None, "the class of storage is the cluster's; usage storage_class"
        )
    if not region:
        return Item(component, "GiB-month", (), None, "the region is not stated; usage region")
    if gib is None:
        return Item(component, "GiB-month", (), None, "its size is not stated")
    return Item(component, "GiB-month", (Sku("ebs", region, kind, "storage"),), Range.of(gib).times(count))


def _balancer(meta: Mapping[str, Any], address: str, source: _Source) -> tuple[tuple[Item, ...], str]:
    """A network balancer where the annotation says so, else the classic one that AWS gives."""
    said = source.usage.of(address)
    notes = _map(meta.get("annotations"), address, "metadata.annotations", source)
    asked = str(notes.get("service.beta.kubernetes.io/aws-load-balancer-type") or "")
    kind = "network" if asked in {"nlb", "nlb-ip", "external"} else "classic"
    region = word_of(said, "region")
    if not region:
        return (Item("hours", "hour", (), None, "the region is not stated; usage region"),), kind
    detail, unit, name = (
        ("capacity", "LCU-hour", "lcu_hours") if kind == "network" else ("processed", "GiB", "gib_processed")
    )
    used = amount_of(said, name)
    sku = Sku("balancer", region, kind, detail)
    told = "" if used else f"{detail}: usage {name} is not stated"
    return (
        Item("hours", "hour", (Sku("balancer", region, kind, "hours"),), hours_of(said)),
        Item(detail, unit, (sku,), used, told),
    ), f"{kind} balancer"
