"""Saved workloads: kept, changed, forgotten; their advice and their next turns."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import Team
from apps.accounts.roles import Action, Scope
from apps.accounts.selectors import team_list
from apps.api.endpoint import ApiView, Endpoint, found_or_404, page_of
from apps.api.strict import PageQuery, StrictQuery, UtcDateTimeField
from apps.api.views.advice import LaunchBody
from apps.api.views.prices import refused
from apps.recommendations.services import advise_launch
from apps.workloads.models import Workload
from apps.workloads.selectors import (
    FIELDS,
    MAX_OCCURRENCES,
    REPEATING,
    workload_list,
    workload_occurrences,
    workload_question,
)
from apps.workloads.services import workload_remove, workload_save
from finops.engine.workload import WorkloadError


class WorkloadBody(LaunchBody):
    """A workload with its name; without `at`, which each question gives."""

    name = serializers.CharField(max_length=100, help_text="Once in the organisation, whatever its case.")
    team = serializers.SlugField(required=False, max_length=50, help_text="Slug of the team it belongs to.")
    at = None  # type: ignore[assignment]


class WorkloadAnswer(serializers.ModelSerializer[Workload]):
    """A saved workload; null is what was not given."""

    owner = serializers.EmailField(source="owner.email", allow_null=True, default=None)
    team = serializers.SlugField(source="team.slug", allow_null=True, default=None)
    earliest = UtcDateTimeField(allow_null=True)
    deadline = UtcDateTimeField(allow_null=True)
    created_at = UtcDateTimeField()
    updated_at = UtcDateTimeField()

    class Meta:
        model = Workload
        fields = ["id", "name", "owner", "team", *FIELDS, *REPEATING, "created_at", "updated_at"]


class _View(ApiView):
    tag = "workloads"

    def find(self, workload_id: int) -> Workload:
        """The organisation's own; 404 for any other."""
        found: Workload = found_or_404(workload_list(self.organisation), pk=workload_id)
        return found

    def save(self, workload: Workload | None) -> Response:
        """The body, kept; errors name their field."""
        fields = dict(self.body)
        slug, name = fields.pop("team", None), fields.pop("name")
        team: Team | None = team_list(self.organisation).filter(slug=slug).first() if slug else None
        if slug and team is None:
            raise serializers.ValidationError({"team": [_("There is no such team in this organisation.")]})
        try:
            saved = workload_save(
                organisation=self.organisation,
                actor=self.actor,
                name=name,
                fields=fields,
                team=team,
                workload=workload,
                now=timezone.now(),
            )
        except WorkloadError as error:
            raise refused(error) from error
        except Workload.DoesNotExist as error:  # removed by somebody else meanwhile
            raise NotFound from error
        return self.answer(saved)


class Workloads(_View):
    """The organisation's workloads."""

    endpoints = {
        "GET": Endpoint(
            summary="List saved workloads by name",
            action=Action.VIEW,
            scope=Scope.READ_WORKLOADS,
            query=PageQuery,
            answer=page_of(WorkloadAnswer),
        ),
        "POST": Endpoint(
            summary="Save a workload",
            action=Action.MANAGE_WORKLOADS,
            scope=Scope.WRITE_WORKLOADS,
            body=WorkloadBody,
            answer=WorkloadAnswer,
            status=201,
        ),
    }

    def get(self, request: Request) -> Response:
        """One page."""
        return self.page(workload_list(self.organisation))

    def post(self, request: Request) -> Response:
        """The workload as it is kept."""
        return self.save(None)


class OneWorkload(_View):
    """A saved workload."""

    endpoints = {
        "GET": Endpoint(
            summary="Read a workload",
            action=Action.VIEW,
            scope=Scope.READ_WORKLOADS,
            answer=WorkloadAnswer,
        ),
        "PUT": Endpoint(
            summary="Replace a workload: what the body leaves out is its default",
            action=Action.MANAGE_WORKLOADS,
            scope=Scope.WRITE_WORKLOADS,
            body=WorkloadBody,
            answer=WorkloadAnswer,
        ),
        "DELETE": Endpoint(
            summary="Forget a workload; advice that was given stays",
            action=Action.MANAGE_WORKLOADS,
            scope=Scope.WRITE_WORKLOADS,
            answer=None,
            status=204,
        ),
    }

    def get(self, request: Request, workload_id: int) -> Response:
        """Its fields."""
        return self.answer(self.find(workload_id))

    def put(self, request: Request, workload_id: int) -> Response:
        """The workload as it is kept now."""
        return self.save(self.find(workload_id))

    def delete(self, request: Request, workload_id: int) -> Response:
        """Nothing."""
        workload_remove(workload=self.find(workload_id), actor=self.actor)
        return self.answer(None)


class AdviceQuery(StrictQuery):
    """The decision time."""

    at = UtcDateTimeField(required=False, help_text="Decision time; nothing later is looked at.")


class WorkloadAdvice(_View):
    """When, where and on what to run a saved workload."""

    endpoints = {
        "GET": Endpoint(
            summary="Launch advice for a saved workload: the document of /advice/launch",
            action=Action.RUN_ADVICE,
            scope=Scope.READ_ADVICE,
            query=AdviceQuery,
            answer=OpenApiTypes.OBJECT,
        )
    }

    def get(self, request: Request, workload_id: int) -> Response:
        """The same document as for the same fields in a body."""
        question = workload_question(self.find(workload_id))
        at: datetime | None = self.query.get("at")
        try:
            return self.answer(advise_launch(**question, at=at, organisation=self.organisation))
        except WorkloadError as error:
            raise refused(error) from error


class OccurrencesQuery(StrictQuery):
    """From when and how many."""

    after = UtcDateTimeField(required=False, help_text="Turns that can still be begun at this time; now.")
    count = serializers.IntegerField(min_value=1, max_value=MAX_OCCURRENCES, default=5)


class OccurrenceAnswer(serializers.Serializer[Any]):
    """One turn: it may run inside [earliest, due)."""

    day = serializers.DateField(help_text="Local date on which it is due.")
    earliest = UtcDateTimeField()
    latest_start = UtcDateTimeField(help_text="Still done by `due`.")
    due = UtcDateTimeField()


class OccurrencesAnswer(serializers.Serializer[Any]):
    """The next turns; none for a workload that does not repeat."""

    timezone = serializers.CharField(help_text="IANA zone in which `done_by` is true; empty: no repeat.")
    occurrences = OccurrenceAnswer(many=True)


class Occurrences(_View):
    """The next turns of a repeating workload."""

    endpoints = {
        "GET": Endpoint(
            summary="The next turns of a repeating workload, in UTC, converted for each date",
            action=Action.VIEW,
            scope=Scope.READ_WORKLOADS,
            query=OccurrencesQuery,
            answer=OccurrencesAnswer,
        )
    }

    def get(self, request: Request, workload_id: int) -> Response:
        """In order of their due times."""
        workload = self.find(workload_id)
        after: datetime = self.query.get("after") or timezone.now()
        turns = workload_occurrences(workload, after=after, count=self.query["count"])
        return self.answer({"timezone": workload.timezone, "occurrences": turns})
