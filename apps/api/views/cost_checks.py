"""Cost checks: made, listed, read again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import Team
from apps.accounts.roles import Action, Scope
from apps.accounts.selectors import team_list
from apps.api.endpoint import ApiView, Endpoint, Refused, found_or_404, page_of
from apps.api.strict import PageQuery, StrictSerializer, UtcDateTimeField
from apps.costchecks.models import KINDS, CostCheck
from apps.costchecks.selectors import cost_check_list, cost_check_rows
from apps.costchecks.services import CheckConflictError, Question, cost_check_make
from finops.engine.checks.policies import Policy, Verdict, policies_of
from finops.frames.cost_items import CheckInputError
from finops.frames.usage_file import Usage, usage_of

# A plan of 2,000 resources has about 6 MB.
MAX_BODY = 8 * 1024 * 1024


class CostCheckBody(StrictSerializer):
    """The input and what it is held against."""

    kind = serializers.ChoiceField(choices=list(KINDS), default="terraform")
    input = serializers.CharField(
        trim_whitespace=False, help_text="The text of the file: what `terraform show -json` prints."
    )
    policies = serializers.JSONField(
        required=False,
        help_text='Beside the stored ones: `{"policies": [{"kind": "max_increase", "limit": "1500.00"}]}`.',
    )
    usage = serializers.JSONField(required=False, help_text="The usage file as a document.")
    strict = serializers.BooleanField(
        default=False, help_text="Warnings are exit code 10, unpriced parts cannot be judged."
    )
    project = serializers.CharField(max_length=200, default="", allow_blank=True)
    ref = serializers.CharField(max_length=200, default="", allow_blank=True, help_text="Branch.")
    commit = serializers.CharField(max_length=64, default="", allow_blank=True)
    base_ref = serializers.CharField(
        max_length=200,
        default="",
        allow_blank=True,
        help_text="Compare with the newest check of the project on this branch; empty: the plan's before.",
    )
    team = serializers.SlugField(required=False, max_length=50, help_text="Whose budget counts.")
    key = serializers.CharField(
        max_length=200,
        default="",
        allow_blank=True,
        help_text="Your name for this check: sent again with the same input, policies, `strict`, `base_ref` "
        "and `team` it answers the same row; with others it is 409.",
    )
    at = UtcDateTimeField(required=False, help_text="Decision time; nothing later is looked at.")


class CostCheckAnswer(serializers.Serializer[Any]):
    """A check in a list."""

    id = serializers.IntegerField()
    kind = serializers.CharField()
    project = serializers.CharField()
    ref = serializers.CharField()
    commit = serializers.CharField()
    team = serializers.SlugField(source="team.slug", allow_null=True, default=None)
    verdict = serializers.ChoiceField(choices=[verdict.value for verdict in Verdict])
    sentence = serializers.CharField(source="summary.sentence")
    incomplete = serializers.IntegerField(source="summary.incomplete", help_text="Parts without a price.")
    at = UtcDateTimeField()
    created_at = UtcDateTimeField()


@dataclass(frozen=True)
class _Refusal:
    field: str
    error: CheckInputError

    def raised(self) -> serializers.ValidationError:
        """The reader's refusal in the API's shape."""
        place = ", ".join(part for part in (self.error.address, self.error.field) if part)
        text = f"{place}: {self.error.reason}" if place else self.error.reason
        return serializers.ValidationError({self.field: [text]})


def answered(request: Request, check: CostCheck) -> dict[str, Any]:
    """The stored document with its number and the address of its page."""
    link = request.build_absolute_uri(reverse("dashboard:check", args=[check.pk]))
    return {"id": check.pk, **check.document, "link": link}


class CostChecks(ApiView):
    """The organisation's checks."""

    tag = "cost checks"
    endpoints = {
        "GET": Endpoint(
            summary="List cost checks, newest first",
            action=Action.VIEW,
            scope=Scope.READ_ADVICE,
            query=PageQuery,
            answer=page_of(CostCheckAnswer),
        ),
        "POST": Endpoint(
            summary="Price a plan before and after and hold it against policies",
            action=Action.RUN_ADVICE,
            scope=Scope.READ_ADVICE,
            body=CostCheckBody,
            answer=OpenApiTypes.OBJECT,
            description="The document of the verb `check_cost`. Values marked sensitive are dropped before "
            "anything is stored. The same input on the same data is answered by the same row. "
            "`verdict` is pass, warn, cannot judge or deny; `exit_code` what a pipeline should end with.",
            refusals=(409,),
        ),
    }

    def max_body(self) -> int:
        """Plans are larger than other bodies."""
        return MAX_BODY

    def get(self, request: Request) -> Response:
        """A page of checks."""
        return self.page(cost_check_rows(self.organisation))

    def post(self, request: Request) -> Response:
        """The check, stored."""
        body = dict(self.body)
        at = body.pop("at", None) or timezone.now().replace(second=0, microsecond=0)
        question = Question(
            content=body.pop("input").encode(),
            policies=self._policies(body.pop("policies", None)),
            usage=self._usage(body.pop("usage", None)),
            team=self._team(body.pop("team", None)),
            **body,
        )
        try:
            check = cost_check_make(organisation=self.organisation, question=question, at=at)
        except CheckInputError as error:
            raise _Refusal("input", error).raised() from error
        except CheckConflictError as error:
            told = _("This key names a check of another input or of other policies.")
            raise Refused(told, code="conflict", status=409) from error
        return self.answer(answered(request, check))

    def _policies(self, document: Any) -> tuple[Policy, ...] | None:
        if document is None:
            return None
        if not isinstance(document, dict):
            raise serializers.ValidationError({"policies": [_("Not an object.")]})
        try:
            return policies_of(document)
        except CheckInputError as error:
            raise _Refusal("policies", error).raised() from error

    def _usage(self, document: Any) -> Usage:
        try:
            return Usage() if document is None else usage_of(document)
        except CheckInputError as error:
            raise _Refusal("usage", error).raised() from error

    def _team(self, slug: str | None) -> Team | None:
        own = self.key.team if self.key is not None else None
        if own is not None and slug not in (None, own.slug):
            raise serializers.ValidationError({"team": [_("The key belongs to another team.")]})
        if own is not None:
            return own
        found: Team | None = team_list(self.organisation).filter(slug=slug).first() if slug else None
        if slug and found is None:
            raise serializers.ValidationError({"team": [_("There is no such team in this organisation.")]})
        return found


class OneCostCheck(ApiView):
    """One check."""

    tag = "cost checks"
    endpoints = {
        "GET": Endpoint(
            summary="A cost check as it was answered",
            action=Action.VIEW,
            scope=Scope.READ_ADVICE,
            answer=OpenApiTypes.OBJECT,
        )
    }

    def get(self, request: Request, check_id: int) -> Response:
        """The stored document."""
        check: CostCheck = found_or_404(cost_check_list(self.organisation), pk=check_id)
        return self.answer(answered(request, check))
