"""Waste: findings, the rules, and what an organisation or team says of them."""

from __future__ import annotations

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.roles import Action, Scope
from apps.api.endpoint import ApiView, Endpoint, found_or_404
from apps.api.strict import PageQuery, StrictQuery, StrictSerializer, UtcDateTimeField
from apps.waste.selectors import setting_list
from apps.waste.services.advice import advise_waste
from apps.waste.services.settings import rules_document, setting_document, setting_remove, setting_save
from finops.engine.workload import WorkloadError
from finops.frames.waste import waste_rules


class WasteQuery(StrictQuery):
    """Which rule, and when."""

    rule = serializers.ChoiceField(choices=list(waste_rules()), required=False, help_text="One rule only.")
    at = UtcDateTimeField(required=False, help_text="Decision time; nothing later is looked at.")


class WasteAdvice(ApiView):
    """What could stop, shrink or change type."""

    tag = "waste"
    endpoints = {
        "GET": Endpoint(
            summary="Waste: findings with saving, evidence and commands, and what was not judged",
            action=Action.RUN_ADVICE,
            scope=Scope.READ_ADVICE,
            query=WasteQuery,
            answer=OpenApiTypes.OBJECT,
            description="The document of `advise_waste`. Amounts are of a month of 730 h. Findings on one "
            "resource are alternatives: `counted` is true for the largest, and only those are in `totals`.",
        )
    }

    def get(self, request: Request) -> Response:
        """The document."""
        try:
            return self.answer(advise_waste(organisation=self.organisation, **self.query))
        except WorkloadError as error:
            raise serializers.ValidationError({error.field: [error.message]}) from error


class WasteRules(ApiView):
    """The rules."""

    tag = "waste"
    endpoints = {
        "GET": Endpoint(
            summary="Rules of waste with what each needs, their thresholds and who changed them",
            action=Action.VIEW,
            scope=Scope.READ_ADVICE,
            query=PageQuery,
            answer=OpenApiTypes.OBJECT,
        )
    }

    def get(self, request: Request) -> Response:
        """A page of them."""
        return self.page(rules_document(self.organisation))


class SettingBody(StrictSerializer):
    """What is wanted of a rule; what was said before is replaced whole."""

    rule = serializers.ChoiceField(choices=list(waste_rules()))
    team = serializers.CharField(
        required=False, default="", allow_blank=True, max_length=100, help_text="Slug; blank: everybody."
    )
    enabled = serializers.BooleanField(required=False, default=True)
    thresholds = serializers.DictField(
        child=serializers.CharField(max_length=300, allow_blank=True), required=False, default=dict,
        help_text="By name, as texts; blank or left out: the table's.",
    )  # fmt: skip
    accounts = serializers.ListField(
        child=serializers.CharField(max_length=40), required=False, default=list, max_length=200,
        help_text="Asked in these accounts only; empty: in all.",
    )  # fmt: skip
    regions = serializers.ListField(
        child=serializers.CharField(max_length=40), required=False, default=list, max_length=200
    )


class WasteSettings(ApiView):
    """What people say of the rules."""

    tag = "waste"
    endpoints = {
        "GET": Endpoint(
            summary="What the organisation and its teams say of the rules of waste",
            action=Action.VIEW,
            scope=Scope.READ_ADVICE,
            query=PageQuery,
            answer=OpenApiTypes.OBJECT,
        ),
        "POST": Endpoint(
            summary="Switch a rule off, limit it to places or give it thresholds, for everybody or a team",
            action=Action.DECIDE,
            scope=Scope.WRITE_RECOMMENDATIONS,
            body=SettingBody,
            answer=OpenApiTypes.OBJECT,
        ),
    }

    def get(self, request: Request) -> Response:
        """A page of them."""
        return self.page([setting_document(row) for row in setting_list(self.organisation)])

    def post(self, request: Request) -> Response:
        """What is said now."""
        row = setting_save(organisation=self.organisation, actor=self.actor, now=timezone.now(), **self.body)
        return self.answer(setting_document(row))


class OneWasteSetting(ApiView):
    """One of them."""

    tag = "waste"
    endpoints = {
        "DELETE": Endpoint(
            summary="Take back what was said of a rule: the table's thresholds hold again",
            action=Action.DECIDE,
            scope=Scope.WRITE_RECOMMENDATIONS,
            answer=None,
            status=204,
        )
    }

    def delete(self, request: Request, setting_id: int) -> Response:
        """Nothing is said any more."""
        setting_remove(setting=found_or_404(setting_list(self.organisation), pk=setting_id), actor=self.actor)
        return self.answer(None)
