"""Tables around bills: negotiated rates, exchange rates, names of accounts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from datetime import date
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.roles import Action, Scope
from apps.api.endpoint import ApiView, Endpoint, UploadView, found_or_404, page_of
from apps.api.strict import (
    DecimalTextField,
    PageQuery,
    StrictQuery,
    StrictSerializer,
    UtcDateTimeField,
)
from apps.billing.models import AccountName, ExchangeRate, NegotiatedRateRow
from apps.billing.selectors.accounts import account_names_of
from apps.billing.selectors.exchange import NoRateError, convert, exchange_rates_of
from apps.billing.selectors.rates import rates_of
from apps.billing.services.accounts import account_names_import
from apps.billing.services.exchange import exchange_rate_remove, exchange_rate_set, exchange_rates_import
from apps.billing.services.rates import rate_add, rate_end, rate_remove, rates_import
from finops.frames.money import CurrencyError, currency_code
from finops.text.small_tables import MAX_BYTES, TableError


class RateAnswer(serializers.ModelSerializer[NegotiatedRateRow]):
    """A row of the table: percent off the list price, or a price of one unit."""

    percent = DecimalTextField(allow_null=True, help_text="Off the list price, 0-100.")
    price = DecimalTextField(allow_null=True, help_text="Of one unit, in `currency`.")
    valid_until = serializers.DateField(
        allow_null=True, help_text="First day on which it no longer holds; null: open."
    )
    created_at = UtcDateTimeField()

    class Meta:
        model = NegotiatedRateRow
        fields = [
            "id", "provider", "service", "sku", "product", "region", "percent", "price", "currency",
            "valid_from", "valid_until", "source", "created_at",
        ]  # fmt: skip


class RateBody(StrictSerializer):
    """A new row. Empty service, sku, product and region mean any."""

    provider = serializers.CharField(max_length=20, help_text="aws, azure, gcp, alibaba, tencent, oci")
    service = serializers.CharField(required=False, allow_blank=True, max_length=100)
    sku = serializers.CharField(
        required=False, allow_blank=True, max_length=100, help_text="Text or pattern with * and ?."
    )
    product = serializers.CharField(required=False, allow_blank=True, max_length=100)
    region = serializers.CharField(required=False, allow_blank=True, max_length=40)
    percent = DecimalTextField(required=False, allow_null=True)
    price = DecimalTextField(required=False, allow_null=True)
    currency = serializers.CharField(required=False, allow_blank=True, max_length=10)
    valid_from = serializers.DateField()
    valid_until = serializers.DateField(required=False, allow_null=True)
    source = serializers.CharField(max_length=300, help_text="The contract.")  # type: ignore[assignment]


class EndBody(StrictSerializer):
    """When a row ends."""

    valid_until = serializers.DateField(help_text="First day on which it no longer holds.")


class Rates(ApiView):
    """Negotiated rates."""

    tag = "rates"
    endpoints = {
        "GET": Endpoint(
            summary="List negotiated rates by what they are for",
            action=Action.MANAGE_BUDGETS,
            scope=Scope.READ_BILLS,
            query=PageQuery,
            answer=page_of(RateAnswer),
        ),
        "POST": Endpoint(
            summary="Add a negotiated rate; one that would tie with another is refused",
            action=Action.MANAGE_BUDGETS,
            scope=Scope.WRITE_BILLS,
            body=RateBody,
            answer=RateAnswer,
            status=201,
        ),
    }

    def get(self, request: Request) -> Response:
        """One page."""
        return self.page(rates_of(self.organisation))

    def post(self, request: Request) -> Response:
        """The row as it is kept."""
        row = rate_add(organisation=self.organisation, actor=self.actor, **self.body)
        row.refresh_from_db()
        return self.answer(row)


class OneRate(ApiView):
    """A row of the table."""

    tag = "rates"
    endpoints = {
        "PATCH": Endpoint(
            summary="End a negotiated rate on a day",
            action=Action.MANAGE_BUDGETS,
            scope=Scope.WRITE_BILLS,
            body=EndBody,
            answer=RateAnswer,
        ),
        "DELETE": Endpoint(
            summary="Take out a rate that was entered by mistake; the audit trail keeps it",
            action=Action.MANAGE_BUDGETS,
            scope=Scope.WRITE_BILLS,
            answer=None,
            status=204,
        ),
    }

    def patch(self, request: Request, rate_id: int) -> Response:
        """The row with its end."""
        row = found_or_404(rates_of(self.organisation), pk=rate_id)
        return self.answer(rate_end(row=row, actor=self.actor, until=self.body["valid_until"]))

    def delete(self, request: Request, rate_id: int) -> Response:
        """Nothing."""
        rate_remove(row=found_or_404(rates_of(self.organisation), pk=rate_id), actor=self.actor)
        return self.answer(None)


class ExchangeAnswer(serializers.ModelSerializer[ExchangeRate]):
    """One unit of `base` costs `rate` units of `quote` from the day `date` on."""

    date = serializers.DateField(source="on")
    rate = DecimalTextField()
    created_at = UtcDateTimeField()

    class Meta:
        model = ExchangeRate
        fields = ["id", "date", "base", "quote", "rate", "both_ways", "source", "created_at"]


class ExchangeBody(StrictSerializer):
    """A rate of a pair and day; another one of that day is corrected."""

    date = serializers.DateField()
    base = serializers.CharField(max_length=10, help_text="One unit of this currency …")
    quote = serializers.CharField(max_length=10, help_text="… costs `rate` of this one.")
    rate = DecimalTextField()
    both_ways = serializers.BooleanField(
        required=False, default=False, help_text="Amounts in `quote` may be divided by it."
    )
    source = serializers.CharField(max_length=300)  # type: ignore[assignment]


class ExchangeRates(ApiView):
    """Exchange rates."""

    tag = "rates"
    endpoints = {
        "GET": Endpoint(
            summary="List exchange rates by pair, newest first",
            action=Action.VIEW,
            scope=Scope.READ_BILLS,
            query=PageQuery,
            answer=page_of(ExchangeAnswer),
        ),
        "POST": Endpoint(
            summary="Enter the exchange rate of a pair and day, or correct it",
            action=Action.CONNECT_BILLS,
            scope=Scope.WRITE_BILLS,
            body=ExchangeBody,
            answer=ExchangeAnswer,
            status=201,
        ),
    }

    def get(self, request: Request) -> Response:
        """One page."""
        return self.page(exchange_rates_of(self.organisation))

    def post(self, request: Request) -> Response:
        """The rate as it is kept."""
        row = exchange_rate_set(organisation=self.organisation, actor=self.actor, **self.body)
        row.refresh_from_db()
        return self.answer(row)


class OneExchangeRate(ApiView):
    """A rate of a pair and day."""

    tag = "rates"
    endpoints = {
        "DELETE": Endpoint(
            summary="Take out an exchange rate; the audit trail keeps it",
            action=Action.CONNECT_BILLS,
            scope=Scope.WRITE_BILLS,
            answer=None,
            status=204,
        )
    }

    def delete(self, request: Request, rate_id: int) -> Response:
        """Nothing."""
        exchange_rate_remove(
            row=found_or_404(exchange_rates_of(self.organisation), pk=rate_id), actor=self.actor
        )
        return self.answer(None)


class ConvertQuery(StrictQuery):
    """An amount, and the day whose rate holds."""

    amount = DecimalTextField()
    currency = serializers.CharField(max_length=10)
    to = serializers.CharField(max_length=10)
    on = serializers.DateField(required=False, help_text="Default: today (UTC).")


class ConvertAnswer(serializers.Serializer[Any]):
    """The amount with the rate that made it; rate, date and source are null where none was needed."""

    amount = DecimalTextField()
    currency = serializers.CharField()
    rate = DecimalTextField(allow_null=True)
    date = serializers.DateField(allow_null=True)
    source = serializers.CharField(allow_null=True)  # type: ignore[assignment]
    divided = serializers.BooleanField(help_text="The rate is quoted the other way round.")


class ConvertAmount(ApiView):
    """An amount in another currency."""

    tag = "rates"
    endpoints = {
        "GET": Endpoint(
            summary="Convert an amount at the newest rate of the last 31 days",
            action=Action.VIEW,
            scope=Scope.READ_BILLS,
            query=ConvertQuery,
            answer=ConvertAnswer,
        )
    }

    def get(self, request: Request) -> Response:
        """Refused (400) where no rate is known."""
        codes = {name: self._currency(name) for name in ("currency", "to")}
        day: date = self.query.get("on") or timezone.now().date()
        try:
            got = convert(
                self.query["amount"], codes["currency"], codes["to"], on=day, organisation=self.organisation
            )
        except NoRateError as error:
            raise serializers.ValidationError({"to": [str(error)]}) from error
        return self.answer(
            {
                "amount": got.amount,
                "currency": got.currency,
                "rate": got.rate.rate if got.rate else None,
                "date": got.rate.on if got.rate else None,
                "source": got.rate.source if got.rate else None,
                "divided": got.divided,
            }
        )

    def _currency(self, name: str) -> str:
        try:
            return currency_code(self.query[name])
        except CurrencyError as error:
            raise serializers.ValidationError({name: [str(error)]}) from error


class NameAnswer(serializers.ModelSerializer[AccountName]):
    """What the organisation calls an account."""

    provider = serializers.CharField(source="account.provider")
    account = serializers.CharField(source="account.account_id", help_text="The provider's id.")
    updated_at = UtcDateTimeField()

    class Meta:
        model = AccountName
        fields = ["provider", "account", "name", "source", "status", "updated_at"]


class AccountNames(ApiView):
    """Names of cloud accounts."""

    tag = "accounts"
    endpoints = {
        "GET": Endpoint(
            summary="List names of cloud accounts",
            action=Action.VIEW,
            scope=Scope.READ_BILLS,
            query=PageQuery,
            answer=page_of(NameAnswer),
        )
    }

    def get(self, request: Request) -> Response:
        """One page."""
        rows = account_names_of(self.organisation)
        return self.page(rows.order_by("account__provider", "account__account_id"))


class TableBody(StrictSerializer):
    """A CSV file (multipart)."""

    file = serializers.FileField(help_text="CSV, UTF-8, up to 5 MiB; taken whole or not at all.")

    def validate_file(self, value: Any) -> Any:
        """Small tables only."""
        if value.size > MAX_BYTES:
            raise serializers.ValidationError(_("Choose a CSV file of up to 5 MiB."))
        return value


class CountsAnswer(serializers.Serializer[Any]):
    """What became of the rows, by the table's own words."""

    counts = serializers.DictField(child=serializers.IntegerField())


