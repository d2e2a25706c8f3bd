"""Rules that buy help for queues, as every way in shows them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from apps.accounts.models import Organisation
from apps.launches.models import OVER, WAITING, Launch, LaunchBurst, LaunchPlan, LaunchState, PlanState
from apps.launches.selectors.launches import queue_reason
from apps.launches.selectors.values import decimal_text, iso_or_none
from apps.launches.wording_pools import burst_asks, burst_held, burst_reason
from finops.text.display import money


def burst_list(organisation: Organisation) -> QuerySet[LaunchBurst]:
    """The organisation's, by name."""
    return LaunchBurst.objects.filter(organisation=organisation).select_related("pool", "target", "team")


def burst_find(organisation: Organisation, burst_id: int) -> LaunchBurst | None:
    """The organisation's own; None for any other."""
    return burst_list(organisation).filter(pk=burst_id).first()


def burst_document(row: LaunchBurst, now: datetime) -> dict[str, Any]:
    """A rule and how its queue stood; `backlog_hours` null is work that nothing takes, or never judged.

    `machines` are asked for, start or run, `running` of them run; `plan` is the newest that is not over,
    `waits_for` why its machines are not there yet, null where nothing waits.
    """
    helpers, plan = _open(row), _plan_of(row, now)
    return {
        "id": row.pk, "name": row.name, "pool": row.pool.name, "target": row.target.name,
        "team": row.team.slug if row.team else None, "start": row.start, "stop": row.stop, "most": row.most,
        "hours": row.hours, "job": row.job, "active": row.active, "bursting": row.bursting,
        "backlog_hours": row.backlog, "machines": helpers.count(),
        "running": helpers.filter(state=LaunchState.RUNNING).count(),
        "plan": None if plan is None else {
            "id": plan.pk, "state": plan.state, "machines": plan.count,
            "cost_high": decimal_text(plan.cost_high), "currency": plan.currency or None,
        },
        "waits_for": _waits_for(row, plan, now), "judged_at": iso_or_none(row.judged_at),
        "why": row.message or None, "reason": burst_reason(row.message),
    }  # fmt: skip


def _plan_of(row: LaunchBurst, now: datetime) -> LaunchPlan | None:
    """The newest plan that waits for its approval or has launches that are not over."""
    rows = LaunchPlan.objects.filter(burst=row).order_by("-pk")
    asked = rows.filter(state=PlanState.REQUESTED, valid_until__gt=now).first()
    return asked or rows.filter(pk__in=_open(row).values("plan")).first()


def _open(row: LaunchBurst) -> QuerySet[Launch]:
    return Launch.objects.filter(plan__burst=row).exclude(state__in=OVER)


def _waits_for(row: LaunchBurst, plan: LaunchPlan | None, now: datetime) -> str | None:
    if plan is not None and plan.state == PlanState.REQUESTED:
        high = None if plan.cost_high is None else money(plan.cost_high, plan.currency, decimals=2)
        return burst_asks(plan.pk, plan.count, high)
    held = _open(row).filter(state__in=WAITING).select_related("plan").order_by("next_at", "pk").first()
    return None if held is None else burst_held(held.pk, queue_reason(held, now))
