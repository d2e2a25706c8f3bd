"""Plans and launches: ask, approve, cancel, freeze; the queue, one launch with its timeline, the calendar."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import Team, User
from apps.accounts.roles import Action, Scope
from apps.accounts.selectors import member_list, team_list
from apps.api.endpoint import ApiView, Endpoint, Refused
from apps.api.strict import DecimalTextField, PageQuery, StrictQuery, StrictSerializer, UtcDateTimeField
from apps.api.views.advice import LaunchBody
from apps.api.views.prices import refused
from apps.launches.models import MAX_PRIORITY, Launch, LaunchPlan, LaunchState, PlanState, Preemption
from apps.launches.selectors.launches import (
    calendar_of,
    launch_detail,
    launch_document,
    launch_find,
    launch_rows,
)
from apps.launches.selectors.plans import plan_detail, plan_document, plan_find, plan_list
from apps.launches.services import approving, planning
from apps.launches.services.clock import due_launches
from apps.launches.services.raising import launch_raise
from apps.launches.services.trials import plan_trial
from apps.launches.services.wishes import wish_of
from apps.launches.tasks import launches_hand_out
from finops.engine.workload import WorkloadError

LONGEST_CALENDAR = timedelta(days=400)


class PlanBody(LaunchBody):
    """A plan: a saved `workload`, or the fields of one; and how it is launched."""

    target = serializers.CharField(max_length=60, help_text="Where it runs: name of a launch target.")
    name = serializers.CharField(max_length=100)
    workload = serializers.CharField(required=False, max_length=100, help_text="Saved one, by name or id.")
    team = serializers.SlugField(required=False, max_length=50)
    owner = serializers.EmailField(required=False)
    start = UtcDateTimeField(required=False, help_text="First due time; default: as advised.")
    start_minutes = serializers.IntegerField(
        default=60, min_value=1, max_value=planning.MAX_START_MINUTES, help_text="Later it is missed."
    )
    priority = serializers.IntegerField(default=0, min_value=0, max_value=MAX_PRIORITY)
    gang = serializers.BooleanField(default=False, help_text="All machines start together or none does.")
    preemption = serializers.ChoiceField(choices=Preemption.values, default=Preemption.NEVER)
    repeat = serializers.CharField(required=False, max_length=40, help_text="`daily` or `mon-fri`.")
    clock = serializers.CharField(required=False, max_length=5, help_text="Local due time, 22:00.")
    timezone = serializers.CharField(required=False, max_length=60, help_text="Zone of clock.")
    user_data = serializers.CharField(required=False, max_length=16_384, trim_whitespace=False)
    command = serializers.CharField(required=False, max_length=4000)
    image = serializers.CharField(required=False, max_length=500)
    max_price = DecimalTextField(required=False, help_text="Cap of a Spot machine's hour.")
    checkpoint_location = serializers.CharField(required=False, max_length=1000)
    checkpoint_marker = serializers.CharField(required=False, max_length=200)
    attempts = serializers.IntegerField(required=False, min_value=1, max_value=100)
    budget = DecimalTextField(required=False, help_text="What one turn may cost in the worst case.")
    reason = serializers.CharField(required=False, default="", allow_blank=True, max_length=500)
    request_key = serializers.CharField(
        required=False, max_length=100, help_text="Idempotency: the same key again gives the same plan."
    )
    dry_run = serializers.BooleanField(default=False, help_text="Answer the plan and store nothing.")
    try_call = serializers.BooleanField(
        default=False, help_text="Ask the place about the first call, without launching; not with dry_run."
    )
    hours = serializers.FloatField(required=False, help_text="Hours of work.")
    regions = serializers.ListField(
        child=serializers.CharField(max_length=120), required=False, max_length=200
    )
    product = serializers.CharField(required=False, max_length=60)
    at = None  # type: ignore[assignment]
    done_by = None  # type: ignore[assignment]


class ReasonBody(StrictSerializer):
    """Why."""

    reason = serializers.CharField(max_length=500, help_text="Others will read it.")


class RaiseBody(StrictSerializer):
    """Up to what."""

    high = DecimalTextField(help_text="`asked_high` as it was read; another amount is refused.")


class PlanQuery(PageQuery):
    """Which plans."""

    state = serializers.ChoiceField(choices=PlanState.values, required=False)


class LaunchQuery(PageQuery):
    """Which launches."""

    state = serializers.ChoiceField(choices=LaunchState.values, required=False)
    team = serializers.SlugField(required=False, max_length=50)
    plan = serializers.IntegerField(required=False, min_value=1, max_value=2**63 - 1)
    target = serializers.CharField(required=False, max_length=60)
    asks = serializers.BooleanField(
        required=False,
        allow_null=True,
        default=None,
        help_text="True: those that need more than was approved.",
    )
    due_from = UtcDateTimeField(required=False)
    due_to = UtcDateTimeField(required=False, help_text="Half-open.")


class CalendarQuery(StrictQuery):
    """Which days, half-open."""

    start = UtcDateTimeField()
    end = UtcDateTimeField()


class _View(ApiView):
    tag = "launches"

    def plan(self, plan_id: int) -> LaunchPlan:
        """The organisation's own; 404 for any other."""
        found = plan_find(self.organisation, plan_id)
        if found is None:
            raise NotFound(_("There is nothing at this address."))
        return found

    def launch(self, launch_id: int) -> Launch:
        """The organisation's own; 404 for any other."""
        found = launch_find(self.organisation, launch_id)
        if found is None:
            raise NotFound(_("There is nothing at this address."))
        return found

    def changed(self, change: Callable[..., Any], **given: Any) -> None:
        """Change a row. 409 where its state forbids it."""
        try:
            change(now=timezone.now(), **given)
        except ValidationError as error:
            if "state" not in error.message_dict:
                raise
            raise Refused(error.message_dict["state"][0], code="wrong_state", status=409) from error

    def team(self, slug: str | None) -> Team | None:
        """The team of a slug; a key of a team is its own."""
        own = self.key.team if self.key is not None else None
        if own is not None and slug not in (None, own.slug):
            raise serializers.ValidationError({"team": [_("The key belongs to another team.")]})
        found = own or (team_list(self.organisation).filter(slug=slug).first() if slug else None)
        if slug and found is None:
            raise serializers.ValidationError({"team": [_("There is no such team in this organisation.")]})
        return found


