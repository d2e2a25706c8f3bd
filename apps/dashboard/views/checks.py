"""Cost checks: those that were made, one in full, and the policies that they are held against."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, cast

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.accounts.access import access
from apps.accounts.actors import Actor
from apps.accounts.middleware import SignedInRequest
from apps.accounts.models import User
from apps.accounts.roles import Action, allowed
from apps.accounts.selectors import team_list
from apps.costchecks.comment import comment_markdown
from apps.costchecks.export import check_csv
from apps.costchecks.models import CostCheck
from apps.costchecks.selectors import check_policy_list, cost_check_list, cost_check_rows
from apps.costchecks.services import check_policy_add, check_policy_remove
from apps.costchecks.services.policies import policy_of
from apps.costchecks.wording import policy_title
from apps.dashboard.forms_checks import PolicyForm
from apps.dashboard.presenters import checks as words
from apps.dashboard.tabs import CHECKS_TABS
from apps.dashboard.views.spend import organisation_of
from finops.engine.checks.policies import DEFAULT_POLICIES, Policy, Verdict

A_PAGE = 50
DAYS = 30
VERDICTS = [verdict.value for verdict in Verdict]


@access(Action.VIEW)
def checks_page(request: HttpRequest) -> HttpResponse:
    """The checks, newest first; the address may name a verdict and a project."""
    organisation = organisation_of(request)
    rows = cost_check_rows(organisation)
    recent = rows.filter(created_at__gte=datetime.now(UTC) - timedelta(days=DAYS))
    verdict = request.GET.get("verdict", "")
    project = request.GET.get("project", "").replace("\x00", "")[:200]
    verdict = verdict if verdict in VERDICTS else ""
    shown = rows.filter(verdict=verdict) if verdict else rows
    shown = shown.filter(project=project) if project else shown
    page = Paginator(shown, A_PAGE).get_page(request.GET.get("p"))
    context = {
        "page": "checks",
        "tab": "checks",
        "tabs": CHECKS_TABS,
        "heading": words.list_heading(recent.filter(verdict="deny").count(), recent.count()),
        "pages": page,
        "rows": words.list_rows(list(page)),
        "verdict": verdict,
        "verdicts": [(value, words.badge(value)[1]) for value in VERDICTS],
        "project": project,
        "projects": sorted(rows.exclude(project="").order_by().values_list("project", flat=True).distinct()),
        "ever": bool(page.paginator.count) or rows.exists(),
    }
    return render(request, "dashboard/checks.html", context)


@access(Action.VIEW)
def check_page(request: HttpRequest, check_id: int) -> HttpResponseBase:
    """One check; `format`: json, csv or markdown."""
    row = cost_check_list(organisation_of(request)).filter(pk=check_id).first() if check_id < 2**63 else None
    if row is None:
        raise Http404
    document = {"id": row.pk, **row.document}
    form = request.GET.get("format")
    link = request.build_absolute_uri(reverse("dashboard:check", args=[row.pk]))
    if form == "json":
        return JsonResponse(document, json_dumps_params={"ensure_ascii": False})
    if form == "csv":
        response = StreamingHttpResponse(check_csv(document), content_type="text/csv; charset=utf-8")
        response["Content-Disposition"] = f'attachment; filename="check-{row.pk}.csv"'
        return response
    comment = comment_markdown(document, link=link)
    if form == "markdown":
        return HttpResponse(comment, content_type="text/markdown; charset=utf-8")
    return render(request, "dashboard/check.html", _context(row, document, comment))


def _context(row: CostCheck, document: dict[str, Any], comment: str) -> dict[str, Any]:
    kind, word = words.badge(row.verdict)
    resources = words.resource_rows(document)
    told = len(document["resources"]) + document["resources_left_out"]
    return {
        "page": "checks",
        "row": row,
        "doc": document,
        "heading": words.heading(document),
        "lead": words.lead(document),
        "badge": kind,
        "word": word,
        "kpis": words.kpis(document),
        "resources": resources,
        "not_shown": told - len(resources),
        "changes_title": words.changes_title(document),
        "total": [
            words.table_ends(document[name], sign=name == "delta") for name in ("before", "after", "delta")
        ],
        "policies": words.policies(document),
        "policies_title": words.policies_title(document),
        "cheaper": words.cheaper(document),
        "not_cheaper": words.not_cheaper(document),
        "comment": comment,
    }


@access(Action.VIEW)
def policies_page(request: HttpRequest) -> HttpResponse:
    """The stored policies."""
    return _policies(request)


@require_POST
@access(Action.MANAGE_BUDGETS)
def policy_add(request: HttpRequest) -> HttpResponse:
    """Hold checks against one more."""
    organisation = organisation_of(request)
    form = PolicyForm(request.POST, organisation=organisation)
    if form.is_valid():
        slug = form.cleaned_data["team"]
        try:
            check_policy_add(
                organisation=organisation, actor=_actor(request), values=form.values(),
                team=team_list(organisation).filter(slug=slug).first() if slug else None,
            )  # fmt: skip
        except ValidationError as error:
            for name, told in error.message_dict.items():
                form.put(name, told)
        else:
            messages.success(request, _("The policy is kept: every check from now on is held against it."))
            return redirect("dashboard:check-policies")
    return _policies(request, status=422, form=form)


@require_POST
@access(Action.MANAGE_BUDGETS)
def policy_drop(request: HttpRequest, policy_id: int) -> HttpResponse:
    """Take one out."""
    row = (
        check_policy_list(organisation_of(request)).filter(pk=policy_id).first()
        if policy_id < 2**63
        else None
    )
    if row is None:
        raise Http404
    check_policy_remove(policy=row, actor=_actor(request))
    messages.success(request, _("The policy is taken out."))
    return redirect("dashboard:check-policies")


def _actor(request: HttpRequest) -> Actor:
    return Actor.of_user(cast(User, request.user))


def _policies(request: HttpRequest, status: int = 200, **forms: Any) -> HttpResponse:
    organisation = organisation_of(request)
    stored = [(row, policy_of(row)) for row in check_policy_list(organisation)]
    context = {
        "page": "checks",
        "tab": "check-policies",
        "tabs": CHECKS_TABS,
        "heading": _heading(stored),
        "rows": [(row, *_told(policy)) for row, policy in stored],
        "defaults": [_told(policy) for policy in DEFAULT_POLICIES],
        "may": allowed(cast(SignedInRequest, request).membership, Action.MANAGE_BUDGETS),
        "form": PolicyForm(organisation=organisation),
        **forms,
    }
    return render(request, "dashboard/check_policies.html", context, status=status)


def _told(policy: Policy) -> tuple[str, str, str]:
    return (policy.title or policy_title(policy), *words.badge(policy.level.value))


def _heading(stored: list[Any]) -> str:
    denies = sum(1 for _row, policy in stored if policy.level is Verdict.DENY)
    if not stored:
        return _("No policy is stored: checks warn and deny nothing by themselves.")
    return _("Every check is held against [[%(n)d]] policies, %(denies)d of which deny.") % {
        "n": len(stored),
        "denies": denies,
    }
