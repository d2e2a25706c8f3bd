"""Storage → Prices: what storage costs in a region, what is missing, and the organisation's own prices."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from apps.accounts.access import access, refusal
from apps.accounts.roles import Action, allowed
from apps.dashboard import format as fmt
from apps.dashboard.forms_bills import TableForm
from apps.dashboard.presenters.storage_prices import classes_of
from apps.dashboard.tabs import STORAGE_TABS
from apps.dashboard.views.bill_tables import actor_of, counts_said, csv_answer, organisation_of, taken
from apps.dashboard.views.connect import asked
from apps.storage.selectors.prices import (
    STORAGE_PRICE_COLUMNS,
    places_of,
    prices_document,
    providers_of,
    storage_prices_of,
)
from apps.storage.services.prices import storage_price_remove, storage_prices_import

HOME = ("aws", "us-east-1")


@access(Action.VIEW)
def prices_page(request: HttpRequest) -> HttpResponse:
    """Prices of one region; `format=csv` gives them as the import takes them."""
    return _prices(request)


def _prices(request: HttpRequest, status: int = 200, **more: Any) -> HttpResponse:
    organisation = organisation_of(request)
    place = _place(request)
    document = prices_document(*place, datetime.now(UTC).date(), organisation=organisation)
    if request.GET.get("format") == "csv":
        return csv_answer(STORAGE_PRICE_COLUMNS, document["prices"], f"storage-prices-{'-'.join(place)}.csv")
    own = storage_prices_of(organisation).filter(provider=place[0], region=place[1])
    may = allowed(asked(request).membership, Action.CONNECT_BILLS)
    context = {
        "page": "storage",
        "tab": "storage-prices",
        "tabs": STORAGE_TABS,
        "heading": _heading(document),
        "doc": document,
        "place": place,
        "places": places_of(organisation),
        "providers": providers_of(),
        "classes": classes_of(document, {(r.storage_class, r.item, r.on.isoformat()): r.pk for r in own}),
        "may": may,
        "refusal": "" if may else refusal(Action.CONNECT_BILLS, organisation),
        "table_form": TableForm(),
        **more,
    }
    return render(request, "dashboard/storage_prices.html", context, status=status)


def _place(request: HttpRequest) -> tuple[str, str]:
    provider = request.GET.get("provider", HOME[0])
    region = request.GET.get("region", "").replace("\x00", "").strip()[:40]
    if provider not in providers_of():
        provider = HOME[0]
    known = [found for name, found in places_of(organisation_of(request)) if name == provider]
    return provider, region or (HOME[1] if provider == HOME[0] else (known or [""])[0])


def _heading(document: dict[str, Any]) -> str:
    place = {"place": f"{document['provider']} {document['region']}".strip()}
    count = len(document["classes"])
    if not count:
        return _("No storage prices of %(place)s yet: its buckets get no advice.") % place
    return ngettext(
        "[[%(n)s]] class of %(place)s has all its prices.",
        "[[%(n)s]] classes of %(place)s have all their prices.",
        count,
    ) % {"n": fmt.number(count), **place}


@require_POST
@access(Action.CONNECT_BILLS)
def prices_load(request: HttpRequest) -> HttpResponse:
    """Prices from a CSV."""
    counts, mistakes = taken(request, storage_prices_import)
    if mistakes:
        return _prices(request, 422, mistakes=mistakes)
    messages.success(request, counts_said(counts))
    return redirect(_address(*_place(request)))


@require_POST
@access(Action.CONNECT_BILLS)
def price_drop(request: HttpRequest, price_id: int) -> HttpResponse:
    """Take a price out."""
    row = get_object_or_404(storage_prices_of(organisation_of(request)), pk=price_id)
    storage_price_remove(row=row, actor=actor_of(request))
    messages.success(request, _("The price is taken out; the audit trail keeps it."))
    return redirect(_address(row.provider, row.region))


def _address(provider: str, region: str) -> str:
    return f"{reverse('dashboard:storage-prices')}?{urlencode({'provider': provider, 'region': region})}"
