"""A real SMTP server that fails: each mail arrives once, failures are seen, nobody gets a second one."""

from __future__ import annotations

import logging
import re
import smtplib
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email import message_from_bytes, policy
from functools import partial
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session
from django.core.mail import get_connection
from django.db import connection

from apps.accounts.models import Organisation
from apps.reports.models import Delivery, Recipient, Report, SendState, Subscription
from apps.reports.services import sending
from apps.reports.services.deliveries import as_sent, deliver_due
from apps.reports.services.reports import unsubscribe_link

NOW = datetime(2026, 5, 25, 6, tzinfo=UTC)
TENTH = 10


class Box:
    """Every mail that was accepted, and a rule that says what goes wrong: `fault(n)` of the n-th attempt."""

    def __init__(self) -> None:
        self.mails: list[tuple[str, bytes]] = []
        self.tried = 0
        self.fault: Callable[[int], str] = lambda n: ""

    async def handle_RCPT(  # noqa: N802 - aiosmtpd's name
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        self.tried += 1
        self.now = self.fault(self.tried)
        if self.now == "rcpt":
            return "451 4.3.0 try again"
        if self.now == "no mailbox":
            return "550 5.1.1 no such user"
        if self.now == "421":
            return "421 4.3.2 closing"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        if self.now == "data":
            return "452 4.3.1 full"
        if self.now == "drop":
            server.transport.close()  # type: ignore[union-attr]
            return "451 never seen"
        self.mails.append((envelope.rcpt_tos[0], bytes(envelope.original_content or b"")))
        if self.now == "lost answer":
            server.transport.close()  # type: ignore[union-attr]
        return "250 OK"


@pytest.fixture
def box(settings: Any) -> Iterator[Box]:
    kept = Box()
    logging.getLogger("mail.log").setLevel(logging.ERROR)
    controller = Controller(kept, hostname="127.0.0.1", port=0)
    controller.port = _free_port()
    controller.start()
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", controller.port
    settings.DEFAULT_FROM_EMAIL = "Offpeak <reports@offpeak.example>"
    yield kept
    controller.stop()


def _free_port() -> int:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@pytest.fixture
def report(organisation: Organisation, subscribe: Callable[..., Subscription]) -> Report:
    row = subscribe()
    return Report.objects.create(
        organisation=organisation, subscription=row, title=row.name, week="2026-W21",
        first_day="2026-05-18", last_day="2026-05-24", edition="finance", language="en",
        subject="Week 21: $1,050", preheader="x", html="<p>.\n..a</p>", text=".\nA line\n.. \n", document={},
        composed_at=NOW,
    )  # fmt: skip


def put(report: Report, count: int) -> list[Delivery]:
    people = Recipient.objects.bulk_create(
        Recipient(subscription_id=report.subscription_id, email=f"p{i}@example.test", token=f"{i:043d}")
        for i in range(count)
    )
    return Delivery.objects.bulk_create(
        Delivery(
            report=report, recipient=one, email=one.email, message_id=f"{i:032x}@offpeak.example",
            sender="o@e.test", dated=NOW, state="waiting", next_try_at=NOW,
        )
        for i, one in enumerate(people)
    )  # fmt: skip


def states(report: Report) -> dict[str, int]:
    return dict(Counter(Delivery.objects.filter(report=report).values_list("state", flat=True)))


def deliver_until_still(report: Report, now: datetime = NOW) -> int:
    """Turns of the clock until nothing waits; how many turns."""
    for turn in range(1, 12):
        deliver_due(now=now, report=report, clock=partial(datetime.astimezone, now, UTC))
        if not Delivery.objects.filter(report=report, state=SendState.WAITING).exists():
            return turn
        now += timedelta(hours=7)
    raise AssertionError(states(report))


def test_1000_mails_through_a_server_that_fails_every_tenth_time(box: Box, report: Report) -> None:
    faults = ("rcpt", "data", "421")
    box.fault = lambda n: faults[n // TENTH % 3] if n % TENTH == 0 else ""
    put(report, 1000)
    assert deliver_until_still(report) > 1
    assert states(report) == {"sent": 1000}
    assert Counter(to for to, _body in box.mails) == {f"p{i}@example.test": 1 for i in range(1000)}
    assert box.tried > 1100
    ids = {message_from_bytes(body)["Message-ID"] for _to, body in box.mails}
    assert len(ids) == 1000


def test_a_second_and_a_third_task_send_nothing_again(box: Box, report: Report) -> None:
    put(report, 20)
    assert deliver_due(now=NOW, report=report, clock=lambda: NOW) == 20
    assert deliver_due(now=NOW, clock=lambda: NOW) == 0
    assert len(box.mails) == 20


def test_rows_that_another_worker_has_are_left_to_it(box: Box, report: Report) -> None:
    put(report, 5)
    theirs = sending.claim_some(Delivery, now=NOW, limit=3)
    assert deliver_due(now=NOW, report=report, clock=lambda: NOW) == 2
    assert {row.pk for row in theirs} == set(
        Delivery.objects.filter(state="sending").values_list("pk", flat=True)
    )


def test_a_worker_that_dies_before_the_last_byte_leaves_mails_that_wait_again(
    box: Box, report: Report
) -> None:
    put(report, 1)
    sending.claim_some(Delivery, now=NOW, limit=1)
    assert sending.leases_end(Delivery, now=NOW + timedelta(minutes=9)) == (0, 0)
    assert sending.leases_end(Delivery, now=NOW + timedelta(minutes=11)) == (1, 0)
    later = NOW + timedelta(minutes=11)
    assert deliver_due(now=later, report=report, clock=lambda: later) == 1
    assert len(box.mails) == 1


def test_a_worker_that_dies_after_it_leaves_an_unknown_outcome_that_is_not_sent_again(report: Report) -> None:
    put(report, 1)
    (row,) = sending.claim_some(Delivery, now=NOW, limit=1)
    assert sending.handed(row, now=NOW)
    assert sending.leases_end(Delivery, now=NOW + timedelta(minutes=11)) == (0, 1)
    assert states(report) == {"unknown": 1}
    assert not sending.sent(row, now=NOW), "a late worker must not overwrite"


def test_a_claim_that_was_taken_over_sends_nothing(box: Box, report: Report) -> None:
    put(report, 1)
    (row,) = sending.claim_some(Delivery, now=NOW, limit=1)
    Delivery.objects.filter(pk=row.pk).update(claim="another")
    from apps.reports.services.deliveries import deliver_one
    from apps.reports.services.mail_server import MailServer

    with MailServer() as server:
        assert deliver_one(row, report, server, lambda: NOW) == 0
    assert box.mails == []


@pytest.mark.parametrize("policy_name", ["hold", "resend"])
def test_a_lost_answer_is_unknown_and_held_or_sent_again_under_the_same_id(
    box: Box, report: Report, settings: Any, policy_name: str
) -> None:
    settings.REPORT_UNKNOWN_OUTCOME = policy_name
    put(report, 1)
    box.fault = lambda n: "lost answer" if n == 1 else ""
    deliver_due(now=NOW, report=report, clock=lambda: NOW)
    if policy_name == "hold":
        assert states(report) == {"unknown": 1}
        assert deliver_due(now=NOW + timedelta(days=9), report=report) == 0
        assert len(box.mails) == 1
    else:
        deliver_until_still(report)
        assert states(report) == {"sent": 1}
        assert len({message_from_bytes(body)["Message-ID"] for _to, body in box.mails}) == 1


def test_a_person_may_send_again_what_is_unknown(box: Box, report: Report) -> None:
    rows = put(report, 2)
    box.fault = lambda n: "drop" if n == 1 else ""
    deliver_due(now=NOW, report=report, clock=lambda: NOW)
    assert states(report) == {"unknown": 1, "sent": 1}
    assert sending.send_again(Delivery, rows, now=NOW) == 1, "only the unknown one"
    deliver_due(now=NOW, report=report, clock=lambda: NOW)
    assert Counter(to for to, _body in box.mails) == {"p0@example.test": 1, "p1@example.test": 1}


def test_an_address_that_does_not_exist_is_seen_and_gets_nothing_more(
    box: Box, report: Report, subscribe: Callable[..., Subscription]
) -> None:
    recipient = Recipient.objects.get(email="bo@example.test")
    put(report, 1)
    Delivery.objects.update(recipient=recipient, email=recipient.email)
    box.fault = lambda n: "no mailbox"
    deliver_due(now=NOW, report=report, clock=lambda: NOW)
    row = Delivery.objects.get()
    assert (row.state, row.error) == ("refused", "RCPT: 550 5.1.1 no such user")
    recipient.refresh_from_db()
    assert recipient.refused_at == NOW
    assert box.mails == []


def test_a_server_that_is_away_is_tried_again_and_given_up_in_the_end(
    report: Report, settings: Any, box: Box
) -> None:
    settings.EMAIL_PORT = _free_port()
    put(report, 2)
    now = NOW
    for _turn in range(len(sending.BACKOFF)):
        deliver_due(now=now, report=report, clock=partial(datetime.astimezone, now, UTC))
        now += timedelta(hours=7)
    assert states(report) == {"failed": 2}
    assert "ConnectionRefusedError" in Delivery.objects.first().error  # type: ignore[union-attr]


def test_without_a_mail_server_it_is_said_and_nothing_waits_for_ever(report: Report, settings: Any) -> None:
    settings.MAIL_IS_SET = False
    put(report, 1)
    deliver_due(now=NOW, report=report)
    assert Delivery.objects.get().error == "No mail server is set (EMAIL_URL)."
    assert states(report) == {"failed": 1}


def test_whoever_unsubscribed_meanwhile_gets_nothing(box: Box, report: Report) -> None:
    recipient = Recipient.objects.get(email="bo@example.test")
    put(report, 1)
    Delivery.objects.update(recipient=recipient, email=recipient.email)
    Recipient.objects.filter(pk=recipient.pk).update(unsubscribed_at=NOW)
    deliver_due(now=NOW, report=report)
    assert states(report) == {"dropped": 1}
    assert box.mails == []


def test_what_arrived_is_what_is_kept_byte_for_byte(box: Box, report: Report) -> None:
    recipient = Recipient.objects.get(email="bo@example.test")
    put(report, 1)
    Delivery.objects.update(recipient=recipient, unsubscribe=unsubscribe_link(recipient))
    deliver_due(now=NOW, report=report, clock=lambda: NOW)
    row = Delivery.objects.get()
    body, same = as_sent(row)
    assert same is True
    assert box.mails[0][1].split(b"\r\n") == body.split(b"\r\n")
    message = message_from_bytes(body, policy=policy.default)
    assert re.fullmatch(r"<http://127\.0\.0\.1:8000/unsubscribe/[\w-]{43}/>", message["List-Unsubscribe"])
    assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    text = message.get_body(("plain",))
    assert text is not None
    assert text.get_content().splitlines() == [".", "A line", ".. "]
    report.subscription = None
    report.save(update_fields=["subscription"])
    assert as_sent(row)[1] is True, "also when the subscription is gone"


def test_a_mail_that_cannot_be_made_keeps_no_other_back(box: Box, report: Report) -> None:
    put(report, 3)
    Delivery.objects.filter(email="p1@example.test").update(sender="no address at all")
    deliver_due(now=NOW, report=report, clock=lambda: NOW)
    assert states(report) == {"sent": 2, "failed": 1}
    assert Delivery.objects.get(state="failed").email == "p1@example.test"


def test_what_a_report_says_cannot_be_changed(report: Report) -> None:
    from django.db import IntegrityError, InternalError, transaction

    for name in ("html", "text", "subject", "document"):
        with pytest.raises((InternalError, IntegrityError)), transaction.atomic():
            Report.objects.filter(pk=report.pk).update(**{name: "{}"})
    report.refresh_from_db()
    assert report.subject == "Week 21: $1,050"


def test_the_connection_is_djangos_own_with_its_settings(settings: Any) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    from apps.reports.services.mail_server import _Backend

    ours = _Backend(fail_silently=False)
    theirs = get_connection()
    assert (ours.host, ours.port, ours.use_tls) == (theirs.host, theirs.port, theirs.use_tls)
    assert issubclass(ours.connection_class, smtplib.SMTP)


@pytest.mark.django_db(transaction=True)
def test_two_workers_at_once_share_the_mails(
    transactional_db: None, box: Box, report: Report, settings: Any
) -> None:
    put(report, 60)
    counts: list[int] = []

    def work() -> None:
        try:
            counts.append(deliver_due(now=NOW, report=report, clock=lambda: NOW))
        finally:
            connection.close()

    workers = [threading.Thread(target=work) for _ in range(3)]
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    assert sum(counts) == 60
    assert Counter(to for to, _body in box.mails) == {f"p{i}@example.test": 1 for i in range(60)}
    assert states(report) == {"sent": 60}


def test_who_was_taken_off_the_list_gets_nothing_that_still_waits(box: Box, report: Report) -> None:
    rows = put(report, 3)
    Recipient.objects.filter(pk=rows[0].recipient_id).delete()
    assert deliver_due(now=NOW, report=report, clock=lambda: NOW) == 2
    assert sorted(to for to, _body in box.mails) == ["p1@example.test", "p2@example.test"]
    off = Delivery.objects.get(pk=rows[0].pk)
    assert (off.state, off.error) == ("dropped", "taken off the list before it was sent")
    assert sending.send_again(Delivery, [off], now=NOW) == 1
    assert deliver_due(now=NOW, report=report, clock=lambda: NOW) == 0, "nor when somebody asks again"


def test_who_unsubscribed_and_was_taken_off_is_not_written_to_again(box: Box, report: Report) -> None:
    (row,) = put(report, 1)
    Recipient.objects.filter(pk=row.recipient_id).update(unsubscribed_at=NOW)
    assert deliver_due(now=NOW, report=report, clock=lambda: NOW) == 0
    Recipient.objects.filter(pk=row.recipient_id).delete()
    assert sending.send_again(Delivery, [row], now=NOW) == 1
    assert deliver_due(now=NOW, report=report, clock=lambda: NOW) == 0
    assert box.mails == []


def test_a_test_goes_to_who_asked_for_it(box: Box, report: Report) -> None:
    put(report, 1)
    Report.objects.update(test=True)
    Delivery.objects.update(recipient=None)
    assert deliver_due(now=NOW, report=report, clock=lambda: NOW) == 1
