"""Totals of invoices: what was entered, and which of them a delivery is compared with."""

from __future__ import annotations

from datetime import UTC, date
from decimal import Decimal
from typing import Any

from django.db.models import Q, QuerySet

from apps.accounts.models import Organisation
from apps.billing.models import BillReport, Delivery, DeliveryState, ExpectedTotal


def expected_totals_of(organisation: Organisation | None) -> QuerySet[ExpectedTotal]:
    """The organisation's totals, newest period first; None is the default organisation."""
    return ExpectedTotal.objects.filter(organisation=organisation or Organisation.default())


def expected_of(report: BillReport, period: date) -> dict[str, Decimal]:
    """Totals by currency for a report's month, {} where nobody entered any.

    One of the report itself wins over one of its payer. A report of the installation goes by the default
    organisation's totals.
    """
    rows = expected_totals_of(report.organisation).filter(
        Q(report="") | Q(report=report.name), billing_period=period, payer=report.payer
    )
    # "" sorts first, so that the report's own total comes last and stays
    return {row.currency: row.total for row in rows.order_by("report")}


def deliveries_expected(row: ExpectedTotal) -> QuerySet[Delivery]:
    """Current deliveries that this total speaks of."""
    mine = Q(report__organisation=row.organisation)
    if row.organisation == Organisation.default():
        mine |= Q(report__organisation__isnull=True)
    of_report = Q(report__name=row.report) if row.report else Q()
    return Delivery.objects.filter(
        mine & of_report,
        report__payer=row.payer,
        billing_period=row.billing_period,
        state=DeliveryState.CURRENT,
    ).select_related("report", "report__organisation")


def expected_document(row: ExpectedTotal) -> dict[str, Any]:
    """A total as JSON values, with the current deliveries that it speaks of; `difference` is billed less
    expected in its currency, null where that is not known.
    """
    return {
        "id": row.pk,
        "billing_period": f"{row.billing_period:%Y-%m}",
        "payer": row.payer,
        "report": row.report,
        "currency": row.currency,
        "total": f"{row.total:f}",
        "source": row.source,
        "set_at": row.set_at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        "deliveries": [
            {
                "id": one.pk,
                "report": one.report.name,
                "reconciled": one.reconciled,
                "difference": (one.difference or {}).get(row.currency),
            }
            for one in deliveries_expected(row).order_by("pk")
        ],
    }
