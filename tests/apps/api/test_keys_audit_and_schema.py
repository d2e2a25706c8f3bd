"""The endpoints of the accounts area and the document that describes them all."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from django.test import Client
from django.utils import timezone

from apps.accounts.actors import Actor
from apps.accounts.models import ApiKey, AuditEntry, Organisation
from apps.accounts.services import api_key_create, team_create

pytestmark = pytest.mark.django_db
Make = Callable[..., Client]


def test_a_key_is_made_shown_once_used_and_revoked(sign_in: Make, organisation: Organisation) -> None:
    client = sign_in("admin")
    team_create(organisation=organisation, actor=Actor.system("test"), name="Data")
    body = {"name": "CI", "scopes": ["read:prices"], "expires_days": 30, "team": "data"}
    made = client.post("/api/v1/keys", body, "application/json")
    assert made.status_code == 201
    key = made.json()
    assert re.fullmatch(r"opk_[a-z2-7]{10}_[0-9a-f]{64}", key["token"])
    assert (key["team"], key["state"], key["created_by"]) == ("data", "active", "admin@example.test")

    program = Client(headers={"Authorization": f"Bearer {key['token']}"})
    assert program.get("/api/v1/me").status_code == 200
    listed = client.get("/api/v1/keys").json()
    assert (listed["count"], listed["next"]) == (1, None)
    assert "token" not in listed["results"][0]
    assert listed["results"][0]["last_used_at"] is not None

    revoked = client.post(f"/api/v1/keys/{key['id']}/revoke", {}, "application/json")
    assert (revoked.status_code, revoked.json()["state"]) == (200, "revoked")
    assert program.get("/api/v1/me").status_code == 401
    trail = client.get("/api/v1/audit?action=api_key.revoke").json()
    assert [(e["actor"], e["object_id"]) for e in trail["results"]] == [
        ("admin@example.test", str(key["id"]))
    ]
    assert key["token"].rsplit("_", 1)[1] not in json.dumps(client.get("/api/v1/audit").json())


def test_another_organisations_key_is_not_there(sign_in: Make) -> None:
    elsewhere = Organisation.objects.create(name="Elsewhere", slug="elsewhere")
    key, _token = api_key_create(
        organisation=elsewhere, actor=Actor.system("t"), name="x", scopes=["read:prices"], now=timezone.now()
    )
    client = sign_in("admin")
    assert client.get("/api/v1/keys").json()["count"] == 0
    assert client.post(f"/api/v1/keys/{key.pk}/revoke", {}, "application/json").status_code == 404
    assert (
        client.get("/api/v1/audit").json()["count"]
        == AuditEntry.objects.exclude(organisation=elsewhere).count()
    )
    key.refresh_from_db()
    assert key.revoked_at is None


def test_lists_come_in_pages_with_the_next_address(sign_in: Make, organisation: Organisation) -> None:
    for number in range(5):
        api_key_create(
            organisation=organisation,
            actor=Actor.system("t"),
            name=f"k{number}",
            scopes=["read:prices"],
            now=timezone.now(),
        )
    client = sign_in("admin")
    names, address = [], "/api/v1/keys?page_size=2"
    while address:
        answer = client.get(address).json()
        names.append([row["name"] for row in answer["results"]])
        address = answer["next"]
    assert names == [["k4", "k3"], ["k2", "k1"], ["k0"]]


def test_a_list_costs_the_same_queries_for_one_row_and_for_many(
    sign_in: Make, organisation: Organisation, django_assert_num_queries: Callable
) -> None:
    client = sign_in("admin")
    team = team_create(organisation=organisation, actor=Actor.system("test"), name="Data")
    for number in range(8):
        api_key_create(
            organisation=organisation,
            actor=Actor.system("t"),
            name=f"k{number}",
            scopes=["read:prices"],
            now=timezone.now(),
            team=team,
        )
    with django_assert_num_queries(5):  # session, person, membership, count, rows
        assert len(client.get("/api/v1/keys").json()["results"]) == 8


def test_the_document_names_every_endpoint_its_scope_and_its_errors(with_key: Make) -> None:
    response = with_key("read:prices").get("/api/v1/schema")
    assert response.status_code == 200
    document = response.json()
    assert document["openapi"] == "3.1.0"
    operations = {
        operation["operationId"]: operation
        for methods in document["paths"].values()
        for operation in methods.values()
    }
    assert {"Me_get", "Keys_get", "Keys_post", "RevokeKey_post", "Audit_get", "Schema_get"} <= set(operations)
    assert "`read:audit`" in operations["Audit_get"]["description"]
    assert set(operations["Keys_post"]["responses"]) == {
        *("201", "400", "401", "403", "406", "409", "413", "415", "429", "500")
    }
    assert document["components"]["schemas"]["AccountsNewKeyBodyRequest"]["additionalProperties"] is False
    for name, operation in operations.items():
        assert operation["summary"], name
        # Machines of a launch and devices come with a token of their own and nothing else.
        own = {"machines": [{"launchToken": []}], "devices": [{"deviceKey": []}]}
        usual = [{"apiKey": []}, {"cookieAuth": []}]
        assert operation["security"] in (usual, own.get(operation["tags"][0])), name


def test_api_key_model_has_no_readable_secret() -> None:
    assert {f.name for f in ApiKey._meta.fields if "secret" in f.name or "token" in f.name} == {"secret_hash"}
