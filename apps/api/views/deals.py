"""Deals: what to buy and to sell, one offer, the calculator, history, rules and alerts."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.roles import Action, Scope
from apps.api.endpoint import ApiView, Endpoint, found_or_404
from apps.api.strict import DecimalTextField, StrictQuery, StrictSerializer, UtcDateTimeField
from apps.api.views.prices import refused
from apps.recommendations.models import DealAlert, DealRule
from apps.recommendations.selectors.deals import (
    alert_document,
    deal_alerts,
    deal_rules,
    offer_history,
    rule_document,
)
from apps.recommendations.services.commitments_advice import advise_commitments
from apps.recommendations.services.commitments_sale import ASK_SHARE, sell_commitments
from apps.recommendations.services.deal_claim import MONTH_HOURS, Claim, deal_claim
from apps.recommendations.services.deal_offer import offer_detail
from apps.recommendations.services.deal_rules import deal_alert_see, deal_rule_remove, deal_rule_save
from finops.engine.workload import WorkloadError

LONGEST_HORIZON = 26_280


def _told(answer: Callable[..., dict[str, Any]], **given: Any) -> dict[str, Any]:
    try:
        return answer(**given)
    except WorkloadError as error:
        raise refused(error) from error


class _Asked(StrictQuery):
    at = UtcDateTimeField(required=False, help_text="Decision time; nothing later is looked at.")
    lookback_days = serializers.IntegerField(default=30, help_text="Days of bills that are looked at.")


class DealsQuery(_Asked):
    """Limits, and which offers to consider; lists are separated by commas."""

    horizon_hours = serializers.IntegerField(default=8760, min_value=1, max_value=LONGEST_HORIZON)
    max_upfront = DecimalTextField(required=False, help_text="Limit of all that is paid at once.")
    max_loss_probability = serializers.FloatField(required=False, help_text="0 to 1.")
    kinds = serializers.CharField(required=False, max_length=100, help_text="second-hand,new,savings-plan")
    payments = serializers.CharField(required=False, max_length=100)
    classes = serializers.CharField(required=False, max_length=100, help_text="standard,convertible")


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


class Deals(ApiView):
    """What to buy."""

    tag = "deals"
    endpoints = {
        "GET": Endpoint(
            summary="Which commitments to buy, and why the others are not",
            action=Action.RUN_ADVICE,
            scope=Scope.READ_ADVICE,
            query=DealsQuery,
            answer=OpenApiTypes.OBJECT,
            description="The document of the verb `advise_commitments`.",
        )
    }

    def get(self, request: Request) -> Response:
        """The document."""
        query = dict(self.query)
        for name in ("kinds", "payments", "classes"):
            query[name] = _names(query.get(name))
        return self.answer(_told(advise_commitments, **query, organisation=self.organisation))


class OfferQuery(_Asked):
    """What-if values in place of the offer's own."""

    price = DecimalTextField(required=False, help_text="Paid once for one.")
    hours_left = DecimalTextField(required=False)
    used_pct = DecimalTextField(required=False, help_text="Percent of the hours that are used.")
    quantity = serializers.IntegerField(required=False, min_value=1, max_value=100_000)


class OneOffer(ApiView):
    """One offer."""

    tag = "deals"
    endpoints = {
        "GET": Endpoint(
            summary="One offer: its figures, its history, what if",
            action=Action.RUN_ADVICE,
            scope=Scope.READ_ADVICE,
            query=OfferQuery,
            answer=OpenApiTypes.OBJECT,
            description="`judged`: the offer against your use, or `refused`: the reason why it finds none; "
            "`what_if` the same with the values of the query.",
        )
    }

    def get(self, request: Request, offer_id: int) -> Response:
        """The document."""
        found = _told(offer_detail, offer_id=offer_id, organisation=self.organisation, **self.query)
        if not found:
            raise NotFound
        return self.answer(found)


