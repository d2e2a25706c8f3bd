"""Storage: where bytes and cost are, one prefix with its policies, checkpoints, the owner's word."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime
from typing import Any, cast

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.accounts.access import access
from apps.accounts.actors import Actor
from apps.accounts.middleware import SignedInRequest
from apps.accounts.roles import Action, allowed
from apps.dashboard.forms_storage import ChangeForm, CheckpointForm, WordForm
from apps.dashboard.freshness import parse_at
from apps.dashboard.presenters import storage as words
from apps.dashboard.tabs import STORAGE_TABS
from apps.dashboard.views.spend import organisation_of
from apps.recommendations.models import StorageMark
from apps.recommendations.selectors.storage import mark_list, storage_account_list
from apps.recommendations.services.storage_advice import advise_storage
from apps.recommendations.services.storage_checkpoints import CLAIMED_PCT, checkpoint_cost
from apps.recommendations.services.storage_words import mark_delete, mark_save
from finops.engine.workload import WorkloadError
from finops.frames.storage import INCOMPLETE
from finops.text.csv_cells import text_cell

CSV_KEYS = (
    "bucket", "prefix", "class", "state", "objects", "bytes", "current_monthly", "verdict", "policy",
    "one_time", "monthly_after", "saving_low", "saving", "saving_high", "break_even_month", "currency",
    "reason",
)  # fmt: skip
DEFAULTS: dict[str, Any] = {
    "gib": 100.0, "objects": 64, "keep_months": 3.0, "reads_a_month": 0.0, "every_hours": 1.0,
    "run_hours": 240.0, "keep_last": 3, "claimed_pct": CLAIMED_PCT, "region": "us-east-1",
}  # fmt: skip


@access(Action.VIEW)
def storage_page(request: HttpRequest) -> HttpResponse:
    """Where the bytes and the cost are, and what to move."""
    organisation = organisation_of(request)
    names = ("bucket", "class", "verdict")
    asked = {name: request.GET.get(name, "").replace("\x00", "")[:255] for name in names}
    document = advise_storage(organisation=organisation, at=_moment(request))
    base = {"page": "storage", "tab": "storage", "tabs": STORAGE_TABS}
    if not document["groups"] and not document["buckets"]:
        return render(request, "dashboard/storage_empty.html", base)
    groups = [
        one
        for one in document["groups"]
        if (not asked["bucket"] or one["bucket"] == asked["bucket"])
        and (not asked["class"] or one["class"] == asked["class"])
        and (not asked["verdict"] or one["verdict"] == asked["verdict"])
    ]
    if request.GET.get("format") == "csv":
        return _csv(groups)
    buckets = [one for one in document["buckets"] if not asked["bucket"] or one["bucket"] == asked["bucket"]]
    context = base | {
        "heading": words.heading(document),
        "lead": words.lead(document),
        "doc": document,
        "asked": asked,
        "choices": _choices(document),
        "classes": words.by_class(groups),
        "sizes": words.by_band(buckets, "sizes"),
        "ages": words.by_band(buckets, "ages"),
        "idle": words.by_band(buckets, "idle"),
        "rows": words.rows_of(groups),
        "left_out": max(0, len(groups) - words.MOST_GROUPS),
        "buckets": buckets,
        "blocked": [one for one in buckets if one["blocked"]],
        "currency": document["currency"],
    }
    return render(request, "dashboard/storage.html", context)


def _choices(document: dict[str, Any]) -> dict[str, Any]:
    groups = document["groups"]
    return {
        "buckets": sorted({one["bucket"] for one in document["buckets"]}),
        "classes": [(name, words.class_name(name)) for name in sorted({one["class"] for one in groups})],
        "verdicts": [(name, word) for name, (_kind, word) in words.VERDICTS.items()],
    }


def _csv(groups: list[dict[str, Any]]) -> HttpResponse:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(CSV_KEYS)
    for one in groups:
        writer.writerow([text_cell("" if one[key] is None else str(one[key])) for key in CSV_KEYS])
    answer = HttpResponse(out.getvalue(), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = 'attachment; filename="storage.csv"'
    return answer


@access(Action.VIEW)
def group_page(request: HttpRequest) -> HttpResponse:
    """One prefix: its policies side by side, the cash curve, the rule, the owner's word."""
    return _group(request, request.GET)


def _group(request: HttpRequest, given: Any, status: int = 200, **forms: Any) -> HttpResponse:
    organisation = organisation_of(request)
    bucket, prefix, state = _named(given)
    document = _document(request, bucket)
    groups = _of(document, prefix, state)
    if not groups:
        raise Http404
    first = groups[0]
    mark = mark_list(organisation, bucket).filter(prefix=prefix, state=state).first()
    rule = next((one["lifecycle"] for one in groups if one["lifecycle"]), None)
    verdict = "move" if first["rule_for_prefix"] else first["verdict"]
    membership = cast(SignedInRequest, request).membership
    place = {"bucket": bucket, "prefix": prefix, "state": state}
    here = {"bucket": bucket, "path": prefix, "state": state}
    context = {
        "page": "storage",
        "heading": words.prefix_heading(groups),
        "lead": words.prefix_lead(groups),
        "kpis": words.prefix_kpis(groups),
        "groups": groups,
        "first": first,
        "place": place,
        "chart": words.chart_of(first["policies"], verdict=verdict),
        "policies": words.policy_rows(first["policies"], verdict=verdict),
        "rule": json.dumps(rule, indent=2) if rule else "",
        "parts": words.rows_of(groups),
        "mark": mark,
        "word_form": WordForm(initial=_said(mark) | here),
        "change_form": ChangeForm(organisation=organisation, initial=here),
        "has_account": storage_account_list(organisation).filter(active=True).exists(),
        "may_decide": allowed(membership, Action.DECIDE),
        "may_say": allowed(membership, Action.DECIDE_WORK) and state != INCOMPLETE,
        "deletes": any(one["deletes"] for one in groups),
        **forms,
    }
    return render(request, "dashboard/storage_group.html", context, status=status)


