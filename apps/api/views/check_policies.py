"""Policies that every cost check is held against."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.roles import Action, Scope
from apps.accounts.selectors import team_list
from apps.api.endpoint import ApiView, Endpoint, found_or_404, page_of
from apps.api.strict import PageQuery, StrictSerializer, UtcDateTimeField
from apps.costchecks.selectors import check_policy_list
from apps.costchecks.services import check_policy_add, check_policy_remove
from apps.costchecks.services.policies import policy_of
from apps.costchecks.wording import policy_title
from finops.engine.checks.policies import CASES, KINDS
from finops.frames.region_carbon import PUBLISHERS

LIMITED = "For a limit: decimal text in `currency`, percent, or grams of CO2e a kWh."


class CheckPolicyAnswer(serializers.Serializer[Any]):
    """A stored policy; `team` null: it holds for every check of the organisation."""

    id = serializers.IntegerField()
    team = serializers.SlugField(source="team.slug", allow_null=True, default=None)
    kind = serializers.CharField()
    title = serializers.SerializerMethodField(help_text="What it asks, in the reader's language.")
    rule = serializers.DictField(help_text="As in a policy file.")
    created_at = UtcDateTimeField()

    def get_title(self, row: Any) -> str:
        """Its own title, else the sentence of its kind."""
        policy = policy_of(row)
        return policy.title or policy_title(policy)


class CheckPolicyBody(StrictSerializer):
    """One policy; which fields a kind needs: docs/algorithms/cost-checks.md."""

    kind = serializers.ChoiceField(choices=list(KINDS))
    team = serializers.SlugField(
        required=False, max_length=50, help_text="Only checks of this team; without: every check."
    )
    level = serializers.ChoiceField(choices=["warn", "deny"], required=False)
    limit = serializers.CharField(required=False, max_length=40, help_text=LIMITED)
    currency = serializers.CharField(required=False, max_length=10)
    case = serializers.ChoiceField(choices=list(CASES), required=False)
    types = serializers.ListField(
        child=serializers.CharField(max_length=60), required=False, max_length=50, help_text="Volume types."
    )
    tag = serializers.CharField(required=False, max_length=128, help_text="Key of a tag.")
    value = serializers.CharField(required=False, max_length=200, help_text="Its value; without: any.")
    source = serializers.ChoiceField(  # type: ignore[assignment]
        choices=list(PUBLISHERS), required=False, help_text="Whose carbon factors; without: all must agree."
    )
    title = serializers.CharField(required=False, max_length=200)


class CheckPolicies(ApiView):
    """Stored policies."""

    tag = "cost checks"
    endpoints = {
        "GET": Endpoint(
            summary="List the policies that cost checks are held against, oldest first",
            action=Action.VIEW,
            scope=Scope.READ_ADVICE,
            query=PageQuery,
            answer=page_of(CheckPolicyAnswer),
        ),
        "POST": Endpoint(
            summary="Hold every check of the organisation, or of one team, against a policy",
            action=Action.MANAGE_BUDGETS,
            scope=Scope.WRITE_BILLS,
            body=CheckPolicyBody,
            answer=CheckPolicyAnswer,
            status=201,
        ),
    }

    def get(self, request: Request) -> Response:
        """One page."""
        return self.page(check_policy_list(self.organisation))

    def post(self, request: Request) -> Response:
        """The policy as it is kept."""
        values = dict(self.body)
        slug = values.pop("team", None)
        team = team_list(self.organisation).filter(slug=slug).first() if slug else None
        if slug and team is None:
            raise serializers.ValidationError({"team": [_("There is no such team in this organisation.")]})
        row = check_policy_add(organisation=self.organisation, actor=self.actor, values=values, team=team)
        return self.answer(check_policy_list(self.organisation).get(pk=row.pk))


class OneCheckPolicy(ApiView):
    """A stored policy."""

    tag = "cost checks"
    endpoints = {
        "DELETE": Endpoint(
            summary="Stop holding checks against a policy; the audit trail keeps it",
            action=Action.MANAGE_BUDGETS,
            scope=Scope.WRITE_BILLS,
            answer=None,
            status=204,
        )
    }

    def delete(self, request: Request, policy_id: int) -> Response:
        """Nothing."""
        row = found_or_404(check_policy_list(self.organisation), pk=policy_id)
        check_policy_remove(policy=row, actor=self.actor)
        return self.answer(None)
