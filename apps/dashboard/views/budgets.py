"""Budgets: where each stands; finance makes, changes and removes them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.accounts.access import access
from apps.accounts.actors import Actor
from apps.accounts.middleware import SignedInRequest
from apps.accounts.models import Organisation
from apps.accounts.roles import Action, allowed
from apps.accounts.selectors import team_list
from apps.billing.models import Budget, BudgetMeasure, BudgetScope
from apps.billing.selectors.bill_days import bill_days
from apps.billing.selectors.budget_standing import budget_answers
from apps.billing.selectors.budgets import budget_list
from apps.billing.services.budgets import budget_remove, budget_save
from apps.dashboard.budget_form import BudgetForm
from apps.dashboard.presenters import budgets as words
from apps.dashboard.spend import bill_age
from apps.dashboard.tabs import SPEND_TABS
from apps.dashboard.views.spend import organisation_of

MAX_ID_DIGITS = 18


@access(Action.VIEW)
def budgets_page(request: HttpRequest) -> HttpResponse:
    """The page; `change=ID` has that budget in the form."""
    organisation = organisation_of(request)
    budget = _named(organisation, request.GET.get("change", ""))
    return _page(
        request, BudgetForm(teams=_teams(organisation), initial=_initial(budget, organisation)), budget
    )


def _named(organisation: Organisation, text: str) -> Budget | None:
    """The organisation's budget of this id."""
    if not text.isdecimal() or len(text) > MAX_ID_DIGITS:
        return None
    return budget_list(organisation).filter(pk=int(text)).first()


def _teams(organisation: Organisation) -> list[tuple[str, str]]:
    return [(team.slug, team.name) for team in team_list(organisation)]


def _page(request: HttpRequest, form: BudgetForm, budget: Budget | None, status: int = 200) -> HttpResponse:
    organisation, now = organisation_of(request), datetime.now(UTC)
    found = budget_answers(organisation, at=now)
    shown = {one.budget.pk for one in found}
    context: dict[str, Any] = {
        "page": "spend",
        "tab": "budgets",
        "tabs": SPEND_TABS,
        "data_age": bill_age(organisation, now),
        "heading": words.heading(found),
        "rows": [words.line(one) for one in found],
        "resting": [row for row in budget_list(organisation) if row.pk not in shown],
        "may": allowed(cast(SignedInRequest, request).membership, Action.MANAGE_BUDGETS),
        "form": form,
        "budget": budget,
        "bills": bill_days(organisation, at=now) is not None,
    }
    return render(request, "dashboard/budgets.html", context, status=status)


def _initial(budget: Budget | None, organisation: Organisation) -> dict[str, Any]:
    """What the form begins with: the budget, or first values that count for the newest bills."""
    if budget is None:
        now = datetime.now(UTC)
        days = bill_days(organisation, at=now)
        newest = Budget.objects.filter(organisation=organisation).order_by("-updated_at").first()
        return {
            "scope": BudgetScope.ORGANISATION, "period": "month", "basis": "amortised",
            "valid_from": days.period[0] if days else now.date().replace(day=1),
            "currency": newest.currency if newest else "", "actual": "80, 100", "forecast": "100",
        }  # fmt: skip
    names = (
        "name",
        "scope",
        "scope_value",
        "tag_key",
        "period",
        "basis",
        "currency",
        "valid_from",
        "valid_to",
    )
    values: dict[str, Any] = {name: getattr(budget, name) for name in names}
    values["amount"] = format(budget.amount.normalize() + 0, "f")
    values["team"] = budget.team.slug if budget.team else ""
    for measure in BudgetMeasure.values:
        values[measure] = ", ".join(
            format(t.percent.normalize() + 0, "f") for t in budget.thresholds.all() if t.measure == measure
        )
    return values


@require_POST
@access(Action.MANAGE_BUDGETS)
def budget_keep(request: HttpRequest) -> HttpResponse:
    """Make a budget, or replace the one that `budget` names."""
    organisation = organisation_of(request)
    pk = request.POST.get("budget", "")
    budget = _named(organisation, pk)
    if pk and budget is None:
        raise Http404
    form = BudgetForm(request.POST, teams=_teams(organisation))
    if not form.is_valid():
        return _page(request, form, budget, 422)
    given = dict(form.cleaned_data)
    thresholds = [(m, percent) for m in BudgetMeasure.values for percent in given.pop(m)]
    slug = given.pop("team")
    given["team"] = team_list(organisation).filter(slug=slug).first() if slug else None
    try:
        saved = budget_save(
            organisation=organisation,
            actor=Actor.of_user(cast(SignedInRequest, request).user),
            fields=given,
            thresholds=thresholds,
            budget=budget,
        )
    except ValidationError as error:
        for name, found in error.error_dict.items():
            form.add_error(name if name in form.fields else None, found)
        return _page(request, form, budget, 422)
    messages.success(request, _("The budget %(name)s is kept.") % {"name": saved.name})
    return redirect("dashboard:budgets")


@require_POST
@access(Action.MANAGE_BUDGETS)
def budget_drop(request: HttpRequest, budget_id: int) -> HttpResponse:
    """Remove a budget with its alerts."""
    budget = get_object_or_404(budget_list(organisation_of(request)), pk=budget_id)
    budget_remove(budget=budget, actor=Actor.of_user(cast(SignedInRequest, request).user))
    messages.success(request, _("The budget %(name)s is removed.") % {"name": budget.name})
    return redirect("dashboard:budgets")
