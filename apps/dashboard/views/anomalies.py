"""Anomalies: days on which a part of the bill cost far more or less than usual; snooze, close, open again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from apps.accounts.access import access
from apps.accounts.actors import Actor
from apps.accounts.middleware import SignedInRequest
from apps.accounts.roles import Action, allowed
from apps.billing.models import Anomaly, AnomalyCourse, AnomalyState, BillWatch
from apps.billing.selectors.accounts import account_names
from apps.billing.selectors.anomalies import anomaly_list, state_on
from apps.billing.services.anomalies import anomaly_close, anomaly_reopen, anomaly_snooze
from apps.dashboard.presenters import anomalies as words
from apps.dashboard.spend import bill_age
from apps.dashboard.tabs import SPEND_TABS
from apps.dashboard.views.spend import organisation_of

A_PAGE = 25
SHOWN = ("waiting", "all")
SNOOZE_DAYS = 14


class SnoozeForm(forms.Form):
    """Until when, and why."""

    until = forms.DateField(
        label=gettext_lazy("Until"), widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    )
    reason = forms.CharField(label=gettext_lazy("Reason"), max_length=500)


class ReasonForm(forms.Form):
    """Why."""

    reason = forms.CharField(label=gettext_lazy("Reason"), max_length=500)


@access(Action.VIEW)
def anomalies_page(request: HttpRequest) -> HttpResponse:
    """The page; `show=all` also those that nobody waits for."""
    organisation, now = organisation_of(request), datetime.now(UTC)
    shown = request.GET.get("show", "waiting")
    shown = shown if shown in SHOWN else "waiting"
    names = {number: name for (_p, number), name in account_names(organisation=organisation).items()}
    rows = list(anomaly_list(organisation).exclude(course=AnomalyCourse.RESTATED))
    waiting = [row for row in rows if state_on(row, now.date()) == AnomalyState.OPEN]
    watch = BillWatch.objects.filter(organisation=organisation, judged_at__isnull=False).first()
    if shown == "all":
        rows = list(anomaly_list(organisation))
    pages = Paginator(rows if shown == "all" else waiting, A_PAGE)
    page = pages.get_page(request.GET.get("p"))
    context: dict[str, Any] = {
        "page": "spend",
        "tab": "anomalies",
        "tabs": SPEND_TABS,
        "data_age": bill_age(organisation, now),
        "heading": words.heading([words.line(row, names, now.date()) for row in waiting], watch is not None),
        "rows": [words.line(row, names, now.date()) for row in page],
        "pages": page,
        "shown": shown,
        "counts": {"waiting": len(waiting), "all": anomaly_list(organisation).count()},
        "watch": watch,
        "may": allowed(cast(SignedInRequest, request).membership, Action.MANAGE_ANOMALIES),
        "until": (now.date() + timedelta(days=SNOOZE_DAYS)).isoformat(),
    }
    return render(request, "dashboard/anomalies.html", context)


def _changed(
    request: HttpRequest,
    pk: int,
    form: forms.Form | None,
    change: Callable[[Anomaly, Actor, datetime], Any],
    done: str,
) -> HttpResponse:
    """Do it and say so; what is wrong is said and nothing is changed."""
    anomaly = get_object_or_404(anomaly_list(organisation_of(request)), pk=pk)
    if form is not None and not form.is_valid():
        told = "; ".join(
            f"{form.fields[name].label}: {' '.join(map(str, found))}" for name, found in form.errors.items()
        )
        messages.error(request, told)
        return redirect("dashboard:anomalies")
    try:
        change(anomaly, Actor.of_user(cast(SignedInRequest, request).user), datetime.now(UTC))
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, done)
    return redirect("dashboard:anomalies")


@require_POST
@access(Action.MANAGE_ANOMALIES)
def snooze(request: HttpRequest, anomaly_id: int) -> HttpResponse:
    """Set it aside until a day."""
    form = SnoozeForm(request.POST)

    def change(row: Anomaly, actor: Actor, now: datetime) -> Any:
        return anomaly_snooze(anomaly=row, actor=actor, now=now, **form.cleaned_data)

    return _changed(request, anomaly_id, form, change, _("The anomaly is set aside."))


@require_POST
@access(Action.MANAGE_ANOMALIES)
def close(request: HttpRequest, anomaly_id: int) -> HttpResponse:
    """Nothing more is to be done about it."""
    form = ReasonForm(request.POST)

    def change(row: Anomaly, actor: Actor, now: datetime) -> Any:
        return anomaly_close(anomaly=row, actor=actor, now=now, **form.cleaned_data)

    return _changed(request, anomaly_id, form, change, _("The anomaly is closed."))


@require_POST
@access(Action.MANAGE_ANOMALIES)
def reopen(request: HttpRequest, anomaly_id: int) -> HttpResponse:
    """Take back a snooze or a closing."""

    def change(row: Anomaly, actor: Actor, now: datetime) -> Any:
        return anomaly_reopen(anomaly=row, actor=actor, now=now)

    return _changed(request, anomaly_id, None, change, _("The anomaly is open again."))
