"""Requests of Kubernetes workloads against what they use, as findings."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from apps.accounts.models import Organisation
from apps.recommendations.services.document import Document
from apps.waste.selectors import cluster_uses
from apps.waste.wording import unjudged_text

RULE = "kubernetes-requests"


@dataclass
class Outcomes:
    """Findings, and why there are none."""

    findings: list[Document] = field(default_factory=list)
    not_judged: list[Document] = field(default_factory=list)


def cluster_outcomes(organisation: Organisation | None, moment: datetime) -> Outcomes:
    """What the stored uses of clusters tell."""
    if not cluster_uses(organisation).exists():
        reason = unjudged_text("no-cluster", {})
        return Outcomes(
            not_judged=[{"rule": RULE, "resource": None, "reason": reason, "reason_code": "no-cluster"}]
        )
    return Outcomes()
