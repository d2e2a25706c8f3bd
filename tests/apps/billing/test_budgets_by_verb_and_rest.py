"""Forecast, budgets and anomalies: command and REST are one document; writes need the role, are audited."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.core.management import call_command
from django.test import Client

from apps.accounts.models import AuditEntry, Membership, Organisation, User
from apps.billing.models import Anomaly, Budget, BudgetAlert
from apps.billing.services.watch import bills_judge
from tests.support.steady_bills import NOW, put_steady_bills

pytestmark = pytest.mark.django_db
AT = "2026-05-21T12:00:00Z"
BODY = {
    "name": "Glue", "scope": "service", "scope_value": "Glue", "amount": "1200", "currency": "USD",
    "valid_from": "2026-01-01", "thresholds": [{"measure": "actual", "percent": "80"}],
}  # fmt: skip
SignIn = Callable[[str], Client]


@pytest.fixture
def sign_in(organisation: Organisation) -> SignIn:
    def make(role: str) -> Client:
        user = User.objects.create_user(f"{role}@example.test", "correct horse battery")
        Membership.objects.create(user=user, organisation=organisation, role=role)
        client = Client()
        client.force_login(user)
        return client

    return make


@pytest.fixture
def _bills(empty_lake: Path) -> None:
    put_steady_bills()


def verb(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    code = 0
    try:
        call_command(*words, "--json")
    except SystemExit as error:
        code = int(error.code or 0)
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.usefixtures("_bills")
def test_forecast_is_one_document(sign_in: SignIn, capsys: pytest.CaptureFixture[str]) -> None:
    code, told = verb(capsys, "forecast", "--at", AT, "--where", "service=Glue")
    rest = sign_in("viewer").get(f"/api/v1/forecast?at={AT}&where=service%3DGlue")
    assert (code, rest.status_code) == (0, 200)
    assert rest.json() == told
    # 20 days and one of 100 more came; 11 days of 50 are to come
    assert (told["spent"], told["verdict"], told["currency"]) == ("1100", "forecast", "USD")
    assert Decimal(told["expected"]) == pytest.approx(Decimal(1650), abs=1)
    assert told["evidence"]["at"] == AT


@pytest.mark.usefixtures("_bills")
def test_a_quarter_and_a_wrong_period(sign_in: SignIn, capsys: pytest.CaptureFixture[str]) -> None:
    code, told = verb(capsys, "forecast", "--at", AT, "--period", "2026-Q2")
    assert (code, told["period"], told["from"], told["to"]) == (0, "2026-Q2", "2026-04-01", "2026-07-01")
    code, told = verb(capsys, "forecast", "--period", "next month")
    assert (code, told["error"]["field"]) == (2, "period")
    rest = sign_in("viewer").get("/api/v1/forecast?period=2026-13")
    assert (rest.status_code, rest.json()["error"]["fields"][0]["field"]) == (400, "period")
    code, told = verb(capsys, "forecast", "--at", AT, "--currency", "EUR")
    assert (code, told["error"]["field"]) == (3, "currency")


@pytest.mark.usefixtures("_bills")
def test_a_budget_is_made_read_changed_and_removed(
    sign_in: SignIn, capsys: pytest.CaptureFixture[str]
) -> None:
    finance = sign_in("finance")
    with time_machine.travel(NOW, tick=False):
        made = finance.post("/api/v1/budgets", BODY, content_type="application/json")
        assert made.status_code == 201, made.content
        budget = made.json()
        assert (budget["spent"], budget["spent_pct"], budget["state"]) == ("1100", 91.7, "at risk")
        code, told = verb(capsys, "budgets")
        assert code == 0
        assert told == finance.get("/api/v1/budgets").json()
        assert [a["percent"] for a in told["budgets"][0]["alerts"]] == ["80"]
        address = f"/api/v1/budgets/{budget['id']}"
        assert finance.get(address).json() == told["budgets"][0]
        changed = finance.put(address, {**BODY, "amount": "9000"}, content_type="application/json")
        assert (changed.status_code, changed.json()["state"]) == (200, "on track")
        assert finance.delete(address).status_code == 204
        assert finance.delete(address).status_code == 404
    assert [e.action for e in AuditEntry.objects.order_by("pk")] == [
        "budget.create", "budget.change", "budget.remove",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"amount": 12.5}, "amount"),
        ({"amount": "0"}, "amount"),
        ({"scope": "team", "team": "nobody"}, "team"),
        ({"thresholds": [{"measure": "actual", "percent": "0"}]}, "thresholds"),
        ({"sum": "1"}, "sum"),
        ({"currency": "$"}, "currency"),
    ],
)
def test_a_wrong_budget_is_refused_by_field(
    change: dict[str, Any], field: str, sign_in: SignIn, empty_lake: Path
) -> None:
    told = sign_in("finance").post("/api/v1/budgets", {**BODY, **change}, content_type="application/json")
    assert told.status_code == 400
    assert told.json()["error"]["fields"][0]["field"].startswith(field)
    assert not Budget.objects.exists()
    assert not AuditEntry.objects.exists()


@pytest.mark.usefixtures("_bills")
def test_who_may_do_what(sign_in: SignIn, organisation: Organisation) -> None:
    bills_judge(organisation=organisation, now=NOW)
    anomaly = Anomaly.objects.get()
    close = f"/api/v1/anomalies/{anomaly.pk}/close"
    for role, budgets, anomalies in (("viewer", 403, 403), ("engineer", 403, 200), ("finance", 201, 200)):
        client = sign_in(role)
        made = client.post("/api/v1/budgets", BODY, content_type="application/json")
        assert made.status_code == budgets, role
        done = client.post(close, {"reason": "Known."}, content_type="application/json")
        assert done.status_code == anomalies, role
    other = Organisation.objects.create(name="Other", slug="other")
    Anomaly.objects.filter(pk=anomaly.pk).update(organisation=other)
    assert client.post(close, {"reason": "x"}, content_type="application/json").status_code == 404


@pytest.mark.usefixtures("_bills")
def test_anomalies_are_one_document_and_may_be_snoozed(
    sign_in: SignIn, capsys: pytest.CaptureFixture[str]
) -> None:
    engineer = sign_in("engineer")
    with time_machine.travel(NOW, tick=False):
        code, told = verb(capsys, "anomalies")
        assert code == 0
        assert told == engineer.get("/api/v1/anomalies").json()
        [one] = told["anomalies"]
        assert (one["amount"], one["first_day"], one["state"]) == ("100", "2026-05-15", "open")
        assert one["slice"] == {"service": "Glue", "account": "2", "region": "us"}
        assert told["judged"] == {"from": "2026-04-01", "to": "2026-05-21", "at": AT}
        address = f"/api/v1/anomalies/{one['id']}"
        wrong = engineer.post(
            f"{address}/snooze", {"until": "2026-05-01", "reason": "x"}, content_type="application/json"
        )
        assert (wrong.status_code, wrong.json()["error"]["fields"][0]["field"]) == (400, "until")
        done = engineer.post(
            f"{address}/snooze", {"until": "2026-06-01", "reason": "Test."}, content_type="application/json"
        )
        assert (done.json()["state"], done.json()["author"]) == ("snoozed", "engineer@example.test")
        assert engineer.get("/api/v1/anomalies?state=open").json()["anomalies"] == []
        assert verb(capsys, "anomalies", "--state", "snoozed")[1]["anomalies"] == [done.json()]
        assert engineer.get("/api/v1/anomalies?from=2026-05-16").json()["anomalies"] == []
        again = engineer.post(f"{address}/reopen", content_type="application/json")
        assert (again.status_code, again.json()["state"]) == (200, "open")
    assert verb(capsys, "anomalies", "--at", "2026-05-15T00:00:00Z")[1]["anomalies"] == []


@pytest.mark.usefixtures("_bills")
def test_a_question_about_the_past_raises_no_alert(
    organisation: Organisation, sign_in: SignIn, capsys: pytest.CaptureFixture[str]
) -> None:
    sign_in("finance").post("/api/v1/budgets", BODY, content_type="application/json")
    _code, told = verb(capsys, "budgets", "--at", "2026-05-11T00:00:00Z")
    assert (told["budgets"][0]["spent"], told["budgets"][0]["in_period"]) == ("500", "2026-05")
    assert not BudgetAlert.objects.exists()


def test_without_bills_every_answer_says_so(
    organisation: Organisation, empty_lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verb(capsys, "forecast")[1]["verdict"] == "cannot judge"
    assert verb(capsys, "budgets")[1]["budgets"] == []
    assert verb(capsys, "anomalies")[1]["anomalies"] == []
    for name in ("forecast", "budgets", "anomalies"):
        call_command(name)
