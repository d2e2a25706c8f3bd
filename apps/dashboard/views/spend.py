"""Spend: what costs how much, what changed, and the lines behind each number."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, cast

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from apps.accounts.access import access
from apps.accounts.middleware import SignedInRequest
from apps.accounts.models import Organisation, User
from apps.accounts.roles import Action
from apps.billing.models import Delivery, SavedView
from apps.billing.selectors.allocation import allocation_version
from apps.billing.selectors.spend import SpendError, spend
from apps.billing.selectors.spend_lines import spend_lines
from apps.billing.services.views import saved_view_keep, saved_view_remove
from apps.dashboard import format as fmt
from apps.dashboard import freshness
from apps.dashboard.caching import cache_key, kept
from apps.dashboard.presenters import spend as words
from apps.dashboard.presenters import spend_words
from apps.dashboard.spend import (
    DIMENSIONS,
    Filters,
    SpendFacts,
    bill_age,
    fallen_back,
    filters_of,
    names_state,
    newest_month,
    spend_facts,
)
from apps.dashboard.spend_export import csv_response, xlsx_response
from apps.dashboard.tabs import SPEND_TABS
from apps.dashboard.words import lang
from finops.engine.spend import Window, month_start, next_month

CACHE_SECONDS = 3600
LINES_A_PAGE = 50
MOST_GAPS = 4


def _asked(request: HttpRequest) -> SignedInRequest:
    return cast(SignedInRequest, request)


def organisation_of(request: HttpRequest) -> Organisation:
    """The reader's organisation."""
    found = _asked(request).organisation
    assert found is not None  # noqa: S101 - the access check needs a membership
    return found


def empty_page(request: HttpRequest, tab: str) -> HttpResponse:
    """What every page of Spend says before there is a bill."""
    age = bill_age(organisation_of(request), datetime.now(UTC))
    context = {"page": "spend", "tab": tab, "tabs": SPEND_TABS, "data_age": age}
    return render(request, "dashboard/spend_empty.html", context)


@access(Action.VIEW)
def spend_page(request: HttpRequest) -> HttpResponse:
    """The explorer, or its region for htmx; `format=csv` and `format=xlsx` give the rows, exact."""
    organisation = organisation_of(request)
    newest = newest_month(organisation)
    if newest is None:
        return empty_page(request, "spend")
    filters = filters_of(request.GET, newest)
    if request.GET.get("format") in {"csv", "xlsx"}:
        return _export(request, filters, organisation)
    context = {
        "page": "spend",
        "tab": "spend",
        "tabs": SPEND_TABS,
        "data_age": bill_age(organisation, datetime.now(UTC)),
        "filters": filters,
        "region": _region(request, filters, organisation, newest),
        "views": list(SavedView.objects.filter(organisation=organisation, owner=cast(User, request.user))),
        "query": filters.address(),
        "fallen_back": fallen_back(request.GET, filters),
    }
    template = "dashboard/spend.html#region" if getattr(request, "htmx", False) else "dashboard/spend.html"
    response = render(request, template, context)
    patch_vary_headers(response, ["HX-Request"])
    return response


def _region(
    request: HttpRequest, filters: Filters, organisation: Organisation, newest: date
) -> dict[str, str]:
    """Heading and content, from the cache: they depend on data, rules and filters, not on the reader."""
    snapshots = freshness.snapshots_of(request)
    now = datetime.now(UTC)
    key = cache_key(
        "spend", snapshots, freshness.state_of(request), organisation.pk, allocation_version(organisation),
        filters.address(), lang(), now.date(), names_state(organisation),
        timezone.get_current_timezone_name(),
    )  # fmt: skip

    def made() -> dict[str, str]:
        try:
            facts = spend_facts(filters, organisation=organisation, now=now, snapshots=snapshots)
        except SpendError as error:
            context = _refused(filters, error)
        else:
            context = _context(facts)
        context |= {
            "filters": filters,
            "choices": _choices(filters, newest, context),
            "tabs": SPEND_TABS,
            "tab": "spend",
        }
        html = render_to_string("dashboard/spend_region.html", context, request=request)
        return {"html": html, "title": context["heading"]}

    return kept(key, made, CACHE_SECONDS, dict[str, str])


def _refused(filters: Filters, error: SpendError) -> dict[str, Any]:
    return {
        "heading": _("This question has no answer yet."),
        "problem": error.message,
        "facts": None,
        "chips": _chips(filters, {}),
    }


def _context(facts: SpendFacts) -> dict[str, Any]:
    coverage = facts.groups.coverage
    return {
        "facts": facts,
        "heading": words.heading(facts),
        "lead": words.lead(facts),
        "kpis": words.kpis(facts),
        "blocks": words.blocks(facts),
        "heads": [spend_words.dimension_word(name) for name in facts.filters.by],
        "gaps": [gap.sentence() for gap in coverage.gaps[:MOST_GAPS]],
        "more_gaps": max(0, len(coverage.gaps) - MOST_GAPS),
        "sources": coverage.sources,
        "source_rows": sum(source["rows"] for source in coverage.sources),
        "chips": _chips(facts.filters, facts.names),
        "merged": facts.groups.merged,
    }


def _chips(filters: Filters, names: Any) -> list[tuple[str, str]]:
    return [
        (spend_words.condition_word(name, value, names), filters.without((name, value)))
        for name, value in filters.where
    ]


