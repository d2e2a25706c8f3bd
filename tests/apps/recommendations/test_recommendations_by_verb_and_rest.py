"""Recommendations by command and REST: one answer, roles by kind, refusals that leave nothing behind."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from apps.accounts.actors import Actor
from apps.accounts.models import AuditEntry, Membership, Organisation, User
from apps.accounts.roles import Action
from apps.accounts.services import api_key_create
from apps.recommendations.models import Recommendation
from apps.recommendations.services.inbox import Finding, publish
from tests.support.recommendations import finding, made_up_kind, registered

ROOT = "/api/v1/recommendations"


@pytest.fixture(autouse=True)
def _kinds() -> Iterator[None]:
    with registered(made_up_kind("waste"), made_up_kind("buy", decide=Action.DECIDE_COMMITMENTS)):
        yield


@pytest.fixture
def organisation(db: None) -> Organisation:
    return Organisation.default()


def found(subject: str, saving: str = "100", **changes: Any) -> Finding:
    now = timezone.now()
    return finding(subject, saving, claim_start=now, claim_end=now + timedelta(hours=730), **changes)


def put(organisation: Organisation, kind: str, *findings: Finding) -> dict[str, int]:
    publish(kind, findings, organisation=organisation, now=timezone.now(), whole=True)
    rows = Recommendation.objects.filter(organisation=organisation)
    return dict(rows.values_list("subject", "pk"))


@pytest.fixture
def ids(organisation: Organisation) -> dict[str, int]:
    """Three of waste, of which two claim the same, and one to buy."""
    put(
        organisation, "waste", found("a", "100"), found("b", "60", claims=("pool:x",)),
        found("c", "50", claims=("pool:x",), effort="high"),
    )  # fmt: skip
    return put(organisation, "buy", found("d", "10"))


def person(organisation: Organisation, role: str) -> Client:
    user = User.objects.create_user(f"{role}@example.test", "correct horse battery")
    Membership.objects.create(user=user, organisation=organisation, role=role)
    client = Client()
    client.force_login(user)
    return client


def post(client: Client, address: str, **body: Any) -> tuple[int, dict[str, Any]]:
    answer = client.post(f"{ROOT}/{address}", json.dumps(body), content_type="application/json")
    return answer.status_code, answer.json()


def verb(name: str, *words: str) -> dict[str, Any]:
    out = io.StringIO()
    call_command(name, *words, "--json", stdout=out, stderr=io.StringIO())
    document: dict[str, Any] = json.loads(out.getvalue())
    return document


def test_page_and_command_are_one_answer(organisation: Organisation, ids: dict[str, int]) -> None:
    rest = person(organisation, "viewer").get(ROOT).json()
    told = verb("recommendations", "--no-look")
    assert rest["results"] == told["recommendations"]
    assert rest["totals"] == told["totals"]
    assert [one["subject"] for one in rest["results"]] == ["a", "b", "c", "d"]
    assert (rest["count"], rest["open"], rest["next"]) == (4, 4, None)
    total = rest["totals"][0]
    assert (total["monthly_saving"], total["count"], total["method"]) == ("170", 3, "independent")
    # 10, 6 and 1 either way: sqrt(137) = 11.704700, not 17.
    assert (total["low"], total["high"]) == ("158.2953", "181.7047")
    b, c = rest["results"][1:3]
    assert (b["counted"], b["alternatives"]) == (True, [ids["c"]])
    assert (c["counted"], c["alternatives"]) == (False, [ids["b"]])
    assert (b["title"], b["sentence"]) == ("Stop b", "It idles, in en.")
    assert b["lines"] == [{"label": "Idle hours", "value": "700"}]


def test_totals_are_of_the_filter_and_not_of_the_page(
    organisation: Organisation, ids: dict[str, int]
) -> None:
    client = person(organisation, "viewer")
    page = client.get(f"{ROOT}?page_size=1&page=2&kind=waste").json()
    assert (page["count"], [one["subject"] for one in page["results"]]) == (3, ["b"])
    assert page["totals"][0]["monthly_saving"] == "160"
    assert "page=3" in page["next"]
    assert client.get(f"{ROOT}?effort=high").json()["totals"][0]["monthly_saving"] == "50"
    assert client.get(f"{ROOT}?page=9").status_code == 404
    for wrong in ("kind=nope", "state=nope", "effort=nope", "nope=1"):
        assert client.get(f"{ROOT}?{wrong}").status_code == 400


def test_a_decision_once_and_again_is_one(organisation: Organisation, ids: dict[str, int]) -> None:
    client = person(organisation, "engineer")
    first = post(client, f"{ids['a']}/accept", reason="next sprint")
    assert first == post(client, f"{ids['a']}/accept", reason="next sprint")
    status, document = first
    assert (status, document["state"], document["author"]) == (200, "accepted", "engineer@example.test")
    assert document["counterfactual"]["basis"] == {"cost": "300"}
    assert [event["action"] for event in document["history"]] == ["published", "accepted"]
    assert AuditEntry.objects.filter(action="recommendation.accept").count() == 1
    assert post(client, f"{ids['a']}/done")[1]["state"] == "done"
    assert verb("recommendation", str(ids["a"]))["recommendation"]["state"] == "done"


def test_alternatives_of_what_was_accepted_are_refused_with_409(
    organisation: Organisation, ids: dict[str, int]
) -> None:
    client = person(organisation, "admin")
    post(client, f"{ids['c']}/accept")
    status, document = post(client, f"{ids['b']}/accept")
    assert (status, document["error"]["code"]) == (409, "wrong_state")
    assert str(ids["c"]) in document["error"]["message"]
    b = client.get(f"{ROOT}/{ids['b']}").json()
    assert (b["state"], b["held_by"], b["counted"]) == ("open", ids["c"], False)


@pytest.mark.parametrize(
    ("role", "waste", "buy"),
    [("viewer", 403, 403), ("engineer", 200, 403), ("finance", 403, 200), ("admin", 200, 200)],
)
def test_engineers_decide_on_work_and_finance_on_commitments(
    organisation: Organisation, ids: dict[str, int], role: str, waste: int, buy: int
) -> None:
    client = person(organisation, role)
    assert post(client, f"{ids['a']}/dismiss", reason="no")[0] == waste
    assert post(client, f"{ids['d']}/dismiss", reason="no")[0] == buy
    dismissed = Recommendation.objects.filter(state="dismissed").count()
    assert dismissed == [waste, buy].count(200) == AuditEntry.objects.count()


def test_keys_need_their_scope(organisation: Organisation, ids: dict[str, int]) -> None:
    def with_key(*scopes: str) -> Client:
        _key, token = api_key_create(
            organisation=organisation, actor=Actor.system("test"), name="ci", scopes=scopes,
            now=timezone.now(),
        )  # fmt: skip
        return Client(headers={"Authorization": f"Bearer {token}"})

    reader, writer = with_key("read:advice"), with_key("write:recommendations")
    assert (reader.get(ROOT).status_code, writer.get(ROOT).status_code) == (200, 403)
    assert post(reader, f"{ids['a']}/accept")[0] == 403
    assert post(writer, f"{ids['d']}/accept")[1]["state"] == "accepted"


def test_many_at_once_each_by_itself(organisation: Organisation, ids: dict[str, int]) -> None:
    client = person(organisation, "engineer")
    asked = [ids["a"], ids["d"], 999999, ids["a"]]
    status, document = post(client, "decide", ids=asked, decision="snooze", until="2999-01-01")
    assert status == 200
    assert [one["error"]["field"] for one in document["results"] if one["error"]["field"]] == ["until"]
    until = (timezone.now() + timedelta(days=9)).date().isoformat()
    status, document = post(client, "decide", ids=asked, decision="snooze", until=until)
    told = [(one["id"], one["state"], one["error"] and one["error"]["code"]) for one in document["results"]]
    assert told == [
        (ids["a"], "snoozed", None), (ids["d"], "open", "not_allowed"), (999999, None, "not_found"),
    ]  # fmt: skip
    for wrong in (
        {"ids": [], "decision": "accept"},
        {"ids": [1], "decision": "dismiss"},
        {"ids": [1], "decision": "accept", "until": until},
        {"ids": [1], "decision": "snooze"},
        {"ids": [1] * 101, "decision": "accept"},
        {"ids": [2**63], "decision": "accept"},
    ):
        assert post(client, "decide", **wrong)[0] == 400
    accepted = post(client, "decide", ids=[ids["b"], ids["c"]], decision="accept")[1]["results"]
    assert [(one["state"], one["error"] and one["error"]["code"]) for one in accepted] == [
        ("accepted", None), ("open", "wrong_state"),
    ]  # fmt: skip


def test_another_organisation_finds_nothing(organisation: Organisation, ids: dict[str, int]) -> None:
    elsewhere = Organisation.objects.create(name="Elsewhere", slug="elsewhere")
    client = person(elsewhere, "admin")
    assert client.get(ROOT).json()["count"] == 0
    assert client.get(f"{ROOT}/{ids['a']}").status_code == 404
    for change in ("accept", "done", "reopen"):
        assert post(client, f"{ids['a']}/{change}")[0] == 404
    assert post(client, "decide", ids=[ids["a"]], decision="accept")[1]["results"][0]["state"] is None
    assert set(Recommendation.objects.values_list("state", flat=True)) == {"open"}
    with pytest.raises(SystemExit) as ended:
        verb("recommendation", str(ids["a"]), "--organisation", "elsewhere", "--accept")
    assert ended.value.code == 2


def test_owners_are_members(organisation: Organisation, ids: dict[str, int]) -> None:
    client = person(organisation, "engineer")
    status, document = post(client, f"{ids['a']}/owner", owner="Engineer@Example.test")
    assert (status, document["owner"]) == (200, "engineer@example.test")
    assert post(client, f"{ids['a']}/owner", owner="nobody@example.test")[0] == 400
    assert client.get(f"{ROOT}?owner=engineer@example.test").json()["count"] == 1
    assert post(client, f"{ids['a']}/owner", owner=None)[1]["owner"] is None


def test_decisions_on_the_command_line(organisation: Organisation, ids: dict[str, int]) -> None:
    a = str(ids["a"])
    until = (timezone.now() + timedelta(days=3)).date().isoformat()
    assert verb("recommendation", a, "--snooze", until)["recommendation"]["until"] == until
    assert verb("recommendation", a, "--reopen")["recommendation"]["state"] == "open"
    assert verb("recommendation", a, "--dismiss", "too risky")["recommendation"]["reason"] == "too risky"
    assert [entry.actor_label for entry in AuditEntry.objects.all()] == ["command line"] * 3


@pytest.mark.parametrize(
    ("words", "code", "field"),
    [
        (("--dismiss", " "), 2, "reason"),
        (("--snooze", "2000-01-01"), 2, "until"),
        (("--owner", "nobody@example.test"), 2, "owner"),
        (("--done",), 3, "state"),
    ],
)
def test_refusals_are_one_document_and_change_nothing(
    organisation: Organisation, ids: dict[str, int], words: tuple[str, ...], code: int, field: str
) -> None:
    out = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("recommendation", str(ids["a"]), *words, "--json", stdout=out, stderr=io.StringIO())
    assert ended.value.code == code
    assert json.loads(out.getvalue())["error"]["field"] == field
    assert Recommendation.objects.get(pk=ids["a"]).state == "open"
    assert not AuditEntry.objects.exists()


def test_two_decisions_at_once_are_wrong_usage(organisation: Organisation, ids: dict[str, int]) -> None:
    with pytest.raises(CommandError):
        call_command("recommendation", str(ids["a"]), "--accept", "--dismiss", "x")


def test_money_is_text_and_no_digit_is_lost(organisation: Organisation) -> None:
    amount = "123456789012345678.123456789012345678"
    one = replace(
        found("x"), saving=Decimal(amount), saving_low=Decimal(0), saving_high=Decimal(amount),
        monthly_saving=Decimal(amount),
    )  # fmt: skip
    pk = put(organisation, "waste", one)["x"]
    document = person(organisation, "viewer").get(f"{ROOT}/{pk}").json()
    assert document["saving"] == document["monthly_saving"] == amount
    total = verb("recommendations", "--no-look")["totals"][0]
    assert total["monthly_saving"] == amount
