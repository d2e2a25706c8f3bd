"""Launch advice and back-tests."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.roles import Action, Scope
from apps.api.endpoint import ApiView, Endpoint
from apps.api.strict import StrictSerializer, UtcDateTimeField
from apps.api.views.prices import refused
from apps.recommendations.services import advise_launch, backtest_launch
from finops.engine.workload import WorkloadError


def _names(help_text: str, *, required: bool = False) -> serializers.ListField:
    child = serializers.CharField(max_length=120)
    return serializers.ListField(child=child, required=required, max_length=200, help_text=help_text)


class LaunchBody(StrictSerializer):
    """A workload. Give `types` or minimum sizes; `slack_hours` or `deadline`."""

    hours = serializers.FloatField(help_text="Hours of work.")
    types = _names("Instance types; the first is what runs today.")
    min_vcpu = serializers.IntegerField(required=False)
    min_memory_gib = serializers.FloatField(required=False)
    gpu = serializers.CharField(required=False, max_length=60, help_text="For example V100.")
    gpus = serializers.IntegerField(required=False)
    provider = serializers.CharField(default="aws", max_length=20)
    regions = _names("Regions allowed.", required=True)
    zones = _names("Zones allowed, by name or id; default all.")
    home_zone = serializers.CharField(required=False, max_length=120, help_text="Where it runs today.")
    count = serializers.IntegerField(default=1, help_text="Instances.")
    product = serializers.CharField(max_length=60, help_text="For example Linux/UNIX.")
    earliest = UtcDateTimeField(required=False)
    slack_hours = serializers.FloatField(required=False, help_text="How long the start may wait.")
    deadline = UtcDateTimeField(required=False)
    interruptible = serializers.BooleanField(default=True)
    splittable = serializers.BooleanField(default=False)
    checkpoint_minutes = serializers.FloatField(required=False)
    restart_minutes = serializers.FloatField(required=False)
    data_gib = serializers.FloatField(required=False)
    data_region = serializers.CharField(required=False, max_length=40)
    discount_pct = serializers.FloatField(required=False, help_text="Negotiated, on-demand only.")
    hazard_per_hour = serializers.FloatField(required=False, help_text="Measured interruptions an hour.")
    repeat = serializers.CharField(required=False, max_length=40, help_text="`daily` or `mon-fri`.")
    done_by = serializers.CharField(required=False, max_length=5, help_text="Local time, 08:00.")
    timezone = serializers.CharField(required=False, max_length=60, help_text="Zone of done_by.")
    at = UtcDateTimeField(required=False, help_text="Decision time; nothing later is looked at.")


class LaunchAdvice(ApiView):
    """When, where and on what to run."""

    tag = "advice"
    endpoints = {
        "POST": Endpoint(
            summary="Launch advice for one workload",
            action=Action.RUN_ADVICE,
            scope=Scope.READ_ADVICE,
            body=LaunchBody,
            answer=OpenApiTypes.OBJECT,
            description="Ranked plans with cost, 90 % interval, savings, reason; what flexibility is worth; "
            "the walk-forward back-test of this workload. Verdict `now`: no window is worth waiting for.",
        )
    }

    def post(self, request: Request) -> Response:
        """The document of the verb `advise_launch`."""
        try:
            return self.answer(advise_launch(**self.body, organisation=self.organisation))
        except WorkloadError as error:
            raise refused(error) from error


class BacktestBody(StrictSerializer):
    """Which series, in which window, for which jobs."""

    provider = serializers.CharField(default="aws", max_length=20)
    regions = _names("Regions.", required=True)
    types = _names("Instance types; default all, within the limit of one request.")
    product = serializers.CharField(max_length=60)
    hours = serializers.ListField(child=serializers.FloatField(), max_length=8, allow_empty=False)
    slack_hours = serializers.ListField(child=serializers.FloatField(), max_length=8, allow_empty=False)
    every_hours = serializers.IntegerField(default=None, allow_null=True, min_value=1, max_value=168)
    at = UtcDateTimeField(required=False)

    def get_fields(self) -> dict[str, Any]:
        """`from` is a word of Python's own."""
        return {**super().get_fields(), "from": UtcDateTimeField(), "to": UtcDateTimeField()}


class LaunchBacktest(ApiView):
    """The launch rule beside its rivals on loaded history."""

    tag = "advice"
    endpoints = {
        "POST": Endpoint(
            summary="Walk-forward back-test of the launch rule",
            action=Action.RUN_ADVICE,
            scope=Scope.READ_ADVICE,
            body=BacktestBody,
            answer=OpenApiTypes.OBJECT,
            description="Answered within the request, so it is bounded: a larger question is a 400 that says "
            "how to make it smaller; the verb `backtest_launch` has no bound.",
        )
    }

    def post(self, request: Request) -> Response:
        """The document of the verb `backtest_launch`."""
        body = dict(self.body)
        start, end = body.pop("from"), body.pop("to")
        try:
            return self.answer(backtest_launch(**body, start=start, end=end, bounded=True))
        except WorkloadError as error:
            raise refused(error) from error
