"""Data → Account names, Negotiated rates, Exchange rates: three small tables kept by people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime, time
from functools import partial
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from apps.accounts.access import access, refusal
from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.accounts.roles import Action, allowed
from apps.billing.selectors.accounts import ACCOUNT_COLUMNS, account_names_of
from apps.billing.selectors.exchange import EXCHANGE_COLUMNS, exchange_lines, exchange_rates_of
from apps.billing.selectors.rates import RATE_COLUMNS, rate_lines, rate_of, rates_of
from apps.billing.services.accounts import account_names_import
from apps.billing.services.cells import day_cell
from apps.billing.services.exchange import exchange_rate_remove, exchange_rate_set, exchange_rates_import
from apps.billing.services.rates import rate_add, rate_end, rate_remove, rates_import
from apps.dashboard import connect
from apps.dashboard import format as fmt
from apps.dashboard.forms_bills import ExchangeForm, RateForm, TableForm
from apps.dashboard.spend import bill_age
from apps.dashboard.views.connect import asked
from apps.dashboard.words import lang
from apps.ingest.models import Feed, FeedKind
from apps.ingest.services.names import names_from_feed
from finops.providers.base import ProviderError
from finops.text.csv_cells import csv_lines
from finops.text.small_tables import MAX_BYTES, Mistake, TableError

ROWS_A_PAGE = 100
MISTAKES_SHOWN = 50


def organisation_of(request: HttpRequest) -> Organisation:
    """The reader's organisation."""
    found = asked(request).organisation
    assert found is not None  # noqa: S101 - the access check needs a membership
    return found


def actor_of(request: HttpRequest) -> Actor:
    """Who acts."""
    return Actor.of_user(asked(request).user)


