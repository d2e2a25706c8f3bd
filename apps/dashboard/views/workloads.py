"""Keeping the question of the Run page under a name, and forgetting it."""

from __future__ import annotations

from typing import cast
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.access import access
from apps.accounts.actors import Actor
from apps.accounts.middleware import SignedInRequest
from apps.accounts.models import Organisation
from apps.accounts.roles import Action
from apps.accounts.selectors import team_list
from apps.dashboard import freshness, saved
from apps.dashboard.forms import RunForm, SaveForm
from apps.dashboard.views.run import run_answer
from apps.workloads.models import Workload
from apps.workloads.selectors import workload_list
from apps.workloads.services import workload_remove, workload_save
from finops.engine.workload import WorkloadError
from finops.reasons import reason_text


def _organisation(request: HttpRequest) -> Organisation:
    organisation = cast(SignedInRequest, request).organisation
    assert organisation is not None  # noqa: S101 - the access check needs a membership
    return organisation


@require_POST
@access(Action.MANAGE_WORKLOADS)
def workload_keep(request: HttpRequest) -> HttpResponse:
    """Save the question that the page answered; a refusal shows that page again with what is wrong."""
    form = SaveForm(request.POST, teams=saved.teams_of(request))
    # The page of the question is shown again where saving is refused: its address is the one of the form.
    request.GET = QueryDict(request.POST.get("fields_text", "")[:8000])
    zone = ZoneInfo(timezone.get_current_timezone_name())
    question = RunForm(request.GET, known=freshness.choices_of(request), zone=zone)
    if not form.is_valid() or not question.is_valid():
        return run_answer(request, save_form=form)
    row = _saved(request, form, question)
    if row is None:
        return run_answer(request, save_form=form)
    messages.success(request, _("%(name)s is saved.") % {"name": row.name})
    at = f"&{urlencode({'at': request.GET['at']})}" if "at" in request.GET else ""
    return redirect(f"{reverse('dashboard:run')}?workload={row.pk}{at}")


def _saved(request: HttpRequest, form: SaveForm, question: RunForm) -> Workload | None:
    """The row; None with the errors in the form."""
    given, organisation = form.cleaned_data, _organisation(request)
    row = None
    if given["workload"]:
        row = get_object_or_404(workload_list(organisation), pk=given["workload"])
    moment = freshness.moment_of(request)
    team = team_list(organisation).filter(slug=given["team"]).first() if given["team"] else None
    try:
        return workload_save(
            organisation=organisation,
            actor=Actor.of_user(cast(SignedInRequest, request).user),
            name=given["name"],
            fields=question.question(),
            team=team,
            workload=row,
            now=moment.at if moment else timezone.now(),
        )
    except WorkloadError as error:
        form.add_error(None, f"{question[error.field].label}: {reason_text(error.message)}")
    except ValidationError as error:
        for name, found in error.error_dict.items():
            form.add_error(name if name in form.fields else None, found)
    return None


@require_http_methods(["GET", "POST"])
@access(Action.MANAGE_WORKLOADS)
def workload_drop(request: HttpRequest, workload_id: int) -> HttpResponse:
    """Ask, then forget the workload; advice that was given stays."""
    row = get_object_or_404(workload_list(_organisation(request)), pk=workload_id)
    if request.method == "GET":
        return render(request, "dashboard/workload_remove.html", {"page": "run", "workload": row})
    workload_remove(workload=row, actor=Actor.of_user(cast(SignedInRequest, request).user))
    messages.success(request, _("%(name)s is deleted.") % {"name": row.name})
    return redirect("dashboard:run")