def _choices(filters: Filters, newest: date, context: dict[str, Any]) -> dict[str, Any]:
    facts: SpendFacts | None = context["facts"]
    keys = [f"tag:{key}" for key in (facts.tag_keys if facts else [])]
    keys += [f"cost_category:{key}" for key in (facts.categories if facts else [])]
    chosen = [name for name in filters.by if name not in DIMENSIONS and name not in keys]
    dimensions = [(name, spend_words.dimension_word(name)) for name in [*DIMENSIONS, *chosen, *keys]]
    return {
        "dimensions": dimensions,
        "then": filters.by[1] if len(filters.by) > 1 else "",
        "bases": list(spend_words.BASIS_WORDS.items()),
        "against": list(spend_words.AGAINST_WORDS.items()),
        "granularities": [
            (name, word, filters.address(granularity=name), name == filters.granularity)
            for name, word in spend_words.GRANULARITY_WORDS.items()
        ],
        "period": spend_words.window_word(filters.window),
        "periods": period_choices(filters, newest),
        "currencies": sorted({*(facts.groups.totals if facts else ()), filters.currency} - {""}),
        "csv": filters.address(format="csv"),
        "xlsx": filters.address(format="xlsx"),
        "lines": filters.address(),
    }


def period_choices(filters: Filters, newest: date) -> list[tuple[str, str]]:
    """Words and addresses of the newest months, three months and thirteen."""
    months = [newest]
    for _i in range(5):
        months.append(_before(months[-1]))
    quarter = _days(months[2], next_month(newest))
    year = _days(newest.replace(year=newest.year - 1), next_month(newest))
    return [
        *((spend_words.month_word(m), filters.address(**_days(m, next_month(m)))) for m in months),
        (_("Three months"), filters.address(**quarter, granularity="")),
        (_("Thirteen months"), filters.address(**year, granularity="month")),
    ]


def _before(month: date) -> date:
    return month_start(month - timedelta(days=1))


def _days(start: date, end: date) -> dict[str, str]:
    return {"from": start.isoformat(), "to": end.isoformat()}


def _export(request: HttpRequest, filters: Filters, organisation: Organisation) -> HttpResponse:
    """The question's rows by period, exact and all of them."""
    try:
        answer = spend(
            replace(filters.question, granularity=filters.granularity),
            organisation=organisation,
            now=datetime.now(UTC),
            snapshots=freshness.snapshots_of(request),
            with_unallocated=False,
        )
    except SpendError as error:
        messages.error(request, error.message)
        return redirect(f"{reverse('dashboard:spend')}?{filters.address()}")
    name = f"spend-{filters.start.isoformat()}-{filters.end.isoformat()}"
    if request.GET["format"] == "xlsx":
        return xlsx_response(answer, name)
    return cast(HttpResponse, csv_response(answer, name))


@access(Action.VIEW)
def lines_page(request: HttpRequest) -> HttpResponse:
    """The lines of a question with the delivery, file and row of each."""
    organisation = organisation_of(request)
    newest = newest_month(organisation)
    if newest is None:
        return empty_page(request, "spend")
    filters = filters_of(request.GET, newest)
    page = request.GET.get("p", "1")
    number = int(page) if page.isdecimal() and 1 <= int(page) <= 100_000 else 1
    try:
        found = spend_lines(
            filters.question,
            organisation=organisation,
            offset=(number - 1) * LINES_A_PAGE,
            size=LINES_A_PAGE,
            snapshots=freshness.snapshots_of(request),
        )
    except SpendError as error:
        messages.error(request, error.message)
        return redirect(reverse("dashboard:spend"))
    last = max(1, -(-found.count // LINES_A_PAGE))
    if number > last:
        query = request.GET.copy()
        query["p"] = str(last)
        return redirect(f"{reverse('dashboard:spend-lines')}?{query.urlencode()}")
    deliveries = {
        row.pk: row
        for row in Delivery.objects.filter(pk__in={line.delivery for line in found.lines}).select_related(
            "report"
        )
    }
    amounts = _(" and ").join(fmt.money(amount, currency) for currency, amount in found.totals.items())
    values = {"n": fmt.number(found.count), "amounts": amounts or "0"}
    context = {
        "page": "spend",
        "tab": "spend",
        "tabs": SPEND_TABS,
        "data_age": bill_age(organisation, datetime.now(UTC)),
        "filters": filters,
        "heading": ngettext(
            "%(n)s line makes up [[%(amounts)s]].", "%(n)s lines make up [[%(amounts)s]].", found.count
        )
        % values,
        "period": spend_words.window_word(Window(filters.start, filters.end)),
        "basis": spend_words.BASIS_WORDS[filters.basis],
        "chips": [word for word, _address in _chips(filters, {})],
        "rows": [(line, deliveries.get(line.delivery)) for line in found.lines],
        "count": found.count,
        "number": number,
        "last": last,
        "back": filters.address(),
    }
    return render(request, "dashboard/spend_lines.html", context)


@require_POST
@access(Action.VIEW)
def view_keep(request: HttpRequest) -> HttpResponse:
    """Keep the question of the address under a name."""
    query = QueryDict(request.POST.get("query", "")[:4000]).urlencode()
    try:
        view = saved_view_keep(
            organisation=organisation_of(request),
            owner=cast(User, request.user),
            name=request.POST.get("name", ""),
            query=query,
        )
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, _("%(name)s is saved.") % {"name": view.name})
    return redirect(f"{reverse('dashboard:spend')}?{query}")


@require_POST
@access(Action.VIEW)
def view_drop(request: HttpRequest, view_id: int) -> HttpResponse:
    """Forget a saved view of the reader."""
    mine = SavedView.objects.filter(organisation=organisation_of(request), owner=cast(User, request.user))
    view = get_object_or_404(mine, pk=view_id)
    saved_view_remove(view=view)
    messages.success(request, _("%(name)s is removed.") % {"name": view.name})
    return redirect("dashboard:spend")
