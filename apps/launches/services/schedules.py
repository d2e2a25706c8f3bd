"""Stop schedules: asked for, approved, paused, and carried out by the clock."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Membership, Organisation
from apps.accounts.roles import Action, allowed
from apps.accounts.services import audit_record
from apps.launches.models import Executor as Kind
from apps.launches.models import (
    LaunchGuard,
    LaunchTarget,
    ScheduleState,
    ScheduleTurn,
    StopSchedule,
    TurnState,
)
from apps.launches.services.clock_words import clock_fault
from apps.launches.services.executors import aws_access
from apps.launches.services.said import said
from apps.recommendations.services.stated import only_from, state_move
from finops.engine.launches.stop_schedule import START, STOP, Switch, SwitchPlan
from finops.providers.aws.names import is_region
from finops.providers.aws.switching import Switched, open_switcher
from finops.providers.base import ProviderError, TransientError

State = ScheduleState
MOST_TRIES = 5
# A turn whose worker died is taken up again after so long.
TAKEN = timedelta(minutes=10)
MOST_HOLIDAYS = 400
# (target, region) -> what stops and starts there; tests give their own.
Switching = Callable[[LaunchTarget, str], Any]


def switch_plan(row: StopSchedule) -> SwitchPlan:
    """The rule of a schedule."""
    return SwitchPlan.parse(
        start=row.start, stop=row.stop, zone=row.zone, days=row.days,
        holidays=frozenset(row.holidays), start_minutes=row.start_minutes,
    )  # fmt: skip


def checked_plan(
    *, start: str, stop: str, days: str, zone: str, holidays: Iterable[date] = (), start_minutes: int = 30
) -> SwitchPlan:
    """The rule of these words. Raises ValidationError by field."""
    given = {"start": start.strip(), "stop": stop.strip(), "zone": zone.strip(), "days": days.strip()}
    dates = frozenset(holidays)
    if len(dates) > MOST_HOLIDAYS:
        raise ValidationError({"holidays": _("At most %(n)d.") % {"n": MOST_HOLIDAYS}})
    try:
        return SwitchPlan.parse(**given, holidays=dates, start_minutes=start_minutes)
    except ValueError as error:
        raise clock_fault(error, start=given["start"], stop=given["stop"]) from error


def schedule_request(
    *,
    organisation: Organisation,
    actor: Actor,
    target: LaunchTarget | None,
    name: str,
    region: str,
    tag_key: str,
    tag_value: str,
    start: str = "",
    stop: str = "",
    days: str = "mon-fri",
    zone: str,
    now: datetime,
    holidays: Iterable[date] = (),
    start_minutes: int = 30,
    dry_run: bool = False,
) -> StopSchedule:
    """Ask for a schedule; it does nothing before it is approved. Raises ValidationError by field."""
    if target is None or target.organisation_id != organisation.pk or target.executor != Kind.AWS:
        raise ValidationError({"target": _("There is no such account of AWS in this organisation.")})
    if not is_region(region):
        raise ValidationError({"region": _("A region such as us-east-1.")})
    words = " ".join(name.split())
    if not 1 <= len(words) <= 100:
        raise ValidationError({"name": _("Give it a name of at most 100 characters.")})
    if not tag_key.strip() or tag_key.startswith("aws:") or not tag_value.strip():
        raise ValidationError(
            {"tag_key": _("Name a tag of your own and its value: by it machines are found.")}
        )
    if not 1 <= start_minutes <= 1440:
        raise ValidationError({"start_minutes": _("Between 1 and %(most)d.") % {"most": 1440}})
    dates = sorted(set(holidays))
    checked_plan(start=start, stop=stop, days=days, zone=zone, holidays=dates, start_minutes=start_minutes)
    try:
        with transaction.atomic():
            row = StopSchedule.objects.create(
                organisation=organisation, target=target, name=words, region=region, tag_key=tag_key.strip(),
                tag_value=tag_value.strip(), start=start.strip(), stop=stop.strip(), days=days.strip(),
                zone=zone.strip(), holidays=dates, start_minutes=start_minutes, dry_run=dry_run,
                stated_at=now, requested_at=now, requested_kind=actor.kind, requested_id=actor.id,
                requested_by=actor.label,
            )  # fmt: skip
            _audit(row, actor, "request", before=None)
    except IntegrityError as error:
        raise ValidationError({"name": _("There is a schedule of this name.")}) from error
    return row


def schedule_approve(*, schedule: StopSchedule, membership: Membership, now: datetime) -> StopSchedule:
    """One person's yes: it holds from now on. Raises ValidationError."""
    only_from(schedule, State.REQUESTED)
    if (
        not allowed(membership, Action.APPROVE_SPEND)
        or membership.organisation_id != schedule.organisation_id
    ):
        raise ValidationError({"state": _("Your role does not approve.")})
    actor = Actor.of_user(membership.user)
    fields = {"approved_by": actor.label, "approved_at": now, "settled_until": now}
    _move(schedule, State.APPROVED, now, actor, "approve", fields)
    return schedule


