"""Stored policies by verb and REST: one answer, whole files or nothing, teams, audit, no way round them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from apps.accounts.actors import Actor
from apps.accounts.models import AuditEntry, Organisation, Team
from apps.accounts.services import api_key_create
from apps.costchecks.models import CheckPolicy
from apps.costchecks.services import Question, check_policy_add, cost_check_make
from finops.engine.checks.policies import policies_of
from tests.support.plans import change, plan

pytestmark = pytest.mark.django_db
AT = datetime(2026, 11, 30, 12, tzinfo=UTC)
ACTOR = Actor.system("test")
CONTENT = plan(change("aws_ebs_volume.a", {"type": "gp3", "size": 1000}))  # 80.00 a month


@pytest.fixture
def organisation() -> Organisation:
    return Organisation.default()


def verb(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[dict[str, Any], int]:
    code = 0
    try:
        call_command("check_policies", *words, "--json")
    except SystemExit as ended:
        code = int(str(ended.code))
    return json.loads(capsys.readouterr().out), code


def client(organisation: Organisation, *scopes: str, team: Team | None = None) -> Client:
    _key, token = api_key_create(
        organisation=organisation, actor=ACTOR, name="ci", scopes=scopes, now=timezone.now(), team=team
    )
    return Client(headers={"Authorization": f"Bearer {token}"})


def post(caller: Client, address: str, **body: Any) -> Any:
    return caller.post(f"/api/v1/{address}", json.dumps(body), content_type="application/json")


def test_verb_and_rest_keep_and_tell_the_same(
    organisation: Organisation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "p.yaml").write_text("policies: [{kind: max_total, limit: 70.00}, {kind: all_priced}]")
    document, code = verb(capsys, "--add", str(tmp_path / "p.yaml"))
    assert code == 0
    assert [one["title"] for one in document["policies"]] == [
        "At most 70.00 USD a month in all",
        "Every part has a price",
    ]
    caller = client(organisation, "read:advice", "write:bills")
    assert caller.get("/api/v1/check-policies").json()["results"] == document["policies"]
    made = post(caller, "check-policies", kind="volume_types", types=["gp3"], level="deny")
    assert made.status_code == 201
    assert made.json()["rule"] == {"kind": "volume_types", "types": ["gp3"], "level": "deny"}
    assert caller.delete(f"/api/v1/check-policies/{made.json()['id']}").status_code == 204
    assert verb(capsys)[0] == document
    first = document["policies"][0]["id"]
    assert [one["kind"] for one in verb(capsys, "--remove", str(first))[0]["policies"]] == ["all_priced"]
    kept = AuditEntry.objects.filter(action__startswith="check_policy.").order_by("pk")
    assert [one.action.partition(".")[2] for one in kept] == ["add", "add", "add", "remove", "remove"]


def test_a_file_with_one_wrong_policy_keeps_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.yaml").write_text("policies: [{kind: all_priced}, {kind: max_total}]")
    document, code = verb(capsys, "--add", str(tmp_path / "p.yaml"))
    assert (code, document["error"]["field"]) == (2, "limit")
    (tmp_path / "p.yaml").write_text("policies: [{kind: all_priced}, {kind: all_priced}]")
    document, code = verb(capsys, "--add", str(tmp_path / "p.yaml"))
    assert (code, document["error"]["message"]) == (2, "kind: This policy is there already.")
    assert verb(capsys, "--add", str(tmp_path / "none"))[1] == 2
    assert verb(capsys, "--remove", "7")[1] == 2
    assert verb(capsys, "--team", "nobody")[1] == 2
    assert not CheckPolicy.objects.exists()
    assert not AuditEntry.objects.filter(action__startswith="check_policy").exists()


def test_a_caller_adds_and_cannot_leave_out(organisation: Organisation) -> None:
    check_policy_add(
        organisation=organisation, actor=ACTOR, values={"kind": "max_increase", "limit": "79.99"}
    )
    for given in (None, (), policies_of({"max_increase": "5000"})):
        row = cost_check_make(organisation=organisation, question=Question(CONTENT, policies=given), at=AT)
        assert row.verdict == "deny"
        assert row.document["policies"][0]["set_by"] == "organisation"
    other = Organisation.objects.create(name="Other", slug="other")
    assert cost_check_make(organisation=other, question=Question(CONTENT), at=AT).verdict == "pass"


def test_a_team_has_its_own_and_its_key_cannot_be_another_team(organisation: Organisation) -> None:
    data = Team.objects.create(organisation=organisation, name="Data", slug="data")
    Team.objects.create(organisation=organisation, name="Web", slug="web")
    check_policy_add(
        organisation=organisation, actor=ACTOR, team=data, values={"kind": "max_increase", "limit": "1"}
    )
    caller = client(organisation, "read:advice", team=data)
    found = post(caller, "cost-checks", input=CONTENT.decode()).json()
    assert (found["verdict"], found["policies"][0]["set_by"]) == ("deny", "team data")
    refused = post(caller, "cost-checks", input=CONTENT.decode(), team="web")
    assert refused.json()["error"]["fields"][0]["message"] == "The key belongs to another team."
    whole = client(organisation, "read:advice")
    assert post(whole, "cost-checks", input=CONTENT.decode()).json()["verdict"] == "pass"
    assert post(whole, "cost-checks", input=CONTENT.decode(), team="data").json()["verdict"] == "deny"
    foreign = Organisation.objects.create(name="Other", slug="other")
    with pytest.raises(ValidationError):
        check_policy_add(organisation=foreign, actor=ACTOR, team=data, values={"kind": "all_priced"})


def test_a_wrong_policy_names_its_field_and_a_key_for_checks_sets_none(organisation: Organisation) -> None:
    caller = client(organisation, "read:advice", "write:bills")
    for body, field in (
        ({"kind": "max_increase"}, "limit"),
        ({"kind": "max_increase", "limit": "1,234"}, "limit"),
        ({"kind": "max_increase", "limit": "1\x00"}, "limit"),
        ({"kind": "volume_types"}, "types"),
        ({"kind": "region_carbon", "limit": "1", "source": "x"}, "source"),
        ({"kind": "x"}, "kind"),
        ({"kind": "all_priced", "team": "nobody"}, "team"),
        ({"kind": "all_priced", "surprise": 1}, "surprise"),
    ):
        answer = post(caller, "check-policies", **body)
        assert answer.status_code == 400, body
        assert [one["field"] for one in answer.json()["error"]["fields"]] == [field]
    assert post(client(organisation, "read:advice"), "check-policies", kind="all_priced").status_code == 403
    assert not CheckPolicy.objects.exists()
