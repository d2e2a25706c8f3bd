"""Budgets, rules and targets of launches one by one; what waits for a person is told the same everywhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from apps.accounts.models import AuditEntry, Organisation, Team
from apps.launches.models import Launch, LaunchBudget, LaunchPlan, LaunchRule, LaunchState, PlanState
from tests.support.launches import launch, plan, target

pytestmark = pytest.mark.django_db
SignIn = Callable[..., Client]
API = "/api/v1/"


@pytest.fixture
def rows() -> dict[str, Any]:
    organisation = Organisation.default()
    team = Team.objects.create(organisation=organisation, name="Data", slug="data")
    common: dict[str, Any] = {"organisation": organisation, "team": team, "currency": "USD"}
    return {
        "launch-budgets": LaunchBudget.objects.create(monthly=Decimal("500"), **common),
        "launch-rules": LaunchRule.objects.create(limit=Decimal("5"), made_by="test", **common),
        "launch-targets": target(organisation),
    }


def test_each_is_read_alone_as_in_its_list(sign_in: SignIn, rows: dict[str, Any]) -> None:
    client = sign_in("viewer")
    limits = client.get(f"{API}launch-limits").json()
    for name, row in rows.items():
        listed = client.get(f"{API}{name}").json()
        assert listed["count"] == 1
        assert client.get(f"{API}{name}/{row.pk}").json() == listed["results"][0]
        assert limits[name.removeprefix("launch-")] == listed["results"]


def test_deleting_ends_a_rule_and_takes_a_budget_away(sign_in: SignIn, rows: dict[str, Any]) -> None:
    client = sign_in("finance")
    for name in ("launch-budgets", "launch-rules"):
        answer = client.delete(f"{API}{name}/{rows[name].pk}")
        assert (answer.status_code, answer.content) == (204, b"")
    assert not LaunchBudget.objects.exists()
    assert LaunchRule.objects.get().active is False
    assert client.get(f"{API}launch-budgets/{rows['launch-budgets'].pk}").status_code == 404
    assert client.get(f"{API}launch-rules/{rows['launch-rules'].pk}").json()["active"] is False
    assert client.delete(f"{API}launch-rules/{rows['launch-rules'].pk}").status_code == 204
    actions = AuditEntry.objects.filter(action__startswith="launch_").order_by("pk")
    assert [one.action for one in actions] == ["launch_budget.remove", "launch_rule.off"]


@pytest.mark.parametrize("role", ["viewer", "engineer"])
def test_who_may_not_ends_nothing(sign_in: SignIn, rows: dict[str, Any], role: str) -> None:
    client = sign_in(role)
    for name in ("launch-budgets", "launch-rules"):
        assert client.delete(f"{API}{name}/{rows[name].pk}").status_code == 403
    assert (LaunchBudget.objects.count(), LaunchRule.objects.filter(active=True).count()) == (1, 1)


def test_of_another_organisation_there_is_nothing(sign_in: SignIn, rows: dict[str, Any]) -> None:
    other = Organisation.objects.create(name="Other", slug="other")
    LaunchBudget.objects.update(organisation=other)
    LaunchRule.objects.update(organisation=other)
    type(rows["launch-targets"]).objects.update(organisation=other)
    client = sign_in("admin")
    for name, row in rows.items():
        assert client.get(f"{API}{name}").json()["count"] == 0
        assert client.get(f"{API}{name}/{row.pk}").status_code == 404
        if name != "launch-targets":
            assert client.delete(f"{API}{name}/{row.pk}").status_code == 404
    assert (LaunchBudget.objects.count(), LaunchRule.objects.filter(active=True).count()) == (1, 1)


def test_plans_and_launches_that_wait_for_a_yes_are_counted(
    sign_in: SignIn, capsys: pytest.CaptureFixture[str]
) -> None:
    now, client = timezone.now(), sign_in("viewer")
    place = target()

    def heading() -> str:
        page = client.get("/launches/").content.decode()
        return page.split("<h1>")[1].split("</h1>")[0]

    def told() -> dict[str, int]:
        call_command("launches", "--json")
        by_verb = json.loads(capsys.readouterr().out)["limits"]["waits_for_people"]
        assert client.get(f"{API}launch-limits").json()["waits_for_people"] == by_verb
        return dict(by_verb)

    assert (heading(), told()) == ("Nothing runs and nothing waits", {"plans": 0, "launches": 0})
    one = launch(plan(place), state=LaunchState.INTERRUPTED, asked_high=Decimal("0.39"), due_at=now)
    launch(one.plan, part=2, asked_high=Decimal(1), state=LaunchState.CANCELLED, ended_at=now, due_at=now)
    launch(one.plan, part=3, due_at=now)
    assert heading() == '<span class="key">1</span> launch asks for more money'
    assert told() == {"plans": 0, "launches": 1}
    assert [found["id"] for found in client.get(f"{API}launches?asks=true").json()["results"]] == [one.pk]
    assert client.get(f"{API}launches?asks=false").json()["count"] == 2
    assert client.get(f"{API}launches").json()["count"] == 3
    later = now + timedelta(days=1)
    for _number in (1, 2):
        plan(place, state=PlanState.REQUESTED, valid_until=later)
    plan(place, state=PlanState.REQUESTED, valid_until=now - timedelta(seconds=1))
    assert heading() == '<span class="key">2</span> plans wait for a person and 1 launch asks for more money'
    assert told() == {"plans": 2, "launches": 1}
    page = client.get("/launches/").content.decode()
    assert '<span class="count">3<' in page
    assert "plans 2, launches that ask for more 1" in page
    Launch.objects.update(asked_high=None)
    assert heading() == '<span class="key">2</span> plans wait for a person'
    LaunchPlan.objects.filter(state=PlanState.REQUESTED).update(state=PlanState.CANCELLED)
    assert told() == {"plans": 0, "launches": 0}
    assert '<span class="count">' not in client.get("/launches/").content.decode()
