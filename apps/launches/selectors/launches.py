"""Launches as every way in shows them: the queue, one launch with its timeline, the calendar."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.launches.models import (
    OVER,
    WAITING,
    Attempt,
    AttemptState,
    Launch,
    LaunchEvent,
    LaunchState,
    Market,
)
from apps.launches.selectors.values import decimal_text, iso, iso_or_none
from apps.launches.wording import event_text, late_text, why_text


def launch_rows(organisation: Organisation, filters: Mapping[str, Any] | None = None) -> QuerySet[Launch]:
    """The organisation's launches, the last due first.

    `filters`: state (one or a list), team (slug), plan (id), target (name), due_from, due_to (half-open),
    asks (true: those that need more than was approved).
    """
    runs = Attempt.objects.filter(launch=OuterRef("pk"), state=AttemptState.RUNNING, beside=False)
    rows = (
        Launch.objects.filter(organisation=organisation)
        .select_related("plan__target", "plan__team", "plan__owner", "plan__workload")
        .annotate(market_now=Subquery(runs.values("market")[:1]))
    )
    given = {name: value for name, value in (filters or {}).items() if value not in (None, "", [])}
    asks = given.pop("asks", None)
    if asks is not None:
        more = Q(asked_high__isnull=False, state__in=WAITING)
        rows = rows.filter(more if asks else ~more)
    lookups = {
        "state": "state__in", "team": "plan__team__slug", "plan": "plan_id", "target": "plan__target__name",
        "due_from": "due_at__gte", "due_to": "due_at__lt",
    }  # fmt: skip
    for name, value in given.items():
        wanted = [value] if name == "state" and isinstance(value, str) else value
        rows = rows.filter(**{lookups[name]: wanted})
    return rows.order_by("-due_at", "-pk")


def launch_find(organisation: Organisation, launch_id: int) -> Launch | None:
    """The organisation's own; None for any other."""
    return launch_rows(organisation).filter(pk=launch_id).first()


def queue_reason(launch: Launch, now: datetime) -> str:
    """Why a launch waits, what it does or how it ended, in the reader's language; "" for nothing to say."""
    if launch.state in WAITING and not launch.why:
        if launch.next_at > now:
            return why_text("due", {"at": iso(launch.next_at)})
        return why_text("hand_out", {})
    if launch.state == LaunchState.COMPLETED and launch.ended_at and launch.deadline:
        late = launch.ended_at - launch.deadline
        if late > timedelta(0):
            return late_text(late)
    return why_text(launch.why, launch.why_values) or _going(launch)


def _going(launch: Launch) -> str:
    """What a launch does that waits for nothing."""
    if launch.state == LaunchState.CLAIMED:
        return _("A worker starts it now.")
    if launch.state != LaunchState.RUNNING:
        return ""
    if launch.on_demand:
        return _("It runs on demand.")
    offers = launch.plan.document.get("offers") or []
    has_spot = any(one.get("market") == Market.SPOT for one in offers)
    # Known of rows of `launch_rows`; of others nothing is said.
    dear = has_spot and getattr(launch, "market_now", None) == Market.ON_DEMAND
    return _("It runs on demand for now.") if dear else _("It runs.")


def queue_reasons(organisation: Organisation, now: datetime) -> list[tuple[Launch, str]]:
    """What waits and why, in the order in which workers take it."""
    rows = launch_rows(organisation, {"state": [str(one) for one in WAITING]})
    return [(one, queue_reason(one, now)) for one in rows.order_by("next_at", "-priority", "pk")]


def calendar_of(organisation: Organisation, start: datetime, end: datetime) -> list[Launch]:
    """Launches due in [start, end), by due time. Turns of repeating plans are made a week ahead."""
    return list(launch_rows(organisation, {"due_from": start, "due_to": end}).order_by("due_at", "pk"))


