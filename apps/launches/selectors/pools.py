"""Pools, devices, their work and stop schedules as every way in shows them."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext as _

from apps.accounts.models import Organisation
from apps.catalog.models import Device, Pool
from apps.launches.models import ScheduleTurn, StopSchedule, Work, WorkState
from apps.launches.selectors.values import decimal_text, iso, iso_or_none
from apps.launches.wording_pools import why_pool
from finops.engine.launches.pool import PoolChoice, Why
from finops.engine.launches.stop_schedule import SwitchPlan

# A device that asked within so long is there: it asks every half minute.
THERE = timedelta(minutes=3)


def pool_list(organisation: Organisation) -> QuerySet[Pool]:
    """The organisation's pools by name, with how much work waits and runs and how many devices there are."""
    return Pool.objects.filter(organisation=organisation).annotate(
        waits=Count("work", filter=Q(work__state=WorkState.QUEUED), distinct=True),
        runs=Count("work", filter=Q(work__state=WorkState.LEASED), distinct=True),
        machines=Count("devices", filter=Q(devices__revoked_at=None), distinct=True),
    )


def pool_find(organisation: Organisation, pool_id: int) -> Pool | None:
    """The organisation's own; None for any other."""
    return pool_list(organisation).filter(pk=pool_id).first()


def device_list(organisation: Organisation) -> QuerySet[Device]:
    """The organisation's devices that are not revoked, by pool and name."""
    rows = Device.objects.filter(pool__organisation=organisation, revoked_at=None)
    return rows.select_related("pool").order_by("pool__name", "name", "pk")


def device_find(organisation: Organisation, device_id: int) -> Device | None:
    """The organisation's own; None for any other."""
    rows = Device.objects.filter(pool__organisation=organisation).select_related("pool")
    return rows.filter(pk=device_id).first()


def pool_document(row: Pool) -> dict[str, Any]:
    """A pool; `hourly` is what an hour of a unit costs, null where that is not known."""
    per_work = None if row.hourly is None else row.hourly / Decimal(str(row.speed))
    return {
        "id": row.pk, "name": row.name, "kind": row.kind, "provider": row.provider or None,
        "region": row.region or None, "unit": row.unit, "units": row.units, "largest": row.largest,
        "machine": row.machine, "power": decimal_text(row.power), "wear": decimal_text(row.wear),
        "price": decimal_text(row.price), "hourly": decimal_text(row.hourly),
        "cost_per_work": decimal_text(None if per_work is None else per_work.quantize(Decimal("0.000001"))),
        "currency": row.currency, "speed": row.speed, "speed_source": row.speed_source or None,
        "interruptions_per_hour": row.interruptions_per_hour, "start_minutes": row.start_minutes,
        "window": row.window or None, "zone": row.zone or None, "days": row.days or None,
        "queue": row.queue or None, "active": row.active, "waiting": getattr(row, "waits", None),
        "running": getattr(row, "runs", None), "devices": getattr(row, "machines", None),
    }  # fmt: skip


def device_document(row: Device, now: datetime) -> dict[str, Any]:
    """A device; `there`: it asked within three minutes."""
    return {
        "id": row.pk, "name": row.name, "pool": row.pool.name, "prefix": row.prefix,
        "window": row.window or None, "zone": row.zone or None, "days": row.days or None,
        "idle_minutes": row.idle_minutes, "seen_at": iso_or_none(row.seen_at),
        "idle_seconds": row.idle_seconds, "there": row.seen_at is not None and now - row.seen_at <= THERE,
        "revoked_at": iso_or_none(row.revoked_at),
    }  # fmt: skip


def work_list(organisation: Organisation) -> QuerySet[Work]:
    """The organisation's work on own machines, newest first."""
    return Work.objects.filter(pool__organisation=organisation).select_related("pool", "device")


def work_document(row: Work) -> dict[str, Any]:
    """A piece of work."""
    return {
        "id": row.pk, "pool": row.pool.name, "name": row.document.get("name"), "state": row.state,
        "device": row.device.name if row.device else row.worker or None, "priority": row.priority,
        "created_at": iso(row.created_at), "started_at": iso_or_none(row.started_at),
        "ended_at": iso_or_none(row.ended_at), "lease": row.lease,
        "lease_until": iso_or_none(row.lease_until),
        "checkpoint": row.checkpoint or None, "share": row.share, "result": row.result, "tags": row.tags,
    }  # fmt: skip


def choice_document(one: PoolChoice) -> dict[str, Any]:
    """A pool for a piece of work: what it costs there and why it was taken or not."""
    return {
        "pool": one.offer.name,
        "kind": one.offer.kind,
        "taken": one.why is Why.TAKEN,
        "why": one.why,
        "reason": why_pool(one),
        "cost": _money(one.cost),
        "cost_per_work": _money(one.cost_per_work),
        "currency": one.offer.currency,
        "hours": None if one.hours is None else round(one.hours, 3),
        "finish": iso_or_none(one.finish),
        "slack_hours": None if one.slack_hours is None else round(one.slack_hours, 3),
    }


def _money(value: float | None) -> str | None:
    return None if value is None else decimal_text(Decimal(repr(value)).quantize(Decimal("0.000001")))


def schedule_list(organisation: Organisation) -> QuerySet[StopSchedule]:
    """The organisation's stop schedules by name."""
    return StopSchedule.objects.filter(organisation=organisation).select_related("target")


def schedule_find(organisation: Organisation, schedule_id: int) -> StopSchedule | None:
    """The organisation's own; None for any other."""
    return schedule_list(organisation).filter(pk=schedule_id).first()


def schedule_document(row: StopSchedule, plan: SwitchPlan, now: datetime) -> dict[str, Any]:
    """A schedule with how things should be now and what comes next."""
    return {
        "id": row.pk, "name": row.name, "state": row.state, "target": row.target.name, "region": row.region,
        "tag_key": row.tag_key, "tag_value": row.tag_value, "start": row.start or None,
        "stop": row.stop or None, "days": row.days, "zone": row.zone,
        "holidays": [one.isoformat() for one in row.holidays], "start_minutes": row.start_minutes,
        "dry_run": row.dry_run, "requested_by": row.requested_by, "approved_by": row.approved_by or None,
        "approved_at": iso_or_none(row.approved_at), "message": row.message, **preview_document(plan, now),
    }  # fmt: skip


def preview_document(plan: SwitchPlan, now: datetime) -> dict[str, Any]:
    """What a rule says: on or off at `now` (null: no opinion), hours a plain week, the next due times.

    Raises ValidationError for a time at the end of the calendar.
    """
    if not 1971 <= now.year <= 9990:
        raise ValidationError({"at": _("Out of range: %(value)s") % {"value": iso(now)}})
    on = plan.is_on(now)
    return {
        "on": on,
        "hours_a_week": plan.hours_a_week(),
        "next": [
            {"at": iso(one.due), "action": one.action}
            for one in plan.switches(now, now + timedelta(days=9))[:4]
        ],
    }


def turn_document(one: ScheduleTurn) -> dict[str, Any]:
    """A due time and what came of it."""
    return {
        "id": one.pk, "action": one.action, "due_at": iso(one.due_at), "state": one.state,
        "acted_at": iso_or_none(one.acted_at), "tries": one.tries, "machines": one.machines,
        "left": one.left, "message": one.message,
    }  # fmt: skip
