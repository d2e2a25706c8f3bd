"""Bills in by file, their deliveries with totals, and what changed between two of them."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.roles import Action, Scope
from apps.api.endpoint import ApiView, Endpoint, found_or_404, page_of
from apps.api.strict import (
    CommaListField,
    MonthField,
    PageQuery,
    StrictQuery,
    StrictSerializer,
    UtcDateTimeField,
)
from apps.api.views.ingest import RunAnswer
from apps.api.views.loading import LoadView, SourceBody
from apps.billing.models import BillReport, Delivery, DeliveryState
from apps.billing.selectors.deliveries import (
    CHANGE_DIMENSIONS,
    DEFAULT_CHANGES,
    deliveries_current,
    deliveries_visible,
    newest_period,
)
from apps.billing.selectors.delivery_documents import changes_document, delivery_document
from apps.billing.services.cells import decimal_cell
from apps.billing.services.rates import PROVIDERS
from apps.ingest.bills.kinds import AUTO, NAMES
from apps.ingest.bills.run import BillOptions, bill_run_create
from apps.ingest.models import IngestRun
from apps.ingest.services.invoices import invoice_total_set
from finops.frames.focus import BASES
from finops.providers.bills import DATES


class LoadBillBody(SourceBody):
    """A bill: what the file itself does not say."""

    kind = serializers.ChoiceField(choices=NAMES, default=AUTO)
    report = serializers.CharField(required=False, max_length=300, default="", allow_blank=True)
    delivered_at = UtcDateTimeField(
        required=False, help_text="Orders deliveries; default: the time of the file."
    )
    whole = serializers.BooleanField(
        default=False, help_text="The file is the whole delivery, whatever part its name says."
    )
    dates = serializers.ChoiceField(
        choices=("", *DATES), default="", help_text="How 02/03/2026 is read where the file does not show it."
    )


class LoadBill(LoadView):
    """The door for bills."""

    tag = "bills"
    audit_action = "bills.load"
    endpoints = {
        "POST": Endpoint(
            summary="Load a bill from an upload or from a path on the server",
            description="Answers at once with the waiting run; its progress is at /ingest/runs/{id}, what "
            "came of it at /bills/deliveries.",
            action=Action.LOAD_DATA,
            scope=Scope.WRITE_BILLS,
            body=LoadBillBody,
            answer=RunAnswer,
            status=202,
        )
    }

    def run_of(self, *, location: str, **given: Any) -> IngestRun:
        """A run of bills."""
        options = BillOptions(
            self.body["kind"],
            self.body["report"],
            self.body.get("delivered_at"),
            whole=self.body["whole"],
            dates=self.body["dates"],
        )
        return bill_run_create(paths=[location], options=options, **given)


class DeliveryQuery(PageQuery):
    """Filters of the list."""

    state = serializers.ChoiceField(choices=DeliveryState.choices, required=False)
    billing_period = serializers.RegexField(r"^\d{4}-(0[1-9]|1[0-2])$", required=False, help_text="2026-03")
    provider = serializers.CharField(required=False, max_length=40)


class ReportAnswer(serializers.ModelSerializer[BillReport]):
    """What a delivery is one of."""

    class Meta:
        model = BillReport
        fields = ["id", "provider", "payer", "name", "kind"]


class DeliveryAnswer(serializers.ModelSerializer[Delivery]):
    """One delivery in the list; the one at its own address says more."""

    report = ReportAnswer()
    billing_period = MonthField(help_text="Month.")
    state = serializers.ChoiceField(choices=DeliveryState.choices)
    delivered_at = UtcDateTimeField()
    loaded_at = UtcDateTimeField()
    totals = serializers.DictField(help_text="Per currency: billed, amortised, net, list; null is not told.")
    reconciled = serializers.BooleanField(allow_null=True, help_text="Null where no total was given.")
    difference = serializers.DictField(allow_null=True, help_text="Billed less expected, per currency.")

    class Meta:
        model = Delivery
        fields = [
            "id",
            "report",
            "billing_period",
            "kind",
            "state",
            "final",
            "stopgap",
            "delivered_at",
            "loaded_at",
            "rows_read",
            "stored",
            "rejected",
            "totals",
            "reconciled",
            "difference",
        ]


class Deliveries(ApiView):
    """Every delivery that the organisation may see."""

    tag = "bills"
    endpoints = {
        "GET": Endpoint(
            summary="List deliveries of bills, newest month first",
            action=Action.VIEW,
            scope=Scope.READ_BILLS,
            query=DeliveryQuery,
            answer=page_of(DeliveryAnswer),
        )
    }

    def get(self, request: Request) -> Response:
        """One page of deliveries."""
        rows = deliveries_visible(organisation=self.organisation)
        if "state" in self.query:
            rows = rows.filter(state=self.query["state"])
        if "provider" in self.query:
            self._known(self.query["provider"], set(rows.values_list("report__provider", flat=True)))
            rows = rows.filter(report__provider=self.query["provider"])
        if "billing_period" in self.query:
            rows = rows.filter(billing_period=f"{self.query['billing_period']}-01")
        return self.page(rows.order_by("-billing_period", "report_id", "-delivered_at", "-pk"))

    def _known(self, provider: str, delivered: set[str]) -> None:
        """FOCUS files may name providers beyond ours."""
        known = sorted({*PROVIDERS, *delivered})
        if provider not in known:
            told = _("Known providers: %(known)s.") % {"known": ", ".join(known)}
            raise serializers.ValidationError({"provider": [told]})


class OneDelivery(ApiView):
    """One delivery."""

    tag = "bills"
    endpoints = {
        "GET": Endpoint(
            summary="Read a delivery: files, totals, totals by line item type, notes, columns",
            action=Action.VIEW,
            scope=Scope.READ_BILLS,
            answer=OpenApiTypes.OBJECT,
        )
    }

    def get(self, request: Request, delivery_id: int) -> Response:
        """As import_bill prints it."""
        rows = deliveries_visible(organisation=self.organisation)
        return self.answer(delivery_document(found_or_404(rows, pk=delivery_id)))


class InvoiceBody(StrictSerializer):
    """What the invoice says."""

    amount = serializers.CharField(
        max_length=40,
        help_text="Total as text, in as many places as the invoice has: it is compared to these.",
    )
    currency = serializers.CharField(max_length=10)

    def validate_amount(self, value: str) -> Decimal:
        """The amount with its places: 10.00 is not 10."""
        try:
            return decimal_cell(value, needed=True) or Decimal(0)
        except ValueError as error:
            raise serializers.ValidationError(str(error)) from error


class DeliveryInvoice(ApiView):
    """A delivery beside its invoice."""

    tag = "bills"
    endpoints = {
        "PUT": Endpoint(
            summary="Compare a current delivery with the total of its invoice",
            description="Says whether billed cost equals it and by how much it differs.",
            action=Action.CONNECT_BILLS,
            scope=Scope.WRITE_BILLS,
            body=InvoiceBody,
            answer=DeliveryAnswer,
        )
    }

    def put(self, request: Request, delivery_id: int) -> Response:
        """The delivery, reconciled or not."""
        rows = deliveries_visible(organisation=self.organisation)
        delivery: Delivery = found_or_404(rows.filter(report__organisation=self.organisation), pk=delivery_id)
        currency = self.body["currency"].strip().upper()
        done = invoice_total_set(
            delivery=delivery,
            organisation=self.organisation,
            actor=self.actor,
            amount=self.body["amount"],
            currency=currency,
        )
        return self.answer(done)


class ChangesQuery(StrictQuery):
    """A month, or two deliveries."""

    billing_period = serializers.RegexField(
        r"^\d{4}-(0[1-9]|1[0-2])$", required=False, help_text="2026-03; default: the newest there is."
    )
    after = serializers.IntegerField(required=False, min_value=1, max_value=2**62, help_text="A delivery.")
    before = serializers.IntegerField(
        required=False, min_value=1, max_value=2**62, help_text="Default: the one that it replaced."
    )
    by = CommaListField(child=serializers.ChoiceField(choices=CHANGE_DIMENSIONS), required=False)
    basis = serializers.ChoiceField(choices=list(BASES), default="billed")


class Changes(ApiView):
    """What differs between two deliveries."""

    tag = "bills"
    endpoints = {
        "GET": Endpoint(
            summary="What changed in a billing period between two deliveries",
            description='By service and charge category; "absent" for a part that was not there.',
            action=Action.VIEW,
            scope=Scope.READ_BILLS,
            query=ChangesQuery,
            answer=OpenApiTypes.OBJECT,
            refusals=(404,),
        )
    }

    def get(self, request: Request) -> Response:
        """As bill_changes prints it."""
        visible = deliveries_visible(organisation=self.organisation)
        before = None
        if "after" in self.query:
            after = [found_or_404(visible, pk=self.query["after"])]
            if "before" in self.query:
                before = found_or_404(visible, pk=self.query["before"])
        else:
            told = self.query.get("billing_period")
            newest = newest_period(organisation=self.organisation)
            period = date.fromisoformat(f"{told}-01") if told else newest
            rows = deliveries_current(organisation=self.organisation, start=period)
            rows = rows.filter(billing_period__lte=period or date.min)
            after = list(rows.order_by("report__pk"))
        by = [name for name in CHANGE_DIMENSIONS if name in self.query.get("by", ())] or DEFAULT_CHANGES
        found = changes_document(after, before=before, by=by, basis=self.query["basis"], now=timezone.now())
        return self.answer(found)