def schedule_pause(*, schedule: StopSchedule, actor: Actor, now: datetime) -> StopSchedule:
    """Nothing is stopped or started until it is resumed. Raises ValidationError."""
    only_from(schedule, State.APPROVED)
    _move(schedule, State.PAUSED, now, actor, "pause", {})
    return schedule


def schedule_resume(*, schedule: StopSchedule, actor: Actor, now: datetime) -> StopSchedule:
    """It holds again from now on: what was due meanwhile is not caught up. Raises ValidationError."""
    only_from(schedule, State.PAUSED)
    _move(schedule, State.APPROVED, now, actor, "resume", {"settled_until": now})
    return schedule


def schedule_cancel(*, schedule: StopSchedule, actor: Actor, now: datetime) -> StopSchedule:
    """It ends for good. Raises ValidationError."""
    only_from(schedule, State.REQUESTED, State.APPROVED, State.PAUSED)
    _move(schedule, State.CANCELLED, now, actor, "cancel", {})
    return schedule


def schedule_trial(
    *, schedule: StopSchedule, now: datetime, switching: Switching | None = None
) -> dict[str, Switched]:
    """What it would stop and start now: the provider is asked, nothing is changed. Raises ProviderError."""
    switcher = (switching or _aws)(schedule.target, schedule.region)
    tag = (schedule.tag_key, schedule.tag_value)
    actions = [STOP] * bool(schedule.stop) + [START] * bool(schedule.start)
    return {action: switcher.switch(action, tag=tag, trial=True) for action in actions}


def schedules_settle(*, now: datetime) -> list[int]:
    """Rows for the due times of all schedules in force; ids of turns to carry out, older ones too."""
    for pk in list(StopSchedule.objects.filter(state=State.APPROVED).values_list("pk", flat=True)):
        with transaction.atomic():
            row = (
                StopSchedule.objects.select_for_update(skip_locked=True)
                .filter(pk=pk, state=State.APPROVED, settled_until__lt=now)
                .first()
            )
            if row is not None and row.settled_until is not None:
                judged = switch_plan(row).judge(settled_until=row.settled_until, now=now)
                _write(row, judged.missed, TurnState.MISSED)
                _write(row, [judged.run] if judged.run else [], TurnState.DUE)
                row.settled_until = now
                row.save(update_fields=["settled_until"])
    return list(
        ScheduleTurn.objects.filter(state=TurnState.DUE).order_by("due_at").values_list("pk", flat=True)
    )


def _write(row: StopSchedule, switches: Iterable[Switch], state: str) -> None:
    turns = [ScheduleTurn(schedule=row, action=one.action, due_at=one.due, state=state) for one in switches]
    ScheduleTurn.objects.bulk_create(turns, ignore_conflicts=True)


