"""The message of one recipient: the same bytes whenever it is made again of what is kept."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage, Message
from email.policy import SMTP
from email.utils import format_datetime, parseaddr

from django.conf import settings

from apps.reports.mail.letter import UNSUBSCRIBE
from apps.reports.wording import clean


@dataclass(frozen=True, slots=True)
class Part:
    """A file that goes with the message."""

    name: str
    content_type: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What a message is made of. `unsubscribe` is where that link of the body leads; `one_click`: it is the
    recipient's own, and mail programs may offer it.
    """

    message_id: str
    to: str
    sender: str
    dated: datetime
    subject: str
    text: str
    html: str
    language: str
    chart: bytes | None = None
    chart_id: str = ""
    unsubscribe: str = ""
    one_click: bool = False
    list_id: str = ""
    files: tuple[Part, ...] = ()


def sender_host() -> str:
    """The domain of our sender, for Message-ID and List-Id."""
    host = parseaddr(settings.DEFAULT_FROM_EMAIL)[1].rpartition("@")[2]
    return host if host and all(c.isascii() and (c.isalnum() or c in ".-") for c in host) else "localhost"


def message_bytes(out: Outgoing) -> bytes:
    """RFC 5322 with CR LF. Boundaries come from the Message-ID: chance would make other bytes each time."""
    message = EmailMessage(policy=SMTP)
    name, address = parseaddr(out.sender)
    message["From"] = Address(display_name=name or "Offpeak", addr_spec=address or "offpeak@localhost")
    message["To"] = Address(addr_spec=out.to)
    message["Subject"] = clean(out.subject)
    message["Date"] = format_datetime(out.dated)
    message["Message-ID"] = f"<{out.message_id}>"
    message["Auto-Submitted"] = "auto-generated"
    message["X-Auto-Response-Suppress"] = "All"
    message["Content-Language"] = out.language
    if out.list_id:
        message["List-Id"] = f"<{out.list_id}.{out.message_id.rpartition('@')[2]}>"
    if out.one_click:
        message["List-Unsubscribe"] = f"<{out.unsubscribe}>"
        message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    text, html = (body.replace(UNSUBSCRIBE, out.unsubscribe) for body in (out.text, out.html))
    message.set_content(text, cte="quoted-printable")
    if html:
        message.add_alternative(html, subtype="html", cte="quoted-printable")
        if out.chart:
            page = list(message.iter_parts())[1]
            page.add_related(
                out.chart, "image", "png", cid=f"<{out.chart_id}>", disposition="inline", filename="days.png"
            )
    for one in out.files:
        kind, _slash, subtype = one.content_type.partition("/")
        if kind == "text":
            message.add_attachment(one.body.decode(), subtype=subtype, filename=one.name, cte="base64")
        else:
            message.add_attachment(one.body, maintype=kind, subtype=subtype, filename=one.name)
    seed = hashlib.sha256(out.message_id.encode()).hexdigest()[:24]
    for number, part in enumerate(_multiparts(message)):
        part.set_boundary(f"={seed}-{number}=")
    return message.as_bytes()


def _multiparts(message: Message) -> Iterable[Message]:
    return [part for part in message.walk() if part.is_multipart()]


def digest_of(body: bytes) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(body).hexdigest()
