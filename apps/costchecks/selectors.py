"""Reading stored cost checks."""

from __future__ import annotations

from django.db.models import QuerySet

from apps.accounts.models import Organisation
from apps.costchecks.models import CostCheck


def cost_check_list(organisation: Organisation) -> QuerySet[CostCheck]:
    """The organisation's checks, newest first."""
    return CostCheck.objects.filter(organisation=organisation).select_related("team", "base")


def base_check(organisation: Organisation, *, project: str, kind: str, ref: str) -> CostCheck | None:
    """The newest check of a project on a branch; None where there is none."""
    return cost_check_list(organisation).filter(project=project, kind=kind, ref=ref).order_by("-pk").first()
