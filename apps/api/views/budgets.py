"""Budgets, anomalies and forecasts: the documents of the commands, and the writes behind the pages."""

from __future__ import annotations

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
from apps.api.endpoint import ApiView, Endpoint, Refused, found_or_404
from apps.api.strict import DecimalTextField, StrictQuery, StrictSerializer, UtcDateTimeField
from apps.billing.models import (
    Anomaly,
    Budget,
    BudgetBasis,
    BudgetMeasure,
    BudgetPeriod,
    BudgetScope,
)
from apps.billing.selectors.anomalies import (
    STATES,
    anomalies_asked,
    anomalies_document,
    anomaly_document,
    anomaly_list,
)
from apps.billing.selectors.budget_standing import (
    budget_answer,
    budget_answers,
    budget_document,
    budgets_document,
)
from apps.billing.selectors.budgets import budget_list
from apps.billing.selectors.forecast import forecast, forecast_document, period_day
from apps.billing.selectors.spend import SpendError, SpendRefusedError
from apps.billing.selectors.spend_question import condition_of
from apps.billing.services.anomalies import anomaly_close, anomaly_reopen, anomaly_snooze
from apps.billing.services.budgets import MAX_THRESHOLDS, budget_remove, budget_save
from finops.engine.budget import Period
from finops.frames.focus import BASES


def _refused(error: SpendError) -> Exception:
    if isinstance(error, SpendRefusedError):
        return Refused(error.message, code="no_exchange_rate")
    return serializers.ValidationError({error.field: [error.message]})


class AtQuery(StrictQuery):
    """The decision time."""

    at = UtcDateTimeField(required=False, help_text="Decision time; nothing later is looked at.")


class ForecastQuery(AtQuery):
    """A period of the bills, or of a part of them."""

    period = serializers.CharField(
        required=False, max_length=10, help_text="2018-11, 2018-Q4 or 2018; default the newest month."
    )
    basis = serializers.ChoiceField(choices=list(BASES), default="amortised")
    where = serializers.ListField(
        child=serializers.CharField(max_length=1000),
        required=False,
        default=list,
        max_length=50,
        help_text="dimension=value, may be given again; values of one dimension are alternatives.",
    )
    currency = serializers.CharField(required=False, max_length=10, help_text="Convert to it.")


class Forecast(ApiView):
    """What a period will cost."""

    tag = "spend"
    endpoints = {
        "GET": Endpoint(
            summary="What a billing period will cost, with a 90 % interval",
            action=Action.VIEW,
            scope=Scope.READ_BILLS,
            query=ForecastQuery,
            answer=OpenApiTypes.OBJECT,
            description="The document of `forecast`; `expected` is null where it cannot be judged.",
        )
    }

    def get(self, request: Request) -> Response:
        """The document."""
        query = dict(self.query)
        at, text = query.pop("at", None) or timezone.now(), query.pop("period", None)
        try:
            day, period = period_day(text) if text else (None, Period.MONTH)
            query["where"] = tuple(condition_of(one) for one in query["where"])
            answer = forecast(organisation=self.organisation, at=at, day=day, period=period, **query)
        except SpendError as error:
            raise _refused(error) from error
        return self.answer(forecast_document(answer))


class ThresholdBody(StrictSerializer):
    """One threshold."""

    measure = serializers.ChoiceField(choices=BudgetMeasure.values)
    percent = DecimalTextField(help_text="Percent of the amount.")


