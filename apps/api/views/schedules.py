"""Stop schedules: ask, preview, approve, try, pause, resume, cancel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.roles import Action, Scope
from apps.api.endpoint import ApiView, Endpoint, Refused
from apps.api.strict import PageQuery, StrictQuery, StrictSerializer, UtcDateTimeField
from apps.launches.models import StopSchedule
from apps.launches.selectors.plans import target_list
from apps.launches.selectors.pools import (
    preview_document,
    schedule_document,
    schedule_find,
    schedule_list,
    turn_document,
)
from apps.launches.services import schedules
from finops.providers.base import ProviderError

MOST_TURNS = 100


class ScheduleBody(StrictSerializer):
    """A schedule; it does nothing before it is approved."""

    name = serializers.CharField(max_length=100)
    target = serializers.CharField(max_length=60, help_text="A place of AWS to launch on.")
    region = serializers.CharField(max_length=40)
    tag_key = serializers.CharField(max_length=128)
    tag_value = serializers.CharField(max_length=256)
    start = serializers.CharField(max_length=5, default="", allow_blank=True, help_text="On from, 08:00.")
    stop = serializers.CharField(max_length=5, default="", allow_blank=True, help_text="Off from, 19:00.")
    days = serializers.CharField(max_length=40, default="mon-fri", help_text="Of the start; alone, its own.")
    zone = serializers.CharField(max_length=60, help_text="Europe/Rome")
    holidays = serializers.ListField(child=serializers.DateField(), max_length=400, required=False)
    start_minutes = serializers.IntegerField(min_value=1, max_value=1440, default=30)
    dry_run = serializers.BooleanField(default=False)


class PreviewQuery(StrictQuery):
    """A rule and a time."""

    start = serializers.CharField(max_length=5, default="", allow_blank=True)
    stop = serializers.CharField(max_length=5, default="", allow_blank=True)
    days = serializers.CharField(max_length=40, default="mon-fri")
    zone = serializers.CharField(max_length=60)
    at = UtcDateTimeField(required=False)


class _View(ApiView):
    tag = "schedules"

    def find(self, schedule_id: int) -> StopSchedule:
        """The organisation's own; 404 for any other."""
        found = schedule_find(self.organisation, schedule_id)
        if found is None:
            raise NotFound(_("There is nothing at this address."))
        return found

    def shown(self, row: StopSchedule) -> dict[str, Any]:
        """A schedule with its last due times."""
        now = timezone.now()
        turns = [turn_document(one) for one in row.turns.all()[:MOST_TURNS]]
        return {**schedule_document(row, schedules.switch_plan(row), now), "turns": turns}

    def change(self, schedule_id: int, change: Callable[..., Any], **given: Any) -> Response:
        """Change one and answer it as it is then. 409 where its state forbids the change."""
        try:
            change(schedule=self.find(schedule_id), now=timezone.now(), **given)
        except ValidationError as error:
            if "state" not in error.message_dict:
                raise
            raise Refused(error.message_dict["state"][0], code="wrong_state", status=409) from error
        return self.answer(self.shown(self.find(schedule_id)))


class Schedules(_View):
    """The organisation's stop schedules."""

    endpoints = {
        "GET": Endpoint(
            summary="Stop schedules, how things should be now and what comes next",
            action=Action.VIEW, scope=Scope.READ_LAUNCHES, query=PageQuery, answer=OpenApiTypes.OBJECT,
        ),
        "POST": Endpoint(
            summary="Ask for a stop schedule: it waits for its approval",
            action=Action.LAUNCH, scope=Scope.WRITE_LAUNCHES, body=ScheduleBody, status=201,
            answer=OpenApiTypes.OBJECT,
        ),
    }  # fmt: skip

    def get(self, request: Request) -> Response:
        """A page of them."""
        now = timezone.now()
        rows = schedule_list(self.organisation)
        return self.page([schedule_document(row, schedules.switch_plan(row), now) for row in rows])

    def post(self, request: Request) -> Response:
        """The schedule as it was asked for."""
        given = dict(self.body)
        target = target_list(self.organisation).filter(name=given.pop("target")).first()
        row = schedules.schedule_request(
            organisation=self.organisation, actor=self.actor, target=target, now=timezone.now(), **given
        )
        return self.answer(self.shown(row))


class SchedulePreview(_View):
    """What a rule says."""

    endpoints = {
        "GET": Endpoint(
            summary="On or off at a time, hours a plain week and the next due times of a rule",
            action=Action.VIEW, scope=Scope.READ_LAUNCHES, query=PreviewQuery, answer=OpenApiTypes.OBJECT,
        )
    }  # fmt: skip

    def get(self, request: Request) -> Response:
        """The preview."""
        given = dict(self.query)
        at = given.pop("at", None) or timezone.now()
        return self.answer(preview_document(schedules.checked_plan(**given), at))


class OneSchedule(_View):
    """One stop schedule."""

    endpoints = {
        "GET": Endpoint(
            summary="A stop schedule with its last due times and what came of them",
            action=Action.VIEW, scope=Scope.READ_LAUNCHES, answer=OpenApiTypes.OBJECT,
        )
    }  # fmt: skip

    def get(self, request: Request, schedule_id: int) -> Response:
        """The schedule."""
        return self.answer(self.shown(self.find(schedule_id)))


class ApproveSchedule(_View):
    """Say yes to one."""

    endpoints = {
        "POST": Endpoint(
            summary="Approve a stop schedule: it holds from now on",
            action=Action.APPROVE_SPEND, scope=None, answer=OpenApiTypes.OBJECT, refusals=(409,),
        )
    }  # fmt: skip

    def post(self, request: Request, schedule_id: int) -> Response:
        """The schedule."""
        return self.change(schedule_id, schedules.schedule_approve, membership=self.membership)


class TrySchedule(_View):
    """A dry run of one."""

    endpoints = {
        "POST": Endpoint(
            summary="Ask the provider what it would stop and start now; nothing is changed",
            action=Action.LAUNCH, scope=Scope.WRITE_LAUNCHES, answer=OpenApiTypes.OBJECT, refusals=(409,),
        )
    }  # fmt: skip

    def post(self, request: Request, schedule_id: int) -> Response:
        """`{"stop"|"start": {"machines", "already", "left"}}`."""
        try:
            found = schedules.schedule_trial(schedule=self.find(schedule_id), now=timezone.now())
        except ProviderError as error:
            raise Refused(str(error), code="provider", status=409) from error
        return self.answer({
            action: {"machines": one.switched, "already": one.already, "left": one.left}
            for action, one in found.items()
        })  # fmt: skip


def _changing(name: str, word: str, change: Callable[..., Any]) -> type[_View]:
    class Change(_View):
        """Change its state."""

        endpoints = {
            "POST": Endpoint(
                summary=word, action=Action.LAUNCH, scope=Scope.WRITE_LAUNCHES, answer=OpenApiTypes.OBJECT,
                refusals=(409,),
            )
        }  # fmt: skip

        def post(self, request: Request, schedule_id: int) -> Response:
            """The schedule."""
            return self.change(schedule_id, change, actor=self.actor)

    Change.__name__ = name  # operations are named after their view
    return Change


PauseSchedule = _changing("PauseSchedule", "Pause a stop schedule", schedules.schedule_pause)
ResumeSchedule = _changing(
    "ResumeSchedule", "Resume it: what was due meanwhile is not caught up", schedules.schedule_resume
)
CancelSchedule = _changing("CancelSchedule", "End a stop schedule for good", schedules.schedule_cancel)
