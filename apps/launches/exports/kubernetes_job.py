"""A plan as a Kubernetes Job: the same as our executor sends, without what is only ours."""

from __future__ import annotations

from typing import Any

from apps.launches.exports.documents import dumped
from apps.launches.exports.sheet import Sheet
from finops.providers.kubernetes.jobs import PLAN_TAINT, job_manifest, label_value

# The nodes of the NodePool that the same plan gives.
_ELSEWHERE: dict[str, Any] = {
    "nodes": "karpenter",
    "tolerations": [{"key": PLAN_TAINT, "operator": "Exists", "effect": "NoSchedule"}],
}


def kubernetes_job(sheet: Sheet) -> str:
    """One document. Raises PermanentError where the work names no container image."""
    plan = sheet.plan
    settings = dict(sheet.settings) if plan.target.executor == "kubernetes" else _ELSEWHERE
    return dumped(
        job_manifest(
            name=sheet.slug,
            namespace=str(settings.get("namespace") or "default"),
            offer=sheet.offer,
            container=sheet.container,
            settings=settings,
            labels={"app.kubernetes.io/managed-by": "offpeak", "offpeak.dev/plan": label_value(str(plan.pk))},
            annotations={
                f"offpeak.dev/{key.rpartition(':')[2].lower()}": text for key, text in sheet.tags.items()
            },
            priority=plan.priority,
            count=plan.count,
            seconds=None if plan.deadline_hours is None else round(plan.deadline_hours * 3600),
            retries=int(plan.retry.get("attempts") or 0),
        )
    )