class TableImport(UploadView):
    """Loads a table; a mistake refuses the file and names file, row and field."""

    load: Callable[..., Any]

    def post(self, request: Request) -> Response:
        """Counts."""
        file = self.body["file"]
        try:
            counts = type(self).load(
                organisation=self.organisation,
                actor=self.actor,
                content=file.read(),
                file=str(file.name)[:100],
            )
        except TableError as error:
            raise serializers.ValidationError({"file": [str(m) for m in error.mistakes[:100]]}) from error
        return self.answer({"counts": asdict(counts)})


class ImportRates(TableImport):
    """Negotiated rates from a CSV."""

    tag = "rates"
    load = staticmethod(rates_import)
    endpoints = {
        "POST": Endpoint(
            summary="Load negotiated rates from a CSV file",
            action=Action.MANAGE_BUDGETS,
            scope=Scope.WRITE_BILLS,
            body=TableBody,
            answer=CountsAnswer,
        )
    }


class ImportExchangeRates(TableImport):
    """Exchange rates from a CSV."""

    tag = "rates"
    load = staticmethod(exchange_rates_import)
    endpoints = {
        "POST": Endpoint(
            summary="Load exchange rates from a CSV file",
            action=Action.CONNECT_BILLS,
            scope=Scope.WRITE_BILLS,
            body=TableBody,
            answer=CountsAnswer,
        )
    }


class ImportAccountNames(TableImport):
    """Account names from a CSV."""

    tag = "accounts"
    load = staticmethod(account_names_import)
    endpoints = {
        "POST": Endpoint(
            summary="Load names of cloud accounts from a CSV file",
            action=Action.CONNECT_BILLS,
            scope=Scope.WRITE_BILLS,
            body=TableBody,
            answer=CountsAnswer,
        )
    }
