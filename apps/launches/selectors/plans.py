"""Plans of an organisation and the approvals that stand."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet

from apps.accounts.models import Organisation
from apps.accounts.roles import Action
from apps.launches.models import LaunchPlan, LaunchTarget, PlanApproval
from apps.launches.selectors.values import decimal_text, iso, iso_or_none
from apps.recommendations.selectors.approvals import standing


def plan_list(organisation: Organisation, state: str = "") -> QuerySet[LaunchPlan]:
    """The organisation's plans, newest first."""
    rows = LaunchPlan.objects.filter(organisation=organisation).select_related(
        "target", "team", "owner", "workload"
    )
    return rows.filter(state=state) if state else rows


def plan_find(organisation: Organisation, plan_id: int) -> LaunchPlan | None:
    """The organisation's own; None for any other."""
    return plan_list(organisation).filter(pk=plan_id).first()


def target_list(organisation: Organisation) -> QuerySet[LaunchTarget]:
    """Where the organisation runs machines, by name."""
    return LaunchTarget.objects.filter(organisation=organisation)


def standing_approvals(plan: LaunchPlan) -> list[PlanApproval]:
    """The approvals that count now: of active members who still hold the role they approved in and whose
    role may approve.
    """
    return standing(
        plan.approvals.select_related("user"),
        organisation_id=plan.organisation_id,
        action=Action.APPROVE_SPEND,
        in_role=True,
    )


def places_of(plan: LaunchPlan) -> dict[str, str]:
    """Zones of a plan by their id, as their account names them: plan and actual speak of one place alike."""
    offers = plan.document.get("offers") or []
    return {
        str(one["zone"]): str(one["zone_name"]) for one in offers if one.get("zone") and one.get("zone_name")
    }


def plan_document(plan: LaunchPlan) -> dict[str, Any]:
    """A plan in short; money as decimal texts in `currency`, null is not known."""
    return {
        "id": plan.pk,
        "name": plan.name,
        "state": plan.state,
        "stated_at": iso(plan.stated_at),
        "message": plan.message,
        "team": plan.team.slug if plan.team else None,
        "owner": plan.owner.email if plan.owner else None,
        "workload": plan.workload_id,
        "target": plan.target.name,
        "executor": plan.target.executor,
        "count": plan.count,
        "gang": plan.gang,
        "hours": plan.hours,
        "priority": plan.priority,
        "preemption": plan.preemption,
        "due_at": iso(plan.due_at),
        "start_minutes": plan.start_minutes,
        "deadline_hours": plan.deadline_hours,
        "repeat": plan.repeat or None,
        "clock": plan.clock or None,
        "timezone": plan.timezone or None,
        "cost_low": decimal_text(plan.cost_low),
        "cost": decimal_text(plan.cost),
        "cost_high": decimal_text(plan.cost_high),
        "currency": plan.currency or None,
        "budget": decimal_text(plan.budget),
        "checkpoint": {
            "location": plan.checkpoint_location or None,
            "marker": plan.checkpoint_marker or None,
        },
        "retry": plan.retry,
        "requested_by": plan.requested_by,
        "requested_at": iso(plan.requested_at),
        "approvals_needed": plan.approvals_needed,
        "approved_by_rule": plan.approved_by_rule_id,
        "valid_until": iso(plan.valid_until),
        "reason": plan.reason,
        "dry_run": plan.trial,
    }


def plan_detail(plan: LaunchPlan) -> dict[str, Any]:
    """A plan with the job, the advice it rests on, its approvals and launches."""
    return {
        **plan_document(plan),
        "job": plan.job,
        **plan.document,
        "approvals": [
            {"by": one.user.email, "role": one.role, "at": iso(one.at)}
            for one in (plan.approvals.select_related("user") if plan.pk else ())
        ],
        "launches": [
            {"id": one.pk, "due_at": iso(one.due_at), "part": one.part, "state": one.state,
             "ended_at": iso_or_none(one.ended_at)}
            for one in (plan.launches.order_by("due_at", "part") if plan.pk else ())
        ],
    }  # fmt: skip
