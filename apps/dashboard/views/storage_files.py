"""Data → Storage files: which buckets are listed, whether the bill agrees, and loading more."""

from __future__ import annotations

from datetime import UTC
from decimal import Decimal
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from apps.accounts.access import access, refusal
from apps.accounts.actors import Actor
from apps.accounts.bodies import takes_uploads
from apps.accounts.roles import Action, allowed
from apps.accounts.services import audit_record
from apps.dashboard import connect
from apps.dashboard import format as fmt
from apps.dashboard.forms_storage_files import StorageFeedForm, StoragePathForm, StorageUploadForm
from apps.dashboard.views.bill_tables import actor_of, organisation_of
from apps.dashboard.views.connect import asked
from apps.ingest.models import Feed, FeedKind, IngestRun, RunKind, RunSubject
from apps.ingest.selectors import runs_visible
from apps.ingest.services.feeds import storage_feed_add
from apps.ingest.services.paths import PathRefusedError, import_path_resolve, upload_store
from apps.ingest.storage.run import storage_run_create
from apps.ingest.storage.sources import StorageOptions
from apps.ingest.tasks import feed_collect_hand_out, ingest_run_hand_out
from apps.storage.selectors.documents import buckets_document

RUNS_SHOWN = 10
GIB = Decimal(2**30)


@access(Action.VIEW)
def storage_files_page(request: HttpRequest) -> HttpResponse:
    """The page."""
    return _page(request)


def _page(request: HttpRequest, status: int = 200, **forms_given: Any) -> HttpResponse:
    membership, organisation = asked(request).membership, organisation_of(request)
    found = buckets_document(organisation=organisation, now=timezone.now())["buckets"]
    runs = runs_visible(organisation=organisation).filter(subject=RunSubject.STORAGE)
    may_load = allowed(membership, Action.LOAD_DATA)
    context = {
        "page": "data",
        "tab": "storage-files",
        "tabs": connect.tabs(membership),
        "heading": _heading(found),
        "buckets": [_row(bucket) for bucket in found],
        "runs": list(runs.select_related("user", "feed")[:RUNS_SHOWN]),
        "feeds": list(Feed.objects.filter(organisation=organisation, kind=FeedKind.STORAGE)),
        "may_load": may_load,
        "may_path": allowed(membership, Action.LOAD_PATH),
        "may_feed": allowed(membership, Action.MANAGE_FEEDS),
        "refusal_load": "" if may_load else refusal(Action.LOAD_DATA, organisation),
        "roots": settings.IMPORT_ROOTS,
        "upload_limit": settings.UPLOAD_MAX_BYTES // 1024**2,
        "upload_form": StorageUploadForm(),
        "path_form": StoragePathForm(),
        "feed_form": StorageFeedForm(),
        **forms_given,
    }
    return render(request, "dashboard/storage_files.html", context, status=status)


def _heading(buckets: list[dict[str, Any]]) -> str:
    if not buckets:
        return _("No bucket is listed or billed yet: load an inventory.")
    ready = sum(not bucket["blocked"] for bucket in buckets)
    return ngettext(
        "Listing and bill agree for [[%(ready)s]] of %(all)s bucket.",
        "Listing and bill agree for [[%(ready)s]] of %(all)s buckets.",
        len(buckets),
    ) % {"ready": fmt.number(ready), "all": fmt.number(len(buckets))}


def _row(bucket: dict[str, Any]) -> dict[str, Any]:
    """A bucket as the table shows it; sizes in GiB."""
    billed = [Decimal(one["mean_gib"]) for one in bucket["billed"]]
    listed = bucket["listed_bytes"]
    return {
        **bucket,
        "listed_gib": None if listed is None else Decimal(listed) / GIB,
        "billed_gib": sum(billed, Decimal(0)) if billed else None,
        "gap_gib": None if bucket["gap_bytes"] is None else Decimal(bucket["gap_bytes"]) / GIB,
        "gap_pct": None if bucket["gap_share"] is None else bucket["gap_share"] * 100,
    }


def _options(form: forms.Form) -> StorageOptions:
    given = form.cleaned_data
    at = given["listed_at"]
    return StorageOptions(
        kind=given["kind"],
        provider=given["provider"],
        bucket=given["bucket"],
        region=given["region"],
        listed_at=at.astimezone(UTC) if at else None,
    )


def _queue(request: HttpRequest, form: forms.Form, *, source: str, location: str, kind: str) -> IngestRun:
    with transaction.atomic():
        run = storage_run_create(
            paths=[location],
            source=source,
            options=_options(form),
            organisation=organisation_of(request),
            kind=kind,
            user=asked(request).user,
        )
        audit_record(
            organisation=organisation_of(request),
            actor=Actor.of_user(asked(request).user),
            action="storage.load",
            target=run,
            after={"source": source, "kind": kind},
        )
        transaction.on_commit(lambda: ingest_run_hand_out(run.pk))
    return run


@require_POST
@takes_uploads
@access(Action.LOAD_DATA)
def storage_upload(request: HttpRequest) -> HttpResponse:
    """Take a file and queue its run."""
    form = StorageUploadForm(request.POST, request.FILES)
    if not form.is_valid():
        return _page(request, 422, upload_form=form)
    given = form.cleaned_data["file"]
    try:
        name, location = upload_store(name=given.name, chunks=given.chunks())
    except PathRefusedError as error:
        form.add_error("file", str(error))
        return _page(request, 422, upload_form=form)
    run = _queue(request, form, source=name, location=location, kind=RunKind.UPLOAD)
    return redirect("dashboard:data-run", run.pk)


@require_POST
@access(Action.LOAD_PATH)
def storage_path(request: HttpRequest) -> HttpResponse:
    """Queue the run of a path on the server."""
    form = StoragePathForm(request.POST)
    if not form.is_valid():
        return _page(request, 422, path_form=form)
    path = form.cleaned_data["path"]
    try:
        location = import_path_resolve(path)
    except PathRefusedError as error:
        form.add_error("path", str(error))
        return _page(request, 422, path_form=form)
    run = _queue(request, form, source=path, location=location, kind=RunKind.FILES)
    return redirect("dashboard:data-run", run.pk)


@require_POST
@access(Action.MANAGE_FEEDS)
def storage_feed(request: HttpRequest) -> HttpResponse:
    """Make a feed; it is asked at once."""
    form = StorageFeedForm(request.POST)
    if not form.is_valid():
        return _page(request, 422, feed_form=form)
    try:
        with transaction.atomic():
            feed = storage_feed_add(
                organisation=organisation_of(request), actor=actor_of(request), **form.cleaned_data
            )
            transaction.on_commit(lambda: feed_collect_hand_out(feed.pk))
    except ValidationError as error:
        for name, texts in error.message_dict.items():
            form.add_error(name, " ".join(texts))
        return _page(request, 422, feed_form=form)
    told = _("The feed %(name)s is created; it is asked within a minute.") % {"name": feed.name}
    messages.success(request, told)
    return redirect("dashboard:storage-files")
