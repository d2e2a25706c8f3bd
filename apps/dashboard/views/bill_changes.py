"""Changes between deliveries of one billing period: what a restated bill moved."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.accounts.access import access
from apps.accounts.roles import Action
from apps.billing.models import BillReport, Delivery, DeliveryState
from apps.billing.selectors.deliveries import delivery_changes, reports_visible
from apps.dashboard import format as fmt
from apps.dashboard.presenters.spend_words import BASIS_WORDS, month_word
from apps.dashboard.spend import bill_age
from apps.dashboard.tabs import SPEND_TABS
from apps.dashboard.views.spend import empty_page, organisation_of
from apps.dashboard.words import lang
from finops.engine.spend import Change, compare, rounded
from finops.frames.focus import BASES

# What a delivery's sums are kept by, and the address's word for it.
PARTS = {"service": "service", "account": "account", "charge": "charge_category"}
SHOWN = 100
Moved = tuple[Change, list[tuple[str, Change]]]


@access(Action.VIEW)
def changes_page(request: HttpRequest) -> HttpResponse:
    """The deliveries of a month and what changed from one to the other."""
    organisation = organisation_of(request)
    reports = {report.pk: report for report in reports_visible(organisation=organisation)}
    known = list(
        # A report that counts no more in its month comes after those that do.
        Delivery.objects.filter(report__in=reports)
        .values_list("billing_period", "report")
        .annotate(counts=Count("pk", filter=Q(state=DeliveryState.CURRENT)))
        .order_by("-billing_period", "-counts", "report")
        .values_list("billing_period", "report")
    )
    if not known:
        return empty_page(request, "spend-changes")
    period, report = _chosen(request, known)
    deliveries = list(
        Delivery.objects.filter(report=report, billing_period=period)
        .order_by("delivered_at", "pk")
        .defer("files", "columns", "by_line_item_type")
    )
    after = _delivery(request, "after", deliveries, len(deliveries) - 1)
    before = _delivery(request, "before", deliveries, max(0, len(deliveries) - 2))
    by = request.GET.get("by", "") if request.GET.get("by") in PARTS else "service"
    basis = request.GET.get("basis", "") if request.GET.get("basis") in BASES else "billed"
    changes = _changes(before, after, PARTS[by], basis) if before.pk != after.pk else {}
    context = {
        "page": "spend",
        "tab": "spend-changes",
        "tabs": SPEND_TABS,
        "data_age": bill_age(organisation, datetime.now(UTC)),
        "heading": _heading(period, deliveries, changes, before, after),
        "report": reports[report],
        "periods": _periods(known, reports, (period, report)),
        "deliveries": [_row(row) for row in reversed(deliveries)],
        "before": before,
        "after": after,
        "by": by,
        "by_words": [("service", _("Service")), ("account", _("Account")), ("charge", _("Charge type"))],
        "basis": basis,
        "bases": list(BASIS_WORDS.items()),
        "period": period,
        "blocks": [_block(currency, *found) for currency, found in changes.items()],
    }
    return render(request, "dashboard/spend_changes.html", context)


def _chosen(request: HttpRequest, known: list[tuple[date, int]]) -> tuple[date, int]:
    asked = request.GET.get("period", ""), request.GET.get("report", "")
    for period, report in known:
        if f"{period:%Y-%m}" == asked[0] and asked[1] in ("", str(report)):
            return period, report
    return known[0]


def _delivery(request: HttpRequest, name: str, rows: list[Delivery], otherwise: int) -> Delivery:
    asked = request.GET.get(name, "")
    return next((row for row in rows if str(row.pk) == asked), rows[otherwise])


def _changes(before: Delivery, after: Delivery, by: str, basis: str) -> dict[str, Moved]:
    """By currency the whole change and the parts that moved, largest amount first."""
    parts: dict[str, list[tuple[str, Change]]] = {}
    for part in delivery_changes(before, after, by=(by,), basis=basis):
        parts.setdefault(part.currency, []).append((part.key[0], compare(part.before, part.after)))
    return {
        currency: (
            compare(_sum(before, currency, basis), _sum(after, currency, basis)), parts.get(currency, [])
        )
        for currency in sorted({*before.totals, *after.totals, *parts})
    }  # fmt: skip


def _sum(delivery: Delivery, currency: str, basis: str) -> Decimal | None:
    amount = delivery.totals.get(currency, {}).get(basis)
    return None if amount is None else Decimal(amount)


def _periods(
    known: list[tuple[date, int]], reports: dict[int, BillReport], chosen: tuple[date, int]
) -> list[tuple[str, str, str, bool]]:
    several = len({report for _period, report in known}) > 1
    return [
        (
            f"{period:%Y-%m}",
            str(report),
            f"{month_word(period)} · {reports[report]}" if several else month_word(period),
            (period, report) == chosen,
        )
        for period, report in known
    ]


def _row(row: Delivery) -> dict[str, Any]:
    totals = [
        (currency, fmt.number(amounts.get("billed"), 2)) for currency, amounts in sorted(row.totals.items())
    ]
    return {"row": row, "totals": totals}


def _heading(
    period: date, deliveries: list[Delivery], changes: dict[str, Moved], before: Delivery, after: Delivery
) -> str:
    month = month_word(period)
    if len(deliveries) == 1:
        return _("%(month)s was delivered once: nothing has changed.") % {"month": month}
    values = {
        "month": month,
        "n": len(deliveries),
        "amounts": _(" and ").join(
            fmt.money(whole.delta, currency, sign=True) for currency, (whole, _parts) in changes.items()
        ),
    }
    if all(not whole.delta for whole, _parts in changes.values()):
        return (
            ngettext(
                "%(month)s was delivered %(n)d time; its total stayed the same.",
                "%(month)s was delivered %(n)d times; its total stayed the same.",
                len(deliveries),
            )
            % values
        )
    return _("%(month)s changed by [[%(amounts)s]] between two deliveries.") % values


def _block(currency: str, whole: Change, parts: list[tuple[str, Change]]) -> dict[str, Any]:
    return {
        "currency": currency,
        "rows": [
            {
                "key": key,
                "label": {"new": _("new"), "gone": _("gone")}.get(change.label, ""),
                "before": fmt.number(change.before, 2),
                "after": fmt.number(change.after, 2),
                "delta": fmt.number(change.delta, 2, sign=True),
                "percent": fmt.percent(change.percent, lang(), sign=True),
            }
            for key, change in parts[:SHOWN]
        ],
        "left": max(0, len(parts) - SHOWN),
        "before": fmt.number(whole.before, 2),
        "after": fmt.number(whole.after, 2),
        "delta": fmt.number(rounded(whole.delta), 2, sign=True),
        "percent": fmt.percent(whole.percent, lang(), sign=True),
    }