def csv_answer(columns: Any, rows: Any, name: str) -> HttpResponse:
    response = StreamingHttpResponse(csv_lines(columns, rows), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response  # type: ignore[return-value]


def _context(request: HttpRequest, tab: str, action: Action, rows: Any, **more: Any) -> dict[str, Any]:
    may = allowed(asked(request).membership, action)
    return {
        "page": "data",
        "tab": tab,
        "tabs": connect.tabs(asked(request).membership),
        "data_age": bill_age(organisation_of(request), datetime.now(UTC)),
        "may": may,
        "refusal": "" if may else refusal(action, asked(request).organisation),
        "rows": Paginator(rows, ROWS_A_PAGE).get_page(request.GET.get("p")),
        "table_form": TableForm(),
        "now": timezone.now(),
        **more,
    }


def taken(request: HttpRequest, load: Callable[..., Any]) -> tuple[Any, list[Mistake]]:
    """(counts of a file that was taken, mistakes of one that was not)."""
    given = request.FILES.get("file")
    if given is None or given.size is None or given.size > MAX_BYTES:
        return None, [
            Mistake(str(given.name) if given else "", None, "", _("Choose a CSV file of up to 5 MiB."))
        ]
    try:
        counts = load(
            organisation=organisation_of(request),
            actor=actor_of(request),
            content=given.read(),
            file=str(given.name)[:100],
        )
    except TableError as error:
        return None, error.mistakes[:MISTAKES_SHOWN]
    return counts, []


def counts_said(counts: Any) -> str:
    words = {
        "stored": _("stored"), "new": _("new"), "renamed": _("renamed"), "changed": _("corrected"),
        "duplicates": _("already there"), "same": _("already there"), "kept": _("kept from a file"),
    }  # fmt: skip
    given = asdict(counts)
    return ", ".join(f"{fmt.number(given[k])} {word}" for k, word in words.items() if given.get(k)) or "0"


@access(Action.VIEW)
def account_names_page(request: HttpRequest) -> HttpResponse:
    """Names of accounts; `format=csv` gives them as the import takes them."""
    return _names(request)


def _names(request: HttpRequest, status: int = 200, **more: Any) -> HttpResponse:
    rows = account_names_of(organisation_of(request)).order_by("account__provider", "account__account_id")
    if request.GET.get("format") == "csv":
        lines = ({"provider": r.account.provider, "id": r.account.account_id, "name": r.name} for r in rows)
        return csv_answer(ACCOUNT_COLUMNS, lines, "account-names.csv")
    count = rows.count()
    heading = (
        ngettext("[[%(n)s]] account has a name.", "[[%(n)s]] accounts have names.", count)
        % {"n": fmt.number(count)}
        if count
        else _("No account has a name yet: pages show numbers.")
    )
    feeds = Feed.objects.filter(organisation=organisation_of(request), kind=FeedKind.BILLS)
    context = _context(
        request, "account-names", Action.CONNECT_BILLS, rows, heading=heading, feeds=feeds, **more
    )
    return render(request, "dashboard/account_names.html", context, status=status)


@require_POST
@access(Action.CONNECT_BILLS)
def account_names_load(request: HttpRequest) -> HttpResponse:
    """Names from a CSV."""
    counts, mistakes = taken(request, account_names_import)
    if mistakes:
        return _names(request, 422, mistakes=mistakes)
    messages.success(request, counts_said(counts))
    return redirect("dashboard:account-names")


@require_POST
@access(Action.CONNECT_BILLS)
def account_names_ask(request: HttpRequest, feed_id: int) -> HttpResponse:
    """Names as AWS Organizations tells them, with the role of a feed."""
    feeds = Feed.objects.filter(organisation=organisation_of(request), kind=FeedKind.BILLS)
    feed = get_object_or_404(feeds, pk=feed_id)
    try:
        counts = names_from_feed(feed=feed, organisation=organisation_of(request), actor=actor_of(request))
    except ProviderError as error:
        return _names(request, 502, problem=str(error))
    messages.success(request, counts_said(counts))
    return redirect("dashboard:account-names")


@access(Action.MANAGE_BUDGETS)
def rates_page(request: HttpRequest) -> HttpResponse:
    """Negotiated rates: for finance alone; `format=csv` gives them as the import takes them."""
    return _rates(request)


def _rates(request: HttpRequest, status: int = 200, **more: Any) -> HttpResponse:
    rows = rates_of(organisation_of(request))
    if request.GET.get("format") == "csv":
        return csv_answer(RATE_COLUMNS, rate_lines(rows), "negotiated-rates.csv")
    today = timezone.now().date()
    holding = sum(rate_of(row).holds_on(today) for row in rows)
    heading = (
        ngettext("[[%(n)s]] negotiated rate holds today.", "[[%(n)s]] negotiated rates hold today.", holding)
        % {"n": fmt.number(holding)}
        if rows
        else _("No negotiated rate: advice counts with list prices.")
    )
    context = {"heading": heading, "form": RateForm(), "today": today, **more}
    return render(
        request,
        "dashboard/negotiated_rates.html",
        _context(request, "negotiated-rates", Action.MANAGE_BUDGETS, rows, **context),
        status=status,
    )


@require_POST
@access(Action.MANAGE_BUDGETS)
def rate_enter(request: HttpRequest) -> HttpResponse:
    """Add a row."""
    form = RateForm(request.POST)
    if not form.kept(partial(rate_add, organisation=organisation_of(request), actor=actor_of(request))):
        return _rates(request, 422, form=form)
    messages.success(request, _("The rate is stored."))
    return redirect("dashboard:negotiated-rates")


@require_POST
@access(Action.MANAGE_BUDGETS)
def rate_change(request: HttpRequest, rate_id: int) -> HttpResponse:
    """End a row on a day, or take one out that was a mistake."""
    row = get_object_or_404(rates_of(organisation_of(request)), pk=rate_id)
    if request.POST.get("do") == "remove":
        rate_remove(row=row, actor=actor_of(request))
        messages.success(request, _("The rate is taken out; the audit trail keeps it."))
        return redirect("dashboard:negotiated-rates")
    try:
        until = day_cell(request.POST.get("until"), needed=True)
        assert until is not None  # noqa: S101 - needed
        rate_end(row=row, actor=actor_of(request), until=until)
    except ValidationError as error:
        said = " ".join(text for texts in error.message_dict.values() for text in texts)
        return _rates(request, 422, problem=said)
    except ValueError as error:
        return _rates(request, 422, problem=str(error))
    messages.success(request, _("The rate ends on %(day)s.") % {"day": until.isoformat()})
    return redirect("dashboard:negotiated-rates")


@require_POST
@access(Action.MANAGE_BUDGETS)
def rates_load(request: HttpRequest) -> HttpResponse:
    """Rows from a CSV."""
    counts, mistakes = taken(request, rates_import)
    if mistakes:
        return _rates(request, 422, mistakes=mistakes)
    messages.success(request, counts_said(counts))
    return redirect("dashboard:negotiated-rates")


@access(Action.VIEW)
def exchange_page(request: HttpRequest) -> HttpResponse:
    """Exchange rates; `format=csv` gives them as the import takes them."""
    return _exchange(request)


def _exchange(request: HttpRequest, status: int = 200, **more: Any) -> HttpResponse:
    rows = exchange_rates_of(organisation_of(request))
    if request.GET.get("format") == "csv":
        return csv_answer(EXCHANGE_COLUMNS, exchange_lines(rows), "exchange-rates.csv")
    count = rows.count()
    newest = rows.order_by("-on").first()
    heading = (
        ngettext(
            "[[%(n)s]] exchange rate, of %(day)s.", "[[%(n)s]] exchange rates, the newest of %(day)s.", count
        )
        % {
            "n": fmt.number(count),
            "day": fmt.day(datetime.combine(newest.on, time(), UTC), UTC, lang(), year=True),
        }
        if newest
        else _("No exchange rate: currencies stay apart.")
    )
    context = {"heading": heading, "form": ExchangeForm(), **more}
    return render(
        request,
        "dashboard/exchange_rates.html",
        _context(request, "exchange-rates", Action.CONNECT_BILLS, rows, **context),
        status=status,
    )


@require_POST
@access(Action.CONNECT_BILLS)
def exchange_enter(request: HttpRequest) -> HttpResponse:
    """Enter the rate of a pair and day, or correct it."""
    form = ExchangeForm(request.POST)
    store = partial(exchange_rate_set, organisation=organisation_of(request), actor=actor_of(request))
    if not form.kept(store):
        return _exchange(request, 422, form=form)
    messages.success(request, _("The rate is stored."))
    return redirect("dashboard:exchange-rates")


@require_POST
@access(Action.CONNECT_BILLS)
def exchange_drop(request: HttpRequest, rate_id: int) -> HttpResponse:
    """Take a rate out."""
    row = get_object_or_404(exchange_rates_of(organisation_of(request)), pk=rate_id)
    exchange_rate_remove(row=row, actor=actor_of(request))
    messages.success(request, _("The rate is taken out; the audit trail keeps it."))
    return redirect("dashboard:exchange-rates")


@require_POST
@access(Action.CONNECT_BILLS)
def exchange_load(request: HttpRequest) -> HttpResponse:
    """Rates from a CSV."""
    counts, mistakes = taken(request, exchange_rates_import)
    if mistakes:
        return _exchange(request, 422, mistakes=mistakes)
    messages.success(request, counts_said(counts))
    return redirect("dashboard:exchange-rates")
