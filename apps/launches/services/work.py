"""Work for own machines: handed out by lease, renewed, yielded, finished once, taken back from the silent.

A lease is a number that counts hand-outs. Whoever names another number than the present one changes nothing:
a machine that was away too long cannot write over the one that has the work now. Every call may come twice.
Times are the database's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from apps.catalog.models import Device, Pool
from apps.launches.models import WORK_OVER, Work, WorkEvent, WorkState
from finops.engine.calendar import ClockWindow

# A machine renews three times in a lease; one that falls silent is taken the work from after it.
LEASE = timedelta(seconds=120)
# So long before its window ends a device is told to write a checkpoint and yield.
NOTICE = timedelta(minutes=3)
# Windows that follow each other are looked for so far ahead: more than a lease and a notice take.
AHEAD = timedelta(days=1)
MAX_RESULT = 16 * 1024
State = WorkState


class LeaseLostError(Exception):
    """The work is somebody else's by now, or over; `state` says which."""

    def __init__(self, state: str) -> None:
        super().__init__(state)
        self.state = state


@dataclass(frozen=True)
class Standing:
    """Whether a device may work now: `until` when its window ends, None for no end."""

    may: bool
    reason: str
    until: datetime | None = None


def device_standing(device: Device, *, idle_seconds: int, now: datetime) -> Standing:
    """Whether a device may have work: not revoked, its pool in use, in its window, nobody uses it."""
    if device.revoked_at is not None:
        return Standing(False, "revoked")
    if not device.pool.active:
        return Standing(False, "pool_off")
    until: datetime | None = None
    for of in (device.pool, device):
        if not of.window:
            continue
        window = ClockWindow.of(of.window, of.zone, of.days)
        open_now = next((one for one in window.openings(now, now + AHEAD) if now in one), None)
        if open_now is None:
            return Standing(False, "outside_window")
        until = open_now.end if until is None else min(until, open_now.end)
    if until is not None and until - now <= NOTICE:
        return Standing(False, "window_ends", until)
    if idle_seconds < device.idle_minutes * 60:
        return Standing(False, "in_use", until)
    return Standing(True, "", until)


def device_seen(device: Device, *, idle_seconds: int, now: datetime) -> None:
    """Note that a device spoke."""
    Device.objects.filter(pk=device.pk).update(seen_at=now, idle_seconds=idle_seconds)


def work_poll(*, device: Device, idle_seconds: int, now: datetime) -> tuple[Work | None, str]:
    """(the device's work, "") or (None, why it gets none). Asked again, it gets the same work again."""
    device_seen(device, idle_seconds=idle_seconds, now=now)
    mine = Work.objects.filter(device=device, state=State.LEASED, lease_until__gt=now).first()
    standing = device_standing(device, idle_seconds=idle_seconds, now=now)
    if mine is not None:
        return mine, ""
    if not standing.may:
        return None, standing.reason
    try:
        found = work_claim(pool=device.pool, device=device, worker=device.name, now=now, until=standing.until)
    except IntegrityError:
        # The device asked twice at once: one of the two has it.
        found = Work.objects.filter(device=device, state=State.LEASED, lease_until__gt=now).first()
    return (found, "") if found is not None else (None, "nothing_waits")


def work_claim(
    *,
    pool: Pool,
    worker: str,
    now: datetime,
    device: Device | None = None,
    until: datetime | None = None,
    only: int | None = None,
) -> Work | None:
    """Lease the most urgent piece of work that waits, or whose machine fell silent; None for none."""
    lapsed = Q(state=State.LEASED, lease_until__lte=now)
    with transaction.atomic():
        if device is not None:
            # What this device let lapse must not stand in the way of its next lease.
            work_take_back(now=now, device=device)
        rows = Work.objects.select_for_update(skip_locked=True).filter(
            Q(state=State.QUEUED) | lapsed, pool=pool
        )
        if only is not None:
            rows = rows.filter(pk=only)
        work = rows.order_by("-priority", "pk").first()
        if work is None:
            return None
        work.state, work.device, work.worker = State.LEASED, device, worker[:200]
        work.lease += 1
        work.leased_at, work.lease_until = now, _until(now, until)
        work.started_at = work.started_at or now
        work.save()
        _event(work, "leased", worker=work.worker)
    return work


def _until(now: datetime, ends: datetime | None) -> datetime:
    return now + LEASE if ends is None else min(now + LEASE, ends)