class BudgetBody(StrictSerializer):
    """A budget, whole: what is left out is its default."""

    name = serializers.CharField(max_length=100, help_text="Once in the organisation, whatever its case.")
    scope = serializers.ChoiceField(choices=BudgetScope.values, default=BudgetScope.ORGANISATION.value)
    scope_value = serializers.CharField(required=False, allow_blank=True, max_length=300)
    tag_key = serializers.CharField(required=False, allow_blank=True, max_length=300)
    team = serializers.SlugField(required=False, max_length=50, help_text="Slug, for the scope team.")
    period = serializers.ChoiceField(choices=BudgetPeriod.values, default=BudgetPeriod.MONTH.value)
    basis = serializers.ChoiceField(choices=BudgetBasis.values, default=BudgetBasis.AMORTISED.value)
    amount = DecimalTextField(help_text="For each period.")
    currency = serializers.CharField(max_length=10)
    valid_from = serializers.DateField()
    valid_to = serializers.DateField(required=False, allow_null=True, help_text="Excluded; null: no end.")
    thresholds = serializers.ListField(child=ThresholdBody(), max_length=MAX_THRESHOLDS, default=list)


class _BudgetView(ApiView):
    tag = "budgets"

    def find(self, budget_id: int) -> Budget:
        """The organisation's own; 404 for any other."""
        found: Budget = found_or_404(budget_list(self.organisation), pk=budget_id)
        return found

    def save(self, budget: Budget | None) -> Response:
        """The body, kept; errors name their field."""
        fields = dict(self.body)
        thresholds = [(t["measure"], t["percent"]) for t in fields.pop("thresholds")]
        slug = fields.pop("team", None)
        team: Team | None = team_list(self.organisation).filter(slug=slug).first() if slug else None
        if slug and team is None:
            raise serializers.ValidationError({"team": [_("There is no such team in this organisation.")]})
        try:
            saved = budget_save(
                organisation=self.organisation,
                actor=self.actor,
                fields={**fields, "team": team},
                thresholds=thresholds,
                budget=budget,
            )
        except Budget.DoesNotExist as error:  # removed by somebody else meanwhile
            raise NotFound from error
        return self.told(saved)

    def told(self, budget: Budget) -> Response:
        """The budget and where it stands."""
        return self.answer(budget_document(budget_answer(self.find(budget.pk), at=timezone.now(), day=None)))


class BudgetsQuery(AtQuery):
    """Which periods."""

    day = serializers.DateField(required=False, help_text="A day of the period; default the newest.")
    all = serializers.BooleanField(default=False, help_text="Also budgets that are not in force.")


class Budgets(_BudgetView):
    """The organisation's budgets."""

    endpoints = {
        "GET": Endpoint(
            summary="Budgets and where each stands; there is no sum, because they may overlap",
            action=Action.VIEW,
            scope=Scope.READ_BILLS,
            query=BudgetsQuery,
            answer=OpenApiTypes.OBJECT,
            description="The document of `budgets`.",
        ),
        "POST": Endpoint(
            summary="Make a budget",
            action=Action.MANAGE_BUDGETS,
            scope=Scope.WRITE_BILLS,
            body=BudgetBody,
            answer=OpenApiTypes.OBJECT,
            status=201,
        ),
    }

    def get(self, request: Request) -> Response:
        """The document."""
        at = self.query.get("at") or timezone.now()
        answers = budget_answers(
            self.organisation, at=at, day=self.query.get("day"), all_of_them=self.query["all"]
        )
        return self.answer(budgets_document(answers, at=at))

    def post(self, request: Request) -> Response:
        """The budget as it is kept."""
        return self.save(None)


class OneBudget(_BudgetView):
    """A budget."""

    endpoints = {
        "GET": Endpoint(
            summary="Read a budget and where it stands",
            action=Action.VIEW,
            scope=Scope.READ_BILLS,
            answer=OpenApiTypes.OBJECT,
        ),
        "PUT": Endpoint(
            summary="Replace a budget: what the body leaves out is its default",
            action=Action.MANAGE_BUDGETS,
            scope=Scope.WRITE_BILLS,
            body=BudgetBody,
            answer=OpenApiTypes.OBJECT,
        ),
        "DELETE": Endpoint(
            summary="Forget a budget with its alerts",
            action=Action.MANAGE_BUDGETS,
            scope=Scope.WRITE_BILLS,
            answer=None,
            status=204,
        ),
    }

    def get(self, request: Request, budget_id: int) -> Response:
        """The document of one."""
        return self.told(self.find(budget_id))

    def put(self, request: Request, budget_id: int) -> Response:
        """The budget as it is kept now."""
        return self.save(self.find(budget_id))

    def delete(self, request: Request, budget_id: int) -> Response:
        """Nothing."""
        budget_remove(budget=self.find(budget_id), actor=self.actor)
        return self.answer(None)


