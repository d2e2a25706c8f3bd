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
from apps.api.strict import DecimalTextField, PageQuery, StrictSerializer
from apps.api.views.prices import refused
from apps.launches.models import Executor, LaunchBudget, LaunchRule
from apps.launches.selectors.limits import (
    budget_document,
    budget_list,
    limits_document,
    rule_document,
    rule_list,
    target_document,
)
from apps.launches.selectors.plans import target_list
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
        "GET": Endpoint(
            summary="Budgets of launches with what is spent and promised of each this month",
            action=Action.VIEW,
            scope=Scope.READ_LAUNCHES,
            query=PageQuery,
            answer=OpenApiTypes.OBJECT,
        ),
        "POST": Endpoint(
            summary="Set what launches of a team, or of all, may cost in a month",
            action=Action.MANAGE_BUDGETS,
            scope=None,
            body=BudgetBody,
            answer=OpenApiTypes.OBJECT,
        ),
    }

    def get(self, request: Request) -> Response:
        """A page of them."""
        now = timezone.now()
        return self.page([budget_document(one, now) for one in budget_list(self.organisation)])

    def post(self, request: Request) -> Response:
        """The limits as they are then."""
        given = dict(self.body)
        team = self.team(given.pop("team", None))
        switches.budget_save(organisation=self.organisation, actor=self.actor, team=team, **given)
        return self.answer(limits_document(self.organisation, timezone.now()))


class OneLaunchBudget(_View):
    """One budget."""

    endpoints = {
        "GET": Endpoint(
            summary="A budget of launches with what is spent and promised of it this month",
            action=Action.VIEW,
            scope=Scope.READ_LAUNCHES,
            answer=OpenApiTypes.OBJECT,
        ),
        "DELETE": Endpoint(
            summary="Take a budget of launches away: nothing limits them any more",
            action=Action.MANAGE_BUDGETS,
            scope=None,
            answer=None,
            status=204,
        ),
    }

    def find(self, budget_id: int) -> LaunchBudget:
        """The organisation's own; 404 for any other."""
        found: LaunchBudget = found_or_404(budget_list(self.organisation), pk=budget_id)
        return found

    def get(self, request: Request, budget_id: int) -> Response:
        """The budget."""
        return self.answer(budget_document(self.find(budget_id), timezone.now()))

    def delete(self, request: Request, budget_id: int) -> Response:
        """Nothing."""
        team = self.find(budget_id).team
        switches.budget_save(organisation=self.organisation, actor=self.actor, team=team, monthly=None)
        return self.answer(None)


class LaunchRules(_View):
    """Rules that approve."""

    endpoints = {
        "GET": Endpoint(
            summary="Rules that approve, ended ones too",
            action=Action.VIEW,
            scope=Scope.READ_LAUNCHES,
            query=PageQuery,
            answer=OpenApiTypes.OBJECT,
        ),
        "POST": Endpoint(
            summary="A standing yes for plans up to a limit",
            action=Action.APPROVE_SPEND,
            scope=None,
            body=RuleBody,
            status=201,
            answer=OpenApiTypes.OBJECT,
        ),
    }

    def get(self, request: Request) -> Response:
        """A page of them."""
        return self.page([rule_document(one) for one in rule_list(self.organisation)])

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


class OneLaunchRule(_View):
    """One rule."""

    endpoints = {
        "GET": Endpoint(
            summary="A rule that approves",
            action=Action.VIEW,
            scope=Scope.READ_LAUNCHES,
            answer=OpenApiTypes.OBJECT,
        ),
        "DELETE": Endpoint(
            summary="End a rule, as `off` does; it stays to be read",
            action=Action.APPROVE_SPEND,
            scope=None,
            answer=None,
            status=204,
        ),
    }

    def get(self, request: Request, rule_id: int) -> Response:
        """The rule."""
        return self.answer(rule_document(found_or_404(rule_list(self.organisation), pk=rule_id)))

    def delete(self, request: Request, rule_id: int) -> Response:
        """Nothing."""
        rule: LaunchRule = found_or_404(rule_list(self.organisation), pk=rule_id)
        switches.rule_off(rule=rule, actor=self.actor)
        return self.answer(None)


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
        rule: LaunchRule = found_or_404(rule_list(self.organisation), pk=rule_id)
        return self.answer(rule_document(switches.rule_off(rule=rule, actor=self.actor)))


class LaunchTargets(_View):
    """Places to launch on."""

    endpoints = {
        "GET": Endpoint(
            summary="Places to launch on, by name",
            action=Action.VIEW,
            scope=Scope.READ_LAUNCHES,
            query=PageQuery,
            answer=OpenApiTypes.OBJECT,
        ),
        "POST": Endpoint(
            summary="Name a place to launch on, or change it",
            action=Action.MANAGE_ORGANISATION,
            scope=None,
            body=TargetBody,
            answer=OpenApiTypes.OBJECT,
        ),
    }

    def get(self, request: Request) -> Response:
        """A page of them."""
        return self.page([target_document(one) for one in target_list(self.organisation)])

    def post(self, request: Request) -> Response:
        """The place."""
        values = dict(self.body)
        name = values.pop("name")
        if "role" in values:
            values["credentials"] = values.pop("role")
        row = switches.target_save(organisation=self.organisation, actor=self.actor, name=name, values=values)
        return self.answer(target_document(row))


class OneLaunchTarget(_View):
    """One place."""

    endpoints = {
        "GET": Endpoint(
            summary="A place to launch on",
            action=Action.VIEW,
            scope=Scope.READ_LAUNCHES,
            answer=OpenApiTypes.OBJECT,
        )
    }

    def get(self, request: Request, target_id: int) -> Response:
        """The place."""
        return self.answer(target_document(found_or_404(target_list(self.organisation), pk=target_id)))
