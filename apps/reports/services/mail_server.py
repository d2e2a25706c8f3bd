"""Handing a mail to the SMTP server in steps, so that it is known whether it can have been accepted.

A server accepts a message with its answer to the final dot (RFC 5321, 4.1.1.4). Everything before that may be
tried again; `before_end` is called when all but the dot has left and the connection still stands.
"""

from __future__ import annotations

import re
import select
import smtplib
import socket
import ssl
from collections.abc import Callable
from email import message_from_bytes
from email.policy import SMTP
from typing import Any

from django.core.mail import EmailMessage, get_connection
from django.core.mail.backends.smtp import EmailBackend

_DOTS = re.compile(rb"(?m)^\.")
_NO_MAILBOX = re.compile(r"\b5\.1\.\d")


class TryLaterError(Exception):
    """It was certainly not accepted. `connection`: the server itself is the trouble, not this mail."""

    def __init__(self, message: str, *, connection: bool = False) -> None:
        super().__init__(message)
        self.connection = connection


class RefusedError(Exception):
    """The server will never take this mail. `mailbox`: because there is no such recipient."""

    def __init__(self, message: str, *, mailbox: bool = False) -> None:
        super().__init__(message)
        self.mailbox = mailbox


class NoAnswerError(Exception):
    """All of it left and the server's answer did not come."""


class LostClaimError(Exception):
    """`before_end` said that the mail is no longer ours: the dot was not sent."""


BeforeEnd = Callable[[], bool]


class _Steps:
    """Sends the data without its end, then the end; `self` is a smtplib.SMTP."""

    def deliver(self: Any, sender: str, to: str, body: bytes, before_end: BeforeEnd) -> None:
        """One mail to one recipient. Raises the errors of this module."""
        self.ehlo_or_helo_if_needed()
        # The dot is a packet of its own: Nagle would hold it for the delayed ACK of the other side, 40 ms.
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        options = [f"size={len(body)}"] if self.has_extn("size") else []
        _positive(self.mail(sender, options), "MAIL")
        _positive(self.rcpt(to), "RCPT")
        code, text = self.docmd("DATA")
        if code != 354:
            _positive((code, text), "DATA")
            raise TryLaterError(f"DATA: {code} {_text(text)}")
        lines = body if body.endswith(b"\r\n") else body + b"\r\n"
        self.send(_DOTS.sub(b"..", lines))
        if select.select([self.sock], [], [], 0)[0]:  # it hung up or refuses before the end
            code, text = self.getreply()
            _positive((code, text), "DATA")
            raise TryLaterError(f"DATA: {code} {_text(text)}")
        if not before_end():
            raise LostClaimError
        try:
            self.send(b".\r\n")
            answer = self.getreply()
        except (OSError, smtplib.SMTPException) as error:
            raise NoAnswerError(f"{type(error).__name__}: {error}") from error
        if answer[0] == -1:
            raise NoAnswerError("the connection was closed")
        _positive(answer, "end of data")


class _Plain(_Steps, smtplib.SMTP):
    pass


class _Ssl(_Steps, smtplib.SMTP_SSL):
    pass


class _Backend(EmailBackend):
    """Django's own (settings, TLS, sign-in) with our connection."""

    @property
    def connection_class(self) -> type[smtplib.SMTP]:
        return _Ssl if self.use_ssl else _Plain


def _steps(backend: _Backend) -> Any:
    """The open connection."""
    return backend.connection


def _text(text: bytes | str) -> str:
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else text


def _positive(answer: tuple[int, bytes], step: str) -> None:
    """Raise unless the answer is 2xx."""
    code, text = answer[0], _text(answer[1])
    if 200 <= code < 300:
        return
    told = f"{step}: {code} {text}"
    if code == 421:  # the server is closing the connection
        raise TryLaterError(told, connection=True)
    if 500 <= code < 600:
        missing = bool(_NO_MAILBOX.search(text)) or (code == 550 and not re.search(r"\b5\.\d+\.\d+", text))
        raise RefusedError(told, mailbox=step == "RCPT" and missing)
    raise TryLaterError(told, connection=code == -1)


class MailServer:
    """A connection that is opened when it is needed and again after it broke."""

    def __init__(self) -> None:
        self._backend: Any = None

    def __enter__(self) -> MailServer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def send(self, sender: str, to: str, body: bytes, before_end: BeforeEnd) -> None:
        """Hand one mail over. Raises TryLaterError, RefusedError, NoAnswerError or LostClaimError."""
        try:
            self._send(sender, to, body, before_end)
        except (RefusedError, TryLaterError) as error:
            if isinstance(error, TryLaterError) and error.connection:
                self.close()
            else:
                self._reset()
            raise
        except (NoAnswerError, LostClaimError):
            self._hang_up()
            raise
        except (OSError, smtplib.SMTPException, ssl.SSLError) as error:
            self.close()
            raise TryLaterError(f"{type(error).__name__}: {error}", connection=True) from error

    def _send(self, sender: str, to: str, body: bytes, before_end: BeforeEnd) -> None:
        if self._backend is None:
            backend = get_connection(fail_silently=False)
            if isinstance(backend, EmailBackend):
                backend = _Backend(fail_silently=False)
            backend.open()
            self._backend = backend
        if isinstance(self._backend, _Backend):
            _steps(self._backend).deliver(sender, to, body, before_end)
            return
        if not before_end():
            raise LostClaimError
        self._backend.send_messages([_Raw(sender, to, body)])

    def _reset(self) -> None:
        """Back to the start of the conversation; a connection that cannot is opened anew."""
        try:
            if isinstance(self._backend, _Backend):
                _steps(self._backend).rset()
        except (OSError, smtplib.SMTPException):
            self.close()

    def _hang_up(self) -> None:
        """Leave in the middle of a mail: a QUIT would become part of it."""
        if isinstance(self._backend, _Backend):
            _steps(self._backend).close()
            self._backend = None

    def close(self) -> None:
        """Say goodbye as far as the server still listens."""
        backend, self._backend = self._backend, None
        if backend is not None:
            try:
                backend.close()
            except (OSError, smtplib.SMTPException):
                return


class _Raw(EmailMessage):
    """Finished bytes for backends that write to memory, files or the console."""

    def __init__(self, sender: str, to: str, body: bytes) -> None:
        parsed = message_from_bytes(body, policy=SMTP)
        super().__init__(subject=str(parsed["Subject"]), from_email=sender, to=[to])
        self._bytes = body

    def message(self, *args: Any, **kwargs: Any) -> Any:
        """The message as it is."""
        return message_from_bytes(self._bytes, policy=SMTP)
