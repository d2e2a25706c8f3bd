"""Stop schedules: when machines are on, what comes next, what was stopped, started and missed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from apps.accounts.access import access
from apps.accounts.actors import Actor
from apps.accounts.middleware import SignedInRequest
from apps.accounts.roles import Action, allowed
from apps.dashboard.forms_pools import ScheduleForm
from apps.dashboard.tabs import LAUNCHES_TABS
from apps.dashboard.views.spend import organisation_of
from apps.launches.models import ScheduleState, ScheduleTurn, StopSchedule, TurnState
from apps.launches.selectors.plans import target_list
from apps.launches.selectors.pools import schedule_find, schedule_list
from apps.launches.services import schedules
from finops.providers.base import ProviderError

State = ScheduleState
A_LIST = 50
VERDICTS = {
    State.REQUESTED: "warn",
    State.APPROVED: "pass",
    State.PAUSED: "unknown",
    State.CANCELLED: "plain",
}
TURNS = {
    TurnState.DUE: "warn",
    TurnState.DONE: "pass",
    TurnState.TRIED: "unknown",
    TurnState.FAILED: "deny",
    TurnState.MISSED: "warn",
}


@access(Action.VIEW)
def schedules_page(request: HttpRequest) -> HttpResponse:
    """All of them."""
    return _list(request)


@access(Action.VIEW)
def schedule_page(request: HttpRequest, schedule_id: int) -> HttpResponse:
    """One with its due times."""
    return _one(request, _find(request, schedule_id))


@require_POST
@access(Action.LAUNCH)
def schedule_keep(request: HttpRequest) -> HttpResponse:
    """Ask for one."""
    organisation = organisation_of(request)
    form = ScheduleForm(request.POST, organisation=organisation)
    if form.is_valid():
        given = dict(form.cleaned_data)
        target = target_list(organisation).filter(name=given.pop("target")).first()
        try:
            row = schedules.schedule_request(
                organisation=organisation,
                actor=_actor(request),
                target=target,
                now=datetime.now(UTC),
                **given,
            )
        except ValidationError as error:
            _add_errors(form, error)
        else:
            messages.success(request, _("The schedule waits for approval. Nothing is stopped yet."))
            return redirect("dashboard:schedule", row.pk)
    return _list(request, status=422, form=form)


@require_POST
@access(Action.APPROVE_SPEND)
def schedule_yes(request: HttpRequest, schedule_id: int) -> HttpResponse:
    """Approve it."""
    membership = cast(SignedInRequest, request).membership
    return _changed(
        request, schedule_id, schedules.schedule_approve, _("It holds from now on."), membership=membership
    )


@require_POST
@access(Action.LAUNCH)
def schedule_pause(request: HttpRequest, schedule_id: int) -> HttpResponse:
    """Pause it."""
    told = _("Nothing is stopped or started until it is resumed.")
    return _changed(request, schedule_id, schedules.schedule_pause, told, actor=_actor(request))


@require_POST
@access(Action.LAUNCH)
def schedule_resume(request: HttpRequest, schedule_id: int) -> HttpResponse:
    """Resume it."""
    told = _("It holds again from now on.")
    return _changed(request, schedule_id, schedules.schedule_resume, told, actor=_actor(request))


@require_POST
@access(Action.LAUNCH)
def schedule_off(request: HttpRequest, schedule_id: int) -> HttpResponse:
    """End it."""
    told = _("The schedule is ended.")
    return _changed(request, schedule_id, schedules.schedule_cancel, told, actor=_actor(request))


@require_POST
@access(Action.LAUNCH)
def schedule_try(request: HttpRequest, schedule_id: int) -> HttpResponse:
    """Ask the provider what it would do."""
    row = _find(request, schedule_id)
    try:
        found = schedules.schedule_trial(schedule=row, now=datetime.now(UTC))
    except ProviderError as error:
        messages.error(request, str(error))
        return _one(request, row, status=422)
    words = {"stop": _("Would be stopped"), "start": _("Would be started")}
    return _one(request, row, trial=[(words[action], one) for action, one in found.items()])


def _list(request: HttpRequest, status: int = 200, **more: Any) -> HttpResponse:
    organisation, now = organisation_of(request), datetime.now(UTC)
    rows = [_row(one, now) for one in schedule_list(organisation).exclude(state=State.CANCELLED)]
    context = {
        "page": "launches",
        "tab": "schedules",
        "tabs": LAUNCHES_TABS,
        "heading": _heading(rows),
        "rows": rows,
        "form": ScheduleForm(organisation=organisation),
        "has_targets": target_list(organisation).filter(executor="aws").exists(),
        "may_change": allowed(cast(SignedInRequest, request).membership, Action.LAUNCH),
        **more,
    }
    return render(request, "dashboard/schedules.html", context, status=status)


def _heading(rows: list[dict[str, Any]]) -> str:
    waiting = sum(one["it"].state == State.REQUESTED for one in rows)
    if waiting:
        return ngettext(
            "[[%(n)d]] schedule waits for approval", "[[%(n)d]] schedules wait for approval", waiting
        ) % {"n": waiting}
    hours = [one["hours"] for one in rows if one["it"].state == State.APPROVED and one["hours"] is not None]
    if hours:
        return _("Machines are off [[%(n)d]] of 168 hours a week") % {"n": round(168 - min(hours))}
    return _("No machine is stopped by a schedule")


def _row(one: StopSchedule, now: datetime) -> dict[str, Any]:
    plan = schedules.switch_plan(one)
    coming = plan.switches(now, now + timedelta(days=9))
    return {
        "it": one,
        "kind": VERDICTS[State(one.state)],
        "word": one.get_state_display(),
        "on": plan.is_on(now),
        "hours": plan.hours_a_week(),
        "next": coming[0] if coming else None,
    }


def _one(request: HttpRequest, row: StopSchedule, status: int = 200, **more: Any) -> HttpResponse:
    now = datetime.now(UTC)
    membership = cast(SignedInRequest, request).membership
    turns = row.turns.all()[:A_LIST]
    context = {
        "page": "launches",
        "row": row,
        "told": _row(row, now),
        "coming": schedules.switch_plan(row).switches(now, now + timedelta(days=9))[:6],
        "turns": [_turn(one) for one in turns],
        "may_change": allowed(membership, Action.LAUNCH),
        "may_approve": allowed(membership, Action.APPROVE_SPEND),
        "waits": row.state == State.REQUESTED,
        "holds": row.state == State.APPROVED,
        "paused": row.state == State.PAUSED,
        "ended": row.state == State.CANCELLED,
        **more,
    }
    return render(request, "dashboard/schedule.html", context, status=status)


def _turn(one: ScheduleTurn) -> dict[str, Any]:
    """What came of a due time; its sentences were kept in English."""
    return {
        "it": one,
        "kind": TURNS[TurnState(one.state)],
        "message": _(one.message) if one.message else "",
        "left": [(machine, _(why)) for machine, why in sorted(one.left.items())],
    }


def _find(request: HttpRequest, schedule_id: int) -> StopSchedule:
    row = schedule_find(organisation_of(request), schedule_id)
    if row is None:
        raise Http404
    return row


def _changed(
    request: HttpRequest, schedule_id: int, change: Callable[..., Any], told: str, **given: Any
) -> HttpResponse:
    row = _find(request, schedule_id)
    try:
        change(schedule=row, now=datetime.now(UTC), **given)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return _one(request, _find(request, schedule_id), status=409)
    messages.success(request, told)
    return redirect("dashboard:schedule", row.pk)


def _actor(request: HttpRequest) -> Actor:
    return Actor.of_user(cast(SignedInRequest, request).user)


def _add_errors(form: forms.Form, error: ValidationError) -> None:
    for name, texts in error.message_dict.items():
        form.add_error(name if name in form.fields else None, texts)
