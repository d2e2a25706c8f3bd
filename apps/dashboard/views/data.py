"""Data: what is loaded, how it came, what was rejected and why, what is wrong with it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import Count, Q, Sum
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from apps.accounts.access import access, refusal
from apps.accounts.actors import Actor
from apps.accounts.bodies import takes_uploads
from apps.accounts.middleware import SignedInRequest
from apps.accounts.roles import Action, allowed
from apps.accounts.services.audit import audit_record
from apps.dashboard import connect, freshness
from apps.dashboard import format as fmt
from apps.dashboard.data import RegionKnown, quality_flags, regions_known
from apps.dashboard.forms import FeedForm, PathForm, UploadForm
from apps.dashboard.words import lang
from apps.ingest.models import Feed, FeedState, IngestRun, RejectedRow, RunKind, RunState
from apps.ingest.selectors import runs_visible
from apps.ingest.services.feeds import feed_pause, price_feed_add
from apps.ingest.services.imports import ImportOptions, ingest_run_create
from apps.ingest.services.paths import PathRefusedError, import_path_resolve, upload_store
from apps.ingest.tasks import ingest_run_hand_out
from finops.providers.aws.permissions import policy
from finops.text.csv_cells import Column, csv_lines

RUNS_A_PAGE = 20
ROWS_A_PAGE = 100
FLAGS_SHOWN = 100
REJECTED_COLUMNS = (
    Column("file", "file"),
    Column("row", "row", "number"),
    Column("field", "field"),
    Column("reason", "reason"),
)
FLAG_COLUMNS = tuple(
    Column(name, name) for name in ("kind", "severity", "region", "zone", "instance_type", "product", "text")
)


def _asked(request: HttpRequest) -> SignedInRequest:
    return cast(SignedInRequest, request)


def _runs(request: HttpRequest) -> Any:
    organisation = _asked(request).organisation
    if organisation is None:
        raise Http404
    return runs_visible(organisation=organisation).exclude(kind=RunKind.UPKEEP)


def _feeds(request: HttpRequest) -> Any:
    return Feed.objects.filter(Q(organisation=_asked(request).organisation) | Q(organisation__isnull=True))


@access(Action.VIEW)
def data_page(request: HttpRequest) -> HttpResponse:
    """The page; `format=csv` gives the quality findings."""
    return _page(request)


def _page(request: HttpRequest, status: int = 200, **forms: Any) -> HttpResponse:
    snapshots = freshness.snapshots_of(request)
    regions = regions_known(snapshots)
    flags = quality_flags(snapshots, regions, lang())
    if request.GET.get("format") == "csv":
        return _stream(FLAG_COLUMNS, (vars(flag) for flag in flags), "quality.csv")
    membership, organisation = _asked(request).membership, _asked(request).organisation
    now = datetime.now(UTC)
    context = {
        "page": "data",
        "tab": "data",
        "tabs": connect.tabs(membership),
        "regions": regions,
        "flags": flags[:FLAGS_SHOWN],
        "flag_count": len(flags),
        "blocked": sum(flag.blocked for flag in flags),
        "heading": _heading(regions),
        "kpis": _kpis(request, regions),
        "feeds": list(_feeds(request)),
        "now": now,
        "fresh": now - freshness.LIVE,
        "may_load": allowed(membership, Action.LOAD_DATA),
        "may_path": allowed(membership, Action.LOAD_PATH),
        "may_feed": allowed(membership, Action.MANAGE_FEEDS),
        "refusal_load": refusal(Action.LOAD_DATA, organisation)
        if not allowed(membership, Action.LOAD_DATA)
        else "",
        "roots": settings.IMPORT_ROOTS,
        "upload_limit": settings.UPLOAD_MAX_BYTES // 1024**2,
        "upload_form": UploadForm(),
        "path_form": PathForm(),
        "feed_form": FeedForm(),
        "policy": json.dumps(policy(), indent=2),
        **_run_list(request),
        **forms,
    }
    return render(request, "dashboard/data.html", context, status=status)


def _run_list(request: HttpRequest) -> dict[str, Any]:
    runs = Paginator(_runs(request).select_related("user", "feed"), RUNS_A_PAGE).get_page(
        request.GET.get("p")
    )
    return {"runs": runs, "working": any(not run.is_over for run in runs)}


def _heading(regions: list[RegionKnown]) -> str:
    if not regions:
        return _("No prices are loaded yet: load a file or start a feed.")
    series = fmt.number(sum(r.series for r in regions))
    newest = max(r.known_to for r in regions)
    if len(regions) == 1:
        return _("[[%(series)s]] price series in %(region)s, known to %(end)s.") % {
            "series": series,
            "region": regions[0].region,
            "end": fmt.moment(newest, lang=lang(), year=True),
        }
    return _("[[%(series)s]] price series in %(regions)d regions, known to %(end)s.") % {
        "series": series,
        "regions": len(regions),
        "end": fmt.moment(newest, lang=lang(), year=True),
    }


def _kpis(request: HttpRequest, regions: list[RegionKnown]) -> list[tuple[str, str, str]]:
    sums = _runs(request).aggregate(
        read=Sum("rows_read"),
        stored=Sum("stored"),
        duplicates=Sum("duplicates"),
        rejected=Sum("rejected"),
        runs=Count("pk"),
    )
    count = {name: fmt.number(value or 0) for name, value in sums.items()}
    gaps = sum(r.gaps for r in regions)
    return [
        (
            _("Rows read"),
            count["read"],
            ngettext("in %(runs)s run", "in %(runs)s runs", sums["runs"]) % count,
        ),
        (_("Stored"), count["stored"], _("price changes")),
        (_("Duplicates"), count["duplicates"], _("the same change again")),
        (_("Rejected"), count["rejected"], _("each with file, row and reason")),
        (_("Gaps"), fmt.number(gaps), _("stretches of unknown price inside series")),
    ]


@access(Action.VIEW)
def runs_region(request: HttpRequest) -> HttpResponse:
    """The list of runs alone: asked again and again while one works."""
    return render(request, "dashboard/data_runs.html", _run_list(request))


@access(Action.VIEW)
def run_detail(request: HttpRequest, run_id: int) -> HttpResponse:
    """One run with its rejected rows; `format=csv` gives all of those."""
    run: IngestRun = get_object_or_404(_runs(request).select_related("user", "feed"), pk=run_id)
    rows = RejectedRow.objects.filter(run=run)
    if request.GET.get("format") == "csv":
        return _stream(
            REJECTED_COLUMNS,
            rows.values("file", "row", "field", "reason").iterator(),
            f"rejected-{run.pk}.csv",
        )
    page = Paginator(rows, ROWS_A_PAGE).get_page(request.GET.get("p"))
    context = {"page": "data", "run": run, "rows": page, "heading": _run_heading(run)}
    template = (
        "dashboard/data_run_progress.html"
        if request.GET.get("part") == "progress"
        else "dashboard/data_run.html"
    )
    return render(request, template, context)


def _run_heading(run: IngestRun) -> str:
    values = {
        "stored": fmt.number(run.stored),
        "read": fmt.number(run.rows_read),
        "rejected": fmt.number(run.rejected),
    }
    if run.state == RunState.FINISHED:
        return _("[[%(stored)s]] of %(read)s rows are stored, %(rejected)s were rejected.") % values
    if run.state == RunState.REFUSED:
        return _("Refused: nothing was stored, %(rejected)s rows or files could not be used.") % values
    if run.state == RunState.FAILED:
        return _("Failed: nothing was stored; what was there before is kept.")
    if run.state == RunState.QUEUED:
        return _("Waiting for a worker.")
    return _("Reading: %(rows)s rows so far.") % {"rows": fmt.number(run.rows_seen)}


def _queue(request: HttpRequest, *, source: str, location: str, kind: str, region: str) -> IngestRun:
    asked = _asked(request)
    with transaction.atomic():
        run = ingest_run_create(
            source=source,
            location=location,
            kind=kind,
            options=ImportOptions(region=region),
            organisation=asked.organisation,
            user=asked.user,
        )
        audit_record(
            organisation=asked.organisation,
            actor=Actor.of_user(asked.user),
            action="ingest.load",
            target=run,
            after={"source": source, "kind": kind},
        )
        transaction.on_commit(lambda: ingest_run_hand_out(run.pk))
    return run


@require_POST
@takes_uploads
@access(Action.LOAD_DATA)
def upload(request: HttpRequest) -> HttpResponse:
    """Take a file and queue its run."""
    form = UploadForm(request.POST, request.FILES)
    if not form.is_valid():
        return _page(request, 422, upload_form=form)
    given = form.cleaned_data["file"]
    try:
        name, location = upload_store(name=given.name, chunks=given.chunks())
    except PathRefusedError as error:
        form.add_error("file", str(error))
        return _page(request, 422, upload_form=form)
    run = _queue(
        request, source=name, location=location, kind=RunKind.UPLOAD, region=form.cleaned_data["region"]
    )
    return redirect("dashboard:data-run", run.pk)


@require_POST
@access(Action.LOAD_PATH)
def load_path(request: HttpRequest) -> HttpResponse:
    """Queue the run of a path on the server."""
    form = PathForm(request.POST)
    if not form.is_valid():
        return _page(request, 422, path_form=form)
    path = form.cleaned_data["path"]
    try:
        location = import_path_resolve(path)
    except PathRefusedError as error:
        form.add_error("path", str(error))
        return _page(request, 422, path_form=form)
    run = _queue(
        request, source=path, location=location, kind=RunKind.FILES, region=form.cleaned_data["region"]
    )
    return redirect("dashboard:data-run", run.pk)


@require_POST
@access(Action.MANAGE_FEEDS)
def feed_add(request: HttpRequest) -> HttpResponse:
    """Create a live feed; it is asked at the next turn of beat."""
    form = FeedForm(request.POST)
    if not form.is_valid():
        return _page(request, 422, feed_form=form)
    given = form.cleaned_data
    request_of = _asked(request)
    organisation = request_of.organisation
    assert organisation is not None  # noqa: S101 - the access check needs a membership
    try:
        feed = price_feed_add(
            organisation=organisation,
            actor=Actor.of_user(request_of.user),
            name=given["name"],
            regions=given["regions"],
            interval=timedelta(minutes=given["minutes"]),
            instance_types=given["instance_types"],
            products=[p.strip() for p in given["products"].split(";") if p.strip()],
            role_arn=given["role_arn"],
            external_id=given["external_id"],
            account=given["account"],
        )
    except ValidationError as error:
        for name, texts in error.message_dict.items():
            form.add_error(name, " ".join(texts))
        return _page(request, 422, feed_form=form)
    messages.success(
        request, _("The feed %(name)s is created; it is asked within a minute.") % {"name": feed.name}
    )
    return redirect("dashboard:data")


@require_POST
@access(Action.MANAGE_FEEDS)
def feed_switch(request: HttpRequest, feed_id: int) -> HttpResponse:
    """Pause a feed or let it go on."""
    feed: Feed = get_object_or_404(
        _feeds(request).filter(organisation=_asked(request).organisation), pk=feed_id
    )
    paused = feed.state != FeedState.OFF
    feed_pause(feed=feed, actor=Actor.of_user(_asked(request).user), paused=paused)
    text = _("%(name)s is paused.") if paused else _("%(name)s goes on.")
    messages.success(request, text % {"name": feed.name})
    return redirect("dashboard:data")


def _stream(columns: Any, rows: Any, name: str) -> HttpResponse:
    response = StreamingHttpResponse(csv_lines(columns, rows), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response  # type: ignore[return-value]
