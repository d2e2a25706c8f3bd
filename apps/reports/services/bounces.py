"""Mail that came back: delivery status notifications (RFC 3464) and what a mail vendor reports.

A bounce names the Message-ID that we made, so it is matched exactly; one that names none of ours is no bounce
of ours. Permanent failures (status 5.x.x) stop mail to the address until a person says otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from email import message_from_bytes
from email.message import Message
from email.policy import default

from django.db import transaction

from apps.accounts.models import Organisation
from apps.reports.models import Delivery, SendState
from apps.reports.services.deliveries import recipient_refused
from apps.reports.services.sending import words

MAX_BYTES = 1024 * 1024
_ID = re.compile(r"<?([0-9a-f]{32}@[A-Za-z0-9.-]+)>?")


class NoBounceError(Exception):
    """The message is no notification about a mail of ours; the text says why."""


@dataclass(frozen=True, slots=True)
class Bounce:
    """What came back, how, and why. `permanent` False: delayed only."""

    message_id: str
    permanent: bool
    reason: str


def bounce_read(raw: bytes) -> Bounce:
    """Read a notification. Raises NoBounceError."""
    if len(raw) > MAX_BYTES:
        raise NoBounceError("the message is longer than 1 MB")
    message = message_from_bytes(raw, policy=default)
    if message.get_content_type() != "multipart/report":
        raise NoBounceError("not a delivery status notification (multipart/report)")
    found = next(_ids(message), None)
    if found is None:
        raise NoBounceError("it names no Message-ID of ours")
    fields = list(_recipients(message))
    if not fields:
        raise NoBounceError("it has no message/delivery-status part")
    first = fields[0]
    status, action = str(first.get("Status", "")).strip(), str(first.get("Action", "")).strip().lower()
    told = str(first.get("Diagnostic-Code", "")) or status or action
    return Bounce(found, action == "failed" and not status.startswith("4"), words(told))


def _recipients(message: Message) -> Iterator[Message]:
    """The fields about each recipient; the first block is about the message."""
    for part in message.walk():
        if part.get_content_type() == "message/delivery-status":
            blocks = part.get_payload()
            if isinstance(blocks, list):
                yield from (block for block in blocks if isinstance(block, Message) and "Action" in block)


def _ids(message: Message) -> Iterator[str]:
    """Message-IDs of ours in the returned mail or its headers."""
    for part in message.walk():
        kind = part.get_content_type()
        if kind == "text/rfc822-headers":
            body = part.get_payload(decode=True)
            text = body.decode("utf-8", "replace") if isinstance(body, bytes) else ""
            head = re.search(r"(?im)^Message-ID:\s*(\S+)", text)
            if head and (match := _ID.fullmatch(head[1])):
                yield match[1]
        elif part is not message and part.get("Message-ID"):
            match = _ID.fullmatch(str(part["Message-ID"]).strip())
            if match:
                yield match[1]


def bounce_record(
    bounce: Bounce, *, now: datetime, organisation: Organisation | None = None
) -> Delivery | None:
    """Write it down once; None where no mail of ours (of this organisation) has the Message-ID."""
    with transaction.atomic():
        rows = Delivery.objects.select_for_update(of=("self",)).filter(message_id=bounce.message_id)
        if organisation is not None:
            rows = rows.filter(report__organisation=organisation)
        row = rows.first()
        if row is None:
            return None
        if not bounce.permanent:
            if row.state == SendState.SENT:
                Delivery.objects.filter(pk=row.pk).update(error=bounce.reason)
            row.refresh_from_db()
            return row
        if row.state != SendState.BOUNCED:
            Delivery.objects.filter(pk=row.pk).update(
                state=SendState.BOUNCED, error=bounce.reason, next_try_at=None, claim="", lease_until=None
            )
            recipient_refused(row, bounce.reason, now=now)
        row.refresh_from_db()
    return row
