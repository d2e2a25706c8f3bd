"""Saved workloads on the Run page: the list, the one that is open, the form that keeps a question."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, cast
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from apps.accounts.access import refusal
from apps.accounts.middleware import SignedInRequest
from apps.accounts.roles import Action, allowed
from apps.accounts.selectors import team_list
from apps.dashboard import format as fmt
from apps.dashboard.forms import RunForm, SaveForm, run_fields_of
from apps.dashboard.words import day_names, listed, zone_names
from apps.workloads.models import Workload
from apps.workloads.selectors import workload_list, workload_question
from finops.engine.calendar import WEEKDAYS, parse_days

PAGE_PROVIDER = "aws"  # the page's charts and choices are of this cloud


@cache
def zone_options() -> SafeString:
    """The options of all time zones, which are the same for everybody."""
    return format_html_join("", '<option value="{}">', ((zone,) for zone in zone_names()))


def what_runs(question: Mapping[str, Any]) -> str:
    """`8 hours on two × p3.2xlarge`."""
    hours, count = fmt.hours(question["hours"]), question.get("count") or 1
    what = listed(question["types"]) if question.get("types") else _("any type that is large enough")
    if count == 1:
        return _("%(hours)s hours on one %(what)s") % {"hours": hours, "what": what}
    return _("%(hours)s hours on %(count)s × %(what)s") % {
        "hours": hours,
        "count": fmt.number(count),
        "what": what,
    }


def repeats(question: Mapping[str, Any]) -> str:
    """`daily, done by 08:00 Europe/Berlin`; "" for a single run."""
    if not question.get("repeat"):
        return ""
    return _("%(days)s, done by %(time)s %(zone)s") % {
        "days": _days(question["repeat"]),
        "time": question["done_by"],
        "zone": question["timezone"],
    }


def _days(text: str) -> str:
    """`daily`, `Mon–Fri`, `Sat, Sun`."""
    days = parse_days(text)
    if len(days) == 7:
        return _("daily")
    words = dict(zip(WEEKDAYS, day_names(), strict=True))
    parts = [part.strip().lower().split("-") for part in text.split(",")]
    return ", ".join(fmt.DASH.join(words[end.strip()[:3]] for end in part) for part in parts)


def opened(request: HttpRequest, rows: list[Workload]) -> Workload | None:
    """The saved workload that the address names, among the organisation's own."""
    asked = request.GET.get("workload", "")
    return next((row for row in rows if str(row.pk) == asked), None)


def open_workload(request: HttpRequest, zone: ZoneInfo) -> HttpResponse:
    """To the address that holds the saved question, so that the link shows others the same."""
    organisation = cast(SignedInRequest, request).organisation
    row = opened(request, list(workload_list(organisation))) if organisation is not None else None
    if row is None:
        messages.error(request, _("There is no such saved workload any more."))
        return redirect("dashboard:run")
    fields: dict[str, Any] = dict(run_fields_of(workload_question(row), zone))
    kept = {name: request.GET[name] for name in ("at",) if name in request.GET}
    return redirect(
        f"{reverse('dashboard:run')}?{urlencode({**fields, 'workload': row.pk, **kept}, doseq=True)}"
    )


def teams_of(request: HttpRequest) -> list[tuple[str, str]]:
    """The teams that a workload may belong to."""
    organisation = cast(SignedInRequest, request).organisation
    return [] if organisation is None else [(team.slug, team.name) for team in team_list(organisation)]


def context(request: HttpRequest, form: RunForm, save_form: SaveForm | None) -> dict[str, Any]:
    """The list for everybody; the form for whom the role lets save, else the sentence who may."""
    asked = cast(SignedInRequest, request)
    rows = list(workload_list(asked.organisation)) if asked.organisation is not None else []
    row = opened(request, rows)
    found: dict[str, Any] = {"saved_rows": [_row(one, row) for one in rows], "opened": row}
    if not allowed(asked.membership, Action.MANAGE_WORKLOADS):
        return found | {"save_refusal": refusal(Action.MANAGE_WORKLOADS, asked.organisation)}
    if save_form is None:
        initial = {
            "fields_text": urlencode(_fields(form), doseq=True),
            "name": row.name if row else "",
            "team": row.team.slug if row and row.team else "",
            "workload": row.pk if row else None,
        }
        save_form = SaveForm(initial=initial, teams=teams_of(request))
    return found | {"save_form": save_form}


def _fields(form: RunForm) -> dict[str, list[str]]:
    data = cast(QueryDict, form.data)
    return {name: values for name in (*form.fields, "at") if (values := data.getlist(name))}


def _row(one: Workload, current: Workload | None) -> dict[str, Any]:
    question = workload_question(one)
    return {
        "id": one.pk,
        "name": one.name,
        "what": what_runs(question),
        "where": listed(one.zones or one.regions),
        "repeats": repeats(question),
        "team": one.team.name if one.team else "",
        "owner": one.owner.get_full_name() if one.owner else "",
        "current": current is not None and current.pk == one.pk,
        "opens": one.provider == PAGE_PROVIDER,
    }
