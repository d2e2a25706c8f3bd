"""A plan taken elsewhere: the same machines as an AWS CLI call, Terraform, a Karpenter NodePool, a Kubernetes
Job or a SkyPilot task. Each is text to copy; what a plan lacks for one of them is said instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from apps.launches.exports.aws_cli import aws_cli
from apps.launches.exports.karpenter import karpenter
from apps.launches.exports.kubernetes_job import kubernetes_job
from apps.launches.exports.sheet import Sheet, sheet_of
from apps.launches.exports.skypilot import skypilot
from apps.launches.exports.terraform import terraform
from apps.launches.models import LaunchPlan
from finops.providers.base import ProviderError


@dataclass(frozen=True)
class Export:
    """`text` is "" where it cannot be made; `reason` then says what is missing."""

    name: str
    title: str
    filename: str
    text: str
    reason: str = ""


_MAKERS: dict[str, tuple[str, str, Callable[[Sheet], str]]] = {
    "aws-cli": ("AWS CLI", "sh", aws_cli),
    "terraform": ("Terraform", "tf", terraform),
    "karpenter": ("Karpenter", "yaml", karpenter),
    "kubernetes": ("Kubernetes Job", "yaml", kubernetes_job),
    "skypilot": ("SkyPilot", "yaml", skypilot),
}
FORMATS = tuple(_MAKERS)


def plan_exports(plan: LaunchPlan) -> list[Export]:
    """Every form of a plan, in their order."""
    return [plan_export(plan, name) for name in FORMATS]


def plan_export(plan: LaunchPlan, name: str) -> Export:
    """One form. Raises KeyError for another name than those of FORMATS."""
    title, ending, make = _MAKERS[name]
    try:
        sheet = sheet_of(plan)
        return Export(name, title, f"{sheet.slug}.{ending}", make(sheet))
    except ProviderError as error:
        return Export(name, title, "", "", str(error))


__all__ = ["FORMATS", "Export", "plan_export", "plan_exports"]
