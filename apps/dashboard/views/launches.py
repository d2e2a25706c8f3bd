"""Launches: the queue and calendar, one launch with its timeline, plans with their yes, the freeze switch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from zoneinfo import ZoneInfo

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import Case, When
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.accounts.access import access
from apps.accounts.actors import Actor
from apps.accounts.middleware import SignedInRequest
from apps.accounts.models import Membership, Organisation
from apps.accounts.roles import Action, allowed
from apps.accounts.selectors import team_list
from apps.dashboard.forms_launches import HighForm, PlanForm, ReasonForm
from apps.dashboard.presenters import launches as words
from apps.dashboard.tabs import LAUNCHES_TABS
from apps.dashboard.views.spend import organisation_of
from apps.launches.exports import plan_exports
from apps.launches.models import OVER, WAITING, Executor, Launch, LaunchPlan, PlanState
from apps.launches.selectors.asks import asking_plans, asks_of
from apps.launches.selectors.launches import calendar_of, event_document, launch_find, launch_rows
from apps.launches.selectors.limits import limits_document
from apps.launches.selectors.money import machines_of
from apps.launches.selectors.plans import plan_find, plan_list, standing_approvals, target_list
from apps.launches.services import approving
from apps.launches.services.clock import due_launches
from apps.launches.services.planning import plan_draft, plan_make
from apps.launches.services.raising import launch_raise, raise_standing
from apps.launches.services.switches import launches_freeze
from apps.launches.services.trials import plan_trial
from apps.launches.services.wishes import wish_of
from apps.launches.tasks import launches_hand_out
from apps.recommendations.models.approval import Approval
from apps.workloads.selectors import workload_list
from finops.engine.workload import WorkloadError

A_PAGE = 50
# Of the timeline and of the checkpoints of one launch the newest are shown.
LINES = 100
WEEK = timedelta(days=7)
# What runs, then what asks a person, then what waits, by when it is looked at.
QUEUE_ORDER = (
    Case(
        When(state__in=WAITING, asked_high__isnull=False, then=1), When(state__in=WAITING, then=2), default=0
    ),
    "next_at",
    "pk",
)


@access(Action.VIEW)
def launches_page(request: HttpRequest) -> HttpResponse:
    """What runs, what waits and why, the coming week, the limits."""
    return _queue(request)


@access(Action.VIEW)
def launch_page(request: HttpRequest, launch_id: int) -> HttpResponse:
    """One launch: lanes, events, plan against actual."""
    return _launch(request, _find_launch(request, launch_id))


@access(Action.VIEW)
def plans_page(request: HttpRequest) -> HttpResponse:
    """All plans, newest first."""
    organisation = organisation_of(request)
    asked_first = Case(When(state=PlanState.REQUESTED, then=0), default=1)
    rows = plan_list(organisation).order_by(asked_first, "-pk")
    page = Paginator(rows, A_PAGE).get_page(request.GET.get("p"))
    context = {
        "page": "launches", "tab": "launch-plans", "tabs": LAUNCHES_TABS, "pages": page,
        "rows": [words.plan_row(row) for row in page],
        "heading": words.plans_heading(asking_plans(organisation, datetime.now(UTC)).count()),
        "may_launch": _may(request, Action.LAUNCH),
    }  # fmt: skip
    return render(request, "dashboard/launch_plans.html", context)


@access(Action.VIEW)
def plan_page(request: HttpRequest, plan_id: int) -> HttpResponse:
    """One plan: what it rests on, who said yes, the same machines elsewhere."""
    return _plan(request, _find_plan(request, plan_id))


@access(Action.LAUNCH)
def plan_new(request: HttpRequest) -> HttpResponse:
    """Plan a saved workload: look at it first, then ask."""
    organisation = organisation_of(request)
    if request.method != "POST":
        wanted = request.GET.get("workload", "")[:20]
        return _form(request, PlanForm(organisation=organisation, initial={"workload": wanted}))
    form = PlanForm(request.POST, organisation=organisation)
    if not form.is_valid():
        return _form(request, form, status=422)
    given = {name: value for name, value in form.cleaned_data.items() if value not in (None, "")}
    named = workload_list(organisation).filter(pk=given["workload"]).first()
    given["name"] = named.name if named else ""
    given["workload"] = given["name"]
    actor = _actor(request)
    try:
        wish = wish_of(given, organisation=organisation, team=None, owner=cast(SignedInRequest, request).user)
        if "look" in request.POST:
            draft = plan_draft(organisation=organisation, actor=actor, wish=wish, now=datetime.now(UTC))
            return _form(request, form, draft=draft)
        plan = plan_make(organisation=organisation, actor=actor, wish=wish, now=datetime.now(UTC))
    except WorkloadError as error:
        form.add_error(error.field if error.field in form.fields else None, error.message)
        return _form(request, form, status=422)
    except ValidationError as error:
        for field, texts in error.message_dict.items():
            form.add_error(field if field in form.fields else None, texts)
        return _form(request, form, status=422)
    transaction.on_commit(lambda: launches_hand_out(*due_launches()))
    messages.success(request, _("The plan is kept: %(state)s.") % {"state": plan.get_state_display()})
    return redirect("dashboard:launch-plan", plan.pk)


@require_POST
@access(Action.APPROVE_SPEND)
def plan_yes(request: HttpRequest, plan_id: int) -> HttpResponse:
    """One person's approval."""
    membership = cast(Membership, cast(SignedInRequest, request).membership)  # `access` saw to it

    def approve(**given: Any) -> None:
        approving.plan_approve(membership=membership, **given)
        transaction.on_commit(lambda: launches_hand_out(*due_launches()))

    plan = _find_plan(request, plan_id)
    _tell(request, approve, _("Your approval is kept."), plan=plan)
    return redirect("dashboard:launch-plan", plan_id)


