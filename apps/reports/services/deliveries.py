"""Sending the mails of reports: batches over one connection, each row told by itself."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from email.utils import parseaddr

import structlog
from django.conf import settings
from django.utils import timezone

from apps.reports.mail.message import Outgoing, Part, digest_of, message_bytes
from apps.reports.mail.render import CHART
from apps.reports.models import Delivery, Recipient, Report
from apps.reports.services import sending
from apps.reports.services.mail_server import (
    LostClaimError,
    MailServer,
    NoAnswerError,
    RefusedError,
    TryLaterError,
)

log = structlog.get_logger(__name__)
BATCH = 50
NO_SERVER = "No mail server is set (EMAIL_URL)."


def deliver_due(
    *,
    now: datetime,
    report: Report | None = None,
    clock: Callable[[], datetime] = timezone.now,
    most: int = 10_000,
) -> int:
    """Send what is due, of one report or of all; how many mails were handed over. Safe beside itself."""
    only = {} if report is None else {"report": report}
    count = taken = 0
    with MailServer() as server:
        while taken < most:
            rows = sending.claim_some(Delivery, now=now, limit=min(BATCH, most - taken), **only)
            if not rows:
                break
            taken += len(rows)
            kept = _reports(rows)
            for i, row in enumerate(rows):
                try:
                    count += deliver_one(row, kept[row.report_id], server, clock)
                except TryLaterError as error:  # the server itself is away: the others wait as well
                    for other in rows[i:]:
                        sending.later(other, error=str(error), now=clock())
                    break
                except Exception as error:
                    log.exception("mail_not_sent", delivery=row.pk)
                    sending.broken(row, error=error, now=clock())
    return count


def _reports(rows: list[Delivery]) -> dict[int, Report]:
    found = Report.objects.filter(pk__in={row.report_id for row in rows}).select_related("subscription")
    return {report.pk: report for report in found.prefetch_related("attachments")}


def deliver_one(
    row: Delivery, report: Report, server: MailServer, clock: Callable[[], datetime] = timezone.now
) -> int:
    """1 when the server took it. Raises TryLaterError when the server cannot be reached at all."""
    if not settings.MAIL_IS_SET:
        sending.failed(row, error=NO_SERVER)
        return 0
    if why := _unwanted(row, report):
        sending.dropped(row, why=why)
        return 0
    body = message_of(row, report)
    digest = digest_of(body)
    try:
        server.send(
            envelope_sender(), row.email, body, lambda: sending.handed(row, now=clock(), digest=digest)
        )
    except RefusedError as error:
        sending.refused(row, error=str(error))
        if error.mailbox:
            recipient_refused(row, str(error), now=clock())
    except NoAnswerError as error:
        sending.unknown(row, error=str(error), now=clock())
    except LostClaimError:
        log.warning("mail_claimed_by_another", delivery=row.pk)
    except TryLaterError as error:
        if error.connection:
            raise
        sending.later(row, error=str(error), now=clock())
    else:
        return int(sending.sent(row, now=clock()))
    return 0


def _unwanted(row: Delivery, report: Report) -> str:
    """Why the mail must not go any more; "" where it may. A test goes to who asked for it, who is no
    recipient; any other mail without one was for somebody who has been taken off the list since.
    """
    if report.test:
        return ""
    found = None if row.recipient_id is None else Recipient.objects.filter(pk=row.recipient_id).first()
    if found is None:
        return "taken off the list before it was sent"
    return "unsubscribed before it was sent" if found.unsubscribed_at is not None else ""


def recipient_refused(row: Delivery, reason: str, *, now: datetime) -> None:
    """Nothing more is sent to an address that does not exist, until somebody says so."""
    if row.recipient_id is not None:
        Recipient.objects.filter(pk=row.recipient_id).update(refused_at=now, reason=sending.words(reason))


def envelope_sender() -> str:
    """Where what cannot be delivered comes back to."""
    return settings.REPORT_BOUNCE_ADDRESS or parseaddr(settings.DEFAULT_FROM_EMAIL)[1]


def message_of(row: Delivery, report: Report) -> bytes:
    """The mail as it leaves, and as it left: made of what is kept, it is the same bytes each time."""
    return message_bytes(
        Outgoing(
            message_id=row.message_id,
            to=row.email,
            sender=row.sender,
            dated=row.dated,
            subject=report.subject,
            text=report.text,
            html=report.html,
            language="zh-Hans" if report.language.startswith("zh") else "en",
            chart=bytes(report.chart) if report.chart is not None else None,
            chart_id=f"{CHART}@offpeak",
            unsubscribe=row.unsubscribe,
            one_click=not report.test,
            list_id=f"weekly-{report.organisation_id}",
            files=tuple(
                Part(one.name, one.content_type, bytes(one.body)) for one in report.attachments.all()
            ),
        )
    )


def as_sent(row: Delivery) -> tuple[bytes, bool | None]:
    """The message again, and whether it has the bytes that left; None where nothing has left yet."""
    report = Report.objects.prefetch_related("attachments").get(pk=row.report_id)
    body = message_of(row, report)
    return body, (digest_of(body) == row.digest if row.digest else None)
