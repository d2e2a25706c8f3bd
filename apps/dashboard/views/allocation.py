"""Allocation: whose each cost is, the rules that say so, and what a change of them would move."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, cast

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.accounts.access import access, refusal
from apps.accounts.actors import Actor
from apps.accounts.middleware import SignedInRequest
from apps.accounts.models import Organisation
from apps.accounts.roles import Action, allowed
from apps.accounts.selectors import team_list
from apps.accounts.services import team_create
from apps.billing.models import AllocationRule, RuleKind
from apps.billing.selectors.allocation import rule_list
from apps.billing.selectors.allocation_trial import Trial, allocation_trial, rule_costs
from apps.billing.selectors.spend import SpendAnswer, spend
from apps.billing.selectors.spend_question import TEAM, UNALLOCATED
from apps.billing.services.allocation import rule_check, rule_remove, rule_save
from apps.dashboard import format as fmt
from apps.dashboard import freshness
from apps.dashboard.allocation_form import RuleForm, initial_of
from apps.dashboard.presenters.spend_words import BASIS_WORDS, window_word
from apps.dashboard.spend import Filters, bill_age, filters_of, newest_month
from apps.dashboard.tabs import SPEND_TABS
from apps.dashboard.views.spend import empty_page, organisation_of, period_choices
from apps.dashboard.words import lang
from finops.engine.spend import rounded_parts


@access(Action.VIEW)
def allocation_page(request: HttpRequest) -> HttpResponse:
    """Teams with their cost, the rules with what they decide, and a form; `rule` in the address edits one."""
    return _page(request)


def _page(request: HttpRequest, status: int = 200, **extra: Any) -> HttpResponse:
    organisation = organisation_of(request)
    newest = newest_month(organisation)
    if newest is None:
        return empty_page(request, "allocation")
    filters = replace(filters_of(request.GET, newest), by=(TEAM,), where=(), currency="")
    snapshots = freshness.snapshots_of(request)
    answer = spend(
        filters.question, organisation=organisation, now=datetime.now(UTC), snapshots=snapshots,
        with_unallocated=False,
    )  # fmt: skip
    costs = rule_costs(filters.question, organisation=organisation, snapshots=snapshots)
    rules = list(rule_list(organisation))
    membership = cast(SignedInRequest, request).membership
    may = allowed(membership, Action.MANAGE_BUDGETS)
    teams = list(team_list(organisation))
    editing = next((rule for rule in rules if str(rule.pk) == request.GET.get("rule")), None)
    context = {
        "page": "spend",
        "tab": "allocation",
        "tabs": SPEND_TABS,
        "data_age": bill_age(organisation, datetime.now(UTC)),
        "filters": filters,
        "period": window_word(filters.window),
        "periods": period_choices(filters, newest),
        "bases": [(name, word, filters.address(basis=name)) for name, word in BASIS_WORDS.items()],
        "heading": _heading(answer, filters),
        "blocks": _blocks(answer, filters),
        "gaps": [gap.sentence() for gap in answer.coverage.gaps[:4]],
        "rules": [_rule_row(rule, costs) for rule in rules],
        "may": may,
        "refusal": "" if may else refusal(Action.MANAGE_BUDGETS, organisation),
        "may_teams": allowed(membership, Action.MANAGE_MEMBERS),
        "teams": teams,
        "editing": editing,
        "form": RuleForm(teams=teams, initial=initial_of(editing) if editing else None),
        "query": filters.address(),
        **extra,
    }
    return render(request, "dashboard/allocation.html", context, status=status)


def _heading(answer: SpendAnswer, filters: Filters) -> str:
    period = window_word(filters.window)
    if not answer.totals:
        return _("Nothing is billed for %(period)s.") % {"period": period}
    if not answer.unallocated or not any(answer.unallocated.values()):
        return _("%(period)s: every cost belongs to a team.") % {"period": period}
    amounts = _(" and ").join(
        fmt.money(amount, currency) for currency, amount in answer.unallocated.items() if amount
    )
    if answer.unallocated == answer.totals:
        return _("%(period)s: no cost belongs to a team yet ([[%(amounts)s]]).") % {
            "period": period,
            "amounts": amounts,
        }
    if len(answer.totals) == 1 and (whole := answer.total) and whole > 0:
        share = next(iter(answer.unallocated.values())) / whole * 100
        return _("%(period)s: [[%(share)s]] of the cost is nobody's (%(amounts)s).") % {
            "period": period,
            "share": fmt.percent(share, lang()),
            "amounts": amounts,
        }
    return _("%(period)s: [[%(amounts)s]] are nobody's.") % {"period": period, "amounts": amounts}


def _blocks(answer: SpendAnswer, filters: Filters) -> list[dict[str, Any]]:
    """Teams by cost and currency, nobody's last; the shown amounts add up."""
    found = []
    for currency, whole in answer.totals.items():
        rows = [row for row in answer.rows if row.currency == currency]
        rows.sort(key=lambda row: (row.values[0] == UNALLOCATED, -(row.cost or Decimal(0)), row.values))
        seen, total = rounded_parts([row.cost or Decimal(0) for row in rows])
        found.append(
            {
                "currency": currency,
                "total": fmt.number(total, 2),
                "rows": [
                    {
                        "name": _("Unallocated")
                        if row.values[0] == UNALLOCATED
                        else answer.team_names.get(str(row.values[0]), row.values[0]),
                        "address": filters.with_where((TEAM, str(row.values[0])), by=("service",)),
                        "cost": fmt.number(amount, 2),
                        "share": fmt.percent((row.cost or 0) / whole * 100 if whole > 0 else None, lang()),
                        "width": max(0, min(100, int((row.cost or 0) / whole * 100))) if whole > 0 else 0,
                        "nobody": row.values[0] == UNALLOCATED,
                    }
                    for row, amount in zip(rows, seen, strict=True)
                ],
            }
        )
    return found