class HistoryQuery(StrictQuery):
    """Which deals."""

    region = serializers.CharField(required=False, max_length=40)
    type = serializers.CharField(required=False, max_length=60)
    days = serializers.IntegerField(default=365, min_value=1, max_value=1826)
    at = UtcDateTimeField(required=False)


class DealHistory(ApiView):
    """How long deals last."""

    tag = "deals"
    endpoints = {
        "GET": Endpoint(
            summary="How long second-hand deals lasted, and their cheapest price day by day",
            action=Action.VIEW,
            scope=Scope.READ_ADVICE,
            query=HistoryQuery,
            answer=OpenApiTypes.OBJECT,
        )
    }

    def get(self, request: Request) -> Response:
        """The document."""
        query = dict(self.query)
        return self.answer(
            offer_history(
                region=query.get("region", ""), instance_type=query.get("type", ""), days=query["days"],
                at=query.get("at") or timezone.now(),
            )
        )  # fmt: skip


class ClaimQuery(StrictQuery):
    """A deal; what is left out comes from the price list."""

    type = serializers.CharField(required=False, max_length=60)
    region = serializers.CharField(required=False, max_length=40)
    platform = serializers.CharField(default="Linux/UNIX", max_length=60)
    share_pct = DecimalTextField(required=False, help_text="Percent of the list price; default 30.")
    price = DecimalTextField(required=False, help_text="Price of one, in place of a share.")
    hours_left = DecimalTextField(required=False)
    months_left = DecimalTextField(required=False, help_text="730 hours each; default 8.")
    used_pct = DecimalTextField(required=False)
    term_months = serializers.ChoiceField(choices=[12, 36], default=12)
    offering_class = serializers.ChoiceField(choices=["standard", "convertible"], default="standard")
    payment = serializers.ChoiceField(choices=["all-upfront", "partial-upfront"], default="all-upfront")
    list_fixed = DecimalTextField(required=False)
    list_hourly = DecimalTextField(required=False)
    on_demand = DecimalTextField(required=False)
    spot = DecimalTextField(required=False)
    at = UtcDateTimeField(required=False)


class DealClaim(ApiView):
    """The calculator."""

    tag = "deals"
    endpoints = {
        "GET": Endpoint(
            summary="When a second-hand deal pays: 30 % of the list price with 8 months left, or any other",
            action=Action.RUN_ADVICE,
            scope=Scope.READ_ADVICE,
            query=ClaimQuery,
            answer=OpenApiTypes.OBJECT,
            description="The document of the verb `price_deal`.",
        )
    }

    def get(self, request: Request) -> Response:
        """The document."""
        query = dict(self.query)
        at, kind, months = query.pop("at", None), query.pop("type", ""), query.pop("months_left", None)
        if months is not None and "hours_left" not in query:
            query["hours_left"] = Decimal(months) * MONTH_HOURS
        return self.answer(_told(deal_claim, claim=Claim(instance_type=kind, **query), at=at))


class SalesQuery(_Asked):
    """Who sells, and at what share of what a buyer would pay."""

    ask_share = DecimalTextField(required=False, help_text="Default 0.95.")
    bank_country = serializers.CharField(required=False, max_length=2)
    legal_entity = serializers.CharField(required=False, max_length=40)


class Sales(ApiView):
    """What to sell."""

    tag = "deals"
    endpoints = {
        "GET": Endpoint(
            summary="Which reservations to sell, at what price, against keeping them",
            action=Action.RUN_ADVICE,
            scope=Scope.READ_ADVICE,
            query=SalesQuery,
            answer=OpenApiTypes.OBJECT,
            description="The document of the verb `sell_commitments`.",
        )
    }

    def get(self, request: Request) -> Response:
        """The document."""
        query = {"ask_share": ASK_SHARE, **self.query}
        return self.answer(_told(sell_commitments, **query, organisation=self.organisation))


def _list(limit: int) -> serializers.ListField:
    return serializers.ListField(child=serializers.CharField(max_length=limit), required=False, max_length=50)


