"""Prices of storage classes that an organisation knows itself."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.roles import Action, Scope
from apps.api.endpoint import ApiView, Endpoint, found_or_404, page_of
from apps.api.strict import DecimalTextField, PageQuery, StrictQuery, StrictSerializer, UtcDateTimeField
from apps.api.views.bill_tables import CountsAnswer, TableBody, TableImport
from apps.storage.models import StoragePriceRow
from apps.storage.selectors.prices import prices_document, storage_prices_of
from apps.storage.services.prices import storage_price_remove, storage_price_set, storage_prices_import

_ITEM = (
    "per_gib_month, put_per_1000, get_per_1000, transition_in_per_1000, retrieval_per_gib, "
    "monitoring_per_1000, or tier:NAME per GiB and month."
)


class StoragePriceAnswer(serializers.ModelSerializer[StoragePriceRow]):
    """A price of the organisation's own."""

    price = DecimalTextField(help_text="Of the item's unit, in `currency`.")
    item = serializers.CharField(help_text=_ITEM)
    valid_from = serializers.DateField(source="on")
    created_at = UtcDateTimeField()

    class Meta:
        model = StoragePriceRow
        fields = [
            "id", "provider", "region", "storage_class", "item", "price", "currency", "valid_from", "source",
            "created_at",
        ]  # fmt: skip


class StoragePriceBody(StrictSerializer):
    """A price from a day on; another one of that day is corrected."""

    provider = serializers.CharField(max_length=20, help_text="aws, alibaba, tencent")
    region = serializers.CharField(max_length=40)
    storage_class = serializers.CharField(max_length=40, help_text="As the provider's listing spells it.")
    item = serializers.CharField(max_length=60, help_text=_ITEM)
    price = DecimalTextField(help_text="Of the item's unit, in `currency`; not below zero.")
    currency = serializers.CharField(max_length=10)
    valid_from = serializers.DateField()
    source = serializers.CharField(max_length=300)  # type: ignore[assignment]


class StoragePrices(ApiView):
    """The organisation's own prices."""

    tag = "storage"
    endpoints = {
        "GET": Endpoint(
            summary="List the organisation's own storage prices",
            action=Action.VIEW,
            scope=Scope.READ_BILLS,
            query=PageQuery,
            answer=page_of(StoragePriceAnswer),
        ),
        "POST": Endpoint(
            summary="Enter a storage price from a day on, or correct it",
            action=Action.CONNECT_BILLS,
            scope=Scope.WRITE_BILLS,
            body=StoragePriceBody,
            answer=StoragePriceAnswer,
            status=201,
        ),
    }

    def get(self, request: Request) -> Response:
        """One page."""
        return self.page(storage_prices_of(self.organisation))

    def post(self, request: Request) -> Response:
        """The row as it is kept."""
        given = dict(self.body)
        row = storage_price_set(
            organisation=self.organisation, actor=self.actor, **{"class": given.pop("storage_class")}, **given
        )
        row.refresh_from_db()
        return self.answer(row)


class OneStoragePrice(ApiView):
    """A price of an item and day."""

    tag = "storage"
    endpoints = {
        "DELETE": Endpoint(
            summary="Take out a storage price; the audit trail keeps it",
            action=Action.CONNECT_BILLS,
            scope=Scope.WRITE_BILLS,
            answer=None,
            status=204,
        )
    }

    def delete(self, request: Request, price_id: int) -> Response:
        """Nothing."""
        row = found_or_404(storage_prices_of(self.organisation), pk=price_id)
        storage_price_remove(row=row, actor=self.actor)
        return self.answer(None)


class PlaceQuery(StrictQuery):
    """A place and a day."""

    provider = serializers.CharField(max_length=20, required=False, default="aws")
    region = serializers.CharField(max_length=40)
    on = serializers.DateField(required=False, help_text="Default: today (UTC).")


class PlaceLine(serializers.Serializer[Any]):
    """An item of a class; a null price is not known."""

    provider = serializers.CharField()
    region = serializers.CharField()
    item = serializers.CharField(help_text=_ITEM)
    price = DecimalTextField(allow_null=True)
    currency = serializers.CharField(allow_null=True)
    valid_from = serializers.DateField(allow_null=True)
    source = serializers.CharField(allow_null=True)  # type: ignore[assignment]
    own = serializers.BooleanField(help_text="The organisation's own, not the shipped table's.")

    def get_fields(self) -> dict[str, Any]:
        """`class` is no name for an attribute."""
        return {**super().get_fields(), "class": serializers.CharField()}


class PlaceAnswer(serializers.Serializer[Any]):
    """Prices of a region, shipped and own."""

    provider = serializers.CharField()
    region = serializers.CharField()
    on = serializers.DateField()
    prices = PlaceLine(many=True)
    classes = serializers.ListField(
        child=serializers.CharField(), help_text="Classes whose prices are whole: advice can choose them."
    )
    missing = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField()),
        help_text="Classes that have some prices, with the items they lack.",
    )


class PlacePrices(ApiView):
    """What advice counts with in a region."""

    tag = "storage"
    endpoints = {
        "GET": Endpoint(
            summary="Storage prices of a region that advice counts with, and what is missing",
            action=Action.VIEW,
            scope=Scope.READ_BILLS,
            query=PlaceQuery,
            answer=PlaceAnswer,
        )
    }

    def get(self, request: Request) -> Response:
        """The document of `storage_prices`."""
        on = self.query.get("on") or timezone.now().date()
        return self.answer(
            prices_document(self.query["provider"], self.query["region"], on, organisation=self.organisation)
        )


class ImportStoragePrices(TableImport):
    """Storage prices from a CSV."""

    tag = "storage"
    load = staticmethod(storage_prices_import)
    endpoints = {
        "POST": Endpoint(
            summary="Load storage prices from a CSV file",
            action=Action.CONNECT_BILLS,
            scope=Scope.WRITE_BILLS,
            body=TableBody,
            answer=CountsAnswer,
        )
    }
