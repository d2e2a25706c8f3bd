"""Overview of one team: every number is the team's, and what is not known for it is said."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.test import Client

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation, Team
from apps.billing.models import AllocationRule, Anomaly, Delivery
from apps.billing.services.allocation import RuleFields, rule_save
from apps.billing.services.budgets import budget_save
from apps.billing.services.watch import bills_judge
from apps.recommendations.models import Recommendation
from apps.recommendations.services.decisions import recommendation_dismiss
from apps.recommendations.services.inbox import publish
from tests.apps.dashboard.test_overview_budgets_and_anomalies import h1
from tests.support.recommendations import finding, made_up_kind, registered
from tests.support.steady_bills import APRIL, MAY, NOW, put_steady_bills

pytestmark = pytest.mark.django_db
SignIn = Callable[..., Client]


@pytest.fixture
def teams(empty_lake: Path, organisation: Organisation) -> dict[str, Team]:
    """Account 1 is the shop's, account 2 the data team's, the third has nothing."""
    made = {}
    for slug, name, account in (("shop", "Shop", "1"), ("data", "Data", "2"), ("idle", "Idle", "9")):
        made[slug] = Team.objects.create(organisation=organisation, slug=slug, name=name)
        rule_save(
            organisation=organisation,
            actor=Actor.system("test"),
            fields=RuleFields(name=name, kind="account", values=[account], team=made[slug]),
        )
    put_steady_bills()
    return made


def page(sign_in: SignIn, query: str) -> Any:
    with time_machine.travel(NOW, tick=False):
        return sign_in("viewer").get(f"/overview/?{query}")


def test_the_month_of_a_team_is_forecast_against_its_own_budget(
    sign_in: SignIn, teams: dict[str, Team], organisation: Organisation
) -> None:
    budget_save(
        organisation=organisation,
        actor=Actor.system("test"),
        fields={
            "name": "Data", "scope": "team", "team": teams["data"], "amount": Decimal(1600),
            "currency": "USD", "valid_from": APRIL,
        },
        thresholds=[],
    )  # fmt: skip
    budget_save(
        organisation=organisation,
        actor=Actor.system("test"),
        fields={"name": "All", "amount": Decimal(4000), "currency": "USD", "valid_from": APRIL},
        thresholds=[],
    )
    response = page(sign_in, "team=data")
    text = response.content.decode()
    # Glue alone: 20 days of 50 and 100 more on the 15th; 11 days of 50 to come.
    assert h1(response) == "May is heading for $1,650, $50.00 over budget."
    assert "Overview · May 2026 · Data" in text
    assert "$1,100.00" in text
    assert "EC2" not in text
    assert 'where=team%3Ddata&amp;format=csv"' in text
    assert "<span>Data</span>" in text


def test_anomalies_of_a_team_are_those_whose_cause_names_it(
    sign_in: SignIn, teams: dict[str, Team], organisation: Organisation
) -> None:
    bills_judge(organisation=organisation, now=NOW)
    assert dict(Anomaly.objects.get().slice).get("team", "data") == "data"
    Anomaly.objects.update(slice=[["service", "Glue"], ["team", "data"]])
    assert "Glue cost $150 a day" in page(sign_in, "team=data").content.decode()
    other = sign_in("engineer")
    with time_machine.travel(NOW, tick=False):
        assert "Glue cost $150 a day" not in other.get("/overview/?team=shop").content.decode()


def test_a_team_without_cost_has_a_page_of_zeros(sign_in: SignIn, teams: dict[str, Team]) -> None:
    response = page(sign_in, "team=idle")
    text = response.content.decode()
    assert response.status_code == 200
    assert h1(response) == "May has cost $0.00 so far; too little is known to forecast it."
    assert "Idle" in text
    assert "EC2" not in text


def test_what_is_nobodys_can_be_asked_for(sign_in: SignIn, teams: dict[str, Team]) -> None:
    AllocationRule.objects.filter(name="Shop").delete()
    text = page(sign_in, "team=unallocated").content.decode()
    assert "$2,030.00" in text  # EC2 and the fee
    assert "Glue" not in text
    assert "Unallocated" in text


@pytest.mark.parametrize("query", ["team=nobody", "team=%27%3B--", "against=never", "against="])
def test_nonsense_is_all_teams_and_the_month_before(
    query: str, sign_in: SignIn, teams: dict[str, Team]
) -> None:
    text = page(sign_in, query).content.decode()
    assert "<span>All teams</span>" in text
    assert "above the same 20 days of April" in text


def test_the_days_before_are_another_comparison(sign_in: SignIn, teams: dict[str, Team]) -> None:
    text = page(sign_in, "against=previous").content.decode()
    assert "above the 20 days before" in text
    assert "Against the days before" in text


def test_a_month_without_a_bill_before_it_is_compared_with_nothing(
    sign_in: SignIn, teams: dict[str, Team]
) -> None:
    text = page(sign_in, "period=2026-04").content.decode()
    assert "no bill of those days is loaded" in text
    assert "No bill of the days to compare with is loaded" in text
    assert "What moved most" not in text


def test_a_bill_that_does_not_equal_its_invoice_is_marked_on_top(
    sign_in: SignIn, teams: dict[str, Team]
) -> None:
    assert "not equal" not in page(sign_in, "").content.decode()
    Delivery.objects.filter(billing_period=MAY).update(reconciled=False, difference={"USD": "-3.00"})
    with time_machine.travel(NOW, tick=False):
        text = sign_in("finance").get("/overview/").content.decode()
    assert "1 bill behind these numbers does not equal its invoice: see below." in text


def test_the_best_recommendations_that_go_together_are_shown(
    sign_in: SignIn, teams: dict[str, Team], organisation: Organisation
) -> None:
    when: dict[str, Any] = {"claim_start": NOW, "claim_end": NOW + timedelta(hours=730)}
    rows = [
        finding("Glue", "1660", **when),
        finding("b", "60", claims=("pool:x",), **when),
        finding("c", "50", claims=("pool:x",), **when),
    ]
    with registered(made_up_kind("waste")), time_machine.travel(NOW, tick=False):
        client = sign_in("viewer")
        assert "open recommendation" not in client.get("/overview/").content.decode()
        publish("waste", rows, organisation=organisation, now=NOW, whole=True)
        text = client.get("/overview/").content.decode()
        # c claims the hours of b: it is an alternative and in no sum.
        assert "Two open recommendations are worth $1,720 a month" in text
        assert "Stop Glue" in text
        assert "Stop c" not in text
        assert 'href="/recommendations/"' in text
        assert "Stop Glue" not in client.get("/overview/?team=data").content.decode()
        row = Recommendation.objects.get(subject="Glue")
        recommendation_dismiss(
            recommendation=row, actor=Actor.system("test"), now=NOW, reason="Needed at night."
        )
        assert "Stop Glue" not in client.get("/overview/").content.decode()