class RuleBody(StrictSerializer):
    """A rule, whole; one condition at least."""

    name = serializers.CharField(max_length=100)
    team = serializers.SlugField(required=False, allow_null=True, max_length=50)
    min_saving_pct = DecimalTextField(required=False, allow_null=True)
    break_even_before = serializers.DateField(required=False, allow_null=True)
    max_list_pct = DecimalTextField(required=False, allow_null=True)
    regions = _list(40)
    instance_types = _list(60)
    platforms = _list(60)
    active = serializers.BooleanField(default=True)


def _endpoint(summary: str, **more: Any) -> Endpoint:
    given = {"action": Action.DECIDE_COMMITMENTS, "scope": Scope.WRITE_RECOMMENDATIONS, **more}
    return Endpoint(summary=summary, answer=given.pop("answer", OpenApiTypes.OBJECT), **given)


class _RuleView(ApiView):
    tag = "deals"

    def keep(self, rule: DealRule | None) -> Response:
        """Save the body."""
        try:
            saved = deal_rule_save(
                organisation=self.organisation, actor=self.actor, fields=self.body, rule=rule
            )
        except ValidationError as error:
            raise serializers.ValidationError(error.message_dict) from error
        return self.answer(rule_document(saved))


class DealRules(_RuleView):
    """The organisation's rules."""

    endpoints = {
        "GET": _endpoint(
            "Rules that watch offers", action=Action.VIEW, scope=Scope.READ_ADVICE, query=StrictQuery
        ),
        "POST": _endpoint("Watch offers with a rule", body=RuleBody, status=201),
    }

    def get(self, request: Request) -> Response:
        """All of them."""
        return self.answer({"rules": [rule_document(one) for one in deal_rules(self.organisation)]})

    def post(self, request: Request) -> Response:
        """The new one."""
        return self.keep(None)


class OneDealRule(_RuleView):
    """One rule."""

    endpoints = {
        "PUT": _endpoint("Replace a rule", body=RuleBody),
        "DELETE": _endpoint("Remove a rule with its alerts", answer=None, status=204),
    }

    def _rule(self, rule_id: int) -> DealRule:
        found: DealRule = found_or_404(deal_rules(self.organisation), pk=rule_id)
        return found

    def put(self, request: Request, rule_id: int) -> Response:
        """The changed one."""
        return self.keep(self._rule(rule_id))

    def delete(self, request: Request, rule_id: int) -> Response:
        """Nothing."""
        deal_rule_remove(rule=self._rule(rule_id), actor=self.actor)
        return self.answer(None)


class AlertsQuery(StrictQuery):
    """Which alerts."""

    unseen = serializers.BooleanField(default=False, help_text="Only of standing offers nobody took note of.")


class DealAlerts(ApiView):
    """What beat a rule."""

    tag = "deals"
    endpoints = {
        "GET": Endpoint(
            summary="Offers that beat a rule, newest first",
            action=Action.VIEW,
            scope=Scope.READ_ADVICE,
            query=AlertsQuery,
            answer=OpenApiTypes.OBJECT,
        )
    }

    def get(self, request: Request) -> Response:
        """At most 200."""
        rows = deal_alerts(self.organisation, unseen=self.query["unseen"])
        return self.answer({"alerts": [alert_document(one) for one in rows[:200]], "count": rows.count()})


class SeenDealAlert(ApiView):
    """Taking note of an alert."""

    tag = "deals"
    endpoints = {"POST": _endpoint("Take note of an alert")}

    def post(self, request: Request, alert_id: int) -> Response:
        """The alert."""
        alert: DealAlert = found_or_404(deal_alerts(self.organisation), pk=alert_id)
        user = self.membership.user if self.membership else None
        deal_alert_see(alert=alert, user=user, now=timezone.now())
        alert.refresh_from_db()
        return self.answer(alert_document(alert))
