"""Help for queues of own machines: bought on demand when the backlog passes a limit, ended when it drains.

A tick reads each queue under a lock of its rule, so two at once buy once. What is bought is a plan like any
other: guards, budgets and approvals hold, and what waits for a person counts as asked for. A helper that is
idle for ten minutes ends, with nothing left the help scales to zero; what a helper had in hand is handed out
again by its lease.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Sum
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation, Team
from apps.accounts.services import audit_record
from apps.catalog.models import Device, Pool, PoolUse
from apps.launches.models import (
    OVER,
    Launch,
    LaunchBurst,
    LaunchPlan,
    LaunchState,
    LaunchTarget,
    PlanState,
    Work,
    WorkState,
)
from apps.launches.services.approving import plan_cancel
from apps.launches.services.burst_jobs import job_faults
from apps.launches.services.outcomes import launch_over
from apps.launches.services.planning import plan_make
from apps.launches.services.wishes import wish_of
from finops.engine.launches.burst import BurstRule, BurstStep, QueueSeen, backlog_hours, step_burst
from finops.engine.workload import WorkloadError
from finops.frames.launches import JOB

log = structlog.get_logger(__name__)
BUYER = Actor.system("queue burst")
# A device that asked within so long takes work.
THERE = timedelta(minutes=3)
# Work of which nobody said how long it is.
UNTOLD_HOURS = 1.0
MOST = 1000
INACTIVE = "inactive"
MOST_HOURS = 10_000


def burst_save(
    *, organisation: Organisation, actor: Actor, name: str, pool: Pool, target: LaunchTarget,
    team: Team | None, start: float, stop: float, most: int, hours: float, job: Mapping[str, Any],
    active: bool = True,
) -> LaunchBurst:  # fmt: skip
    """Name a rule that buys help, or change it. Raises ValidationError by field."""
    words = " ".join(name.split())
    _check(organisation, words, pool, target, start, stop, most, hours, job)
    values = {
        "pool": pool, "target": target, "team": team, "start": start, "stop": stop, "most": most,
        "hours": hours, "job": dict(job), "active": active,
    }  # fmt: skip
    try:
        with transaction.atomic():
            return _write(organisation, actor, words, values)
    except IntegrityError as error:
        if "launch_burst_once" not in str(error):
            raise
        raise ValidationError({"name": _("This name is in use. Choose another.")}) from error


def _write(organisation: Organisation, actor: Actor, name: str, values: Mapping[str, Any]) -> LaunchBurst:
    row = (
        LaunchBurst.objects.select_for_update(of=("self",))
        .filter(organisation=organisation, name=name)
        .first()
    )
    before = None if row is None else _facts(row)
    row = row or LaunchBurst(organisation=organisation, name=name)
    for field, value in values.items():
        setattr(row, field, value)
    _told(row)
    row.save()
    if before != _facts(row):
        audit_record(
            organisation=organisation, actor=actor, action="launch_burst.save", target=row,
            before=before, after=_facts(row),
        )  # fmt: skip
    return row


def _told(row: LaunchBurst) -> None:
    """What a rule says of itself until the next look: that it is off, or nothing yet."""
    if not row.active:
        row.message = INACTIVE
    elif row.message == INACTIVE:
        row.message = ""


def burst_switch(*, burst: LaunchBurst, actor: Actor, active: bool) -> LaunchBurst:
    """Switch a rule off or on. Off: the next look ends what help there is once it is idle, and buys none."""
    with transaction.atomic():
        row = LaunchBurst.objects.select_for_update(of=("self",)).select_related("pool", "target", "team")
        found = row.get(pk=burst.pk)
        if found.active != active:
            found.active = active
            _told(found)
            found.save(update_fields=["active", "message"])
            audit_record(
                organisation=burst.organisation, actor=actor, action="launch_burst.switch", target=found,
                before={"active": not active}, after={"active": active},
            )  # fmt: skip
    return found


def bursts_tick(*, now: datetime) -> dict[str, int]:
    """Look at every queue with a rule; how many machines were asked for and ended."""
    done = {"asked": 0, "ended": 0}
    for pk in LaunchBurst.objects.values_list("pk", flat=True):
        try:
            asked, ended = burst_step(burst_id=pk, now=now)
        except Exception:  # one queue's odd rule must not keep the others without help
            log.exception("burst_broken", burst=pk)
            continue
        done["asked"] += asked
        done["ended"] += ended
    return done


def burst_step(*, burst_id: int, now: datetime) -> tuple[int, int]:
    """(machines asked for, machines ended) by one look at one queue."""
    with transaction.atomic():
        row = (
            LaunchBurst.objects.select_for_update(of=("self",))
            .select_related("organisation", "pool", "target", "team")
            .get(pk=burst_id)
        )
        ended = _end_old(row, now)
        seen = queue_seen(row, now)
        backlog = backlog_hours(seen.waiting, seen.own)
        if not row.active:
            seen = QueueSeen(0.0, seen.own, seen.bought, seen.idle, row.bursting, row.idle_since)
        step = step_burst(BurstRule(row.start, row.stop, row.most), seen, now=now)
        row.bursting, row.idle_since, row.judged_at = step.bursting, step.idle_since, now
        row.backlog = backlog if math.isfinite(backlog) else None
        row.message = str(step.why) if row.active else INACTIVE
        asked = _buy(row, step, now) if step.start else 0
        row.save(update_fields=["bursting", "idle_since", "judged_at", "backlog", "message", "turn"])
        if not step.bursting:
            ended += _withdraw(row, now)
        if step.end:
            ended += _end(row, step.end, now)
    return asked, ended


def queue_seen(row: LaunchBurst, now: datetime) -> QueueSeen:
    """The queue as it is: unit-hours that wait, own units, bought ones and how many have nothing to do."""
    work = Work.objects.filter(pool=row.pool)
    held = work.filter(state=WorkState.LEASED).count()
    own = _own_units(row.pool, now)
    helpers = _helpers(row)
    running = helpers.filter(state=LaunchState.RUNNING).count()
    waiting = LaunchPlan.objects.filter(burst=row, state=PlanState.REQUESTED, valid_until__gt=now)
    asked_for = int(waiting.aggregate(machines=Sum("count"))["machines"] or 0)
    # Own machines are taken to be at work first: a helper that may be at work is not ended.
    busy = max(0, held - own)
    return QueueSeen(
        waiting=_waiting_hours(row.pool),
        own=float(own),
        bought=helpers.count() + asked_for,
        idle=max(0, running - busy),
        bursting=row.bursting,
        idle_since=row.idle_since,
    )


def _waiting_hours(pool: Pool) -> float:
    rows = list(Work.objects.filter(pool=pool, state=WorkState.QUEUED).values_list("tags", "share"))
    jobs = {str(tags.get(JOB, "")) for tags, _share in rows}
    numbers = [int(job) for job in jobs if job.isascii() and job.isdigit() and len(job) < 19]
    hours = {
        str(pk): hours - done
        for pk, hours, done in Launch.objects.filter(pk__in=numbers).values_list("pk", "hours", "done_hours")
    }
    return sum(max(0.0, hours.get(str(tags.get(JOB)), UNTOLD_HOURS)) * (1 - share) for tags, share in rows)


def _own_units(pool: Pool, now: datetime) -> int:
    if not pool.active:
        return 0
    if pool.kind == PoolUse.DEVICE:
        return Device.objects.filter(pool=pool, revoked_at=None, seen_at__gt=now - THERE).count()
    return pool.units or 1


def _helpers(row: LaunchBurst) -> Any:
    return Launch.objects.filter(plan__burst=row).exclude(state__in=OVER)


def _buy(row: LaunchBurst, step: BurstStep, now: datetime) -> int:
    """Ask for so many machines; one plan a turn, the same turn again gives the same plan."""
    row.turn += 1
    reason = _("The queue of %(pool)s is long.") % {"pool": row.pool.name}
    given = {
        **row.job, "name": f"{row.name} {row.turn}", "hours": row.hours, "count": step.start,
        "interruptible": False, "start": now, "reason": reason,
        "request_key": f"burst-{row.pk}-{row.turn}",
    }  # fmt: skip
    try:
        with transaction.atomic():
            wish = wish_of(given, organisation=row.organisation, team=row.team, owner=None, target=row.target)
            plan = plan_make(organisation=row.organisation, actor=BUYER, wish=wish, now=now)
    except WorkloadError as error:
        row.message = f"{error.field}: {error.message}"[:500]
        return 0
    except ValidationError as error:
        row.message = " ".join(error.messages)[:500]
        return 0
    LaunchPlan.objects.filter(pk=plan.pk).update(burst=row)
    return step.start


def _withdraw(row: LaunchBurst, now: datetime) -> int:
    """Help that waits for a person, or has no machine yet, and is no longer needed."""
    count = 0
    for plan in LaunchPlan.objects.filter(burst=row, state=PlanState.REQUESTED):
        plan_cancel(plan=plan, actor=BUYER, now=now, reason=_("The queue has drained."))
        count += plan.count
    for one in _locked(_helpers(row).filter(state__in=[LaunchState.QUEUED, LaunchState.INTERRUPTED])):
        _over(one, LaunchState.CANCELLED, now)
        count += 1
    return count


def _end(row: LaunchBurst, most: int, now: datetime) -> int:
    """End helpers that run, the newest first: the next look at their machines ends those."""
    running = _locked(_helpers(row).filter(state=LaunchState.RUNNING).order_by("-first_started_at", "-pk"))
    for one in running[:most]:
        _over(one, LaunchState.COMPLETED, now)
    return min(most, len(running))


def _end_old(row: LaunchBurst, now: datetime) -> int:
    """End helpers that have lived their hours; where help is needed still, new ones are asked for."""
    late = now - timedelta(hours=row.hours)
    old = _locked(_helpers(row).filter(state=LaunchState.RUNNING, first_started_at__lte=late))
    for one in old:
        _over(one, LaunchState.COMPLETED, now)
    return len(old)


def _locked(rows: Any) -> list[Launch]:
    return list(rows.select_for_update(of=("self",)).select_related("plan"))


def _over(one: Launch, state: LaunchState, now: datetime) -> None:
    launch_over(one, state, now, "drained", {})
    one.claims += 1
    one.save()


def _check(
    organisation: Organisation, name: str, pool: Pool, target: LaunchTarget, start: float, stop: float,
    most: int, hours: float, job: Mapping[str, Any],
) -> None:  # fmt: skip
    faults: dict[str, str] = {}
    if not 1 <= len(name) <= 80 or "\x00" in name:
        faults["name"] = _("A name of at most %(n)d characters.") % {"n": 80}
    if pool.organisation_id != organisation.pk or pool.kind not in {PoolUse.OWN, PoolUse.DEVICE}:
        faults["pool"] = _("A pool of own servers or idle devices.")
    if target.organisation_id != organisation.pk or target.executor not in {"aws", "simulated", "kubernetes"}:
        faults["target"] = _("A place that sells machines on demand.")
    if not (math.isfinite(stop) and 0 <= stop <= MOST_HOURS):
        faults["stop"] = _("Hours of backlog, from 0 to 10000.")
    elif not (math.isfinite(start) and stop <= start <= MOST_HOURS):
        faults["start"] = _("Hours of backlog, from where the help ends to 10000.")
    if not 1 <= most <= MOST:
        faults["most"] = _("Between 1 and %(most)d.") % {"most": MOST}
    if not (math.isfinite(hours) and 0 < hours <= 720):
        faults["hours"] = _("Hours, above 0 and at most 720.")
    if not faults:
        faults = job_faults(job, target=target, hours=hours)
    if faults:
        raise ValidationError(faults)


def _facts(row: LaunchBurst) -> dict[str, Any]:
    return {
        "name": row.name, "pool": row.pool.name, "target": row.target.name,
        "team": row.team.slug if row.team else None, "start": row.start, "stop": row.stop, "most": row.most,
        "hours": row.hours, "job": row.job, "active": row.active,
    }  # fmt: skip
