"""Metrics beside the bill: load a file, ask CloudWatch or Prometheus, what is stored."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.accounts.access import access
from apps.accounts.actors import Actor
from apps.accounts.bodies import takes_uploads
from apps.accounts.middleware import SignedInRequest
from apps.accounts.roles import Action, allowed
from apps.dashboard.forms_waste import CloudWatchForm, MeasuresForm, PrometheusForm
from apps.dashboard.presenters import waste as words
from apps.dashboard.tabs import WASTE_TABS
from apps.dashboard.views.spend import organisation_of
from apps.waste.services.collecting import (
    CLOUDWATCH,
    PROMETHEUS,
    collect_request,
    metrics_document,
    prometheus_urls,
)
from apps.waste.services.loading import MOST_UPLOAD, measures_upload
from apps.waste.tasks import waste_collect
from finops.providers.base import PermanentError


@access(Action.VIEW)
def metrics_page(request: HttpRequest) -> HttpResponse:
    """What is stored, and how to get more."""
    return _page(request)


def _page(request: HttpRequest, status: int = 200, **more: Any) -> HttpResponse:
    document = metrics_document(organisation_of(request))
    member = cast(SignedInRequest, request).membership
    context = {
        "page": "waste",
        "tab": "waste-metrics",
        "tabs": WASTE_TABS,
        "doc": document,
        "heading": words.metrics_heading(document),
        "may_load": allowed(member, Action.LOAD_DATA),
        "may_collect": allowed(member, Action.MANAGE_FEEDS),
        "limit_mib": MOST_UPLOAD >> 20,
        "file_form": MeasuresForm(),
        "cloudwatch_form": CloudWatchForm(),
        "prometheus_form": PrometheusForm(urls=prometheus_urls()),
        **more,
    }
    return render(request, "dashboard/waste_metrics.html", context, status=status)


@require_POST
@takes_uploads
@access(Action.LOAD_DATA)
def metrics_load(request: HttpRequest) -> HttpResponse:
    """Read a file now; bad rows are named, the others are kept."""
    form = MeasuresForm(request.POST, request.FILES)
    if not form.is_valid():
        return _page(request, 422, file_form=form)
    given = form.cleaned_data["file"]
    try:
        found = measures_upload(
            organisation=organisation_of(request), actor=_actor(request), content=given.read(),
            name=str(given.name), now=datetime.now(UTC),
        )  # fmt: skip
    except PermanentError as error:
        form.add_error("file", str(error))
        return _page(request, 422, file_form=form)
    return _page(request, loaded=found.document())


@require_POST
@access(Action.MANAGE_FEEDS)
def metrics_collect(request: HttpRequest, source: str) -> HttpResponse:
    """Hand the question to a worker."""
    name = "prometheus_form" if source == PROMETHEUS else "cloudwatch_form"
    form = (
        PrometheusForm(request.POST, urls=prometheus_urls())
        if source == PROMETHEUS
        else CloudWatchForm(request.POST)
    )
    if not form.is_valid():
        return _page(request, 422, **{name: form})
    organisation = organisation_of(request)
    try:
        with transaction.atomic():
            given = collect_request(
                organisation=organisation, actor=_actor(request), now=datetime.now(UTC),
                given={"source": PROMETHEUS if source == PROMETHEUS else CLOUDWATCH, **form.cleaned_data},
            )  # fmt: skip
            transaction.on_commit(lambda: waste_collect.delay(organisation.pk, given))
    except ValidationError as error:
        for field, texts in error.message_dict.items():
            form.add_error(field if field in form.fields else None, texts)
        return _page(request, 422, **{name: form})
    messages.success(request, _("A worker asks for the metrics now."))
    return redirect("dashboard:waste-metrics")


def _actor(request: HttpRequest) -> Actor:
    return Actor.of_user(cast(SignedInRequest, request).user)