@require_POST
@access(Action.LAUNCH)
def plan_off(request: HttpRequest, plan_id: int) -> HttpResponse:
    """Cancel a plan with its launches."""
    plan, form = _find_plan(request, plan_id), ReasonForm(request.POST)
    if not form.is_valid():
        return _plan(request, plan, status=422, cancel_form=form)
    given = {"actor": _actor(request), "reason": form.cleaned_data["reason"]}
    _tell(request, approving.plan_cancel, _("The plan is cancelled."), plan=plan, **given)
    return redirect("dashboard:launch-plan", plan_id)


@require_POST
@access(Action.LAUNCH)
def launch_off(request: HttpRequest, launch_id: int) -> HttpResponse:
    """Cancel a launch."""
    row, form = _find_launch(request, launch_id), ReasonForm(request.POST)
    if not form.is_valid():
        return _launch(request, row, status=422, cancel_form=form)
    given = {"actor": _actor(request), "reason": form.cleaned_data["reason"]}
    _tell(request, approving.launch_cancel, _("The launch is cancelled."), launch=row, **given)
    return redirect("dashboard:launch", launch_id)


@require_POST
@access(Action.APPROVE_SPEND)
def launch_more(request: HttpRequest, launch_id: int) -> HttpResponse:
    """One person's yes to the higher amount that a launch asks for."""
    row, form = _find_launch(request, launch_id), HighForm(request.POST)
    if not form.is_valid():
        return _launch(request, row, status=422, raise_form=form)
    membership = cast(Membership, cast(SignedInRequest, request).membership)  # `access` saw to it
    given = {"membership": membership, "high": form.cleaned_data["high"]}
    _tell(request, launch_raise, _("Your approval is kept."), launch=row, **given)
    transaction.on_commit(lambda: launches_hand_out(*due_launches()))
    return redirect("dashboard:launch", launch_id)


@require_POST
@access(Action.LAUNCH)
def plan_try(request: HttpRequest, plan_id: int) -> HttpResponse:
    """Ask the place whether it would take the plan's first call; nothing is launched."""
    plan = _find_plan(request, plan_id)
    _tell(
        request, plan_trial, _("The place was asked; its answer is below."), plan=plan, actor=_actor(request)
    )
    return redirect("dashboard:launch-plan", plan_id)


@require_POST
@access(Action.APPROVE_SPEND)
def freeze(request: HttpRequest) -> HttpResponse:
    """Turn the freeze switch."""
    form, wanted = ReasonForm(request.POST), request.POST.get("frozen")
    if wanted not in {"yes", "no"}:
        # Neither of the page's two buttons: nothing is thawed by a guess.
        form.add_error(None, _("Say whether launches are frozen or go on."))
    if not form.is_valid():
        return _queue(request, status=422, freeze_form=form)
    frozen = wanted == "yes"
    launches_freeze(
        organisation=organisation_of(request), actor=_actor(request), frozen=frozen,
        reason=form.cleaned_data["reason"], now=datetime.now(UTC),
    )  # fmt: skip
    messages.success(request, _("Launches are frozen.") if frozen else _("Launches go on."))
    return redirect("dashboard:launches")


def _queue(request: HttpRequest, status: int = 200, **forms: Any) -> HttpResponse:
    organisation, now = organisation_of(request), datetime.now(UTC)
    zone = ZoneInfo(timezone.get_current_timezone_name())
    rows = launch_rows(organisation)
    open_rows = rows.exclude(state__in=OVER)
    soon = open_rows.filter(due_at__lte=now + WEEK)
    live = [words.launch_row(one, now) for one in soon.order_by(*QUEUE_ORDER)[:A_PAGE]]
    over = Paginator(rows.filter(state__in=OVER).order_by("-ended_at", "-pk"), A_PAGE).get_page(
        request.GET.get("p")
    )
    running = machines_of(organisation)
    waiting = open_rows.filter(state__in=WAITING).count()
    asks = asks_of(organisation, now)
    context = {
        "page": "launches", "tab": "launches", "tabs": LAUNCHES_TABS,
        "heading": words.queue_heading(running, waiting, asks), "asks": asks,
        "people": asks.plans + asks.launches,
        "running": running, "queued": waiting, "live": live, "pages": over,
        "left_out": max(0, soon.count() - A_PAGE),
        "over": [words.launch_row(one, now) for one in over],
        "days": words.calendar_days(calendar_of(organisation, now, now + WEEK), now, zone),
        "limits": _limits(organisation, now), "freeze_form": ReasonForm(),
        "may_launch": _may(request, Action.LAUNCH), "may_freeze": _may(request, Action.APPROVE_SPEND),
        **forms,
    }  # fmt: skip
    return render(request, "dashboard/launches.html", context, status=status)