def _document(request: HttpRequest, bucket: str) -> dict[str, Any]:
    nothing: dict[str, Any] = {"groups": [], "buckets": []}
    if not bucket:
        return nothing
    try:
        return advise_storage(organisation=organisation_of(request), bucket=bucket, at=_moment(request))
    except WorkloadError:
        return nothing


def _of(document: dict[str, Any], prefix: str, state: str) -> list[dict[str, Any]]:
    return [one for one in document["groups"] if (one["prefix"], one["state"]) == (prefix, state)]


def rules_of(request: HttpRequest, bucket: str, prefix: str, state: str) -> list[dict[str, Any]]:
    """The rule of the advice for a prefix; [] where none is advised."""
    for one in _of(_document(request, bucket), prefix, state):
        if one["lifecycle"]:
            rules: list[dict[str, Any]] = one["lifecycle"]["Rules"]
            return rules
    return []


def _said(mark: StorageMark | None) -> dict[str, Any]:
    names = ("checkpoints", "workload", "life_days", "delete_after", "keep_versions", "may_wait", "one_zone")
    return {} if mark is None else {name: getattr(mark, name) for name in names}


def _named(given: Any) -> tuple[str, str, str]:
    """Bucket, prefix and state of an address, or of a form, in which a field cannot be called prefix."""
    bucket, prefix, path, state = (
        str(given.get(name, "")).replace("\x00", "")[:1024] for name in ("bucket", "prefix", "path", "state")
    )
    return bucket, prefix or path, state or "current"


def group_address(bucket: str, prefix: str, state: str) -> str:
    """The page of a prefix."""
    named = urlencode({"bucket": bucket, "prefix": prefix, "state": state})
    return f"{reverse('dashboard:storage-group')}?{named}"


def group_with(request: HttpRequest, **forms: Any) -> HttpResponse:
    """The page of the prefix in the posted form, with forms that have errors."""
    return _group(request, request.POST, status=422, **forms)


def add_errors(form: Any, error: ValidationError) -> None:
    """At their fields; those of hidden ones above the form."""
    for field, texts in error.message_dict.items():
        shown = field in form.fields and not form[field].is_hidden
        form.add_error(field if shown else None, texts)


@require_POST
@access(Action.DECIDE_WORK)
def word_keep(request: HttpRequest) -> HttpResponse:
    """Keep what the owner says."""
    form = WordForm(request.POST)
    if form.is_valid():
        given = dict(form.cleaned_data)
        given["prefix"] = given.pop("path")
        try:
            mark_save(
                organisation=organisation_of(request), actor=_actor(request), now=datetime.now(UTC), **given
            )
        except ValidationError as error:
            add_errors(form, error)
        else:
            messages.success(request, _("Your word is kept; the advice follows it."))
            return redirect(group_address(given["bucket"], given["prefix"], given["state"]))
    return group_with(request, word_form=form)


@require_POST
@access(Action.DECIDE_WORK)
def word_drop(request: HttpRequest, mark_id: int) -> HttpResponse:
    """Take back what was said."""
    mark = mark_list(organisation_of(request)).filter(pk=mark_id).first()
    if mark is None:
        raise Http404
    address = group_address(mark.bucket, mark.prefix, mark.state)
    mark_delete(mark=mark, actor=_actor(request))
    messages.success(request, _("Nothing is said about it any more."))
    return redirect(address)


@access(Action.VIEW)
def checkpoints_page(request: HttpRequest) -> HttpResponse:
    """What checkpoints cost by class and by what is kept."""
    given = {name: request.GET.get(name, str(value)) for name, value in DEFAULTS.items()}
    form = CheckpointForm(given)
    document, status = None, 200
    if form.is_valid():
        try:
            document = checkpoint_cost(
                at=datetime.now(UTC).replace(microsecond=0),
                organisation=organisation_of(request),
                **form.cleaned_data,
            )
        except WorkloadError as error:
            form.add_error(error.field if error.field in form.fields else None, error.message)
    if document is None:
        status = 422
    context = {
        "page": "storage",
        "tab": "storage-checkpoints",
        "tabs": STORAGE_TABS,
        "form": form,
        "doc": document,
        "heading": document["sentence"] if document else _("These values do not go together."),
    }
    return render(request, "dashboard/storage_checkpoints.html", context, status=status)


def _moment(request: HttpRequest) -> datetime | None:
    text = request.GET.get("at", "")
    return parse_at(text) if text else None


def _actor(request: HttpRequest) -> Actor:
    return Actor.of_user(cast(SignedInRequest, request).user)