class Plans(_View):
    """The organisation's plans."""

    endpoints = {
        "GET": Endpoint(
            summary="Plans of launches, newest first",
            action=Action.VIEW,
            scope=Scope.READ_LAUNCHES,
            query=PlanQuery,
            answer=OpenApiTypes.OBJECT,
        ),
        "POST": Endpoint(
            summary="Plan a launch: it waits for its approval, or a rule approves it",
            action=Action.LAUNCH,
            scope=Scope.WRITE_LAUNCHES,
            body=PlanBody,
            status=201,
            answer=OpenApiTypes.OBJECT,
            refusals=(409,),
            description="When, where, what, market, fallback time, cost low / expected / high and the chance "
            "to meet the deadline come from launch advice. `cost_high` is the worst case of one turn.",
        ),
    }

    def get(self, request: Request) -> Response:
        """A page of them."""
        rows = plan_list(self.organisation, self.query.get("state", ""))
        return self.page([plan_document(row) for row in rows])

    def post(self, request: Request) -> Response:
        """The plan as it is kept."""
        given = dict(self.body)
        dry, ask = given.pop("dry_run"), given.pop("try_call")
        if dry and ask:
            raise serializers.ValidationError({"try_call": [_("Its answer is kept: not with dry_run.")]})
        make = planning.plan_draft if dry else planning.plan_make
        try:
            wish = self._wish(given)
            plan = make(organisation=self.organisation, actor=self.actor, wish=wish, now=timezone.now())
        except WorkloadError as error:
            raise refused(error) from error
        except ValidationError as error:
            if "state" not in error.message_dict:
                raise
            raise Refused(error.message_dict["state"][0], code="conflict", status=409) from error
        if ask:
            plan = plan_trial(plan=plan, actor=self.actor, now=timezone.now())
        if not dry:
            transaction.on_commit(lambda: launches_hand_out(*due_launches()))
        return self.answer(plan_detail(plan))

    def _wish(self, given: dict[str, Any]) -> planning.Wish:
        return wish_of(
            given,
            organisation=self.organisation,
            team=self.team(given.pop("team", None)),
            owner=self._owner(given.pop("owner", None)),
        )

    def _owner(self, email: str | None) -> User | None:
        if email is None:
            return self.membership.user if self.membership is not None else None
        member = member_list(self.organisation).filter(user__email__iexact=email).first()
        if member is None:
            raise serializers.ValidationError({"owner": [_("No member of this organisation.")]})
        found: User = member.user
        return found


class OnePlan(_View):
    """One plan."""

    endpoints = {
        "GET": Endpoint(
            summary="A plan with its job, offers, approvals and launches",
            action=Action.VIEW,
            scope=Scope.READ_LAUNCHES,
            answer=OpenApiTypes.OBJECT,
        )
    }

    def get(self, request: Request, plan_id: int) -> Response:
        """The plan."""
        return self.answer(plan_detail(self.plan(plan_id)))


class ApprovePlan(_View):
    """Say yes to one."""

    endpoints = {
        "POST": Endpoint(
            summary="Approve a plan; with the last approval that is needed it is launched when due",
            action=Action.APPROVE_SPEND,
            scope=None,
            answer=OpenApiTypes.OBJECT,
            refusals=(409,),
        )
    }

    def post(self, request: Request, plan_id: int) -> Response:
        """The plan."""
        if self.membership is None:
            raise Refused(
                _("This needs a person who is signed in, not a key."), code="needs_person", status=403
            )
        self.changed(approving.plan_approve, plan=self.plan(plan_id), membership=self.membership)
        transaction.on_commit(lambda: launches_hand_out(*due_launches()))
        return self.answer(plan_detail(self.plan(plan_id)))