def work_renew(
    *, work_id: int, lease: int, now: datetime, device: Device | None = None, idle_seconds: int | None = None
) -> tuple[Work, str]:
    """(the work, "") to go on, or (the work, why to checkpoint and yield). Raises LeaseLostError."""
    until, reason = None, ""
    if device is not None and idle_seconds is not None:
        device_seen(device, idle_seconds=idle_seconds, now=now)
        # Work itself is not use: only input of a person makes a device busy, from the first touch on.
        standing = device_standing(device, idle_seconds=idle_seconds, now=now)
        until, reason = standing.until, "" if standing.may else standing.reason
    with transaction.atomic():
        work = _held(work_id, lease, device, now)
        work.lease_until = _until(now, until)
        work.save(update_fields=["lease_until"])
    return work, reason


def work_checkpoint(
    *, work_id: int, lease: int, checkpoint: str, share: float, now: datetime, device: Device | None = None
) -> Work:
    """Keep a checkpoint that is written; one that holds less than the last changes nothing."""
    with transaction.atomic():
        work = _held(work_id, lease, device, now)
        if share >= work.share:
            work.checkpoint, work.share = checkpoint[:1000], min(1.0, share)
            work.save(update_fields=["checkpoint", "share"])
            _event(work, "checkpoint", share=work.share)
    return work


def work_yield(*, work_id: int, lease: int, reason: str, now: datetime, device: Device | None = None) -> Work:
    """Give the work back: it waits again, from its last checkpoint."""
    with transaction.atomic():
        work = Work.objects.select_for_update().get(pk=work_id)
        if work.state == State.QUEUED and work.lease == lease:
            return work
        work = _held(work_id, lease, device, now)
        _requeue(work, "yielded", reason=reason[:200])
    return work


def work_finish(
    *,
    work_id: int,
    lease: int,
    succeeded: bool,
    result: Mapping[str, Any],
    now: datetime,
    device: Device | None = None,
) -> Work:
    """Write the result, once. Said again for the same lease it changes nothing; for another it is refused,
    so what ran twice is counted once. Raises LeaseLostError.
    """
    with transaction.atomic():
        work = Work.objects.select_for_update().get(pk=work_id)
        own = device is None or work.device_id == device.pk
        if work.state in (State.DONE, State.FAILED) and work.lease == lease and own:
            return work
        if work.state != State.LEASED or work.lease != lease or not own:
            _event(work, "late_result", worker=device.name if device else "", said=lease)
            lost = work.state
        else:
            work.state = State.DONE if succeeded else State.FAILED
            work.ended_at, work.result = now, dict(result)
            if succeeded:
                work.share = 1.0
            work.save()
            _event(work, work.state)
            return work
    raise LeaseLostError(lost)


def work_cancel(*, work: Work, now: datetime) -> None:
    """Nobody needs it any more; whoever has it is told at the next renewal. One that is over stays so."""
    with transaction.atomic():
        row = Work.objects.select_for_update().get(pk=work.pk)
        if row.state not in WORK_OVER:
            row.state, row.ended_at = State.CANCELLED, now
            row.save(update_fields=["state", "ended_at"])
            _event(row, "cancelled")


def work_take_back(*, now: datetime, device: Device | None = None) -> int:
    """Queue again what silent machines had; how many."""
    with transaction.atomic():
        rows = Work.objects.select_for_update(skip_locked=True).filter(
            state=State.LEASED, lease_until__lte=now
        )
        if device is not None:
            rows = rows.filter(device=device)
        found = list(rows)
        for work in found:
            _requeue(work, "taken_back", worker=work.worker)
    return len(found)


def _requeue(work: Work, kind: str, **document: Any) -> None:
    work.state, work.lease_until = State.QUEUED, None
    work.save(update_fields=["state", "lease_until"])
    _event(work, kind, **document)


def _held(work_id: int, lease: int, device: Device | None, now: datetime) -> Work:
    """The locked row of who has it. A lease that lapsed but that nobody took yet is still good."""
    work = Work.objects.select_for_update().filter(pk=work_id).first()
    if work is None:
        raise LeaseLostError("gone")
    if work.state != State.LEASED or work.lease != lease:
        raise LeaseLostError(work.state)
    if device is not None and work.device_id != device.pk:
        raise LeaseLostError("another")
    return work


def result_checked(result: Any) -> dict[str, Any]:
    """A small object. Raises ValidationError."""
    if not isinstance(result, dict) or len(json.dumps(result)) > MAX_RESULT:
        raise ValidationError({"result": _("An object of at most %(n)d bytes.") % {"n": MAX_RESULT}})
    return result


def _event(work: Work, kind: str, **document: Any) -> None:
    WorkEvent.objects.create(work=work, kind=kind, lease=work.lease, document=document)
