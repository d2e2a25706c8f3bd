"""A plan as a NodePool of Karpenter (karpenter.sh/v1): its machines and nothing else, gone when empty."""

from __future__ import annotations

from apps.catalog.selectors import instance_type_facts
from apps.launches.exports.documents import dumped
from apps.launches.exports.sheet import Sheet
from finops.providers.kubernetes.jobs import PLAN_TAINT, label_value


def karpenter(sheet: Sheet) -> str:
    """One document. It names the EC2NodeClass `default`: the cluster's own."""
    offers = sheet.plan.document.get("offers") or []
    types = _distinct(offer.get("type") for offer in offers if offer["market"] == sheet.offer["market"])
    zones = _distinct(offer.get("zone_name") for offer in offers if offer["market"] == sheet.offer["market"])
    markets = _distinct(offer["market"] for offer in offers)
    needs = [
        ("karpenter.sh/capacity-type", markets),
        ("node.kubernetes.io/instance-type", types),
        ("topology.kubernetes.io/zone", zones),
    ]
    return dumped({
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": sheet.slug},
        "spec": {
            "template": {
                "metadata": {"labels": {PLAN_TAINT: label_value(sheet.slug)}},
                "spec": {
                    "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
                    "requirements": [
                        {"key": key, "operator": "In", "values": values} for key, values in needs if values
                    ],
                    "taints": [{"key": PLAN_TAINT, "value": label_value(sheet.slug), "effect": "NoSchedule"}],
                    "expireAfter": f"{max(1, int(sheet.plan.hours * 2) + 1)}h",
                },
            },
            **_limits(sheet, types),
            "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "1m"},
        },
    })  # fmt: skip


def _limits(sheet: Sheet, types: list[str]) -> dict[str, dict[str, str]]:
    """As many vCPUs as the plan's machines have; none where a type's size is not known."""
    facts = instance_type_facts(types)
    if not types or len(facts) < len(types):
        return {}
    return {"limits": {"cpu": str(max(one.vcpus for one in facts.values()) * sheet.plan.count)}}


def _distinct(values: object) -> list[str]:
    return [str(one) for one in dict.fromkeys(values) if one]  # type: ignore[call-overload]
