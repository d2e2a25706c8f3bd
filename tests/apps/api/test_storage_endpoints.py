"""Storage by REST: the same advice as the command, the owner's words, checkpoints, changes with approvals."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from apps.accounts.models import Membership, Organisation, User
from apps.recommendations.models import LifecycleChange, StorageMark
from apps.recommendations.services.storage_advice import advise_storage
from apps.recommendations.services.storage_applying import changes_tick
from apps.storage.models import Bucket
from tests.apps.recommendations.test_lifecycle_changes import EXPIRE, TIER, s3  # noqa: F401
from tests.support.lifecycle_server import ACCOUNT, Rules
from tests.support.storage_cells import cell, reads
from tests.support.storage_listings import NOW, billed_as_listed, put_listing, put_reads

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def lake() -> Iterator[Bucket]:
    bucket = put_listing([cell()], organisation=Organisation.default())
    put_reads(bucket, reads(60, 1, exposure=1000), last=NOW.date() - timedelta(days=1), days=60)
    with billed_as_listed():
        yield bucket


def signed(role: str, name: str = "", organisation: Organisation | None = None) -> Client:
    where = organisation or Organisation.default()
    user = User.objects.create_user(f"{name or role}@{where.slug}.example", "long-enough-word")
    Membership.objects.create(user=user, organisation=where, role=role)
    client = Client()
    client.force_login(user)
    return client


def post(client: Client, address: str, body: dict[str, Any] | None = None) -> Any:
    return client.post(f"/api/v1/storage/{address}", json.dumps(body or {}), content_type="application/json")


def test_advice_is_the_document_of_the_command() -> None:
    answer = signed("viewer").get("/api/v1/storage/advice?bucket=lake&at=2026-11-30T06:00:00Z")
    assert answer.status_code == 200, answer.content
    assert answer.json() == advise_storage(organisation=Organisation.default(), bucket="lake", at=NOW)
    assert answer.json()["groups"][0]["verdict"] == "move"


def test_an_unknown_bucket_is_a_400_and_another_organisation_sees_none() -> None:
    client = signed("viewer")
    answer = client.get("/api/v1/storage/advice?bucket=nothing")
    assert (answer.status_code, "bucket" in answer.content.decode()) == (400, True)
    other = Organisation.objects.create(name="Other", slug="other")
    found = signed("viewer", "x", other).get("/api/v1/storage/advice")
    assert found.json()["groups"] == []


def test_the_claim_about_checkpoints_is_answered() -> None:
    found = signed("viewer").get("/api/v1/storage/checkpoints?gib=500&keep_months=3").json()
    assert found["claim"]["holds"] is False
    assert found["claim"]["saving_pct"] == pytest.approx(31.2, abs=0.5)
    assert found["run"]["checkpoints"] == 240
    for wrong in ("gib=0&keep_months=3", "gib=1&keep_months=3&every_hours=1000", "gib=1&keep_months=nan",
                  "gib=1&keep_months=3&region=mars-1", "gib=1e308&keep_months=3"):  # fmt: skip
        assert signed("viewer", wrong[:40]).get(f"/api/v1/storage/checkpoints?{wrong}").status_code == 400, (
            wrong
        )


def test_an_owners_word_changes_the_advice_and_can_be_taken_back() -> None:
    engineer = signed("engineer")
    said = {"bucket": "lake", "prefix": "data/", "checkpoints": True, "delete_after": 30}
    answer = post(engineer, "words", said)
    assert answer.status_code == 200, answer.content
    found = engineer.get("/api/v1/storage/advice?at=2026-11-30T06:00:00Z").json()["groups"][0]
    assert (found["deletes"], found["policy"]) == (True, "Delete after 30 days")
    mark = answer.json()["id"]
    assert engineer.get("/api/v1/storage/words").json()["count"] == 1
    assert signed("viewer").delete(f"/api/v1/storage/words/{mark}").status_code == 403
    assert engineer.delete(f"/api/v1/storage/words/{mark}").status_code == 204
    assert not StorageMark.objects.exists()


@pytest.mark.parametrize(
    "wrong",
    [
        {"bucket": "nothing"}, {"bucket": "lake", "delete_after": 3}, {"bucket": "lake", "life_days": 0},
        {"bucket": "lake", "keep_versions": 2}, {"bucket": "lake", "workload": "nobody's"},
    ],
)  # fmt: skip
def test_a_word_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    assert post(signed("engineer"), "words", wrong).status_code == 400
    assert not StorageMark.objects.exists()


def test_a_rule_that_deletes_takes_two_people(s3: Rules, settings: Any) -> None:  # noqa: F811
    settings.STORAGE_DELETE_DELAY_DAYS = 0
    admin, engineer, finance = signed("admin"), signed("engineer"), signed("finance")
    assert post(admin, "accounts", {"account": ACCOUNT}).status_code == 200
    assert post(engineer, "accounts", {"account": ACCOUNT}).status_code == 403
    asked = post(engineer, "changes", {"account": ACCOUNT, "bucket": "lake", "rules": [EXPIRE]})
    assert asked.status_code == 201, asked.content
    change = asked.json()["id"]
    assert (asked.json()["deletes"], asked.json()["rollback"]) == (True, None)
    assert post(signed("viewer"), f"changes/{change}/approve").status_code == 403
    assert post(engineer, f"changes/{change}/approve").json()["state"] == "requested"
    assert post(finance, f"changes/{change}/approve").json()["state"] == "approved"
    assert changes_tick(now=timezone.now()) == 1
    done = engineer.get(f"/api/v1/storage/changes/{change}").json()
    assert (done["state"], done["read_back"]["Rules"][0]["ID"]) == ("applied", EXPIRE["ID"])
    assert post(engineer, f"changes/{change}/revert").status_code == 409
    assert s3.ids() == [EXPIRE["ID"]]


def test_a_change_is_tried_cancelled_and_not_seen_by_others(s3: Rules) -> None:  # noqa: F811
    admin = signed("admin")
    post(admin, "accounts", {"account": ACCOUNT})
    body = {"account": ACCOUNT, "bucket": "lake", "rules": [TIER]}
    change = post(admin, "changes", body).json()["id"]
    assert post(admin, f"changes/{change}/dry-run").json()["dry_run"]["allowed"] is True
    other = signed("admin", "x", Organisation.objects.create(name="Other", slug="other"))
    assert other.get(f"/api/v1/storage/changes/{change}").status_code == 404
    assert post(other, "changes", body).status_code == 400
    assert post(admin, f"changes/{change}/cancel", {"reason": "not now"}).json()["state"] == "cancelled"
    assert post(admin, f"changes/{change}/approve").status_code == 409
    assert post(admin, "changes", {**body, "rules": [{"ID": "x"}]}).status_code == 400
    assert LifecycleChange.objects.count() == 1
    assert s3.puts() == 0
