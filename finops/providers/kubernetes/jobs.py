"""A Job of batch/v1 from an offer and how the work starts; pure.

Quirks: names are DNS labels of 63 characters, label values 63 of a narrow alphabet, so what people wrote
rides in annotations. `suspend` keeps a Job from starting pods until it is switched off. A pod taken off its
node (`DisruptionTarget`) does not count against `backoffLimit`, other failures do. Node labels: well-known
ones for type and zone; for Spot or on-demand that of the cluster's node pools, which Karpenter, EKS and GKE
name differently: `CAPACITY_LABELS`. Sources: "Job", "Labels and Selectors", "Well-Known Labels" of the
Kubernetes documentation, read 2026-11.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from finops.providers.base import PermanentError

SPOT, ON_DEMAND = "spot", "on-demand"
CAPACITY_LABELS: dict[str, tuple[str, dict[str, str]]] = {
    "karpenter": ("karpenter.sh/capacity-type", {SPOT: "spot", ON_DEMAND: "on-demand"}),
    "eks": ("eks.amazonaws.com/capacityType", {SPOT: "SPOT", ON_DEMAND: "ON_DEMAND"}),
    "gke": ("cloud.google.com/gke-provisioning", {SPOT: "spot", ON_DEMAND: "standard"}),
}
# Nodes of one plan: pods ask for them by name, nothing else of the cluster strays onto them.
PLAN_TAINT = "offpeak.dev/plan"
# What a target's settings may name.
SETTINGS = frozenset({
    "namespace", "nodes", "selector", "tolerations", "priority_classes", "service_account", "price",
    "currency", "suspend", "by_type", "type", "spot_price",
})  # fmt: skip
_NAME = re.compile(r"[^a-z0-9]+")
NAMESPACE_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_VALUE = re.compile(r"[^A-Za-z0-9_.-]+")


def label_name(text: str, suffix: str = "") -> str:
    """A DNS label of what somebody wrote; a cut name keeps apart from another by eight digits of its hash.

    >>> label_name("Nightly Training #2")
    'nightly-training-2'
    """
    plain = _NAME.sub("-", text.lower()).strip("-") or "job"
    room = 63 - (len(suffix) + 1 if suffix else 0)
    if len(plain) > room:
        plain = f"{plain[: room - 9].rstrip('-')}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    return f"{plain}-{suffix}" if suffix else plain


def label_value(text: str) -> str:
    """A label's value of what somebody wrote: at most 63 of letters, digits, `_`, `.` and `-`."""
    return _VALUE.sub("-", text)[:63].strip("-_.")


def job_manifest(
    *,
    name: str,
    namespace: str,
    offer: Mapping[str, Any],
    container: Mapping[str, Any],
    settings: Mapping[str, Any],
    labels: Mapping[str, str],
    annotations: Mapping[str, str],
    priority: int = 0,
    count: int = 1,
    seconds: int | None = None,
    retries: int = 0,
    suspend: bool = False,
) -> dict[str, Any]:
    """The Job. Raises PermanentError where the work has no container image.

    `container`: image, command, args, env, cpu, memory, gpus, volumes are the cluster's own matter.
    `seconds`: after so many it is ended; `retries`: failures of its own that are tried again.
    """
    pod: dict[str, Any] = {"restartPolicy": "Never"}
    if selector := node_selector(offer, settings):
        pod["nodeSelector"] = selector
    if tolerations := settings.get("tolerations"):
        pod["tolerations"] = list(tolerations)
    if klass := priority_class(priority, settings):
        pod["priorityClassName"] = klass
    if account := settings.get("service_account"):
        pod["serviceAccountName"] = str(account)
    pod["containers"] = [_container(container)]
    spec: dict[str, Any] = {
        "parallelism": count,
        "completions": count,
        "backoffLimit": retries,
        "suspend": suspend,
        "podFailurePolicy": {
            "rules": [
                {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
            ]
        },
        "template": {"metadata": {"labels": dict(labels), "annotations": dict(annotations)}, "spec": pod},
    }
    if seconds is not None:
        spec["activeDeadlineSeconds"] = max(1, seconds)
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": dict(labels),
            "annotations": dict(annotations),
        },
        "spec": spec,
    }


def node_selector(offer: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, str]:
    """Which nodes: those of the offer's market, type (where the cluster has it by type) and zone."""
    found: dict[str, str] = {str(key): str(value) for key, value in (settings.get("selector") or {}).items()}
    label, words = CAPACITY_LABELS.get(str(settings.get("nodes") or ""), ("", {}))
    if label:
        found[label] = words[str(offer["market"])]
    if offer.get("type") and settings.get("by_type", True):
        found["node.kubernetes.io/instance-type"] = str(offer["type"])
    if offer.get("zone_name"):
        found["topology.kubernetes.io/zone"] = str(offer["zone_name"])
    return found


def priority_class(priority: int, settings: Mapping[str, Any]) -> str:
    """The cluster's class with the highest value that is not above `priority`, "" for none named.

    `priority_classes`: name to the priority (0-1000) from which it is taken.
    """
    classes = settings.get("priority_classes") or {}
    fit = [(int(value), str(name)) for name, value in classes.items() if int(value) <= priority]
    return max(fit)[1] if fit else ""


def _container(container: Mapping[str, Any]) -> dict[str, Any]:
    image = str(container.get("image") or "").strip()
    if not image:
        raise PermanentError("The work names no container image.")
    found: dict[str, Any] = {"name": "work", "image": image}
    for key in ("command", "args"):
        if words := container.get(key):
            found[key] = ["/bin/sh", "-c", words] if isinstance(words, str) else [str(one) for one in words]
    if environment := container.get("env"):
        found["env"] = [{"name": str(key), "value": str(value)} for key, value in environment.items()]
    wants = {name: str(container[name]) for name in ("cpu", "memory") if container.get(name)}
    limits = dict(wants)
    if container.get("gpus"):
        limits["nvidia.com/gpu"] = str(container["gpus"])
    if limits:
        found["resources"] = {"requests": {**wants, **{k: limits[k] for k in limits if k not in wants}},
                              "limits": limits}  # fmt: skip
    return found


def settings_faults(settings: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with a target's settings, by name; {} for nothing."""
    faults = {str(name): "There is no such setting." for name in settings if name not in SETTINGS}
    if settings.get("nodes") not in (None, "", *CAPACITY_LABELS):
        faults["nodes"] = f"One of {', '.join(CAPACITY_LABELS)}."
    if settings.get("spot_price") is not None and not settings.get("nodes"):
        faults["spot_price"] = "Say in `nodes` how the cluster labels Spot nodes."
    for name in ("selector", "priority_classes"):
        if not isinstance(settings.get(name, {}), Mapping):
            faults[name] = "An object of names and values."
    if isinstance(classes := settings.get("priority_classes", {}), Mapping) and not all(
        isinstance(value, int) and 0 <= value <= 1000 for value in classes.values()
    ):
        faults["priority_classes"] = "Each class with a priority from 0 to 1000."
    if not NAMESPACE_NAME.fullmatch(str(settings.get("namespace", "default"))):
        faults["namespace"] = "A namespace: lower-case letters, digits and -."
    tolerations = settings.get("tolerations", [])
    if not isinstance(tolerations, Sequence) or isinstance(tolerations, str):
        faults["tolerations"] = "A list of tolerations."
    return faults
