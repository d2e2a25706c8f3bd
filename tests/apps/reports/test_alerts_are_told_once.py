"""Alerts: one a cause and period, quiet hours, snooze; channels by mail, Slack and signed webhook."""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from apps.accounts.models import AuditEntry, Organisation, Team
from apps.billing.models import Budget, BudgetAlert
from apps.billing.services.budgets import budget_save
from apps.ingest.models import Feed
from apps.reports import causes
from apps.reports.causes import Cause, Found, Told
from apps.reports.models import Alert, AlertDelivery, Channel
from apps.reports.selectors.alerts import alert_document
from apps.reports.services import outbound
from apps.reports.services.alerts import (
    alert_snooze,
    alert_wake,
    alerts_collect,
    alerts_deliver,
    channel_test,
)
from apps.reports.services.channels import channel_save, signing_secret
from tests.apps.reports.conftest import TEST

NOW = datetime(2026, 5, 21, 12, tzinfo=UTC)
Make = Callable[..., Channel]


class Hook:
    """A server on this machine that keeps what it gets and answers as it is told."""

    def __init__(self) -> None:
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.status, self.headers = 200, {}  # type: ignore[var-annotated]
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                hook.got.append((dict(self.headers), body))
                self.send_response(hook.status)
                for name, value in hook.headers.items():
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, *args: Any) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}/hook?key=SECRET9"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture
def hook(settings: Any) -> Iterator[Hook]:
    settings.WEBHOOK_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    made = Hook()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def channel(organisation: Organisation) -> Make:
    def make(**fields: Any) -> Channel:
        given = {"name": "Ops", "kind": "mail", "emails": ["ada@example.test"], **fields}
        return channel_save(organisation=organisation, actor=TEST, fields=given, now=NOW)[0]

    return make


@pytest.fixture
def budget(organisation: Organisation) -> Budget:
    row = budget_save(
        organisation=organisation, actor=TEST, thresholds=[],
        fields={"name": "All <b>", "amount": Decimal(5000), "currency": "USD", "valid_from": NOW.date()},
    )  # fmt: skip
    BudgetAlert.objects.create(
        budget=row, period_start="2026-05-01", measure="actual", percent=80, limit=4000,
        cost=Decimal("4012.5"), currency="USD", raised_at=NOW,
    )  # fmt: skip
    return row


def tell(organisation: Organisation, now: datetime = NOW) -> int:
    alerts_collect(organisation=organisation, now=now)
    return alerts_deliver(now=now, clock=lambda: now)


def test_a_budget_alert_is_told_once_whatever_runs_again(
    organisation: Organisation, budget: Budget, channel: Make, mailoutbox: list[Any]
) -> None:
    channel()
    assert alerts_collect(organisation=organisation, now=NOW) == 1
    assert alerts_collect(organisation=organisation, now=NOW) == 0
    assert alerts_deliver(now=NOW, clock=lambda: NOW) == 1
    assert tell(organisation, NOW + timedelta(hours=1)) == 0
    assert [mail.message()["Subject"] for mail in mailoutbox] == [
        "All <b> has reached 80\u202f% of its budget: $4,012.50"
    ]
    body = mailoutbox[0].message().get_content()
    assert "Cost of the period from 2026-05: $4,012.50; 80\u202f% of the budget are $4,000.00." in body
    assert AlertDelivery.objects.get().state == "sent"


def test_a_new_period_is_a_new_alert(organisation: Organisation, budget: Budget, channel: Make) -> None:
    channel()
    tell(organisation)
    june = NOW + timedelta(days=20)
    BudgetAlert.objects.create(
        budget=budget, period_start="2026-06-01", measure="actual", percent=80, limit=4000, cost=4001,
        currency="USD", raised_at=june,
    )  # fmt: skip
    assert tell(organisation, june) == 1
    assert Alert.objects.count() == 2


def test_quiet_hours_hold_back_and_what_is_over_by_then_is_not_sent(
    organisation: Organisation, channel: Make, mailoutbox: list[Any]
) -> None:
    holds = {"yes": True}
    found = [Found("a", "1", {"text": "one"}), Found("b", "1", {"text": "two"})]
    cause = Cause(
        "made-up", "Made up",
        lambda organisation, now: [one for one in found if one.key == "a" or holds["yes"]],
        lambda facts: Told(str(facts["text"]), "", ""),
    )  # fmt: skip
    causes.register(cause)
    try:
        channel(quiet_from=22 * 60, quiet_to=7 * 60, time_zone="Europe/Berlin", causes=["made-up"])
        night = datetime(2026, 5, 21, 21, tzinfo=UTC)  # 23:00 in Berlin
        assert tell(organisation, night) == 0
        assert {str(d.next_try_at) for d in AlertDelivery.objects.all()} == {"2026-05-22 05:00:00+00:00"}
        assert set(AlertDelivery.objects.values_list("attempts", flat=True)) == {0}
        holds["yes"] = False
        assert tell(organisation, datetime(2026, 5, 22, 5, 1, tzinfo=UTC)) == 1
    finally:
        del causes._CAUSES["made-up"]
    assert [mail.message()["Subject"] for mail in mailoutbox] == ["one"]
    assert AlertDelivery.objects.get(alert__key="b").error == "it was over before it could be sent"


