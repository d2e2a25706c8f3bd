"""Allocation by REST: who may write, errors by field, the dry run, tags."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from apps.accounts.actors import Actor
from apps.accounts.models import Membership, Organisation, User
from apps.accounts.services import team_create
from apps.billing.models import AllocationRule
from tests.support.bill_lake import put_bill

pytestmark = pytest.mark.django_db
RULE: dict[str, Any] = {"name": "web", "kind": "account", "values": ["a"], "team": "web"}
DAYS = {"from": "2026-05-01", "to": "2026-06-01"}


@pytest.fixture
def sign_in(organisation: Organisation) -> Callable[[str], Client]:
    def make(role: str) -> Client:
        user = User.objects.create_user(f"{role}@example.test", "correct horse battery")
        Membership.objects.create(user=user, organisation=organisation, role=role)
        client = Client()
        client.force_login(user)
        return client

    for name in ("Web", "Ops"):
        team_create(organisation=organisation, actor=Actor.system("test"), name=name)
    return make


def send(client: Client, method: str, address: str, body: Any = None) -> Any:
    words = {"data": json.dumps(body), "content_type": "application/json"} if body is not None else {}
    return getattr(client, method)(f"/api/v1/{address}", **words)


def test_finance_writes_rules_and_a_viewer_reads_them(sign_in: Callable[[str], Client], db: None) -> None:
    finance, viewer = sign_in("finance"), sign_in("viewer")
    made = send(finance, "post", "allocation/rules", RULE)
    assert made.status_code == 201
    number = made.json()["id"]
    assert made.json()["team"] == "web"
    assert send(viewer, "post", "allocation/rules", {**RULE, "name": "x"}).status_code == 403
    shares = [{"team": "web", "share": "0.25"}, {"team": "ops", "share": "0.75"}]
    divided = {"name": "web", "kind": "service", "values": ["S3"], "split": "fixed", "shares": shares}
    changed = send(finance, "put", f"allocation/rules/{number}", divided).json()
    assert (changed["split"], changed["team"]) == ("fixed", None)
    assert {s["team"]: s["share"] for s in changed["shares"]} == {
        "ops": "0.750000000000000000", "web": "0.250000000000000000",
    }  # fmt: skip
    listed = viewer.get("/api/v1/allocation/rules").json()
    assert [rule["id"] for rule in listed["results"]] == [number]
    assert send(finance, "delete", f"allocation/rules/{number}").status_code == 204
    assert send(finance, "delete", f"allocation/rules/{number}").status_code == 404
    assert AllocationRule.objects.count() == 0


@pytest.mark.parametrize(
    ("change", "field"),
    [({"team": "nobody"}, "team"), ({"values": []}, "values"), ({"colour": 1}, "colour")],
)
def test_a_wrong_rule_names_its_field(
    change: dict[str, Any], field: str, sign_in: Callable[[str], Client]
) -> None:
    found = send(sign_in("finance"), "post", "allocation/rules", {**RULE, **change})
    assert found.status_code == 400
    assert found.json()["error"]["fields"][0]["field"] == field
    assert AllocationRule.objects.count() == 0


def test_a_dry_run_and_the_tags(sign_in: Callable[[str], Client], empty_lake: Path) -> None:
    put_bill(
        [{"billed_cost": "10", "sub_account_id": "a", "tags": {"t": "x"}}, {"billed_cost": "5"}],
        period=date(2026, 5, 1),
    )
    viewer = sign_in("viewer")
    found = send(viewer, "post", "allocation/dry-run", {**RULE, **DAYS}).json()
    assert found["matched"] == {"USD": "10"}
    assert [(t["team"], t["before"], t["after"], t["difference"]) for t in found["teams"]] == [
        ("unallocated", "15", "5", "-10"), ("web", None, "10", "10"),
    ]  # fmt: skip
    assert AllocationRule.objects.count() == 0
    wrong = send(viewer, "post", "allocation/dry-run", {**RULE, **DAYS, "to": "2026-05-01"})
    assert wrong.json()["error"]["fields"][0]["field"] == "to"
    tags = viewer.get("/api/v1/spend/tags?from=2026-05-01&to=2026-06-01").json()
    assert [(k["key"], k["tagged"], k["blank"], k["share"]) for k in tags["keys"]] == [
        ("t", "10", "5", 0.666667)
    ]
