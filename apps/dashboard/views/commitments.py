"""Commitments: what is owned, how far it is used, what it covers, when it ends."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from django.contrib import messages
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.accounts.access import access
from apps.accounts.actors import Actor
from apps.accounts.middleware import SignedInRequest
from apps.accounts.roles import Action, allowed
from apps.accounts.services.audit import audit_record
from apps.dashboard.commitments import LIVE, Asked, Page, found_for
from apps.dashboard.forms_commitments import CommitmentFeedForm, CommitmentFileForm
from apps.dashboard.freshness import snapshots_of
from apps.dashboard.presenters import commitments as words
from apps.dashboard.presenters.commitments_charts import coverage_chart, use_chart, week_chart
from apps.dashboard.presenters.spend_words import month_word
from apps.dashboard.tabs import DEALS_TABS
from apps.dashboard.views.spend import organisation_of
from apps.ingest.models import Feed, FeedKind, RunState
from apps.ingest.owned import commitments_load
from apps.ingest.services.commitment_feeds import commitment_feed_create
from finops.engine.workload import WorkloadError
from finops.text.csv_cells import Column, Kind, csv_lines

NUMBER: Kind = "number"
COLUMNS = (
    *(Column(name, name) for name in (
        "id", "kind", "provider", "account", "region", "zone", "type", "platform", "plan", "family",
        "offering_class", "payment", "state",
    )),
    Column("count", "count", NUMBER),
    Column("start", "start"),
    Column("end", "end"),
    *(Column(name, name, NUMBER) for name in (
        "hours_left", "reserved_hours", "used_hours", "utilisation_pct", "idle_hours", "idle_cost", "cost",
        "committed", "used_commitment", "effective_hourly", "on_demand_hourly", "spot_hourly",
    )),
    Column("currency", "currency"),
)  # fmt: skip
HOUR_COLUMNS = (
    Column("id", "id"),
    Column("hour", "hour"),
    Column("unit", "unit"),
    *(Column(name, name, NUMBER) for name in ("bought", "used", "idle", "over", "idle_cost")),
)


@access(Action.VIEW)
def commitments_page(request: HttpRequest) -> HttpResponse:
    """The page; `format=csv` gives the table, `format=hours` every hour."""
    page = _found(request)
    if request.GET.get("format") == "csv":
        return _stream(COLUMNS, iter(page.found.document["commitments"]), "commitments.csv")
    if request.GET.get("format") == "hours":
        return _stream(HOUR_COLUMNS, _hour_rows(page.found.hours), "commitment-hours.csv")
    return _page(request, page)


def _found(request: HttpRequest) -> Page:
    now = datetime.now(UTC)
    return found_for(
        Asked.of(request.GET, now),
        organisation=organisation_of(request),
        now=now,
        snapshots=snapshots_of(request),
    )


def _page(request: HttpRequest, page: Page, status: int = 200, **forms: Any) -> HttpResponse:
    document, hours = page.found.document, page.found.hours
    membership = cast(SignedInRequest, request).membership
    now = datetime.now(UTC)
    reach = datetime.fromisoformat(document["period"]["to"]) if document["period"] else None
    context: dict[str, Any] = {
        "page": "deals",
        "tab": "commitments",
        "tabs": DEALS_TABS,
        "doc": document,
        "heading": words.heading(document),
        "lead": words.lead(document),
        "kpis": words.kpis(document, page.at),
        "rows": words.lines(document, page.at),
        "reasons": _reasons(document),
        "ladder": words.ladder_lines(document),
        "alerts": [words.alert_words(one, page.at) for one in document["alerts"]],
        "grain": words.grain_of(document),
        "sources": words.source_counts(document["commitments"]),
        "charts": [c for c in (use_chart(document, hours), coverage_chart(document, hours)) if c],
        "week": week_chart(document, hours),
        "months": [(f"{month:%Y-%m}", month_word(month)) for month in page.months],
        "month": document["billing_period"],
        "at": page.at,
        "past": page.past,
        "late": reach if reach is not None and not page.past and now - reach > LIVE else None,
        "currency": document["total"][0]["currency"] if document["total"] else "",
        "may_load": allowed(membership, Action.CONNECT_BILLS),
        "may_feed": allowed(membership, Action.MANAGE_FEEDS),
        "feeds": list(_feeds(request)),
        "file_form": CommitmentFileForm(),
        "feed_form": CommitmentFeedForm(initial={"minutes": 60}),
        **forms,
    }
    return render(request, "dashboard/commitments.html", context, status=status)


def _reasons(document: dict[str, Any]) -> list[tuple[str, str]]:
    """Why something is not known: each reason once, with what it holds for."""
    found: dict[str, list[str]] = {}
    for one in document["commitments"]:
        for reason in one["reasons"].values():
            found.setdefault(reason, []).append(words.what_of(one))
    return [(reason, ", ".join(dict.fromkeys(names))) for reason, names in found.items()]


def _feeds(request: HttpRequest) -> Any:
    return Feed.objects.filter(organisation=organisation_of(request), kind=FeedKind.COMMITMENTS)


def _hour_rows(hours: dict[str, Any] | None) -> Iterator[dict[str, Any]]:
    """A row a commitment and hour."""
    if hours is None:
        return
    start = datetime.fromisoformat(hours["from"])
    names = ("bought", "used", "idle", "over", "idle_cost")
    for one in hours["commitments"]:
        for i in range(hours["hours"]):
            at = (start + timedelta(hours=i)).isoformat().replace("+00:00", "Z")
            yield {"id": one["id"], "hour": at, "unit": one["unit"], **{n: one[n][i] for n in names}}


def _stream(columns: Any, rows: Any, name: str) -> HttpResponse:
    response = StreamingHttpResponse(csv_lines(columns, rows), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response  # type: ignore[return-value]


@require_POST
@access(Action.CONNECT_BILLS)
def commitments_file(request: HttpRequest) -> HttpResponse:
    """Keep an answer of the provider's interface; what cannot be used is said and nothing is kept."""
    form = CommitmentFileForm(request.POST, request.FILES)
    if not form.is_valid():
        return _page(request, _found(request), 422, file_form=form)
    given = form.cleaned_data
    user = cast(SignedInRequest, request).user
    run = commitments_load(
        name=given["file"].name,
        data=given["file"].read(),
        seen_at=datetime.now(UTC).replace(microsecond=0),
        region=given["region"],
        account=given["account"],
        organisation=organisation_of(request),
        user=user,
    )
    audit_record(
        organisation=organisation_of(request),
        actor=Actor.of_user(user),
        action="commitments.load",
        target=run,
        after={"source": run.source, "stored": run.stored, "rejected": run.rejected},
    )
    if run.state == RunState.REFUSED:
        form.add_error("file", run.error)
        return _page(request, _found(request), 422, file_form=form)
    text = _("%(file)s: %(stored)s kept, %(same)s as they were, %(bad)s rejected.")
    messages.success(
        request,
        text % {"file": run.source, "stored": run.stored, "same": run.duplicates, "bad": run.rejected},
    )
    return redirect("dashboard:commitments")


@require_POST
@access(Action.MANAGE_FEEDS)
def commitment_feed_add(request: HttpRequest) -> HttpResponse:
    """Look at an account by the clock."""
    form = CommitmentFeedForm(request.POST)
    if form.is_valid():
        given = form.cleaned_data
        try:
            with transaction.atomic():
                feed = commitment_feed_create(
                    name=given["name"],
                    regions=given["regions"],
                    interval=timedelta(minutes=given["minutes"]),
                    role_arn=given["role_arn"],
                    external_id=given["external_id"],
                    account=given["account"],
                    organisation=organisation_of(request),
                )
                audit_record(
                    organisation=feed.organisation,
                    actor=Actor.of_user(cast(SignedInRequest, request).user),
                    action="feed.create",
                    target=feed,
                    after={"name": feed.name, "kind": feed.kind, "regions": feed.regions},
                )
        except IntegrityError:
            form.add_error("name", _("There is a feed of this name already."))
        except WorkloadError as error:
            form.add_error(None, error.message)
    if form.errors:
        return _page(request, _found(request), 422, feed_form=form)
    messages.success(
        request, _("The feed %(name)s is made; it asks within a minute.") % {"name": given["name"]}
    )
    return redirect("dashboard:commitments")