def _rule_row(rule: AllocationRule, costs: dict[tuple[int | None, str], Decimal]) -> dict[str, Any]:
    matched = [(currency, cost) for (number, currency), cost in costs.items() if number == rule.pk]
    shares = [
        share.team.name
        if share.share is None
        else f"{share.team.name} {fmt.percent(share.share * 100, lang(), decimals=0)}"
        for share in rule.shares.all()
    ]
    return {
        "rule": rule,
        "matches": _matches(rule),
        "target": rule.team.name
        if rule.team
        else f"{rule.get_split_display()}: {', '.join(shares) or _('all teams')}",
        "costs": [(fmt.number(cost, 2), currency) for currency, cost in sorted(matched)],
    }


def _matches(rule: AllocationRule) -> str:
    if rule.kind == RuleKind.RESOURCE:
        return rule.pattern
    values = ", ".join(rule.values) or _("every value")
    return f"{rule.key} = {values}" if rule.key else values


def _address(request: HttpRequest, rule: AllocationRule | None = None) -> str:
    query = request.POST.get("query", "")[:4000]
    return f"{reverse('dashboard:allocation')}?{query}" + (f"&rule={rule.pk}" if rule else "")


def _find(organisation: Organisation, number: str) -> AllocationRule | None:
    if not number:
        return None
    return get_object_or_404(rule_list(organisation), pk=number if number.isdecimal() else 0)


@require_POST
@access(Action.VIEW)
def rule_try(request: HttpRequest) -> HttpResponse:
    """Show what the rule of the form would move; saves nothing."""
    return _from_form(request, save=False)


@require_POST
@access(Action.MANAGE_BUDGETS)
def rule_keep(request: HttpRequest) -> HttpResponse:
    """Save the rule of the form."""
    return _from_form(request, save=True)


def _from_form(request: HttpRequest, *, save: bool) -> HttpResponse:
    organisation = organisation_of(request)
    rule = _find(organisation, request.POST.get("rule", ""))
    form = RuleForm(request.POST, teams=list(team_list(organisation)))
    if not form.is_valid():
        return _page(request, 422, form=form, editing=rule)
    fields = form.rule_fields()
    try:
        if save:
            saved = rule_save(
                organisation=organisation,
                actor=Actor.of_user(cast(SignedInRequest, request).user),
                fields=fields,
                rule=rule,
            )
            messages.success(request, _("The rule %(name)s is saved.") % {"name": saved.name})
            return redirect(_address(request))
        proposed = rule_check(organisation=organisation, fields=fields, rule=rule)
    except ValidationError as error:
        for name, found in error.error_dict.items():
            form.add_error(name if name in form.fields else None, found)
        return _page(request, 422, form=form, editing=rule)
    newest = newest_month(organisation)
    if newest is None:
        return empty_page(request, "allocation")
    filters = filters_of(request.GET, newest)
    trial = allocation_trial(
        filters.question, proposed, organisation=organisation, now=datetime.now(UTC),
        instead_of=rule.pk if rule else None,
    )  # fmt: skip
    return _page(request, form=form, editing=rule, trial=_trial(trial))


def _trial(trial: Trial) -> dict[str, Any]:
    moved = [
        {
            "name": _("Unallocated") if part.key == UNALLOCATED else trial.names.get(part.key, part.key),
            "currency": currency,
            "before": fmt.number(part.change.before or 0, 2),
            "after": fmt.number(part.change.after or 0, 2),
            "delta": fmt.number(part.change.delta, 2, sign=True),
        }
        for currency, (_whole, parts) in trial.teams.items()
        for part in parts
        if part.change.delta
    ]
    amounts = _(" and ").join(fmt.money(cost, currency) for currency, cost in trial.matched.items())
    return {"matched": amounts, "rows": moved}


@require_POST
@access(Action.MANAGE_BUDGETS)
def rule_drop(request: HttpRequest, rule_id: int) -> HttpResponse:
    """Remove a rule."""
    rule = get_object_or_404(rule_list(organisation_of(request)), pk=rule_id)
    rule_remove(rule=rule, actor=Actor.of_user(cast(SignedInRequest, request).user))
    messages.success(request, _("The rule %(name)s is removed.") % {"name": rule.name})
    return redirect(_address(request))


@require_POST
@access(Action.MANAGE_MEMBERS)
def team_add(request: HttpRequest) -> HttpResponse:
    """A new team to give cost to."""
    try:
        team = team_create(
            organisation=organisation_of(request),
            actor=Actor.of_user(cast(SignedInRequest, request).user),
            name=request.POST.get("name", ""),
        )
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, _("The team %(name)s is made.") % {"name": team.name})
    return redirect(_address(request))