def test_a_snoozed_cause_waits_and_is_told_when_the_snooze_is_taken_back(
    organisation: Organisation, budget: Budget, channel: Make, mailoutbox: list[Any]
) -> None:
    channel()
    alerts_collect(organisation=organisation, now=NOW)
    alert = Alert.objects.get()
    with pytest.raises(ValidationError):
        alert_snooze(alert=alert, actor=TEST, until=NOW, reason=" ", now=NOW)
    alert_snooze(alert=alert, actor=TEST, until=NOW + timedelta(days=3), reason="known", now=NOW)
    assert alerts_deliver(now=NOW, clock=lambda: NOW) == 0
    assert mailoutbox == []
    assert alert_wake(alert=alert, actor=TEST, now=NOW)
    assert not alert_wake(alert=alert, actor=TEST, now=NOW)
    assert alerts_deliver(now=NOW, clock=lambda: NOW) == 1
    assert list(
        AuditEntry.objects.filter(action__startswith="alert.").order_by("pk").values_list("action", flat=True)
    ) == ["alert.snooze", "alert.wake"]


def test_a_teams_channel_gets_its_teams_alerts_only(
    organisation: Organisation, budget: Budget, channel: Make
) -> None:
    team = Team.objects.create(organisation=organisation, name="Web", slug="web")
    channel(name="team", team=team)
    everything = channel(name="all")
    tell(organisation)
    assert [d.channel for d in AlertDelivery.objects.all()] == [everything]


def test_another_organisations_channel_gets_nothing(
    organisation: Organisation, budget: Budget, channel: Make, mailoutbox: list[Any]
) -> None:
    other = Organisation.objects.create(name="Other", slug="other")
    Channel.objects.create(
        organisation=other, name="x", kind="mail", emails=["eve@evil.test"], salt="1"
    )  # fmt: skip
    tell(organisation)
    tell(other)
    assert mailoutbox == []


def test_a_failing_feed_is_told(organisation: Organisation, channel: Make, mailoutbox: list[Any]) -> None:
    Feed.objects.create(
        organisation=organisation, name="prod", provider="aws", regions=["us-east-1"], state="failing",
        interval=timedelta(hours=1), last_success_at=NOW - timedelta(hours=5),
    )  # fmt: skip
    channel(language="zh-hans")
    assert tell(organisation) == 1
    assert mailoutbox[0].message()["Subject"] == "数据源 prod 出错"


def test_a_webhook_is_signed_over_its_time_and_body(
    organisation: Organisation, budget: Budget, hook: Hook, channel: Make
) -> None:
    row = channel(kind="webhook", address=hook.address, emails=[])
    assert tell(organisation) == 1
    headers, body = hook.got[0]
    stamp, mac = (part.partition("=")[2] for part in headers["Offpeak-Signature"].split(","))
    secret = signing_secret(row).encode()
    assert mac == hmac.new(secret, f"{stamp}.".encode() + body, hashlib.sha256).hexdigest()
    assert int(stamp) == int(NOW.timestamp())
    sent = json.loads(body)
    assert sent["alert"] == json.loads(json.dumps(alert_document(Alert.objects.get())))
    assert headers["Offpeak-Delivery"] == sent["delivery"]


def test_a_webhook_that_fails_is_tried_again_with_the_same_id(
    organisation: Organisation, budget: Budget, hook: Hook, channel: Make
) -> None:
    channel(kind="webhook", address=hook.address, emails=[])
    hook.status = 503
    assert tell(organisation) == 0
    hook.status = 200
    assert tell(organisation, NOW + timedelta(minutes=2)) == 1
    assert len({headers["Offpeak-Delivery"] for headers, _body in hook.got}) == 1


@pytest.mark.parametrize(("status", "location"), [(302, "http://169.254.169.254/"), (404, "")])
def test_redirects_are_not_followed_and_other_refusals_are_seen(
    organisation: Organisation, budget: Budget, hook: Hook, channel: Make, status: int, location: str
) -> None:
    hook.status, hook.headers = status, {"Location": location}
    channel(kind="webhook", address=hook.address, emails=[])
    tell(organisation)
    row = AlertDelivery.objects.get()
    assert (row.state, row.error) == ("refused", f"HTTP {status}")
    assert len(hook.got) == 1


def test_slack_gets_plain_text_that_mentions_nobody(
    organisation: Organisation, budget: Budget, hook: Hook, channel: Make
) -> None:
    Budget.objects.update(name="<!channel> & co")
    channel(kind="slack", address=hook.address, emails=[])
    tell(organisation)
    body = json.loads(hook.got[0][1])
    assert body["text"].startswith("&lt;!channel&gt; &amp; co has reached 80")
    assert {block["text"]["type"] for block in body["blocks"] if "text" in block} == {"plain_text"}
    assert "Offpeak-Signature" not in hook.got[0][0]


