"""Due times of plans become rows, rows that are too late are missed, plans without open launches are done."""

from __future__ import annotations

from datetime import datetime, timedelta

import structlog
from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now

from apps.launches.models import OVER, WAITING, Launch, LaunchPlan, LaunchState, PlanState
from apps.launches.selectors.values import iso
from apps.launches.services.outcomes import launch_over
from apps.launches.services.timeline import launch_event, plan_event
from finops.engine.calendar import local_instant, parse_clock, parse_days, zone_of
from finops.engine.launches.due import judge_due

log = structlog.get_logger(__name__)
# So far ahead the calendar shows turns of repeating plans.
AHEAD = timedelta(days=7)
# Turns that a plan made up for at once after a long outage; the years before are one line.
CATCH_UP = timedelta(days=400)


def due_times(plan: LaunchPlan, start: datetime, end: datetime) -> list[datetime]:
    """Due times of a plan in (start, end]; the first one is `due_at`. Each date is converted on its own."""
    found = [plan.due_at] if start < plan.due_at <= end else []
    if not plan.repeat:
        return found
    zone, minutes, days = zone_of(plan.timezone), parse_clock(plan.clock), parse_days(plan.repeat)
    begin = max(start, plan.due_at)
    day = begin.astimezone(zone).date() - timedelta(days=1)
    while True:
        at = local_instant(day, minutes, zone)
        if at > end:
            return found
        if at > begin and day.weekday() in days:
            found.append(at)
        day += timedelta(days=1)


def turns_make(*, now: datetime) -> int:
    """Rows for the due times of approved plans, a week ahead; how many were made."""
    made = 0
    waiting = Q(made_until__isnull=True) | ~Q(repeat="") & Q(made_until__lt=now + AHEAD - timedelta(hours=1))
    for pk in LaunchPlan.objects.filter(waiting, state=PlanState.APPROVED).values_list("pk", flat=True):
        try:
            made += plan_turns(plan_id=pk, now=now)
        except Exception:  # a plan that cannot be read must not keep the others from being due
            log.exception("plan_turns_broken", plan=pk)
    return made


def plan_turns(*, plan_id: int, now: datetime) -> int:
    """The rows of one plan. Of due times in the past only the newest may still run; the others are missed."""
    with transaction.atomic():
        plan = LaunchPlan.objects.select_for_update().get(pk=plan_id)
        if plan.state != PlanState.APPROVED:
            return 0
        until = now + AHEAD if plan.repeat else plan.due_at
        start = max(plan.made_until or plan.due_at - timedelta(microseconds=1), now - CATCH_UP)
        if plan.made_until is None:
            start = min(start, plan.due_at - timedelta(microseconds=1))
        times = due_times(plan, start, until)
        patience = timedelta(minutes=plan.start_minutes)
        judged = judge_due(times, now=now, start_deadline=patience)
        for at in times:
            for part in range(1, plan.parts + 1):
                _make(plan, at, part, missed=at in judged.missed, now=now)
        plan.made_until = max(until, plan.made_until or until)
        plan.save(update_fields=["made_until"])
    return len(times) * plan.parts


def _make(plan: LaunchPlan, at: datetime, part: int, *, missed: bool, now: datetime) -> None:
    row, made = Launch.objects.get_or_create(
        plan=plan,
        due_at=at,
        part=part,
        defaults={
            "organisation_id": plan.organisation_id,
            "hours": plan.hours,
            "start_by": at + timedelta(minutes=plan.start_minutes),
            "deadline": None if plan.deadline_hours is None else at + timedelta(hours=plan.deadline_hours),
            "priority": plan.priority,
            "stated_at": now,
            "next_at": at,
        },
    )
    if made:
        launch_event(row, "made", at=iso(at))
        if missed:
            _miss(row, now)


def missed_end(*, now: datetime) -> int:
    """Launches that could not start by their start deadline, by the database's clock; how many.

    Of several turns of a repeating plan that are due only the newest runs: all at once would be as many
    machines.
    """
    waiting = Launch.objects.filter(state__in=WAITING, first_started_at__isnull=True)
    newer = Launch.objects.filter(
        plan=OuterRef("plan"), part=OuterRef("part"), due_at__gt=OuterRef("due_at"), due_at__lte=Now()
    )
    count = 0
    for rows, why in (
        (waiting.filter(start_by__lt=Now()), "missed"),
        (waiting.filter(~Q(plan__repeat=""), Exists(newer)), "superseded"),
    ):
        for pk in list(rows.values_list("pk", flat=True)):
            with transaction.atomic():
                row = waiting.select_for_update().filter(pk=pk).first()
                if row is not None:
                    _miss(row, now, why)
                    count += 1
    return count


def _miss(row: Launch, now: datetime, why: str = "missed") -> None:
    launch_over(row, LaunchState.MISSED, now, why, {"at": iso(row.start_by)})
    row.save()


def plans_end(*, now: datetime) -> int:
    """Plans whose launches are all over are done; what nobody approved in time has expired."""
    open_rows = Launch.objects.filter(plan=OuterRef("pk")).exclude(state__in=OVER)
    done = LaunchPlan.objects.filter(
        ~Exists(open_rows), state=PlanState.APPROVED, repeat="", made_until__isnull=False
    ).update(state=PlanState.DONE, stated_at=now)
    late = LaunchPlan.objects.filter(state__in=[PlanState.DRAFT, PlanState.REQUESTED], valid_until__lte=now)
    for plan in late:
        plan_event(plan, "expired")
    return done + late.update(state=PlanState.EXPIRED, stated_at=now)
