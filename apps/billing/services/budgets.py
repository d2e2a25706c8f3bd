"""Writing budgets; each change leaves a row in the audit trail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation, Team
from apps.accounts.services import audit_record
from apps.billing.models import (
    Budget,
    BudgetBasis,
    BudgetMeasure,
    BudgetPeriod,
    BudgetScope,
    BudgetThreshold,
)
from finops.frames.money import CurrencyError, currency_code

FIELDS = (
    "name", "scope", "scope_value", "tag_key", "team", "period", "basis", "amount", "currency", "valid_from",
    "valid_to",
)  # fmt: skip
MAX_THRESHOLDS = 20
Thresholds = Sequence[tuple[str, Decimal]]


def budget_save(
    *,
    organisation: Organisation,
    actor: Actor,
    fields: Mapping[str, Any],
    thresholds: Thresholds,
    budget: Budget | None = None,
) -> Budget:
    """Make a budget, or replace `budget` whole. Raises ValidationError by field: nothing is kept then.

    `fields`: those of `FIELDS`, `team` as a row; `thresholds`: (measure, percent). Raises Budget.DoesNotExist
    when the budget was removed meanwhile.
    """
    checked = budget_clean(organisation, fields)
    wanted = _thresholds(thresholds)
    try:
        with transaction.atomic():
            return _write(organisation, actor, checked, wanted, budget)
    except IntegrityError as error:
        if "budget_name_once" not in str(error):
            raise
        raise ValidationError({"name": _("This name is in use. Choose another.")}) from error


def budget_remove(*, budget: Budget, actor: Actor) -> bool:
    """Forget a budget with its alerts; False when somebody else has done it already."""
    with transaction.atomic():
        found = Budget.objects.select_for_update().filter(pk=budget.pk).first()
        if found is None:
            return False
        audit_record(
            organisation=found.organisation,
            actor=actor,
            action="budget.remove",
            target=found,
            before={**budget_facts(found), "alerts": found.alerts.count()},
        )
        found.delete()
    return True


def budget_clean(organisation: Organisation, given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields with their defaults. Raises ValidationError by field."""
    if unknown := sorted(set(given) - set(FIELDS)):
        raise TypeError(f"no fields of a budget: {', '.join(unknown)}")
    errors: dict[str, str] = {}
    found = {
        "name": " ".join(str(given.get("name") or "").split()),
        "scope": str(given.get("scope") or BudgetScope.ORGANISATION),
        "scope_value": str(given.get("scope_value") or "").strip(),
        "tag_key": str(given.get("tag_key") or "").strip(),
        "team": given.get("team"),
        "period": str(given.get("period") or BudgetPeriod.MONTH),
        "basis": str(given.get("basis") or BudgetBasis.AMORTISED),
        "amount": given.get("amount"),
        "currency": "",
        "valid_from": given.get("valid_from"),
        "valid_to": given.get("valid_to"),
    }
    try:
        found["currency"] = currency_code(str(given.get("currency") or ""))
    except CurrencyError:
        errors["currency"] = _("Not a currency: write three letters, for example USD.")
    if not found["name"]:
        errors["name"] = _("Give the budget a name.")
    amount = found["amount"]
    if not isinstance(amount, Decimal) or not amount.is_finite() or not 0 < amount < Decimal(10) ** 18:
        errors["amount"] = _("Write an amount above 0.")
    for name, kinds in (("scope", BudgetScope), ("period", BudgetPeriod), ("basis", BudgetBasis)):
        if found[name] not in kinds.values:
            errors[name] = _("Choose one of %(known)s.") % {"known": ", ".join(kinds.values)}
    _check_scope(organisation, found, errors)
    _check_days(found, errors)
    if errors:
        raise ValidationError(errors)
    return found


def _check_scope(organisation: Organisation, found: dict[str, Any], errors: dict[str, str]) -> None:
    """Keep only what belongs to the scope; what it needs must be there."""
    scope, team = found["scope"], found["team"]
    if scope == BudgetScope.TEAM:
        if not isinstance(team, Team) or team.organisation_id != organisation.pk:
            errors["team"] = _("Choose a team of this organisation.")
    else:
        found["team"] = None
    if scope == BudgetScope.TAG:
        if not found["tag_key"]:
            errors["tag_key"] = _("Name the tag key.")
    else:
        found["tag_key"] = ""
    if scope in (BudgetScope.SERVICE, BudgetScope.ACCOUNT):
        if not found["scope_value"]:
            errors["scope_value"] = _("Name the service or the account as it stands in the bills.")
    elif scope != BudgetScope.TAG:
        found["scope_value"] = ""
    for name, most in (("name", 100), ("scope_value", 300), ("tag_key", 300)):
        if len(found[name]) > most or "\x00" in found[name]:
            errors[name] = _("At most %(n)d characters.") % {"n": most}


def _check_days(found: dict[str, Any], errors: dict[str, str]) -> None:
    start, end = found["valid_from"], found["valid_to"]
    if not isinstance(start, date):
        errors["valid_from"] = _("Write the first day as 2026-01-31.")
    elif end is not None and end <= start:
        errors["valid_to"] = _("The end must lie after the first day.")


def _thresholds(given: Thresholds) -> list[tuple[str, Decimal]]:
    found = sorted(set(given))
    problem = ""
    if len(found) > MAX_THRESHOLDS:
        problem = _("At most %(n)d thresholds.") % {"n": MAX_THRESHOLDS}
    for measure, percent in found:
        if measure not in BudgetMeasure.values:
            problem = _("Choose one of %(known)s.") % {"known": ", ".join(BudgetMeasure.values)}
        elif not percent.is_finite() or not 0 < percent <= 1000 or percent != round(percent, 2):
            problem = _("Write a percentage above 0 and up to 1000, with at most two decimals.")
    if problem:
        raise ValidationError({"thresholds": problem})
    return found


def _write(
    organisation: Organisation,
    actor: Actor,
    checked: Mapping[str, Any],
    thresholds: list[tuple[str, Decimal]],
    budget: Budget | None,
) -> Budget:
    before = None
    if budget is None:
        row = Budget(organisation=organisation)
    else:
        row = Budget.objects.select_for_update().get(pk=budget.pk, organisation=organisation)
        before = budget_facts(row)
        row.updated_at = Now()
    for name, value in checked.items():
        setattr(row, name, value)
    row.save()
    row.thresholds.all().delete()
    BudgetThreshold.objects.bulk_create(
        BudgetThreshold(budget=row, measure=measure, percent=percent) for measure, percent in thresholds
    )
    row.refresh_from_db()
    audit_record(
        organisation=organisation,
        actor=actor,
        action="budget.create" if budget is None else "budget.change",
        target=row,
        before=before,
        after=budget_facts(row),
    )
    return row


def budget_facts(budget: Budget) -> dict[str, Any]:
    """What the audit trail keeps of a budget."""
    facts = {name: getattr(budget, name) for name in FIELDS if name != "team"}
    facts["team"] = budget.team.slug if budget.team else None
    facts["thresholds"] = [
        f"{t.measure} {t.percent:f} %" for t in budget.thresholds.order_by("measure", "percent")
    ]
    return facts
