"""Where launches run and what limits them: targets, limits, budgets of teams, rules that approve."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from apps.accounts.access import access
from apps.accounts.actors import Actor
from apps.accounts.middleware import SignedInRequest
from apps.accounts.models import Organisation, Team
from apps.accounts.roles import Action, allowed
from apps.accounts.selectors import team_list
from apps.dashboard.forms_launch_limits import (
    GuardForm,
    LaunchBudgetForm,
    RuleForm,
    TargetForm,
    target_initial,
)
from apps.dashboard.tabs import LAUNCHES_TABS
from apps.dashboard.views.spend import organisation_of
from apps.launches.models import Executor, LaunchRule
from apps.launches.selectors.limits import limits_document
from apps.launches.selectors.plans import target_list
from apps.launches.services import switches
from apps.workloads.selectors import workload_list

FORMS = ("target_form", "guard_form", "budget_form", "rule_form")


@access(Action.VIEW)
def launch_limits_page(request: HttpRequest) -> HttpResponse:
    """All of them; `change=NAME` has that target in its form."""
    return _page(request)


@require_POST
@access(Action.MANAGE_ORGANISATION)
def target_keep(request: HttpRequest) -> HttpResponse:
    """Name a target or change it."""
    form = TargetForm(request.POST)

    def save() -> None:
        switches.target_save(
            organisation=organisation_of(request), actor=_actor(request),
            name=form.cleaned_data["name"], values=form.values(),
        )  # fmt: skip

    return _kept(request, "target_form", form, save, _("The target is kept."))


@require_POST
@access(Action.MANAGE_ORGANISATION)
def guard_keep(request: HttpRequest) -> HttpResponse:
    """Set the limits."""
    form = GuardForm(request.POST)

    def save() -> None:
        switches.guard_save(organisation=organisation_of(request), actor=_actor(request), **form.values())

    return _kept(request, "guard_form", form, save, _("The limits are kept."))


@require_POST
@access(Action.MANAGE_BUDGETS)
def launch_budget_keep(request: HttpRequest) -> HttpResponse:
    """Set a month's budget, or take it away."""
    organisation = organisation_of(request)
    form = LaunchBudgetForm(request.POST, organisation=organisation)

    def save() -> None:
        given = form.values()
        team = _team(organisation, given.pop("team"))
        switches.budget_save(organisation=organisation, actor=_actor(request), team=team, **given)

    return _kept(request, "budget_form", form, save, _("The budget is kept."))


@require_POST
@access(Action.APPROVE_SPEND)
def rule_keep(request: HttpRequest) -> HttpResponse:
    """A standing yes."""
    organisation = organisation_of(request)
    form = RuleForm(request.POST, organisation=organisation)

    def save() -> None:
        given = form.values()
        team, named = _team(organisation, given.pop("team")), given.pop("workload")
        workload = workload_list(organisation).get(pk=named) if named else None
        switches.rule_save(
            organisation=organisation, actor=_actor(request), team=team, workload=workload, **given
        )

    return _kept(request, "rule_form", form, save, _("The rule holds from now on."))


@require_POST
@access(Action.APPROVE_SPEND)
def rule_end(request: HttpRequest, rule_id: int) -> HttpResponse:
    """End a rule."""
    rule = LaunchRule.objects.filter(organisation=organisation_of(request), pk=rule_id).first()
    if rule is None:
        raise Http404
    switches.rule_off(rule=rule, actor=_actor(request))
    messages.success(
        request, _("The rule is ended; what it approved and has not run waits for people again.")
    )
    return redirect("dashboard:launch-limits")


def _kept(
    request: HttpRequest, name: str, form: forms.Form, save: Callable[[], None], told: str
) -> HttpResponse:
    if form.is_valid():
        try:
            save()
        except ValidationError as error:
            for field, texts in error.message_dict.items():
                form.add_error(field if field in form.fields else None, texts)
        else:
            messages.success(request, told)
            return redirect("dashboard:launch-limits")
    return _page(request, status=422, **{name: form})


def _page(request: HttpRequest, status: int = 200, **given: forms.Form) -> HttpResponse:
    organisation = organisation_of(request)
    membership = cast(SignedInRequest, request).membership
    limits = limits_document(organisation, datetime.now(UTC))
    teams = {one.slug: one.name for one in team_list(organisation)}
    workloads = {one.pk: one.name for one in workload_list(organisation)}
    kinds = dict(Executor.choices)
    context: dict[str, Any] = {
        "page": "launches", "tab": "launch-limits", "tabs": LAUNCHES_TABS, "limits": limits,
        "heading": _heading(limits), "changing": request.GET.get("change", ""),
        "may_set": allowed(membership, Action.MANAGE_ORGANISATION),
        "may_budget": allowed(membership, Action.MANAGE_BUDGETS),
        "may_rule": allowed(membership, Action.APPROVE_SPEND),
        "budgets": [_named(one, teams) for one in limits["budgets"]],
        "rules": [
            {**_named(one, teams), "work": workloads.get(one["workload"])}
            for one in limits["rules"] if one["active"]
        ],
        "targets": [{**one, "kind": kinds[one["executor"]]} for one in limits["targets"]],
        **_forms(request, organisation, limits), **given,
    }  # fmt: skip
    return render(request, "dashboard/launch_limits.html", context, status=status)


def _forms(request: HttpRequest, organisation: Organisation, limits: dict[str, Any]) -> dict[str, forms.Form]:
    changed = target_list(organisation).filter(name=request.GET.get("change", "")[:60]).first()
    guard = limits["guard"]
    price = guard["max_price"]
    return {
        "target_form": TargetForm(initial=target_initial(changed)) if changed else TargetForm(),
        "guard_form": GuardForm(
            initial={**guard, "max_price": None if price is None else Decimal(price),
                     "regions": ", ".join(guard["regions"])}
        ),
        "budget_form": LaunchBudgetForm(organisation=organisation),
        "rule_form": RuleForm(organisation=organisation),
    }  # fmt: skip


def _named(row: dict[str, Any], teams: dict[str, str]) -> dict[str, Any]:
    return {**row, "whose": teams.get(row["team"], row["team"]) if row["team"] else ""}


def _heading(limits: dict[str, Any]) -> str:
    places = sum(one["active"] for one in limits["targets"])
    if limits["guard"]["frozen"]:
        return _("Launches are frozen: [[0]] places may launch")
    if limits["guard"]["dry_run"]:
        return _("Dry run: nothing is called on [[%(n)d]] places") % {"n": places}
    return ngettext("[[%(n)d]] place may launch", "[[%(n)d]] places may launch", places) % {"n": places}


def _team(organisation: Organisation, slug: str) -> Team | None:
    return team_list(organisation).get(slug=slug) if slug else None


def _actor(request: HttpRequest) -> Actor:
    return Actor.of_user(cast(SignedInRequest, request).user)
