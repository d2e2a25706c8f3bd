"""Feeds, invoices, teams and saved views by REST; every endpoint by the verb `call`."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from apps.accounts.models import AuditEntry, Organisation, Team, User
from apps.billing.models import BillReport, Budget, Delivery, SavedView
from apps.ingest.models import Feed, FeedDelivery
from tests.support.aws_server import fake_aws

pytestmark = pytest.mark.django_db
Make = Callable[..., Client]
JSON = "application/json"
BODY = {"name": "bills", "bucket": "acme-bills", "region": "us-east-1", "account": "111122223333"}


@pytest.fixture
def handed_out(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    found: list[int] = []
    monkeypatch.setattr("apps.api.views.feeds.feed_collect_hand_out", found.append)
    return found


def test_a_feed_is_made_asked_paused_and_told(
    sign_in: Make, with_key: Make, handed_out: list[int], django_capture_on_commit_callbacks: Any
) -> None:
    finance = sign_in("finance")
    with django_capture_on_commit_callbacks(execute=True):
        made = finance.post("/api/v1/feeds/bills", BODY, JSON)
    assert made.status_code == 201, made.content
    feed = Feed.objects.get()
    assert handed_out == [feed.pk]
    told = made.json()
    assert (told["kind"], told["bucket"], told["minutes"], told["own"], told["state"]) == (
        "bills", "acme-bills", 360.0, True, "new",
    )  # fmt: skip
    assert AuditEntry.objects.get().action == "feed.create"
    again = finance.post("/api/v1/feeds/bills", BODY, JSON)
    assert (again.status_code, again.json()["error"]["fields"][0]["field"]) == (400, "name")
    wrong = finance.post("/api/v1/feeds/bills", {**BODY, "name": "b", "bucket": "Acme"}, JSON)
    assert (wrong.status_code, wrong.json()["error"]["fields"][0]["field"]) == (400, "bucket")
    assert Feed.objects.count() == 1
    key = with_key("write:ingest", "read:ingest")
    assert key.post("/api/v1/feeds/bills", BODY, JSON).status_code == 403
    assert key.post(f"/api/v1/feeds/{feed.pk}/collect", {}, JSON).status_code == 202
    assert handed_out == [feed.pk, feed.pk]
    paused = key.patch(f"/api/v1/feeds/{feed.pk}", {"paused": True}, JSON)
    assert paused.json()["state"] == "off"
    refused = key.post(f"/api/v1/feeds/{feed.pk}/collect", {}, JSON)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "paused")
    assert len(handed_out) == 2
    assert key.patch(f"/api/v1/feeds/{feed.pk}", {"paused": False}, JSON).json()["state"] == "new"
    assert key.patch(f"/api/v1/feeds/{feed.pk}", {"paused": False}, JSON).json()["state"] == "new"
    assert AuditEntry.objects.filter(action="feed.switch").count() == 2
    assert [row["name"] for row in key.get("/api/v1/feeds?kind=bills&state=new").json()["results"]] == [
        "bills"
    ]


def test_finance_may_not_touch_feeds_of_prices(sign_in: Make, handed_out: list[int]) -> None:
    body = {"name": "spot", "regions": ["us-east-1"]}
    assert sign_in("finance").post("/api/v1/feeds/spot-prices", body, JSON).status_code == 403
    engineer = sign_in("engineer")
    feed = engineer.post("/api/v1/feeds/spot-prices", body, JSON).json()
    assert (feed["kind"], feed["minutes"], feed["regions"]) == ("spot-prices", 15.0, ["us-east-1"])
    wrong = engineer.post("/api/v1/feeds/spot-prices", {"name": "x", "regions": ["moon"]}, JSON)
    assert wrong.status_code == 400
    other = Client()
    other.force_login(User.objects.get(email="finance@example.test"))
    response = other.patch(f"/api/v1/feeds/{feed['id']}", {"paused": True}, JSON)
    assert response.status_code == 403
    assert Feed.objects.get().state == "new"


def test_what_a_feed_has_seen_is_listed(sign_in: Make, organisation: Organisation) -> None:
    feed = Feed.objects.create(
        organisation=organisation, name="b", provider="aws", kind="bills", regions=["us-east-1"],
        bucket="acme-bills", interval="06:00:00",
    )  # fmt: skip
    FeedDelivery.objects.create(
        feed=feed, report="cur", billing_period=date(2026, 10, 1), manifest="m.json", etag="e",
        modified=datetime(2026, 11, 1, 5, tzinfo=UTC), state="refused", error="cut short",
    )  # fmt: skip
    rows = sign_in("viewer").get(f"/api/v1/feeds/{feed.pk}/deliveries").json()["results"]
    assert rows == [
        {
            "report": "cur", "billing_period": "2026-10", "manifest": "m.json",
            "modified": "2026-11-01T05:00:00Z", "state": "refused", "failure": "cut short", "run": None,
        }
    ]  # fmt: skip


def test_permissions_and_names_go_through_the_feed(
    sign_in: Make, organisation: Organisation, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "made-up")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "made-up")
    feed = Feed.objects.create(
        organisation=organisation, name="b", provider="aws", kind="bills", regions=["us-east-1"],
        bucket="acme-bills", interval="06:00:00",
    )  # fmt: skip
    finance = sign_in("finance")
    with fake_aws() as server:
        settings.AWS_ENDPOINT_URL = server.url
        server.answers["ListAccounts"] = [{"Accounts": [{"Id": "111122223333", "Name": "Shop"}]}] * 2
        told = finance.post(f"/api/v1/feeds/{feed.pk}/check", {}, JSON).json()
        names = finance.post(f"/api/v1/feeds/{feed.pk}/account-names", {}, JSON)
    assert {one["action"] for one in told["actions"]} >= {"s3:ListBucket", "s3:GetObject"}
    assert told["paid_requests"] == 0
    assert names.json() == {"counts": {"new": 1, "renamed": 0, "same": 0, "kept": 0}}
    Feed.objects.filter(pk=feed.pk).update(kind="offers", bucket="")
    refused = sign_in("engineer").post(f"/api/v1/feeds/{feed.pk}/check", {}, JSON)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "not_checkable")


def test_an_invoice_is_compared(sign_in: Make, with_key: Make, organisation: Organisation) -> None:
    report = BillReport.objects.create(
        organisation=organisation, provider="aws", payer="1", name="cur", kind="aws-cur2"
    )
    row = Delivery.objects.create(
        report=report, billing_period=date(2026, 11, 1), kind="aws-cur2", state="current",
        delivered_at=datetime(2026, 12, 1, tzinfo=UTC), content_hash="x", run_id=1, rows_read=1, stored=1,
        rejected=0, totals={"USD": {"billed": "1234.567", "amortised": None, "net": None, "list": None}},
    )  # fmt: skip
    address = f"/api/v1/bills/deliveries/{row.pk}/invoice"
    assert sign_in("viewer").put(address, {"amount": "1234.57", "currency": "USD"}, JSON).status_code == 403
    done = with_key("write:bills").put(address, {"amount": "1234.57", "currency": "usd"}, JSON).json()
    assert (done["reconciled"], done["difference"]) == (True, {"USD": "0"})
    wrong = with_key("write:bills").put(address, {"amount": "1", "currency": "EUR"}, JSON)
    assert (wrong.status_code, wrong.json()["error"]["fields"][0]["field"]) == (400, "currency")
    assert with_key("write:bills").put(address, {"amount": "ten", "currency": "USD"}, JSON).status_code == 400
    row.refresh_from_db()
    assert row.expected == {"USD": "1234.57"}


def test_teams_and_views(sign_in: Make, with_key: Make) -> None:
    admin = sign_in("admin")
    assert admin.post("/api/v1/teams", {"name": "Web shop"}, JSON).json() == {
        "slug": "web-shop", "name": "Web shop"
    }  # fmt: skip
    assert admin.post("/api/v1/teams", {"name": "Web shop"}, JSON).status_code == 400
    assert with_key("read:bills").get("/api/v1/teams").json()["count"] == 1
    view = admin.post("/api/v1/spend/views", {"name": "Mine", "query": "by=team"}, JSON).json()
    again = admin.post("/api/v1/spend/views", {"name": "mine", "query": "by=service"}, JSON).json()
    assert again["id"] == view["id"]
    assert sign_in("viewer").get("/api/v1/spend/views").json()["results"] == []
    assert admin.get("/api/v1/spend/views").json()["results"][0]["query"] == "by=service"
    assert admin.delete(f"/api/v1/spend/views/{view['id']}").status_code == 204
    assert not SavedView.objects.exists()


def called(*words: str) -> tuple[int, Any]:
    out = StringIO()
    try:
        call_command("call", *words, "--json", stdout=out, stderr=StringIO())
    except SystemExit as end:
        return int(str(end.code)), json.loads(out.getvalue())
    return 0, json.loads(out.getvalue())


def test_the_verb_gives_what_rest_gives(sign_in: Make, organisation: Organisation) -> None:
    Team.objects.create(organisation=organisation, slug="web", name="Web")
    assert called("GET", "teams") == (0, sign_in("viewer").get("/api/v1/teams").json())
    body = {"name": "All", "amount": "100", "currency": "USD", "valid_from": "2026-01-01"}
    code, made = called("POST", "budgets", "--body", json.dumps(body))
    assert (code, made["amount"]) == (0, "100")
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.actor_label) == ("budget.create", "command line")
    assert called("DELETE", f"budgets/{made['id']}") == (0, {})
    assert not Budget.objects.exists()


def test_the_verb_refuses_as_rest_does(sign_in: Make, organisation: Organisation) -> None:
    code, told = called("POST", "budgets", "--body", '{"name": "x"}')
    assert (code, told["error"]["code"]) == (3, "invalid")
    sign_in("viewer")
    code, told = called("POST", "teams", "--body", '{"name": "x"}', "--as", "viewer@example.test")
    assert (code, told["error"]["code"]) == (3, "not_allowed")
    code, told = called("GET", "spend/views")
    assert (code, told["error"]["code"]) == (3, "not_allowed")
    assert called("GET", "spend/views", "--as", "viewer@example.test")[1]["count"] == 0
    assert not Team.objects.exists()


@pytest.mark.parametrize(
    "words",
    [
        ["GET", "nothing"],
        ["GET", "../../admin"],
        ["POST", "teams", "--body", "{"],
        ["POST", "teams", "--body", "@/nonexistent"],
        ["GET", "teams", "--organisation", "other"],
        ["GET", "teams", "--as", "nobody@example.test"],
    ],
)
def test_wrong_usage_is_told(words: list[str], organisation: Organisation) -> None:
    with pytest.raises(CommandError) as told:
        call_command("call", *words, "--json", stdout=StringIO(), stderr=StringIO())
    assert told.value.returncode == 2
