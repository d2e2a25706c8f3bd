"""The price file of `offpeak check --offline`."""

from __future__ import annotations

from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.roles import Action, Scope
from apps.accounts.selectors import team_list
from apps.api.endpoint import ApiView, Endpoint
from apps.api.strict import CommaListField, StrictQuery, UtcDateTimeField
from apps.costchecks.services.price_file import LINUX, price_file


class PriceFileQuery(StrictQuery):
    """Which prices."""

    regions = CommaListField(
        child=serializers.CharField(max_length=40), default=list, max_length=60, help_text="Empty: all."
    )
    products = CommaListField(
        child=serializers.CharField(max_length=60), default=lambda: [LINUX], min_length=1, max_length=10,
        help_text="Product texts of machines.",
    )  # fmt: skip
    spot_types = CommaListField(
        child=serializers.CharField(max_length=40), default=list, max_length=12,
        help_text="Types whose Spot price is looked up, at most twelve with their regions.",
    )  # fmt: skip
    team = serializers.SlugField(required=False, max_length=50, help_text="Whose policies it holds.")
    at = UtcDateTimeField(required=False, help_text="Decision time; nothing later is looked at.")


class PriceFile(ApiView):
    """Prices and policies of a moment."""

    tag = "cost checks"
    endpoints = {
        "GET": Endpoint(
            summary="Export the prices and policies that a check without the server needs",
            action=Action.RUN_ADVICE,
            scope=Scope.READ_ADVICE,
            query=PriceFileQuery,
            answer=OpenApiTypes.OBJECT,
            description="The document of the verb `export_check_prices`: list prices of machines, Spot "
            "prices that were asked for, sizes of machines, the stored policies.",
        )
    }

    def get(self, request: Request) -> Response:
        """The file."""
        query = dict(self.query)
        at = query.pop("at", None) or timezone.now().replace(second=0, microsecond=0)
        own = self.key.team if self.key is not None else None
        slug = query.pop("team", None)
        if own is not None and slug not in (None, own.slug):
            raise serializers.ValidationError({"team": [_("The key belongs to another team.")]})
        team = own or (team_list(self.organisation).filter(slug=slug).first() if slug else None)
        if slug and team is None:
            raise serializers.ValidationError({"team": [_("There is no such team in this organisation.")]})
        return self.answer(price_file(organisation=self.organisation, at=at, team=team, **query))
