"""Overview: what the month costs, where it is heading, what moved, and what the numbers rest on."""

from __future__ import annotations

from datetime import UTC, datetime

from django.db.models import Count, Max
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from apps.accounts.access import access
from apps.accounts.models import Organisation
from apps.accounts.roles import Action
from apps.billing.models import BillWatch, Budget, Delivery, DeliveryState
from apps.billing.selectors.allocation import allocation_version
from apps.billing.selectors.anomalies import anomaly_list
from apps.billing.selectors.deliveries import reports_visible
from apps.billing.selectors.spend_compare import AGAINST
from apps.billing.selectors.spend_question import UNALLOCATED
from apps.dashboard import freshness
from apps.dashboard.caching import cache_key, kept
from apps.dashboard.overview import Overview, overview
from apps.dashboard.presenters import anomalies as anomaly_words
from apps.dashboard.presenters import overview as words
from apps.dashboard.presenters import overview_cards as cards
from apps.dashboard.presenters import recommendations as recommendation_words
from apps.dashboard.presenters.spend_words import AGAINST_WORDS, BASIS_WORDS, month_word
from apps.dashboard.spend import bill_age, names_state
from apps.dashboard.views.spend import organisation_of
from apps.dashboard.words import lang
from apps.recommendations.models import Recommendation, RecommendationEvent
from apps.recommendations.selectors.inbox_document import best_open

BUCKET_SECONDS = 300


@access(Action.VIEW)
def overview_page(request: HttpRequest) -> HttpResponse:
    """The page; without bills what to do next, and the way to what is there already."""
    organisation, now = organisation_of(request), datetime.now(UTC)
    region = kept(
        _key(request, organisation, now),
        lambda: _region(request, organisation, now),
        BUCKET_SECONDS,
        dict[str, str],
    )
    if not region:
        context = {
            "page": "overview",
            "has_prices": bool(freshness.choices_of(request).known),
            "data_age": bill_age(organisation, now),
        }
        return render(request, "dashboard/overview_empty.html", context)
    age = freshness.DataAge(region["age_state"], region["age"])
    context = {"page": "overview", "region": region, "data_age": age, "team_word": region["team"]}
    return render(request, "dashboard/overview.html", context)


def _region(request: HttpRequest, organisation: Organisation, now: datetime) -> dict[str, str]:
    """The page's content and the age for the top bar; {} without bills."""
    found = overview(organisation, request.GET.dict(), now=now)
    if found is None:
        return {}
    age = words.data_age(found)
    context = _context(found) | _recommended(organisation, found)
    html = render_to_string("dashboard/overview_region.html", context, request=request)
    team = words.team_word(found) or (_("All teams") if found.teams else "")
    return {"html": html, "age": age.text, "age_state": age.state, "team": team}


def recommendation_state(organisation: Organisation) -> tuple[object, ...]:
    """Changes with every finding and every decision."""
    rows = Recommendation.objects.filter(organisation=organisation)
    events = RecommendationEvent.objects.filter(recommendation__organisation=organisation)
    found = rows.aggregate(n=Count("pk"), at=Max("refreshed_at"))
    return found["n"], found["at"], events.aggregate(n=Max("pk"))["n"]


def _key(request: HttpRequest, organisation: Organisation, now: datetime) -> str:
    """Everything that the content depends on; ages on it are at most five minutes behind."""
    anomalies = anomaly_list(organisation).aggregate(
        n=Count("pk"), seen=Max("updated_at"), said=Max("stated_at")
    )
    budgets = Budget.objects.filter(organisation=organisation).aggregate(n=Count("pk"), at=Max("updated_at"))
    deliveries = Delivery.objects.filter(
        report__in=reports_visible(organisation=organisation), state=DeliveryState.CURRENT
    )
    return cache_key(
        "overview",
        freshness.snapshots_of(request),
        organisation.pk,
        allocation_version(organisation),
        names_state(organisation),
        sorted(anomalies.items()),
        sorted(budgets.items()),
        list(BillWatch.objects.filter(organisation=organisation).values_list("judged_to", flat=True)),
        list(deliveries.order_by("pk").values_list("pk", "reconciled")),
        recommendation_state(organisation),
        lang(),
        request.GET.urlencode(),
        int(now.timestamp()) // BUCKET_SECONDS,
    )


def _export_query(found: Overview) -> str:
    """The address of the same days by service on the Spend page, which exports them exactly."""
    query = QueryDict(mutable=True)
    query.update(
        {
            "from": found.asked.start.isoformat(),
            "to": found.asked.end.isoformat(),
            "by": "service",
            "basis": found.asked.basis,
            "against": found.asked.against,
        }
    )
    query.setlist("where", [f"{name}={value}" for name, value in found.asked.where])
    return query.urlencode()


def _teams(found: Overview) -> list[tuple[str, str, bool]]:
    """Teams and what is nobody's; none where there is no team."""
    words_of = {**found.teams, UNALLOCATED: _("Unallocated")} if found.teams else {}
    return [(slug, name, slug == found.asked.team) for slug, name in words_of.items()]


def _recommended(organisation: Organisation, found: Overview) -> dict[str, object]:
    """The best open recommendations that can be had together; of all teams only: their sum is no team's."""
    best = best_open(organisation) if not found.asked.team else None
    if best is None or not best.cards:
        return {}
    return {
        "recommended": recommendation_words.cards(best.cards, {}),
        "recommended_title": cards.recommended_title(best),
        "recommended_method": recommendation_words.method_note(best.totals),
    }


def _context(found: Overview) -> dict[str, object]:
    return {
        "found": found,
        "heading": words.heading(found),
        "eyebrow": " · ".join(filter(None, (words.full(found), words.team_word(found)))),
        "unsound": [row for row in found.deliveries if row.reconciled is False],
        "lead": words.lead(found),
        "old": words.old_notice(found),
        "kpis": words.kpis(found),
        "chart": words.chart(found),
        "drivers_title": words.drivers_title(found),
        "drivers": words.movers(found, found.drivers, words.DRIVERS_SHOWN),
        "drivers_rest": words.rest_row(found, found.drivers, words.DRIVERS_SHOWN),
        "movers": words.movers(found, found.movers, words.MOVERS_SHOWN, service_last=True),
        "split": cards.split_rows(found),
        "split_note": cards.split_note(found),
        "split_title": cards.split_title(found),
        "anomalies": [anomaly_words.line(one, found.names, found.now.date()) for one in found.anomalies],
        "deliveries": cards.delivery_rows(found),
        "deliveries_title": cards.deliveries_title(found),
        "lateness": cards.lateness_words(found),
        "periods": [
            (f"{month:%Y-%m}", month_word(month), month == found.asked.start) for month in found.asked.months
        ],
        "bases": [(name, word, name == found.asked.basis) for name, word in BASIS_WORDS.items()],
        "against": [
            (name, word, name == found.asked.against)
            for name, word in AGAINST_WORDS.items()
            if name in AGAINST
        ],
        "teams": _teams(found),
        "basis_word": BASIS_WORDS[found.asked.basis],
        "export": _export_query(found),
        "currencies": sorted([found.currency, *(one.currency for one in found.others)]),
        "total": words.total_row(found),
    }
