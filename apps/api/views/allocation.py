"""Rules that give cost to teams, what a change of them would move, and the hygiene of tags."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import Team
from apps.accounts.roles import Action, Scope
from apps.accounts.selectors import team_list
from apps.api.endpoint import ApiView, Endpoint, found_or_404, page_of
from apps.api.strict import DecimalTextField, PageQuery, StrictSerializer, UtcDateTimeField
from apps.api.views.spend import DaysQuery
from apps.billing.models import AllocationRule, RuleKind, SplitMethod
from apps.billing.selectors.allocation import rule_list
from apps.billing.selectors.allocation_trial import allocation_trial
from apps.billing.selectors.spend import SpendError
from apps.billing.selectors.spend_question import SpendQuestion, question_of
from apps.billing.selectors.tags import tag_report
from apps.billing.services.allocation import MAX_PRIORITY, RuleFields, rule_check, rule_remove, rule_save
from finops.frames.focus import BASES


class ShareBody(StrictSerializer):
    """A team's part of a divided cost."""

    team = serializers.SlugField(max_length=50, help_text="Slug.")
    share = DecimalTextField(
        required=False, allow_null=True, help_text="Share of 1, for fixed shares: they add up to 1."
    )


class RuleBody(StrictSerializer):
    """A rule; what is left out is empty."""

    name = serializers.CharField(max_length=100, help_text="Once in the organisation, whatever its case.")
    priority = serializers.IntegerField(
        min_value=0, max_value=MAX_PRIORITY, default=100, help_text="The smallest is tried first."
    )
    kind = serializers.ChoiceField(choices=RuleKind.choices)
    key = serializers.CharField(max_length=300, required=False, default="", allow_blank=True)
    values = serializers.ListField(
        child=serializers.CharField(max_length=300), required=False, default=list, max_length=500
    )
    pattern = serializers.CharField(
        max_length=500, required=False, default="", allow_blank=True, trim_whitespace=False,
        help_text="RE2 expression, searched in the id of the resource.",
    )  # fmt: skip
    valid_from = serializers.DateField(required=False, allow_null=True, default=None)
    valid_to = serializers.DateField(
        required=False, allow_null=True, default=None, help_text="The last day, included."
    )
    team = serializers.SlugField(max_length=50, required=False, allow_null=True, default=None)
    split = serializers.ChoiceField(
        choices=SplitMethod.values[1:], required=False, default="", help_text="Instead of one team."
    )
    shares = ShareBody(many=True, required=False, default=list)


class ShareAnswer(serializers.Serializer[Any]):
    """A team's part."""

    team = serializers.SlugField(source="team.slug")
    share = DecimalTextField(allow_null=True)


class RuleAnswer(serializers.ModelSerializer[AllocationRule]):
    """A rule as it is kept."""

    team = serializers.SlugField(source="team.slug", allow_null=True, default=None)
    shares = ShareAnswer(many=True)
    created_at = UtcDateTimeField()
    updated_at = UtcDateTimeField()
    split = serializers.SerializerMethodField()

    class Meta:
        model = AllocationRule
        fields = [
            "id", "name", "priority", "kind", "key", "values", "pattern", "valid_from", "valid_to", "team",
            "split", "shares", "created_at", "updated_at",
        ]  # fmt: skip

    @extend_schema_field(serializers.CharField(help_text="Empty: one team."))
    def get_split(self, rule: AllocationRule) -> str:
        """How the cost is divided."""
        return rule.split


class _RuleView(ApiView):
    tag = "allocation"

    def find(self, rule_id: int) -> AllocationRule:
        """The organisation's own; 404 for any other."""
        found: AllocationRule = found_or_404(rule_list(self.organisation), pk=rule_id)
        return found

    def fields(self, body: dict[str, Any]) -> RuleFields:
        """The body with its teams."""
        given = dict(body)
        slugs = {share["team"] for share in given["shares"]} | ({given["team"]} if given["team"] else set())
        teams = {team.slug: team for team in team_list(self.organisation).filter(slug__in=slugs)}
        if slugs - set(teams):
            raise serializers.ValidationError({"team": [_("There is no such team in this organisation.")]})
        team: Team | None = teams[given["team"]] if given["team"] else None
        shares = [(teams[share["team"]], share.get("share")) for share in given["shares"]]
        return RuleFields(**{**given, "team": team, "shares": shares})

    def save(self, rule: AllocationRule | None) -> Response:
        """The body, kept; errors name their field."""
        try:
            saved = rule_save(
                organisation=self.organisation, actor=self.actor, fields=self.fields(self.body), rule=rule
            )
        except AllocationRule.DoesNotExist as error:  # removed by somebody else meanwhile
            raise NotFound from error
        return self.answer(saved)


