"""Budgets: kept whole or refused by field, audited, and guarded by the database."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from apps.accounts.actors import Actor
from apps.accounts.models import AuditEntry, Organisation, Team
from apps.billing.models import Anomaly, Budget, BudgetAlert
from apps.billing.selectors.budgets import budget_list, budgets_in_force, scope_condition, thresholds_of
from apps.billing.services.budgets import budget_remove, budget_save
from finops.engine.budget import Measure, Threshold

pytestmark = pytest.mark.django_db
ACTOR = Actor.system("test")
ALERTS = [("actual", Decimal(80)), ("forecast", Decimal(100))]


def save(organisation: Organisation, budget: Budget | None = None, **given: Any) -> Budget:
    thresholds = given.pop("thresholds", ALERTS)
    fields = {
        "name": "All", "amount": Decimal("1000"), "currency": "usd", "valid_from": date(2026, 1, 1), **given,
    }  # fmt: skip
    return budget_save(
        organisation=organisation, actor=ACTOR, fields=fields, thresholds=thresholds, budget=budget
    )


def refused(organisation: Organisation, **given: Any) -> list[str]:
    with pytest.raises(ValidationError) as told:
        save(organisation, **given)
    assert Budget.objects.count() == 0
    assert AuditEntry.objects.count() == 0
    return sorted(told.value.message_dict)


def test_a_budget_has_its_defaults_and_its_thresholds(organisation: Organisation) -> None:
    made = save(organisation)
    assert (made.scope, made.period, made.basis, made.currency) == (
        "organisation",
        "month",
        "amortised",
        "USD",
    )
    assert thresholds_of(made) == (
        Threshold(Decimal("80.00"), Measure.ACTUAL),
        Threshold(Decimal("100.00"), Measure.FORECAST),
    )
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.after["amount"]) == ("budget.create", "1000.000000000000000000")
    assert entry.after["thresholds"] == ["actual 80.00 %", "forecast 100.00 %"]


def test_a_change_replaces_it_whole_and_is_audited(organisation: Organisation) -> None:
    made = save(organisation)
    changed = save(
        organisation, made, scope="service", scope_value="AWSGlue", amount=Decimal("5.5"), thresholds=[]
    )
    assert changed.pk == made.pk
    assert thresholds_of(changed) == ()
    assert scope_condition(changed) == (("service", "AWSGlue"),)
    entry = AuditEntry.objects.first()
    assert entry is not None
    assert (entry.action, entry.before["scope"], entry.after["scope"]) == (
        "budget.change", "organisation", "service",
    )  # fmt: skip


def test_each_scope_is_a_condition_of_spend(organisation: Organisation) -> None:
    team = Team.objects.create(organisation=organisation, name="Web", slug="web")
    cases: list[tuple[dict[str, Any], tuple[tuple[str, str], ...]]] = [
        ({}, ()),
        ({"scope": "team", "team": team}, (("team", "web"),)),
        ({"scope": "account", "scope_value": "111"}, (("account", "111"),)),
        ({"scope": "tag", "tag_key": "env", "scope_value": "prod"}, (("tag:env", "prod"),)),
        ({"scope": "tag", "tag_key": "env"}, (("tag:env", ""),)),
    ]
    for number, (given, condition) in enumerate(cases):
        assert scope_condition(save(organisation, name=f"b{number}", **given)) == condition


@pytest.mark.parametrize(
    ("given", "fields"),
    [
        ({"name": "  "}, ["name"]),
        ({"amount": Decimal(0)}, ["amount"]),
        ({"amount": Decimal("NaN")}, ["amount"]),
        ({"amount": None, "currency": ""}, ["amount", "currency"]),
        ({"scope": "team"}, ["team"]),
        ({"scope": "service"}, ["scope_value"]),
        ({"scope": "tag"}, ["tag_key"]),
        ({"scope": "planet"}, ["scope"]),
        ({"period": "week"}, ["period"]),
        ({"basis": "blended"}, ["basis"]),
        ({"valid_to": date(2026, 1, 1)}, ["valid_to"]),
        ({"thresholds": [("actual", Decimal("1000.01"))]}, ["thresholds"]),
        ({"thresholds": [("guess", Decimal("10"))]}, ["thresholds"]),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_kept(
    given: dict[str, Any], fields: list[str], organisation: Organisation
) -> None:
    assert refused(organisation, **given) == fields


def test_a_team_of_another_organisation_is_refused(organisation: Organisation) -> None:
    other = Organisation.objects.create(name="Other", slug="other")
    team = Team.objects.create(organisation=other, name="Web", slug="web")
    assert refused(organisation, scope="team", team=team) == ["team"]


def test_a_name_is_used_once_whatever_its_case(organisation: Organisation) -> None:
    save(organisation)
    with pytest.raises(ValidationError) as told:
        save(organisation, name=" aLL ")
    assert sorted(told.value.message_dict) == ["name"]
    assert Budget.objects.count() == 1
    assert AuditEntry.objects.count() == 1


def test_removing_twice_is_one_removal(organisation: Organisation) -> None:
    made = save(organisation)
    assert budget_remove(budget=made, actor=ACTOR)
    assert not budget_remove(budget=made, actor=ACTOR)
    assert list(AuditEntry.objects.values_list("action", flat=True)) == ["budget.remove", "budget.create"]


def test_budgets_in_force_follow_their_days_and_their_organisation(organisation: Organisation) -> None:
    other = Organisation.objects.create(name="Other", slug="other")
    save(other, name="theirs")
    save(organisation, name="ended", valid_to=date(2026, 3, 1))
    save(organisation, name="later", valid_from=date(2026, 3, 1))
    assert [b.name for b in budgets_in_force(organisation, date(2026, 2, 28))] == ["ended"]
    assert [b.name for b in budgets_in_force(organisation, date(2026, 3, 1))] == ["later"]
    assert [b.name for b in budget_list(other)] == ["theirs"]


def test_the_database_holds_one_alert_a_threshold_and_period(organisation: Organisation) -> None:
    made = save(organisation)
    values: dict[str, Any] = {
        "budget": made, "period_start": date(2026, 1, 1), "measure": "actual", "percent": Decimal(80),
        "limit": Decimal(800), "cost": Decimal(801), "currency": "USD",
    }  # fmt: skip
    BudgetAlert.objects.create(**values)
    with pytest.raises(IntegrityError, match="budget_alert_once"), transaction.atomic():
        BudgetAlert.objects.create(**values)
    BudgetAlert.objects.create(**{**values, "period_start": date(2026, 2, 1)})
    assert BudgetAlert.objects.count() == 2


def test_the_database_holds_one_anomaly_a_cause_and_day_and_who_says_why(organisation: Organisation) -> None:
    values: dict[str, Any] = {
        "organisation": organisation, "basis": "amortised", "currency": "USD", "cause": "service=AWSGlue",
        "direction": "rise", "first_day": date(2026, 1, 9), "last_day": date(2026, 1, 9), "course": "open",
        "actual": 30, "expected": 10, "amount": 20, "low": 17, "high": 23,
    }  # fmt: skip
    Anomaly.objects.create(**values)
    for change, name in (
        ({}, "anomaly_cause_once_a_day"),
        ({"first_day": date(2026, 1, 8), "state": "snoozed", "until": date(2026, 2, 1)}, "anomaly_says_who"),
        ({"first_day": date(2026, 1, 8), "low": 21}, "anomaly_amount_in_interval"),
    ):
        with pytest.raises(IntegrityError, match=name), transaction.atomic():
            Anomaly.objects.create(**{**values, **change})
    assert Anomaly.objects.count() == 1