def launch_document(launch: Launch, now: datetime) -> dict[str, Any]:
    """A launch in short; the plan's costs are divided by its machines."""
    plan, count = launch.plan, Decimal(launch.plan.parts)
    return {
        "id": launch.pk,
        "plan": plan.pk,
        "name": plan.name,
        "team": plan.team.slug if plan.team else None,
        "owner": plan.owner.email if plan.owner else None,
        "target": plan.target.name,
        "part": launch.part,
        "due_at": iso(launch.due_at),
        "start_by": iso(launch.start_by),
        "deadline": iso_or_none(launch.deadline),
        "priority": launch.priority,
        "state": launch.state,
        "stated_at": iso(launch.stated_at),
        "next_at": iso(launch.next_at) if launch.state in WAITING else None,
        "why": launch.why or None,
        "reason": queue_reason(launch, now),
        "hours": launch.hours,
        "done_hours": launch.done_hours,
        "on_demand": launch.on_demand,
        "first_started_at": iso_or_none(launch.first_started_at),
        "ended_at": iso_or_none(launch.ended_at),
        "planned": {
            name: decimal_text(None if value is None else value / count)
            for name, value in (("low", plan.cost_low), ("expected", plan.cost), ("high", plan.cost_high))
        },
        "asked_high": decimal_text(launch.asked_high),
        "approved_high": decimal_text(launch.approved_high),
        "paid": decimal_text(launch.paid),
        "currency": launch.currency or plan.currency or None,
        "lost_hours": launch.lost_hours,
        "lost_cost": decimal_text(launch.lost_cost),
    }


def launch_detail(launch: Launch, now: datetime) -> dict[str, Any]:
    """A launch with its attempts, checkpoints and timeline, plan against actual."""
    attempts = list(launch.attempts.prefetch_related("checkpoints").order_by("number"))
    return {
        **launch_document(launch, now),
        "attempts": [attempt_document(one) for one in attempts],
        "timeline": [event_document(one) for one in launch.events.all()],
        "plan_against_actual": _against(launch, attempts),
    }


def attempt_document(one: Attempt) -> dict[str, Any]:
    """One call, with what it was to do and what came of it."""
    return {
        "number": one.number,
        "state": one.state,
        "region": one.region or None,
        "zone": one.zone or None,
        "type": one.instance_type or None,
        "market": one.market,
        "price": decimal_text(one.price),
        "currency": one.currency or None,
        "token": one.token,
        "tags": one.tags,
        "parameters": one.parameters,
        "prepared_at": iso(one.prepared_at),
        "called_at": iso_or_none(one.called_at),
        "looks": one.looks,
        "machine": one.machine or None,
        "machines": one.count,
        "members": one.members,
        "started_at": iso_or_none(one.started_at),
        "noticed_at": iso_or_none(one.noticed_at),
        "ended_at": iso_or_none(one.ended_at),
        "ending": one.ending or None,
        "code": one.code or None,
        "message": one.message,
        "paid": decimal_text(one.paid),
        "lost_hours": one.lost_hours,
        "checkpoints": [
            {
                "at": iso(mark.at),
                "name": mark.name or None,
                "work_hours": mark.work_hours,
                "marked_at": iso_or_none(mark.marked_at),
            }
            for mark in one.checkpoints.all()
        ],
    }


def event_document(one: LaunchEvent) -> dict[str, Any]:
    """A line of a timeline."""
    return {
        "at": iso(one.at),
        "kind": one.kind,
        "text": event_text(one.kind, one.document),
        "document": one.document,
    }


def _against(launch: Launch, attempts: list[Attempt]) -> dict[str, Any]:
    """What was planned beside what was: start, cost of one machine, market, interruptions."""
    plan = launch.plan
    offers = plan.document.get("offers") or [{}]
    ran = [one for one in attempts if one.started_at is not None]
    late = None
    if launch.first_started_at is not None:
        late = round((launch.first_started_at - launch.due_at).total_seconds(), 3)
    # What is still to come would make a saving of what is not run yet.
    known = launch.state in OVER and launch.paid is not None and plan.cost is not None
    return {
        "start": {
            "planned": iso(launch.due_at),
            "actual": iso_or_none(launch.first_started_at),
            "late_seconds": late,
        },
        "market": {"planned": offers[0].get("market"), "actual": sorted({one.market for one in ran})},
        "cost": {
            "planned": decimal_text(None if plan.cost is None else plan.cost / plan.parts),
            "actual": decimal_text(launch.paid),
            "difference": decimal_text(launch.paid - plan.cost / plan.parts) if known else None,
        },
        "interruptions": sum(one.ending == "interrupted" for one in attempts),
        "refusals": sum(one.state == AttemptState.REFUSED for one in attempts),
        "lost_hours": launch.lost_hours,
        "in_time": None
        if launch.deadline is None or launch.state != LaunchState.COMPLETED or launch.ended_at is None
        else launch.ended_at <= launch.deadline,
    }