class Rules(_RuleView):
    """The organisation's rules."""

    endpoints = {
        "GET": Endpoint(
            summary="List allocation rules in the order in which they are tried",
            action=Action.VIEW,
            scope=Scope.READ_BILLS,
            query=PageQuery,
            answer=page_of(RuleAnswer),
        ),
        "POST": Endpoint(
            summary="Add an allocation rule",
            action=Action.MANAGE_BUDGETS,
            scope=Scope.WRITE_BILLS,
            body=RuleBody,
            answer=RuleAnswer,
            status=201,
        ),
    }

    def get(self, request: Request) -> Response:
        """One page."""
        return self.page(rule_list(self.organisation))

    def post(self, request: Request) -> Response:
        """The rule as it is kept."""
        return self.save(None)


class OneRule(_RuleView):
    """A rule."""

    endpoints = {
        "GET": Endpoint(
            summary="Read an allocation rule", action=Action.VIEW, scope=Scope.READ_BILLS, answer=RuleAnswer
        ),
        "PUT": Endpoint(
            summary="Replace an allocation rule",
            action=Action.MANAGE_BUDGETS,
            scope=Scope.WRITE_BILLS,
            body=RuleBody,
            answer=RuleAnswer,
        ),
        "DELETE": Endpoint(
            summary="Remove an allocation rule",
            action=Action.MANAGE_BUDGETS,
            scope=Scope.WRITE_BILLS,
            answer=None,
            status=204,
        ),
    }

    def get(self, request: Request, rule_id: int) -> Response:
        """Its fields."""
        return self.answer(self.find(rule_id))

    def put(self, request: Request, rule_id: int) -> Response:
        """The rule as it is kept now."""
        return self.save(self.find(rule_id))

    def delete(self, request: Request, rule_id: int) -> Response:
        """Nothing."""
        rule_remove(rule=self.find(rule_id), actor=self.actor)
        return self.answer(None)


class TrialBody(RuleBody):
    """A rule and the days on which to try it."""

    instead_of = serializers.IntegerField(
        required=False,
        allow_null=True,
        default=None,
        min_value=1,
        help_text="Id of the rule it would replace.",
    )
    basis = serializers.ChoiceField(choices=list(BASES), default="billed")

    def get_fields(self) -> dict[str, Any]:
        """`from` is a word of Python's own."""
        return {
            **super().get_fields(),
            "from": serializers.DateField(help_text="First day."),
            "to": serializers.DateField(help_text="Day after the last one."),
        }


class Trial(_RuleView):
    """What a rule would move."""

    endpoints = {
        "POST": Endpoint(
            summary="Try an allocation rule without saving it: what each team would gain and lose",
            action=Action.VIEW,
            scope=Scope.READ_BILLS,
            body=TrialBody,
            answer=OpenApiTypes.OBJECT,
        )
    }

    def post(self, request: Request) -> Response:
        """`matched` cost, and each team's cost before and after; the differences sum to 0."""
        body = dict(self.body)
        start, end, basis = body.pop("from"), body.pop("to"), body.pop("basis")
        number = body.pop("instead_of")
        rule = rule_list(self.organisation).filter(pk=number).first() if number else None
        if number and rule is None:
            raise serializers.ValidationError({"instead_of": [_("There is no such rule.")]})
        proposed = rule_check(organisation=self.organisation, fields=self.fields(body), rule=rule)
        try:
            question = SpendQuestion(start=start, end=end, basis=basis)
        except SpendError as error:
            raise serializers.ValidationError({error.field: [error.message]}) from error
        trial = allocation_trial(
            question,
            proposed,
            organisation=self.organisation,
            now=timezone.now(),
            instead_of=number,
        )
        return self.answer(trial.document())


class TagHygiene(ApiView):
    """Coverage of tag keys by cost, and keys that look alike."""

    tag = "spend"
    endpoints = {
        "GET": Endpoint(
            summary="How much cost carries which tag key, and keys that look like one",
            action=Action.VIEW,
            scope=Scope.READ_BILLS,
            query=DaysQuery,
            answer=OpenApiTypes.OBJECT,
        )
    }

    def get(self, request: Request) -> Response:
        """Keys by cost; suspects are reported, never merged."""
        now = timezone.now()
        try:
            question = question_of(start=self.query["from"], end=self.query["to"], basis=self.query["basis"])
        except SpendError as error:
            raise serializers.ValidationError({error.field: [error.message]}) from error
        return self.answer(tag_report(question, organisation=self.organisation, now=now).document(now))