def test_a_channel_that_became_a_mail_channel_drops_what_was_for_the_webhook(
    organisation: Organisation, budget: Budget, hook: Hook, channel: Make, mailoutbox: list[Any]
) -> None:
    row = channel(kind="webhook", address=hook.address, emails=[])
    alerts_collect(organisation=organisation, now=NOW)
    Channel.objects.filter(pk=row.pk).update(kind="mail", address="", emails=["ada@example.test"])
    assert alerts_deliver(now=NOW, clock=lambda: NOW) == 0
    assert AlertDelivery.objects.get().state == "dropped"
    assert (hook.got, mailoutbox) == ([], [])


def test_a_test_through_a_channel_says_what_came_of_it(hook: Hook, channel: Make) -> None:
    row = channel(kind="webhook", address=hook.address, emails=[])
    assert [one.state for one in channel_test(channel=row, now=NOW)] == ["sent"]
    hook.status = 401
    assert [one.error for one in channel_test(channel=row, now=NOW + timedelta(1))] == ["HTTP 401"]


@pytest.mark.parametrize(
    "address",
    [
        "https://127.0.0.1/x", "https://10.0.0.1/", "https://169.254.169.254/latest/meta-data", "https://[::1]/",
        "https://[::ffff:10.0.0.1]/", "https://[64:ff9b::a00:1]/", "https://[2002:a00:1::]/", "https://0.0.0.0/",
        "https://100.64.0.1/", "https://224.0.0.1/", "https://[fe80::1]/", "https://[fd00::1]/", "https://[fec0::1]/",
        "http://8.8.8.8/", "http://example.com/", "ftp://example.com/", "https://u:p@example.com/", "https:///x",
        "javascript:1", "https://example.com/\r\nX: y", "https://example.com:99999/", "",
    ],
)  # fmt: skip
def test_addresses_into_private_networks_and_odd_ones_are_refused(
    organisation: Organisation, address: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        channel_save(
            organisation=organisation, actor=TEST, now=NOW,
            fields={"name": "x", "kind": "webhook", "address": address},
        )  # fmt: skip
    assert list(refused.value.message_dict) == ["address"]
    assert Channel.objects.count() == 0


def names(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> list[str]:
    """The resolver gives one answer after the other; the list of who was connected to."""
    given, connected = list(answers), []

    def getaddrinfo(host: str, port: int, **kwargs: Any) -> Any:
        now = given.pop(0) if len(given) > 1 else given[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in now]

    def connect(target: tuple[str, int], timeout: float) -> Any:
        connected.append(target[0])
        raise OSError("no network in tests")

    monkeypatch.setattr(outbound.socket, "getaddrinfo", getaddrinfo)
    monkeypatch.setattr(outbound.socket, "create_connection", connect)
    return connected


def test_a_name_that_leads_inside_is_refused_before_anything_is_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connected = names(monkeypatch, ["93.184.216.34", "10.0.0.7"])
    with pytest.raises(outbound.AddressRefusedError, match="private network"):
        outbound.post("https://hook.example/", b"", {})
    assert connected == []


def test_a_name_that_changes_after_the_check_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    connected = names(monkeypatch, ["93.184.216.34"], ["127.0.0.1"])
    with pytest.raises(outbound.NoConnectionError):
        outbound.post("https://hook.example/", b"", {})
    assert connected == ["93.184.216.34"]


def test_the_address_is_a_secret_in_audit_and_answers(
    organisation: Organisation, channel: Make, hook: Hook
) -> None:
    channel(kind="webhook", address=hook.address, emails=[])
    assert "SECRET9" not in json.dumps(list(AuditEntry.objects.values("before", "after")), default=str)


@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "localhost"])
def test_other_spellings_of_this_machine_are_refused(host: str) -> None:
    with pytest.raises((outbound.AddressRefusedError, outbound.NoConnectionError)):
        outbound.post(f"https://{host}/", b"", {})


@pytest.mark.parametrize(
    ("scheme", "first", "error"),
    [
        ("http", b"", outbound.NoResponseError),
        # The head of a TLS record of 16 KiB that never gets whole: nothing of ours has left by then.
        ("https", b"\x16\x03\x03\x40\x00", outbound.NoConnectionError),
    ],
)
def test_a_server_that_drips_its_answer_is_cut_off(
    scheme: str, first: bytes, error: type[Exception], settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.WEBHOOK_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    monkeypatch.setattr(outbound, "WHOLE", 0.3)
    stop = threading.Event()
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()

        def drip() -> None:
            peer, _address = server.accept()
            with peer:
                peer.send(first)
                while not stop.wait(0.05):
                    try:
                        peer.send(b"H")
                    except OSError:
                        return

        worker = threading.Thread(target=drip, daemon=True)
        worker.start()
        started = time.monotonic()
        with pytest.raises(error):
            outbound.post(f"{scheme}://127.0.0.1:{server.getsockname()[1]}/", b"{}", {})
        assert time.monotonic() - started < outbound.TIMEOUT
        stop.set()
        worker.join()
