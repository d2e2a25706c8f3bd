"""Purchases of commitments: ask, approve, try, cancel, settle; which accounts may buy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.roles import Action, Scope
from apps.api.endpoint import ApiView, Endpoint, Refused
from apps.api.strict import DecimalTextField, PageQuery, StrictSerializer
from apps.recommendations.models import Purchase, PurchaseState
from apps.recommendations.selectors.inbox import recommendation_find
from apps.recommendations.selectors.purchases import (
    buyer_find,
    buyer_list,
    purchase_find,
    purchase_list,
)
from apps.recommendations.services import purchases
from apps.recommendations.services.buyers import buyer_save
from apps.recommendations.services.purchases_document import (
    buyer_document,
    purchase_detail,
    purchase_document,
)
from apps.recommendations.services.purchasing import purchase_trial
from apps.recommendations.tasks import recommendations_purchase_hand_out


class PurchaseQuery(PageQuery):
    """Which purchases."""

    state = serializers.ChoiceField(choices=PurchaseState.values, required=False)


class RequestBody(StrictSerializer):
    """What to buy; nothing is bought before it is approved."""

    account = serializers.CharField(max_length=12, help_text="An account that may buy.")
    region = serializers.CharField(max_length=40)
    offer = serializers.CharField(max_length=100, help_text="The provider's id of the offering.")
    quantity = serializers.IntegerField(min_value=1, max_value=purchases.MAX_QUANTITY)
    limit = DecimalTextField(
        required=False, help_text="What the whole order may cost at once; default: its cost as last seen."
    )
    recommendation = serializers.IntegerField(required=False, min_value=1, max_value=2**63 - 1)
    reason = serializers.CharField(required=False, default="", allow_blank=True, max_length=500)


class ReasonBody(StrictSerializer):
    """Why."""

    reason = serializers.CharField(max_length=500, help_text="Others will read it.")


class ResolveBody(ReasonBody):
    """What came of the order."""

    reservations = serializers.ListField(
        child=serializers.CharField(max_length=100),
        max_length=100,
        help_text="Ids of the reservations that came of it; empty: none did.",
    )


class _View(ApiView):
    tag = "purchases"

    def find(self, purchase_id: int) -> Purchase:
        """The organisation's own; 404 for any other."""
        found = purchase_find(self.organisation, purchase_id)
        if found is None:
            raise NotFound(_("There is nothing at this address."))
        return found

    def change(self, purchase_id: int, change: Callable[..., Any], **given: Any) -> Response:
        """Change one and answer it as it is then. 409 where its state forbids the change."""
        try:
            change(purchase=self.find(purchase_id), now=timezone.now(), **given)
        except ValidationError as error:
            if "state" not in error.message_dict:
                raise
            raise Refused(error.message_dict["state"][0], code="wrong_state", status=409) from error
        return self.answer(purchase_detail(self.find(purchase_id)))


class Purchases(_View):
    """The organisation's purchases."""

    endpoints = {
        "GET": Endpoint(
            summary="Purchases, newest first",
            action=Action.VIEW,
            scope=Scope.READ_ADVICE,
            query=PurchaseQuery,
            answer=OpenApiTypes.OBJECT,
        ),
        "POST": Endpoint(
            summary="Ask for a purchase: it waits for its approvals",
            action=Action.DECIDE,
            scope=Scope.WRITE_RECOMMENDATIONS,
            body=RequestBody,
            status=201,
            answer=OpenApiTypes.OBJECT,
            description="`approvals_needed` is two above the limit of the installation: people of two roles.",
        ),
    }

    def get(self, request: Request) -> Response:
        """A page of them."""
        rows = purchase_list(self.organisation, self.query.get("state", ""))
        return self.page([purchase_document(row) for row in rows])

    def post(self, request: Request) -> Response:
        """The purchase as it was asked for."""
        given = dict(self.body)
        advice = given.pop("recommendation", None)
        carried_out = None if advice is None else recommendation_find(self.organisation, advice)
        if advice is not None and carried_out is None:
            raise ValidationError({"recommendation": _("There is no such recommendation.")})
        row = purchases.purchase_request(
            organisation=self.organisation,
            actor=self.actor,
            buyer=buyer_find(self.organisation, given.pop("account")),
            recommendation=carried_out,
            now=timezone.now(),
            **given,
        )
        return self.answer(purchase_detail(self.find(row.pk)))


