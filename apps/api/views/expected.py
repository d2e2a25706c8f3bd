"""Totals of invoices, which deliveries are compared with."""

from __future__ import annotations

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.roles import Action, Scope
from apps.api.endpoint import ApiView, Endpoint, found_or_404, page_of
from apps.api.strict import DecimalTextField, MonthField, PageQuery, StrictSerializer, UtcDateTimeField
from apps.api.views.bill_tables import CountsAnswer, TableBody, TableImport
from apps.billing.models import ExpectedTotal
from apps.billing.selectors.expected import expected_totals_of
from apps.billing.services.expected import (
    expected_total_remove,
    expected_total_set,
    expected_totals_import,
)


class ExpectedTotalAnswer(serializers.ModelSerializer[ExpectedTotal]):
    """What the invoice of a payer and month says in one currency; `report` "" is for all its reports."""

    billing_period = MonthField()
    total = DecimalTextField()
    set_at = UtcDateTimeField()

    class Meta:
        model = ExpectedTotal
        fields = ["id", "billing_period", "payer", "report", "currency", "total", "source", "set_at"]


class ExpectedTotalBody(StrictSerializer):
    """The total of an invoice; another one of that month, payer, report and currency is corrected."""

    billing_period = serializers.RegexField(r"^20\d{2}-(0[1-9]|1[0-2])$", help_text="2026-03")
    payer = serializers.CharField(max_length=200)
    report = serializers.CharField(required=False, allow_blank=True, max_length=300, default="")
    currency = serializers.CharField(max_length=10)
    # As text: its places say to how many the bill is compared.
    total = serializers.RegexField(
        r"^-?\d{1,20}(\.\d{1,18})?$", help_text="Compared in the places in which it is written."
    )
    source = serializers.CharField(max_length=300)  # type: ignore[assignment]


class ExpectedTotals(ApiView):
    """Totals of invoices."""

    tag = "bills"
    endpoints = {
        "GET": Endpoint(
            summary="List the invoice totals that deliveries are compared with, newest month first",
            action=Action.VIEW,
            scope=Scope.READ_BILLS,
            query=PageQuery,
            answer=page_of(ExpectedTotalAnswer),
        ),
        "POST": Endpoint(
            summary="Enter the invoice total of a month, or correct it; its delivery is compared at once",
            action=Action.CONNECT_BILLS,
            scope=Scope.WRITE_BILLS,
            body=ExpectedTotalBody,
            answer=ExpectedTotalAnswer,
            status=201,
        ),
    }

    def get(self, request: Request) -> Response:
        """One page."""
        return self.page(expected_totals_of(self.organisation))

    def post(self, request: Request) -> Response:
        """The total as it is kept."""
        row = expected_total_set(organisation=self.organisation, actor=self.actor, **self.body)
        row.refresh_from_db()
        return self.answer(row)


class OneExpectedTotal(ApiView):
    """The invoice total of a month."""

    tag = "bills"
    endpoints = {
        "DELETE": Endpoint(
            summary="Take out an invoice total; the audit trail keeps it",
            action=Action.CONNECT_BILLS,
            scope=Scope.WRITE_BILLS,
            answer=None,
            status=204,
        )
    }

    def delete(self, request: Request, total_id: int) -> Response:
        """Nothing."""
        row = found_or_404(expected_totals_of(self.organisation), pk=total_id)
        expected_total_remove(row=row, actor=self.actor)
        return self.answer(None)


class ImportExpectedTotals(TableImport):
    """Invoice totals from a CSV."""

    tag = "bills"
    load = staticmethod(expected_totals_import)
    endpoints = {
        "POST": Endpoint(
            summary="Load invoice totals from a CSV file; current deliveries are compared at once",
            action=Action.CONNECT_BILLS,
            scope=Scope.WRITE_BILLS,
            body=TableBody,
            answer=CountsAnswer,
        )
    }