def turn_run(*, turn_id: int, now: datetime, switching: Switching | None = None) -> str:
    """Carry out one due time; "" where somebody else has it. The approval is read again here."""
    with transaction.atomic():
        turn = (
            ScheduleTurn.objects.select_for_update(skip_locked=True, of=("self",))
            .select_related("schedule__target", "schedule__organisation")
            .filter(pk=turn_id, state=TurnState.DUE)
            .first()
        )
        if turn is None or (turn.acted_at is not None and now - turn.acted_at < TAKEN and turn.tries > 0):
            return ""
        stop = _why_not(turn, now)
        if stop:
            return _ends(turn, TurnState.MISSED, now, message=stop)
        if turn.tries >= MOST_TRIES:
            return _ends(turn, TurnState.FAILED, now, message=turn.message or _("Tried too often."))
        turn.tries, turn.acted_at = turn.tries + 1, now
        turn.save(update_fields=["tries", "acted_at"])
    row = turn.schedule
    try:
        switcher = (switching or _aws)(row.target, row.region)
        found = switcher.switch(turn.action, tag=(row.tag_key, row.tag_value), trial=row.dry_run)
    except ProviderError as error:
        if isinstance(error, TransientError) and turn.tries < MOST_TRIES:
            # Open for the next look: what was switched already is then as asked for.
            ScheduleTurn.objects.filter(pk=turn.pk, state=TurnState.DUE).update(
                acted_at=None, message=said(error)
            )
            return TurnState.DUE
        return _ends(turn, TurnState.FAILED, now, message=str(error))
    state = TurnState.TRIED if row.dry_run else TurnState.FAILED if _all_left(found) else TurnState.DONE
    return _ends(turn, state, now, machines=found.switched, left=found.left)


def _all_left(found: Switched) -> bool:
    return bool(found.left) and not found.switched and not found.already


def _why_not(turn: ScheduleTurn, now: datetime) -> str:
    """Why a due time is not carried out any more, in words; "" to go on."""
    row = turn.schedule
    if row.state != State.APPROVED:
        return str(_("The schedule is not in force."))
    if ScheduleTurn.objects.filter(schedule=row, due_at__gt=turn.due_at).exists():
        return str(_("A later due time took its place."))
    if not row.target.active:
        return str(_("The target is switched off."))
    if turn.action == STOP:
        return ""
    if LaunchGuard.objects.filter(organisation=row.organisation_id, frozen=True).exists():
        return str(_("Launches are frozen: nothing is started."))
    plan = switch_plan(row)
    on = plan.is_on(now)
    if on is False or (on is None and now - turn.due_at > plan.start_deadline):
        return str(_("Its window is over."))
    return ""


def _ends(turn: ScheduleTurn, state: str, now: datetime, **fields: Any) -> str:
    with transaction.atomic():
        changed = ScheduleTurn.objects.filter(pk=turn.pk, state=TurnState.DUE).update(
            state=state, acted_at=now, **{**fields, "message": said(fields.get("message", ""))}
        )
        if changed:
            audit_record(
                organisation=turn.schedule.organisation, actor=Actor.system("stop schedules"),
                action=f"stop_schedule.{turn.action}", target=turn.schedule,
                after={"due_at": turn.due_at, "state": state, **fields},
            )  # fmt: skip
    return state


def _aws(target: LaunchTarget, region: str) -> Any:
    return open_switcher(aws_access(target), region=region, account=target.account)


def _audit(row: StopSchedule, actor: Actor, verb: str, *, before: Any) -> None:
    facts = ("name", "state", "region", "tag_key", "tag_value", "start", "stop", "days", "zone", "dry_run")
    audit_record(
        organisation=row.organisation, actor=actor, action=f"stop_schedule.{verb}", target=row,
        before=None if before is None else {"state": before},
        after={name: getattr(row, name) for name in facts},
    )  # fmt: skip


def _move(
    row: StopSchedule, state: str, now: datetime, actor: Actor, verb: str, fields: dict[str, Any]
) -> None:
    if not state_move(row, state, now, actor, verb, audit=partial(_audit), fields=fields):
        only_from(row)
