"""What is told about limits, answers that the caller has already, and writes that are sent twice."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import ApiKey, Membership, Organisation, Team
from apps.api.models import IdempotentCall
from apps.billing.models import Budget

pytestmark = pytest.mark.django_db
Make = Callable[..., Client]


def test_what_is_left_of_a_minute_is_told(
    sign_in: Make, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.API_THROTTLE_PER_MINUTE = 2
    monkeypatch.setattr(time, "time", lambda: 1_800_000_015.0)
    client = sign_in("viewer")
    told = []
    for _ in range(3):
        answer = client.get("/api/v1/me")
        told.append(tuple(answer[f"RateLimit-{name}"] for name in ("Limit", "Remaining", "Reset")))
    assert told == [("2", "1", "46"), ("2", "0", "46"), ("2", "0", "46")]
    assert (answer.status_code, answer["Retry-After"]) == (429, "46")


def test_an_answer_that_the_caller_has_is_304(sign_in: Make, organisation: Organisation) -> None:
    client = sign_in("admin")
    first = client.get("/api/v1/teams")
    tag = first["ETag"]
    again = client.get("/api/v1/teams", headers={"If-None-Match": tag})
    assert (again.status_code, again.content, again["ETag"]) == (304, b"", tag)
    Team.objects.create(organisation=organisation, name="Data", slug="data")
    changed = client.get("/api/v1/teams", headers={"If-None-Match": tag})
    assert changed.status_code == 200
    assert changed["ETag"] != tag
    assert not client.get("/api/v1/nothing").has_header("ETag")
    assert json.loads(changed.content)["count"] == 1


BUDGET = {
    "name": "all",
    "scope": "organisation",
    "amount": "10.00",
    "currency": "USD",
    "valid_from": "2026-01-01",
}


def post(client: Client, address: str, body: Any, key: str) -> Any:
    return client.post(
        f"/api/v1/{address}",
        json.dumps(body),
        content_type="application/json",
        headers={"Idempotency-Key": key},
    )


def test_a_write_that_is_sent_twice_is_done_once(sign_in: Make) -> None:
    client = sign_in("admin")
    first, again = (post(client, "teams", {"name": "Data"}, "k-1") for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == first.json()
    assert (first.has_header("Idempotency-Replayed"), again["Idempotency-Replayed"]) == (False, "true")
    assert Team.objects.count() == 1
    other = post(client, "teams", {"name": "Web"}, "k-1")
    assert (other.status_code, other.json()["error"]["code"]) == (409, "key_reused")
    assert post(client, "teams", {"name": "Web"}, "k-2").status_code == 201
    # Another caller's key is another key.
    assert post(sign_in("finance"), "budgets", BUDGET, "k-1").status_code == 201
    assert Budget.objects.count() == 1


def test_a_refused_write_gives_its_key_back_and_one_at_work_is_told_so(sign_in: Make) -> None:
    client = sign_in("admin")
    assert post(client, "teams", {"name": ""}, "k").status_code == 400
    assert not IdempotentCall.objects.exists()
    assert post(client, "teams", {"name": "Data"}, "k").status_code == 201
    IdempotentCall.objects.update(status=None)
    busy = post(client, "teams", {"name": "Data"}, "k")
    assert (busy.status_code, busy.json()["error"]["code"]) == (409, "in_progress")
    for wrong in ("", "x" * 201, "ü"):
        assert post(client, "teams", {"name": "W"}, wrong).status_code == 400
    assert Team.objects.count() == 1


def test_a_secret_that_is_shown_once_is_not_kept(sign_in: Make) -> None:
    client = sign_in("admin")
    body = {"name": "ci", "scopes": ["read:advice"]}
    made = post(client, "keys", body, "k")
    assert made.json()["token"].startswith("opk_")
    again = post(client, "keys", body, "k")
    assert (again.status_code, again.json()["error"]["code"]) == (409, "shown_once")
    assert ApiKey.objects.count() == 1
    invited = post(client, "members", {"email": "new@example.test", "role": "viewer"}, "m")
    assert invited.json()["link"]
    assert post(client, "members", {"email": "new@example.test", "role": "viewer"}, "m").status_code == 409
    assert Membership.objects.count() == 2
    assert [call.document for call in IdempotentCall.objects.all()] == [None, None]
