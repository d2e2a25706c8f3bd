"""A change against the team's budget of the month: limits, currencies, changes that cost nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation, Team
from apps.billing.models import Budget, BudgetScope
from apps.billing.services.budgets import budget_save
from apps.costchecks.services import Question, checks, cost_check_make
from finops.engine.checks.policies import policies_of
from tests.support.plans import change, plan

pytestmark = pytest.mark.django_db
AT = datetime(2026, 11, 30, 12, tzinfo=UTC)
# 1000 GiB of gp3 are 80.00 USD a month.
VOLUME = plan(change("aws_ebs_volume.a", {"type": "gp3", "size": 1000}))
NOTHING = plan(change("aws_iam_role.a", {"name": "ci"}))
UNKNOWN = plan(change("aws_nothing_known.a", {}))


@pytest.fixture
def team() -> Team:
    return Team.objects.create(organisation=Organisation.default(), name="Web", slug="web")


def budget(team: Team, amount: str, currency: str = "USD", name: str = "Month") -> Budget:
    return budget_save(
        organisation=team.organisation, actor=Actor.system("test"), thresholds=[],
        fields={"name": name, "amount": Decimal(amount), "currency": currency, "scope": BudgetScope.TEAM,
                "team": team, "valid_from": AT.date().replace(day=1)},
    )  # fmt: skip


def outcome(team: Team | None, content: bytes, monkeypatch: pytest.MonkeyPatch, spent: float | None) -> Any:
    found = SimpleNamespace(found=SimpleNamespace(result=SimpleNamespace(expected=spent)))
    monkeypatch.setattr(checks, "budget_answer", lambda *args, **kwargs: found)
    policies = policies_of({"policies": [{"kind": "team_budget"}]})
    question = Question(content, team=team, policies=policies)
    row = cost_check_make(organisation=Organisation.default(), question=question, at=AT)
    (policy,) = row.document["policies"]
    return policy["verdict"], policy["found"], policy["excess"], policy["code"]


@pytest.mark.parametrize(
    ("amount", "spent", "expected"),
    [
        ("180.10", 100.1, ("pass", "180.1", None, "at most")),
        ("180.09", 100.1, ("deny", "180.1", "0.01", "above")),
        ("500", None, ("cannot judge", None, None, "no budget")),
    ],
)
def test_what_is_expected_to_be_spent_and_the_change_are_held_against_it(
    amount: str, spent: float | None, expected: tuple[Any, ...], team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget(team, amount)
    assert outcome(team, VOLUME, monkeypatch, spent) == expected


def test_a_budget_in_another_currency_judges_no_cost(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    budget(team, "9999", "CNY")
    assert outcome(team, VOLUME, monkeypatch, 1.0)[0] == "cannot judge"


@pytest.mark.parametrize(("amount", "verdict"), [("100", "pass"), ("50", "deny")])
def test_a_change_that_costs_nothing_leaves_the_budget_as_it_stands(
    amount: str, verdict: str, team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget(team, amount, "CNY")
    assert outcome(team, NOTHING, monkeypatch, 60.0)[0] == verdict


def test_of_two_budgets_the_worse_counts(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    budget(team, "1000")
    budget(team, "100", name="Cash")
    assert outcome(team, VOLUME, monkeypatch, 60.0) == ("deny", "140", "40", "above")


def test_what_has_no_price_or_no_budget_is_not_judged(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    assert outcome(team, NOTHING, monkeypatch, 60.0)[3] == "no budget"
    assert outcome(None, VOLUME, monkeypatch, 60.0)[3] == "no budget"
    budget(team, "1000")
    assert outcome(team, UNKNOWN, monkeypatch, 60.0)[::3] == ("cannot judge", "not priced")
