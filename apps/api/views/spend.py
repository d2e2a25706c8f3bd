"""What something cost, and what changed: the documents of the `spend` command."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.roles import Action, Scope
from apps.api.endpoint import ApiView, Endpoint, Refused
from apps.api.strict import StrictQuery
from apps.billing.selectors.spend import SpendError, SpendRefusedError, spend
from apps.billing.selectors.spend_compare import AGAINST, spend_compare
from apps.billing.selectors.spend_document import compare_document, spend_document
from apps.billing.selectors.spend_question import (
    GRANULARITIES,
    MAX_LIMIT,
    SpendQuestion,
    dimension_names,
    question_of,
)
from finops.frames.focus import BASES

MOST_ROWS = 100_000


class DaysQuery(StrictQuery):
    """A period and a basis; names are those of the command line."""

    basis = serializers.ChoiceField(choices=list(BASES), default="billed")

    def get_fields(self) -> dict[str, Any]:
        """`from` is a word of Python's own."""
        return {
            "from": serializers.CharField(max_length=10, help_text="First day, 2018-11-01."),
            "to": serializers.CharField(max_length=10, help_text="Day after the last one."),
            **super().get_fields(),
        }


class SpendQuery(DaysQuery):
    """A question."""

    by = serializers.CharField(
        required=False, default="", max_length=500, help_text=f"Dimensions: {', '.join(dimension_names())}."
    )
    where = serializers.ListField(
        child=serializers.CharField(max_length=1000),
        required=False,
        default=list,
        max_length=50,
        help_text="dimension=value, may be given again; values of one dimension are alternatives.",
    )
    currency = serializers.CharField(
        required=False, max_length=10, help_text="Convert to it by the dated exchange rates."
    )


class SpendRowsQuery(SpendQuery):
    """Rows by period."""

    granularity = serializers.ChoiceField(choices=list(GRANULARITIES[1:]), required=False, default="")
    limit = serializers.IntegerField(
        min_value=0, max_value=MAX_LIMIT, default=0, help_text="Only the largest groups; 0 for all."
    )


class CompareQuery(SpendQuery):
    """What to compare with."""

    against = serializers.ChoiceField(
        choices=list(AGAINST),
        default="previous",
        help_text="previous: as many days just before; month: the same days of the month before.",
    )


class _SpendView(ApiView):
    tag = "spend"

    def question(self) -> SpendQuestion:
        """The question of the address. Raises SpendError."""
        query = dict(self.query)
        query["start"], query["end"] = query.pop("from"), query.pop("to")
        query.pop("against", None)
        return question_of(**query)

    def refuse(self, error: SpendError) -> Exception:
        """The refusal in the API's shape."""
        if isinstance(error, SpendRefusedError):
            return Refused(error.message, code="no_exchange_rate")
        return serializers.ValidationError({error.field: [error.message]})


class Spend(_SpendView):
    """Cost by any dimensions."""

    endpoints = {
        "GET": Endpoint(
            summary="What something cost, by any dimensions of the bills",
            action=Action.VIEW,
            scope=Scope.READ_BILLS,
            query=SpendRowsQuery,
            answer=OpenApiTypes.OBJECT,
            description="The document of `spend`: rows, total (per currency), complete, unallocated.",
        )
    }

    def get(self, request: Request) -> Response:
        """The document."""
        try:
            answer = spend(self.question(), organisation=self.organisation, now=timezone.now())
            if len(answer.rows) > MOST_ROWS:
                raise SpendError("limit", f"{len(answer.rows)} > {MOST_ROWS}")
        except SpendError as error:
            raise self.refuse(error) from error
        return self.answer(spend_document(answer))


class SpendComparison(_SpendView):
    """A period against the one before."""

    endpoints = {
        "GET": Endpoint(
            summary="What changed against the period before, and what explains it",
            action=Action.VIEW,
            scope=Scope.READ_BILLS,
            query=CompareQuery,
            answer=OpenApiTypes.OBJECT,
            description="Both sides have the same number of days; days that are not delivered are left out.",
        )
    }

    def get(self, request: Request) -> Response:
        """The document."""
        now = timezone.now()
        try:
            found = spend_compare(
                self.question(), organisation=self.organisation, now=now, against=self.query["against"]
            )
        except SpendError as error:
            raise self.refuse(error) from error
        return self.answer(compare_document(found, now))