def _limits(organisation: Organisation, now: datetime) -> dict[str, Any]:
    """Limits with the kinds of targets in words."""
    found, kinds = limits_document(organisation, now), dict(Executor.choices)
    teams = {one.slug: one.name for one in team_list(organisation)}
    for one in (*found["budgets"], *found["rules"]):
        one["whose"] = teams.get(one["team"], one["team"])
    return {**found, "targets": [{**one, "kind": kinds[one["executor"]]} for one in found["targets"]]}


def _launch(request: HttpRequest, row: Launch, status: int = 200, **forms: Any) -> HttpResponse:
    now = datetime.now(UTC)
    attempts = list(row.attempts.prefetch_related("checkpoints").order_by("number"))
    yeses = list(row.yeses.filter(high=row.asked_high).select_related("user"))
    membership = cast(SignedInRequest, request).membership
    told, marks = row.events.count(), words.marks(attempts)
    events = list(row.events.all()[max(0, told - LINES) :])
    context = {
        "page": "launches", "row": row, "told": words.launch_row(row, now),
        "heading": words.launch_heading(row), "lanes": words.lanes(row, attempts, now),
        "attempts": attempts, "yeses": yeses, "mine": _said_yes(membership, yeses),
        "raise_missing": max(0, (standing := raise_standing(row))[1] - standing[0]),
        "may_approve": _may(request, Action.APPROVE_SPEND) and row.state in WAITING,
        "events": [{**event_document(one), "when": one.at} for one in events],
        "older_events": told - len(events), "older_marks": max(0, len(marks) - LINES),
        "against": words.against(row, attempts, now), "cost": words.so_far(row, attempts),
        "marks": marks[-LINES:], "rows": words.attempt_rows(row, attempts, now),
        "over": row.state in OVER, "cancel_form": ReasonForm(),
        "may_launch": _may(request, Action.LAUNCH), **forms,
    }  # fmt: skip
    return render(request, "dashboard/launch.html", context, status=status)


def _plan(request: HttpRequest, plan: LaunchPlan, status: int = 200, **forms: Any) -> HttpResponse:
    membership = cast(SignedInRequest, request).membership
    approvals = list(plan.approvals.select_related("user"))
    standing = len(standing_approvals(plan))
    context = {
        "page": "launches", "row": plan, "told": words.plan_row(plan), "approvals": approvals,
        "missing": max(plan.approvals_needed - standing, 0), "mine": _said_yes(membership, approvals),
        "may_approve": _may(request, Action.APPROVE_SPEND), "may_launch": _may(request, Action.LAUNCH),
        "can_approve": plan.state == PlanState.REQUESTED,
        "can_cancel": plan.state in {PlanState.DRAFT, PlanState.REQUESTED, PlanState.APPROVED},
        "trial": words.trial_words(plan), "chance": _percent(plan.document.get("chance_on_spot")),
        "offers": words.offers_of_plan(plan), "exports": plan_exports(plan),
        "launches": plan.launches.order_by("-due_at", "part")[:A_PAGE], "cancel_form": ReasonForm(), **forms,
    }  # fmt: skip
    return render(request, "dashboard/launch_plan.html", context, status=status)


def _form(
    request: HttpRequest, form: PlanForm, *, draft: LaunchPlan | None = None, status: int = 200
) -> HttpResponse:
    organisation = organisation_of(request)
    context = {
        "page": "launches", "form": form, "draft": draft,
        "offers": words.offers_of_plan(draft) if draft else [],
        "has_targets": target_list(organisation).filter(active=True).exists(),
        "has_workloads": workload_list(organisation).exists(),
    }  # fmt: skip
    return render(request, "dashboard/launch_new.html", context, status=status)


def _tell(request: HttpRequest, change: Callable[..., Any], told: str, **given: Any) -> None:
    try:
        change(now=datetime.now(UTC), **given)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, told)


def _said_yes(membership: Membership | None, given: Sequence[Approval]) -> bool:
    """Whether this person, or somebody of their role, has said yes."""
    return membership is not None and any(
        one.user_id == membership.user_id or one.role == membership.role for one in given
    )


def _percent(share: float | None) -> float | None:
    return None if share is None else share * 100


def _find_launch(request: HttpRequest, launch_id: int) -> Launch:
    row = launch_find(organisation_of(request), launch_id)
    if row is None:
        raise Http404
    return row


def _find_plan(request: HttpRequest, plan_id: int) -> LaunchPlan:
    row = plan_find(organisation_of(request), plan_id)
    if row is None:
        raise Http404
    return row


def _may(request: HttpRequest, action: Action) -> bool:
    return allowed(cast(SignedInRequest, request).membership, action)


def _actor(request: HttpRequest) -> Actor:
    return Actor.of_user(cast(SignedInRequest, request).user)
