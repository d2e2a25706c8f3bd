"""Leaving a report by link and by one click, mail that came back, and who may be written to."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.test import Client

from apps.accounts.models import AuditEntry, Organisation, User
from apps.reports.models import Delivery, Recipient, Report, Subscription
from apps.reports.services.bounces import NoBounceError, bounce_read, bounce_record
from apps.reports.services.subscriptions import recipient_resume, subscription_save
from finops.redact import redact
from tests.apps.reports.conftest import TEST

NOW = datetime(2026, 5, 25, 6, tzinfo=UTC)
ID = "0123456789abcdef0123456789abcdef@offpeak.example"
DSN = f"""From: MAILER-DAEMON@mx.example
To: reports@offpeak.example
Subject: Undelivered
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="b"

--b
Content-Type: text/plain

It did not work.
--b
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.example

Final-Recipient: rfc822; bo@example.test
Action: failed
Status: 5.1.1
Diagnostic-Code: smtp; 550 5.1.1 no such user

--b
Content-Type: text/rfc822-headers

From: reports@offpeak.example
Message-ID: <{ID}>
Subject: Week 21

--b--
"""


@pytest.fixture
def bo(subscribe: Callable[..., Subscription]) -> Recipient:
    subscribe()
    return Recipient.objects.get(email="bo@example.test")


@pytest.fixture
def mail(bo: Recipient) -> Delivery:
    report = Report.objects.create(
        organisation=bo.subscription.organisation, subscription=bo.subscription, title="x", week="2026-W21",
        first_day="2026-05-18", last_day="2026-05-24", edition="finance", language="en", subject="s",
        preheader="p", html="", text="", document={}, composed_at=NOW,
    )  # fmt: skip
    return Delivery.objects.create(
        report=report, recipient=bo, email=bo.email, message_id=ID, dated=NOW, state="sent", sent_at=NOW
    )


def test_looking_at_the_link_changes_nothing_and_the_button_does_it(bo: Recipient) -> None:
    client, address = Client(enforce_csrf_checks=True), f"/unsubscribe/{bo.token}/"
    page = client.get(address)
    assert page.status_code == 200
    assert "Do you want to get this report no longer?" in page.content.decode()
    bo.refresh_from_db()
    assert bo.unsubscribed_at is None
    assert "You get this report no longer" in client.post(address).content.decode()
    bo.refresh_from_db()
    assert bo.unsubscribed_at is not None
    assert AuditEntry.objects.get(action="report_recipient.unsubscribe").after["email"] == "bo@example.test"


def test_one_click_needs_no_session_and_no_token_of_a_form(bo: Recipient) -> None:
    client = Client(enforce_csrf_checks=True)
    answer = client.post(f"/unsubscribe/{bo.token}/", {"List-Unsubscribe": "One-Click"})
    assert answer.status_code == 200
    again = client.post(f"/unsubscribe/{bo.token}/", {"List-Unsubscribe": "One-Click"})
    assert again.status_code == 200
    assert AuditEntry.objects.filter(action="report_recipient.unsubscribe").count() == 1


def test_a_wrong_link_looks_like_one_that_was_used(bo: Recipient) -> None:
    wrong = Client().get("/unsubscribe/wrong/")
    Client().post(f"/unsubscribe/{bo.token}/")
    used = Client().get(f"/unsubscribe/{bo.token}/")
    assert (wrong.status_code, used.status_code) == (200, 200)
    assert "no longer</h1>" in wrong.content.decode()
    assert "no longer</h1>" in used.content.decode()


def test_who_unsubscribed_stays_out_when_the_report_is_changed_and_may_be_put_in_again(
    bo: Recipient, organisation: Organisation
) -> None:
    Client().post(f"/unsubscribe/{bo.token}/")
    subscription_save(
        organisation=organisation, actor=TEST, fields={"name": "Other"}, now=NOW,
        recipients=["ada@example.test", "BO@example.test"], subscription=bo.subscription,
    )  # fmt: skip
    bo.refresh_from_db()
    assert bo.unsubscribed_at is not None
    recipient_resume(recipient=bo, actor=TEST)
    bo.refresh_from_db()
    assert bo.unsubscribed_at is None


def test_a_notification_marks_the_mail_and_stops_the_address(mail: Delivery) -> None:
    bounce = bounce_read(DSN.encode())
    assert (bounce.message_id, bounce.permanent, bounce.reason) == (ID, True, "smtp; 550 5.1.1 no such user")
    assert bounce_record(bounce, now=NOW) == mail
    assert bounce_record(bounce, now=NOW) == mail
    mail.refresh_from_db()
    assert (mail.state, mail.error) == ("bounced", "smtp; 550 5.1.1 no such user")
    assert mail.recipient is not None
    assert mail.recipient.refused_at == NOW


def test_a_delay_stops_nothing(mail: Delivery) -> None:
    text = DSN.replace("Action: failed", "Action: delayed").replace("Status: 5.1.1", "Status: 4.4.7")
    bounce_record(bounce_read(text.encode()), now=NOW)
    mail.refresh_from_db()
    assert mail.state == "sent"
    assert Recipient.objects.get(pk=mail.recipient_id).refused_at is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Subject: hello\n\nhi", "not a delivery status notification"),
        (DSN.replace(ID, "x@elsewhere.example"), "no Message-ID of ours"),
        (DSN.replace("message/delivery-status", "text/plain"), "no message/delivery-status"),
    ],
    ids=["mail", "foreign", "nothing"],
)
def test_what_is_no_bounce_of_ours_is_refused(text: str, why: str, mail: Delivery) -> None:
    with pytest.raises(NoBounceError, match=why):
        bounce_read(text.encode())
    mail.refresh_from_db()
    assert mail.state == "sent"


def test_the_verb_takes_a_notification_from_a_pipe(
    mail: Delivery, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Pipe:
        buffer = io.BytesIO(DSN.encode())

    monkeypatch.setattr("sys.stdin", Pipe())
    call_command("record_bounce", "-", "--json")
    assert json.loads(capsys.readouterr().out) == {
        "email": "bo@example.test", "state": "bounced", "permanent": True,
        "reason": "smtp; 550 5.1.1 no such user",
    }  # fmt: skip


def test_bounces_by_rest_are_of_the_own_organisation(mail: Delivery) -> None:
    client = Client()
    client.force_login(User.objects.get(email="ada@example.test"))
    body = {"message_id": f"<{ID}>", "reason": "gone"}
    answer = client.post("/api/v1/reports/bounces", body, content_type="application/json")
    assert (answer.status_code, answer.json()["state"]) == (200, "bounced")
    other = Organisation.objects.create(name="o", slug="o")
    Report.objects.update(organisation=other)
    again = client.post("/api/v1/reports/bounces", body, content_type="application/json")
    assert again.status_code == 404


@pytest.mark.parametrize(
    "email",
    [
        "eve@evil.test",
        "not an address",
        "a\x00@example.test",
        "ü@example.test",
        "x@example.test\nBcc: y@z.test",
    ],
)
def test_only_people_of_the_organisation_get_its_costs(
    organisation: Organisation, email: str, settings: Any
) -> None:
    with pytest.raises(ValidationError) as refused:
        subscription_save(
            organisation=organisation, actor=TEST, fields={"name": "x"}, recipients=[email], now=NOW
        )
    assert list(refused.value.message_dict) == ["recipients"]
    assert Subscription.objects.count() == 0
    settings.REPORT_RECIPIENT_DOMAINS = ["evil.test"]
    if email.endswith("evil.test"):
        subscription_save(
            organisation=organisation, actor=TEST, fields={"name": "x"}, recipients=[email], now=NOW
        )
        assert Recipient.objects.get().email == email


def test_the_link_is_no_text_of_a_log() -> None:
    assert redact("GET /unsubscribe/SECRET7-x_y/ 200") == "GET /unsubscribe/[redacted]/ 200"
