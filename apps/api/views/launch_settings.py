"""Where launches run and within which limits; the freeze switch."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import Team
from apps.accounts.roles import Action, Scope
from apps.accounts.selectors import team_list
from apps.api.endpoint import ApiView, Endpoint, found_or_404
from apps.api.strict import DecimalTextField, StrictSerializer
from apps.api.views.prices import refused
from apps.launches.models import Executor, LaunchRule
from apps.launches.selectors.limits import limits_document, rule_document, target_document
from apps.launches.services import switches
from apps.workloads.selectors import workload_find
from finops.engine.workload import WorkloadError


class FreezeBody(StrictSerializer):
    """The switch."""

    frozen = serializers.BooleanField(help_text="True: nothing is launched; what runs goes on.")
    reason = serializers.CharField(max_length=500, help_text="Others will read it.")


class GuardBody(StrictSerializer):
    """All limits at once; what is left out has none."""

    dry_run = serializers.BooleanField(default=False, help_text="Everything but the call.")
    max_instances = serializers.IntegerField(required=False, min_value=0, max_value=1_000_000)
    max_price = DecimalTextField(required=False, help_text="A machine's hour.")
    currency = serializers.CharField(required=False, default="", allow_blank=True, max_length=3)
    regions = serializers.ListField(
        child=serializers.CharField(max_length=40), required=False, max_length=200, help_text="None: all."
    )


class BudgetBody(StrictSerializer):
    """A month's budget of a team, or of all launches."""

    team = serializers.SlugField(required=False, max_length=50)
    monthly = DecimalTextField(allow_null=True, help_text="Null takes the limit away.")
    currency = serializers.CharField(required=False, default="", allow_blank=True, max_length=3)


class RuleBody(StrictSerializer):
    """A standing yes."""

    limit = DecimalTextField(help_text="What a plan may cost in the worst case.")
    currency = serializers.CharField(max_length=3)
    team = serializers.SlugField(required=False, max_length=50)
    workload = serializers.CharField(required=False, max_length=100)


class TargetBody(StrictSerializer):
    """A place to launch on; what is left out stays."""

    name = serializers.CharField(max_length=60)
    executor = serializers.ChoiceField(choices=Executor.values, required=False)
    provider = serializers.CharField(required=False, max_length=20)
    account = serializers.CharField(required=False, max_length=64, allow_blank=True)
    role = serializers.CharField(required=False, max_length=200, allow_blank=True)
    external_id = serializers.CharField(required=False, max_length=1224, allow_blank=True)
    settings = serializers.JSONField(required=False)
    max_instances = serializers.IntegerField(
        required=False, allow_null=True, min_value=0, max_value=1_000_000
    )
    notices = serializers.CharField(required=False, max_length=500, allow_blank=True)
    active = serializers.BooleanField(required=False)


class _View(ApiView):
    tag = "launches"

    def team(self, slug: str | None) -> Team | None:
        """The team of a slug."""
        found = team_list(self.organisation).filter(slug=slug).first() if slug else None
        if slug and found is None:
            raise serializers.ValidationError({"team": [_("There is no such team in this organisation.")]})
        return found


class LaunchLimits(_View):
    """Everything that limits launches."""

    endpoints = {
        "GET": Endpoint(
            summary="Targets, limits, budgets with what is spent and promised this month, rules",
            action=Action.VIEW,
            scope=Scope.READ_LAUNCHES,
            answer=OpenApiTypes.OBJECT,
        ),
        "POST": Endpoint(
            summary="Set the limits of the organisation",
            action=Action.MANAGE_ORGANISATION,
            scope=None,
            body=GuardBody,
            answer=OpenApiTypes.OBJECT,
        ),
    }

    def get(self, request: Request) -> Response:
        """The limits."""
        return self.answer(limits_document(self.organisation, timezone.now()))

    def post(self, request: Request) -> Response:
        """The limits as they are then."""
        switches.guard_save(organisation=self.organisation, actor=self.actor, **self.body)
        return self.get(request)


class Freeze(_View):
    """The freeze switch."""

    endpoints = {
        "POST": Endpoint(
            summary="Freeze or unfreeze all launches of the organisation",
            action=Action.APPROVE_SPEND,
            scope=None,
            body=FreezeBody,
            answer=OpenApiTypes.OBJECT,
        )
    }

    def post(self, request: Request) -> Response:
        """The limits as they are then."""
        switches.launches_freeze(
            organisation=self.organisation, actor=self.actor, now=timezone.now(), **self.body
        )
        return self.answer(limits_document(self.organisation, timezone.now()))


class LaunchBudgets(_View):
    """Budgets of launches."""

    endpoints = {
        "POST": Endpoint(
            summary="Set what launches of a team, or of all, may cost in a month",
            action=Action.MANAGE_BUDGETS,
            scope=None,
            body=BudgetBody,
            answer=OpenApiTypes.OBJECT,
        )
    }

    def post(self, request: Request) -> Response:
        """The limits as they are then."""
        given = dict(self.body)
        team = self.team(given.pop("team", None))
        switches.budget_save(organisation=self.organisation, actor=self.actor, team=team, **given)
        return self.answer(limits_document(self.organisation, timezone.now()))


class LaunchRules(_View):
    """Rules that approve."""

    endpoints = {
        "POST": Endpoint(
            summary="A standing yes for plans up to a limit",
            action=Action.APPROVE_SPEND,
            scope=None,
            body=RuleBody,
            status=201,
            answer=OpenApiTypes.OBJECT,
        )
    }

    def post(self, request: Request) -> Response:
        """The rule."""
        given: dict[str, Any] = dict(self.body)
        named = given.pop("workload", None)
        try:
            workload = None if named is None else workload_find(self.organisation, named)
        except WorkloadError as error:
            raise refused(error) from error
        row = switches.rule_save(
            organisation=self.organisation, actor=self.actor, team=self.team(given.pop("team", None)),
            workload=workload, **given,
        )  # fmt: skip
        return self.answer(rule_document(row))


class LaunchRuleOff(_View):
    """End a rule."""

    endpoints = {
        "POST": Endpoint(
            summary="End a rule; what it approved and has not run waits for people again",
            action=Action.APPROVE_SPEND,
            scope=None,
            answer=OpenApiTypes.OBJECT,
        )
    }

    def post(self, request: Request, rule_id: int) -> Response:
        """The rule."""
        rows = LaunchRule.objects.filter(organisation=self.organisation)
        rule: LaunchRule = found_or_404(rows, pk=rule_id)
        return self.answer(rule_document(switches.rule_off(rule=rule, actor=self.actor)))


class LaunchTargets(_View):
    """Places to launch on."""

    endpoints = {
        "POST": Endpoint(
            summary="Name a place to launch on, or change it",
            action=Action.MANAGE_ORGANISATION,
            scope=None,
            body=TargetBody,
            answer=OpenApiTypes.OBJECT,
        )
    }

    def post(self, request: Request) -> Response:
        """The place."""
        values = dict(self.body)
        name = values.pop("name")
        if "role" in values:
            values["credentials"] = values.pop("role")
        row = switches.target_save(organisation=self.organisation, actor=self.actor, name=name, values=values)
        return self.answer(target_document(row))
