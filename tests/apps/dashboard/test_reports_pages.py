"""Pages Reports and Alerts: what they say, who may change what, two organisations apart."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import Organisation
from apps.reports.models import Alert, Channel, Delivery, Report, Subscription

SignIn = Callable[..., Client]
NOW = datetime.now(UTC)
FORM = {
    "name": "Weekly", "recipients": "admin@example.test\nbo@example.test", "edition": "finance",
    "language": "en", "weekday": "1", "hour": "8", "time_zone": "Europe/Berlin", "active": "on",
}  # fmt: skip
CHANNEL = {
    "name": "Ops",
    "kind": "mail",
    "emails": "admin@example.test",
    "language": "en",
    "time_zone": "UTC",
    "active": "on",
}


@pytest.fixture
def admin(sign_in: SignIn, empty_lake: Path) -> Client:
    return sign_in("admin")


def report_of(organisation: Organisation, **more: Any) -> Report:
    return Report.objects.create(
        organisation=organisation, title="x", week="2026-W21", first_day="2026-05-18", last_day="2026-05-24",
        edition="finance", language="en", subject="Week 21: $1", preheader="p",
        html="<html><head></head><body><b>hello</b></body></html>", text="plain words", document={},
        **{"composed_at": NOW, **more},
    )  # fmt: skip


def text_of(response: Any) -> str:
    return str(response.content.decode())


def test_empty_pages_say_what_to_do(admin: Client) -> None:
    page = text_of(admin.get("/reports/"))
    assert "No weekly report goes out yet." in page
    assert "Nobody gets a weekly report yet. Set one up below." in page
    assert "Alerts go nowhere yet: no channel is set up." in text_of(admin.get("/reports/alerts/"))


def test_a_report_is_set_up_changed_and_removed(admin: Client) -> None:
    assert admin.post("/reports/subscriptions/keep/", FORM).status_code == 302
    row = Subscription.objects.get()
    assert [one.email for one in row.recipients.all()] == ["admin@example.test", "bo@example.test"]
    page = text_of(admin.get(f"/reports/?change={row.pk}"))
    assert "Monday 08:00 Europe/Berlin" in page
    assert "goes out each week, the next on" in page
    changed = {**FORM, "name": "Mondays", "recipients": "bo@example.test", "subscription": str(row.pk)}
    assert admin.post("/reports/subscriptions/keep/", changed).status_code == 302
    row.refresh_from_db()
    assert (row.name, row.recipients.count()) == ("Mondays", 1)
    assert admin.post(f"/reports/subscriptions/{row.pk}/remove/").status_code == 302
    assert Subscription.objects.count() == 0


def test_a_wrong_address_is_told_beside_its_field(admin: Client) -> None:
    response = admin.post("/reports/subscriptions/keep/", {**FORM, "recipients": "eve@evil.test"})
    assert response.status_code == 422
    assert "eve@evil.test is of no domain of your members." in text_of(response)
    assert Subscription.objects.count() == 0


def test_preview_and_test_keep_nothing_but_the_test(admin: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    admin.post("/reports/subscriptions/keep/", FORM)
    row = Subscription.objects.get()
    page = admin.get(f"/reports/subscriptions/{row.pk}/preview/")
    assert page.status_code == 200
    assert "srcdoc=" in text_of(page)
    assert Report.objects.count() == 0
    assert admin.get(f"/reports/subscriptions/{row.pk}/preview/?week=nonsense").status_code == 422
    handed: list[int] = []
    monkeypatch.setattr("apps.dashboard.views.reports.reports_hand_out", lambda: handed.append(1))
    assert admin.post(f"/reports/subscriptions/{row.pk}/test/").status_code == 302
    report = Report.objects.get()
    assert (report.test, report.subject[:6], handed) == (True, "[Test]", [1])
    assert [one.email for one in Delivery.objects.all()] == ["admin@example.test"]
    assert "no-referrer" not in str(page.headers)


def test_a_past_report_opens_as_it_was_sent_with_its_mails(admin: Client, organisation: Organisation) -> None:
    report = report_of(organisation)
    row = Delivery.objects.create(
        report=report, email="a@example.test", message_id="1@x", sender="o@e.test", dated=NOW,
        state="unknown", error="lost",
    )  # fmt: skip
    page = text_of(admin.get(f"/reports/{report.pk}/"))
    assert "&lt;b&gt;hello&lt;/b&gt;" in page
    assert 'sandbox="allow-popups allow-popups-to-escape-sandbox"' in page
    assert "Outcome unknown" in page
    assert "1 mail of the last reports did not arrive." in text_of(admin.get("/reports/")).replace(
        '<span class="key">1</span>', "1"
    )
    mail = admin.get(f"/reports/mails/{row.pk}/")
    assert mail["X-Offpeak-As-Sent"] == "not sent"
    assert b"Message-ID: <1@x>" in mail.content
    admin.post(f"/reports/mails/{row.pk}/again/")
    row.refresh_from_db()
    assert (row.state, row.message_id) == ("waiting", "1@x")


def test_another_organisations_reports_are_not_there(admin: Client) -> None:
    other = Organisation.objects.create(name="Other", slug="other")
    report = report_of(other)
    row = Delivery.objects.create(
        report=report, email="a@b.test", message_id="1@x", dated=NOW, state="unknown"
    )
    assert admin.get(f"/reports/{report.pk}/").status_code == 404
    assert admin.get(f"/reports/mails/{row.pk}/").status_code == 404
    assert admin.post(f"/reports/mails/{row.pk}/again/").status_code == 404
    assert admin.get(f"/api/v1/reports/{report.pk}").status_code == 404
    row.refresh_from_db()
    assert row.state == "unknown"


@pytest.mark.parametrize("role", ["viewer"])
def test_a_viewer_reads_and_changes_nothing(role: str, sign_in: SignIn, empty_lake: Path) -> None:
    client = sign_in(role)
    assert client.get("/reports/").status_code == 200
    assert client.get("/reports/alerts/").status_code == 200
    for address in ("/reports/subscriptions/keep/", "/reports/channels/keep/"):
        assert client.post(address, {}).status_code == 403
    assert client.get("/reports/mails/1/").status_code == 403


def test_channels_and_snoozes(admin: Client, organisation: Organisation) -> None:
    assert admin.post("/reports/channels/keep/", {**CHANNEL, "quiet_from": "25:00"}).status_code == 422
    assert (
        admin.post(
            "/reports/channels/keep/", {**CHANNEL, "quiet_from": "22:00", "quiet_to": "07:00"}
        ).status_code
        == 302
    )
    channel = Channel.objects.get()
    assert (channel.quiet_from, channel.quiet_to) == (1320, 420)
    alert = Alert.objects.create(
        organisation=organisation, cause="data", key="feed:1", period="x", raised_at=NOW,
        facts={"what": "feed", "feed": "prod<b>", "since": NOW.isoformat(), "answered": True},
    )  # fmt: skip
    page = text_of(admin.get("/reports/alerts/"))
    assert "The feed prod&lt;b&gt; fails" in page
    assert (
        admin.post(f"/reports/alerts/{alert.pk}/snooze/", {"days": "3", "reason": "known"}).status_code == 302
    )
    assert "by admin@example.test: known" in text_of(admin.get("/reports/alerts/"))
    admin.post(f"/reports/alerts/{alert.pk}/wake/")
    assert "by admin@example.test: known" not in text_of(admin.get("/reports/alerts/"))
    assert admin.post(f"/reports/channels/{channel.pk}/remove/").status_code == 302
    assert Channel.objects.count() == 0


def test_a_webhooks_secret_is_shown_once_and_its_address_never(admin: Client) -> None:
    given = {**CHANNEL, "kind": "webhook", "emails": "", "address": "https://hooks.example.com/x?key=SECRET9"}
    shown = admin.post("/reports/channels/keep/", given)
    assert "whsec_" in text_of(shown)
    assert shown["Cache-Control"] == "no-store"
    row = Channel.objects.get()
    for address in ("/reports/alerts/", f"/reports/alerts/?change={row.pk}", "/api/v1/alert-channels"):
        page = text_of(admin.get(address))
        assert "whsec_" not in page
        assert "SECRET9" not in page
        assert "hooks.example.com" in page
    admin.post("/reports/channels/keep/", {**given, "address": "", "channel": str(row.pk), "name": "New"})
    row.refresh_from_db()
    assert (row.name, row.address) == ("New", "https://hooks.example.com/x?key=SECRET9")


def test_rest_does_what_the_pages_do(admin: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.api.views.reports.reports_hand_out", lambda: None)
    body = {"name": "Weekly", "recipients": ["admin@example.test"], "time_zone": "Asia/Shanghai", "hour": 9}
    made = admin.post("/api/v1/report-subscriptions", body, content_type="application/json")
    assert made.status_code == 201
    pk = made.json()["id"]
    assert made.json()["next_due_at"].endswith("T01:00:00Z")
    wrong = admin.put(
        f"/api/v1/report-subscriptions/{pk}", {**body, "hour": 24}, content_type="application/json"
    )
    assert (wrong.status_code, wrong.json()["error"]["fields"][0]["field"]) == (400, "hour")
    preview = admin.get(f"/api/v1/report-subscriptions/{pk}/preview?week=2026-W20").json()
    assert (preview["week"], preview["compared"]) == ("2026-W20", None)
    ahead = admin.post(
        f"/api/v1/report-subscriptions/{pk}/send", {"week": "2099-W01"}, content_type="application/json"
    )
    assert ahead.status_code == 400
    for new in (True, False):
        sent = admin.post(
            f"/api/v1/report-subscriptions/{pk}/send", {"week": "2026-W20"}, content_type="application/json"
        )
        assert sent.json()["new"] is new
    listed = admin.get("/api/v1/reports").json()
    assert [(one["week"], one["mails"], one["sent"]) for one in listed["results"]] == [("2026-W20", 1, 0)]
    whole = admin.get(f"/api/v1/reports/{listed['results'][0]['id']}").json()
    assert whole["deliveries"][0]["state"] == "waiting"
    assert admin.delete(f"/api/v1/report-subscriptions/{pk}").status_code == 204
    assert Delivery.objects.get().state == "dropped"
    assert admin.get("/api/v1/reports").json()["count"] == 1, "what was written stays"


def test_reports_come_newest_first(admin: Client, organisation: Organisation) -> None:
    made = {days: report_of(organisation, composed_at=NOW - timedelta(days=days)).pk for days in (3, 1, 2)}
    found = [one["id"] for one in admin.get("/api/v1/reports").json()["results"]]
    assert found == [made[1], made[2], made[3]]