class TryPlan(_View):
    """Ask about one."""

    endpoints = {
        "POST": Endpoint(
            summary="Try the first call of a plan without launching; the answer is kept in `dry_run`",
            action=Action.LAUNCH,
            scope=Scope.WRITE_LAUNCHES,
            answer=OpenApiTypes.OBJECT,
            refusals=(409,),
        )
    }

    def post(self, request: Request, plan_id: int) -> Response:
        """The plan."""
        self.changed(plan_trial, plan=self.plan(plan_id), actor=self.actor)
        return self.answer(plan_detail(self.plan(plan_id)))


class CancelPlan(_View):
    """Give one up."""

    endpoints = {
        "POST": Endpoint(
            summary="Cancel a plan and its launches that are not over; their machines are ended",
            action=Action.LAUNCH,
            scope=Scope.WRITE_LAUNCHES,
            body=ReasonBody,
            answer=OpenApiTypes.OBJECT,
            refusals=(409,),
        )
    }

    def post(self, request: Request, plan_id: int) -> Response:
        """The plan."""
        self.changed(approving.plan_cancel, plan=self.plan(plan_id), actor=self.actor, **self.body)
        return self.answer(plan_detail(self.plan(plan_id)))


class Launches(_View):
    """The organisation's launches."""

    endpoints = {
        "GET": Endpoint(
            summary="Launches with why they wait and what they cost, the last due first",
            action=Action.VIEW,
            scope=Scope.READ_LAUNCHES,
            query=LaunchQuery,
            answer=OpenApiTypes.OBJECT,
        )
    }

    def get(self, request: Request) -> Response:
        """A page of them."""
        now = timezone.now()
        filters = {name: value for name, value in self.query.items() if name not in {"page", "page_size"}}
        rows = launch_rows(self.organisation, filters)
        return self.page([launch_document(row, now) for row in rows])


class LaunchCalendar(_View):
    """What is due when."""

    endpoints = {
        "GET": Endpoint(
            summary="Launches due in a span of time, by due time",
            action=Action.VIEW,
            scope=Scope.READ_LAUNCHES,
            query=CalendarQuery,
            answer=OpenApiTypes.OBJECT,
        )
    }

    def get(self, request: Request) -> Response:
        """`{"launches"}`."""
        start, end = self.query["start"], self.query["end"]
        if not start < end or end - start > LONGEST_CALENDAR:
            raise serializers.ValidationError(
                {"end": [_("After the start, at most %(days)d days.") % {"days": LONGEST_CALENDAR.days}]}
            )
        now = timezone.now()
        rows = calendar_of(self.organisation, start, end)
        return self.answer({"launches": [launch_document(row, now) for row in rows]})


class CancelLaunch(_View):
    """Give one up."""

    endpoints = {
        "POST": Endpoint(
            summary="Cancel a launch; its machine is ended",
            action=Action.LAUNCH,
            scope=Scope.WRITE_LAUNCHES,
            body=ReasonBody,
            answer=OpenApiTypes.OBJECT,
            refusals=(409,),
        )
    }

    def post(self, request: Request, launch_id: int) -> Response:
        """The launch."""
        self.changed(approving.launch_cancel, launch=self.launch(launch_id), actor=self.actor, **self.body)
        return self.answer(launch_detail(self.launch(launch_id), timezone.now()))


class RaiseLaunch(_View):
    """Let it cost more."""

    endpoints = {
        "POST": Endpoint(
            summary="Approve the higher amount that a launch asks for (`asked_high`)",
            action=Action.APPROVE_SPEND,
            scope=None,
            body=RaiseBody,
            answer=OpenApiTypes.OBJECT,
            refusals=(409,),
        )
    }

    def post(self, request: Request, launch_id: int) -> Response:
        """The launch."""
        if self.membership is None:
            raise Refused(
                _("This needs a person who is signed in, not a key."), code="needs_person", status=403
            )
        self.changed(launch_raise, launch=self.launch(launch_id), membership=self.membership, **self.body)
        transaction.on_commit(lambda: launches_hand_out(*due_launches()))
        return self.answer(launch_detail(self.launch(launch_id), timezone.now()))


class OneLaunch(_View):
    """One launch."""

    endpoints = {
        "GET": Endpoint(
            summary="A launch with its attempts, checkpoints and timeline, plan against actual",
            action=Action.VIEW,
            scope=Scope.READ_LAUNCHES,
            answer=OpenApiTypes.OBJECT,
        )
    }

    def get(self, request: Request, launch_id: int) -> Response:
        """The launch."""
        return self.answer(launch_detail(self.launch(launch_id), timezone.now()))
