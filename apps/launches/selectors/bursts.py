"""Rules that buy help for queues, as every way in shows them."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet

from apps.accounts.models import Organisation
from apps.launches.models import OVER, Launch, LaunchBurst
from apps.launches.selectors.values import iso_or_none
from apps.launches.wording import burst_text


def burst_list(organisation: Organisation) -> QuerySet[LaunchBurst]:
    """The organisation's, by name."""
    return LaunchBurst.objects.filter(organisation=organisation).select_related("pool", "target", "team")


def burst_document(row: LaunchBurst) -> dict[str, Any]:
    """A rule and how its queue stood; `backlog_hours` null is work that nothing takes, or never judged."""
    helpers = Launch.objects.filter(plan__burst=row).exclude(state__in=OVER)
    return {
        "id": row.pk, "name": row.name, "pool": row.pool.name, "target": row.target.name,
        "team": row.team.slug if row.team else None, "start": row.start, "stop": row.stop, "most": row.most,
        "hours": row.hours, "job": row.job, "active": row.active, "bursting": row.bursting,
        "backlog_hours": row.backlog, "machines": helpers.count(), "judged_at": iso_or_none(row.judged_at),
        "why": row.message or None, "reason": burst_text(row.message),
    }  # fmt: skip
