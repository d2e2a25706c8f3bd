"""Reading budgets and their alerts."""

from __future__ import annotations

from datetime import date

from django.db.models import Prefetch, Q, QuerySet

from apps.accounts.models import Organisation
from apps.billing.models import Budget, BudgetAlert, BudgetScope, BudgetThreshold
from finops.engine.budget import Measure, Threshold


def budget_list(organisation: Organisation | None) -> QuerySet[Budget]:
    """The organisation's budgets by name, with team, thresholds and newest alerts first."""
    return (
        Budget.objects.filter(organisation=organisation)
        .select_related("team")
        .prefetch_related(
            Prefetch("thresholds", BudgetThreshold.objects.order_by("measure", "percent")), "alerts"
        )
    )


def budgets_in_force(organisation: Organisation | None, day: date) -> QuerySet[Budget]:
    """Those that count on a day."""
    open_ended = Q(valid_to__isnull=True) | Q(valid_to__gt=day)
    return budget_list(organisation).filter(open_ended, valid_from__lte=day)


def alert_list(organisation: Organisation | None) -> QuerySet[BudgetAlert]:
    """Every alert of the organisation's budgets, newest first."""
    return BudgetAlert.objects.filter(budget__organisation=organisation).select_related("budget")


def thresholds_of(budget: Budget) -> tuple[Threshold, ...]:
    """A budget's thresholds as the engine takes them."""
    return tuple(Threshold(t.percent, Measure(t.measure)) for t in budget.thresholds.all())


def scope_condition(budget: Budget) -> tuple[tuple[str, str], ...]:
    """What a budget covers as conditions of a spend question; () is everything."""
    if budget.scope == BudgetScope.TEAM and budget.team is not None:
        return (("team", budget.team.slug),)
    if budget.scope == BudgetScope.TAG:
        return ((f"tag:{budget.tag_key}", budget.scope_value),)
    if budget.scope == BudgetScope.ORGANISATION:
        return ()
    return ((str(budget.scope), budget.scope_value),)
