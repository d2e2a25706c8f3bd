"""Reading stored cost checks and the policies they are held against."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Q, QuerySet

from apps.accounts.models import Organisation, Team
from apps.costchecks.models import CheckPolicy, CostCheck


def cost_check_list(organisation: Organisation) -> QuerySet[CostCheck]:
    """The organisation's checks, newest first."""
    return CostCheck.objects.filter(organisation=organisation).select_related("team", "base")


def cost_check_rows(organisation: Organisation) -> QuerySet[CostCheck]:
    """The same without the documents, which may have megabytes each: what a list shows is in `summary`."""
    return cost_check_list(organisation).defer("document", "state", "base__document", "base__state")


def check_policy_list(organisation: Organisation) -> QuerySet[CheckPolicy]:
    """The organisation's stored policies, oldest first."""
    return CheckPolicy.objects.filter(organisation=organisation).select_related("team")


def stored_policies(organisation: Organisation, team: Team | None) -> QuerySet[CheckPolicy]:
    """Those that a check of the team (None: of nobody's) is held against, in the order they were set."""
    whose = Q(team__isnull=True) if team is None else Q(team__isnull=True) | Q(team=team)
    return check_policy_list(organisation).filter(whose).order_by("pk")


def base_check(
    organisation: Organisation, *, project: str, kind: str, ref: str, at: datetime
) -> CostCheck | None:
    """The newest check of a project on a branch that was decided by `at`; None where there is none."""
    rows = cost_check_list(organisation).filter(project=project, kind=kind, ref=ref, at__lte=at)
    return rows.order_by("-pk").first()