class OnePurchase(_View):
    """A purchase."""

    endpoints = {
        "GET": Endpoint(
            summary="One purchase with its approvals and every order that was sent",
            action=Action.VIEW,
            scope=Scope.READ_ADVICE,
            answer=OpenApiTypes.OBJECT,
        )
    }

    def get(self, request: Request, purchase_id: int) -> Response:
        """The purchase."""
        return self.answer(purchase_detail(self.find(purchase_id)))


class ApprovePurchase(_View):
    """Say yes to one."""

    endpoints = {
        "POST": Endpoint(
            summary="Approve a purchase: with the last approval that is needed it is bought",
            action=Action.APPROVE_SPEND,
            scope=None,
            answer=OpenApiTypes.OBJECT,
            refusals=(409,),
            description="Only a person approves. The same person again changes nothing.",
        )
    }

    def post(self, request: Request, purchase_id: int) -> Response:
        """The purchase."""
        answer = self.change(purchase_id, purchases.purchase_approve, membership=self.membership)
        if self.find(purchase_id).state == PurchaseState.APPROVED:
            transaction.on_commit(lambda: recommendations_purchase_hand_out(purchase_id))
        return answer


class TryPurchase(_View):
    """Try one without buying."""

    endpoints = {
        "POST": Endpoint(
            summary="Dry run: what the order would cost now and whether the account may order",
            action=Action.DECIDE,
            scope=Scope.WRITE_RECOMMENDATIONS,
            answer=OpenApiTypes.OBJECT,
            description="`dry_run` has what was found; nothing is bought.",
        )
    }

    def post(self, request: Request, purchase_id: int) -> Response:
        """The purchase."""
        return self.change(purchase_id, purchase_trial, actor=self.actor)


class CancelPurchase(_View):
    """Call one off."""

    endpoints = {
        "POST": Endpoint(
            summary="Cancel a purchase that no worker has yet",
            action=Action.DECIDE,
            scope=Scope.WRITE_RECOMMENDATIONS,
            body=ReasonBody,
            answer=OpenApiTypes.OBJECT,
            refusals=(409,),
        )
    }

    def post(self, request: Request, purchase_id: int) -> Response:
        """The purchase."""
        return self.change(purchase_id, purchases.purchase_cancel, actor=self.actor, **self.body)


class ResolvePurchase(_View):
    """Settle one by a person's word."""

    endpoints = {
        "POST": Endpoint(
            summary="Say what came of an order whose outcome is not known",
            action=Action.APPROVE_SPEND,
            scope=None,
            body=ResolveBody,
            answer=OpenApiTypes.OBJECT,
            refusals=(409,),
        )
    }

    def post(self, request: Request, purchase_id: int) -> Response:
        """The purchase."""
        return self.change(purchase_id, purchases.purchase_resolve, actor=self.actor, **self.body)


class BuyerBody(StrictSerializer):
    """An account and the role that buys in it."""

    account = serializers.CharField(max_length=12)
    role = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=200,
        help_text="ARN; empty: the service's own.",
    )
    external_id = serializers.CharField(required=False, default="", allow_blank=True, max_length=1224)
    active = serializers.BooleanField(required=False, default=True, help_text="False: the freeze switch.")


class BuyingAccounts(_View):
    """The accounts that may buy."""

    endpoints = {
        "GET": Endpoint(
            summary="Accounts that may buy",
            action=Action.VIEW,
            scope=Scope.READ_ADVICE,
            query=PageQuery,
            answer=OpenApiTypes.OBJECT,
        ),
        "POST": Endpoint(
            summary="Name an account that may buy, or change its role or freeze switch",
            action=Action.MANAGE_ORGANISATION,
            scope=None,
            body=BuyerBody,
            answer=OpenApiTypes.OBJECT,
        ),
    }

    def get(self, request: Request) -> Response:
        """A page of them."""
        return self.page([buyer_document(row) for row in buyer_list(self.organisation)])

    def post(self, request: Request) -> Response:
        """The account."""
        row = buyer_save(organisation=self.organisation, actor=self.actor, **self.body)
        return self.answer(buyer_document(row))
