"""Exact answers about one series: prices, the cost of a run, the week."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.roles import Action, Scope
from apps.api.endpoint import ApiView, Endpoint
from apps.api.strict import DecimalTextField, StrictQuery, UtcDateTimeField
from apps.recommendations.services import price_history, price_profile, run_cost
from finops.engine.workload import WorkloadError
from finops.reasons import reason_text


def refused(error: WorkloadError) -> serializers.ValidationError:
    """The engine's refusal in the API's shape: the field and the way out."""
    return serializers.ValidationError({error.field: [reason_text(error.message)]})


class SeriesQuery(StrictQuery):
    """One series: type, zone, product."""

    provider = serializers.CharField(default="aws", max_length=20)
    region = serializers.CharField(max_length=40)
    type = serializers.CharField(max_length=60, help_text="Instance type.")
    zone = serializers.CharField(max_length=120, help_text="Zone name or zone id.")
    product = serializers.CharField(max_length=60, help_text="For example Linux/UNIX.")
    at = UtcDateTimeField(required=False, help_text="Decision time; nothing later is looked at.")


class PricesQuery(SeriesQuery):
    """A window of prices; `from` and `to` are named as on the command line."""

    def get_fields(self) -> dict[str, Any]:
        """`from` is a word of Python's own."""
        return {
            **super().get_fields(),
            "from": UtcDateTimeField(required=False, help_text="Start of the window."),
            "to": UtcDateTimeField(required=False, help_text="End of the window, excluded."),
        }


class RunCostQuery(SeriesQuery):
    """A run."""

    start = UtcDateTimeField()
    hours = DecimalTextField(help_text="Hours, exact.")
    count = serializers.IntegerField(min_value=1, default=1, help_text="Instances.")


class ProfileQuery(SeriesQuery):
    """A week; without a zone the whole region together."""

    zone = serializers.CharField(max_length=120, required=False, default="")
    timezone = serializers.CharField(max_length=60, default="UTC", help_text="For example Europe/Berlin.")
    days = serializers.IntegerField(min_value=1, max_value=400, default=28)


def _get(summary: str, query: type[StrictQuery], description: str) -> dict[str, Endpoint]:
    return {
        "GET": Endpoint(
            summary=summary,
            action=Action.VIEW,
            scope=Scope.READ_PRICES,
            query=query,
            answer=OpenApiTypes.OBJECT,
            description=description,
        )
    }


class _PriceView(ApiView, ABC):
    """A question about prices, answered by the document of the verb of the same name."""

    tag = "prices"

    @abstractmethod
    def document(self, **query: Any) -> dict[str, Any]:
        """The document; raises WorkloadError for wrong input."""

    def get(self, request: Request) -> Response:
        """The document, or what is wrong with which field."""
        try:
            return self.answer(self.document(**self.query))
        except WorkloadError as error:
            raise refused(error) from error


class Prices(_PriceView):
    """Change points of one series."""

    endpoints = _get(
        "Spot price changes of one series, opening price, time-weighted mean",
        PricesQuery,
        "Decimal strings in `currency` per instance-hour. Unknown is null, never 0.",
    )

    def document(self, **query: Any) -> dict[str, Any]:
        """The document of the verb `prices`."""
        start, end = query.pop("from", None), query.pop("to", None)
        return price_history(**query, start=start, end=end)


class RunCost(_PriceView):
    """The exact cost of one run."""

    endpoints = _get(
        "Exact Spot cost of one run",
        RunCostQuery,
        "`cost` is null with a reason when a part of the run has no known price.",
    )

    def document(self, **query: Any) -> dict[str, Any]:
        """The document of the verb `run_cost`."""
        return run_cost(**query)


class Profile(_PriceView):
    """Prices by hour of the week."""

    endpoints = _get(
        "Prices by hour of the week, with a verdict",
        ProfileQuery,
        "`relative` is the mean price in the hour over the mean of its week; 90 % intervals.",
    )

    def document(self, **query: Any) -> dict[str, Any]:
        """The document of the verb `profile`."""
        return price_profile(**query)
