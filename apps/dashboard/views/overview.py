"""Overview: what the month costs, where it is heading, what moved, and what the numbers rest on."""

from __future__ import annotations

from datetime import UTC, datetime

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from apps.accounts.access import access
from apps.accounts.roles import Action
from apps.dashboard import freshness
from apps.dashboard.overview import Overview, overview
from apps.dashboard.presenters import anomalies as anomaly_words
from apps.dashboard.presenters import overview as words
from apps.dashboard.presenters.spend_words import BASIS_WORDS, month_word
from apps.dashboard.views.spend import organisation_of


@access(Action.VIEW)
def overview_page(request: HttpRequest) -> HttpResponse:
    """The page; without bills what to do next, and the way to what is there already."""
    found = overview(organisation_of(request), request.GET.dict(), now=datetime.now(UTC))
    if found is None:
        context = {"page": "overview", "has_prices": bool(freshness.choices_of(request).known)}
        return render(request, "dashboard/overview_empty.html", context)
    return render(request, "dashboard/overview.html", _context(found))


def _context(found: Overview) -> dict[str, object]:
    return {
        "page": "overview",
        "data_age": words.data_age(found),
        "found": found,
        "heading": words.heading(found),
        "eyebrow": words.full(found),
        "lead": words.lead(found),
        "old": words.old_notice(found),
        "kpis": words.kpis(found),
        "chart": words.chart(found),
        "drivers_title": words.drivers_title(found),
        "drivers": words.movers(found, found.drivers, words.DRIVERS_SHOWN),
        "drivers_rest": words.rest_row(found, found.drivers, words.DRIVERS_SHOWN),
        "movers": words.movers(found, found.movers, words.MOVERS_SHOWN, service_last=True),
        "split": words.split_rows(found),
        "split_title": words.split_title(found),
        "anomalies": [anomaly_words.line(one, found.names, found.now.date()) for one in found.anomalies],
        "deliveries": words.delivery_rows(found),
        "deliveries_title": words.deliveries_title(found),
        "lateness": words.lateness_words(found),
        "periods": [
            (f"{month:%Y-%m}", month_word(month), month == found.asked.start) for month in found.asked.months
        ],
        "bases": [(name, word, name == found.asked.basis) for name, word in BASIS_WORDS.items()],
        "currencies": sorted([found.currency, *(one.currency for one in found.others)]),
        "total": words.total_row(found),
    }