class AnomaliesQuery(AtQuery):
    """Which anomalies."""

    state = serializers.ChoiceField(choices=STATES, required=False)

    def get_fields(self) -> dict[str, Any]:
        """`from` is a word of Python's own."""
        return {
            "from": serializers.DateField(required=False, help_text="First day."),
            "to": serializers.DateField(required=False, help_text="Day after the last one."),
            **super().get_fields(),
        }


class Anomalies(ApiView):
    """Days on which a part of the bill cost far more or less than usual."""

    tag = "anomalies"
    endpoints = {
        "GET": Endpoint(
            summary="Anomalies of daily cost, newest first",
            action=Action.VIEW,
            scope=Scope.READ_BILLS,
            query=AnomaliesQuery,
            answer=OpenApiTypes.OBJECT,
            description="The document of `anomalies`; `judged` says which days were judged when.",
        )
    }

    def get(self, request: Request) -> Response:
        """The document."""
        query = dict(self.query)
        at = query.get("at") or timezone.now()
        rows = anomalies_asked(
            self.organisation,
            at=at,
            start=query.get("from"),
            end=query.get("to"),
            state=query.get("state"),
        )
        return self.answer(anomalies_document(rows, self.organisation, at=at))


class ReasonBody(StrictSerializer):
    """Why."""

    reason = serializers.CharField(max_length=500, help_text="Others will read it.")


class SnoozeBody(ReasonBody):
    """Until when, and why."""

    until = serializers.DateField(help_text="The first day on which it is open again.")


def _change(summary: str, body: type[StrictSerializer] | None = None) -> dict[str, Endpoint]:
    return {
        "POST": Endpoint(
            summary=summary,
            action=Action.MANAGE_ANOMALIES,
            scope=Scope.WRITE_BILLS,
            body=body,
            answer=OpenApiTypes.OBJECT,
        )
    }


class _AnomalyView(ApiView):
    tag = "anomalies"

    def find(self, anomaly_id: int) -> Anomaly:
        """The organisation's own; 404 for any other."""
        found: Anomaly = found_or_404(anomaly_list(self.organisation), pk=anomaly_id)
        return found

    def told(self, anomaly: Anomaly) -> Response:
        """The anomaly as it is kept now."""
        return self.answer(anomaly_document(anomaly, timezone.now().date()))


class SnoozeAnomaly(_AnomalyView):
    """Set an anomaly aside."""

    endpoints = _change("Set an anomaly aside until a day, with a reason", SnoozeBody)

    def post(self, request: Request, anomaly_id: int) -> Response:
        """The anomaly."""
        return self.told(
            anomaly_snooze(anomaly=self.find(anomaly_id), actor=self.actor, now=timezone.now(), **self.body)
        )


class CloseAnomaly(_AnomalyView):
    """Close an anomaly."""

    endpoints = _change("Close an anomaly: nothing more is to be done about it", ReasonBody)

    def post(self, request: Request, anomaly_id: int) -> Response:
        """The anomaly."""
        return self.told(
            anomaly_close(anomaly=self.find(anomaly_id), actor=self.actor, now=timezone.now(), **self.body)
        )


class ReopenAnomaly(_AnomalyView):
    """Open an anomaly again."""

    endpoints = _change("Take back a snooze or a closing")

    def post(self, request: Request, anomaly_id: int) -> Response:
        """The anomaly."""
        return self.told(anomaly_reopen(anomaly=self.find(anomaly_id), actor=self.actor, now=timezone.now()))
