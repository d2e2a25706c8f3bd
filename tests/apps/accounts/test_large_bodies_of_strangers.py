"""A large body of somebody who is not signed in is refused before a byte of it is read.

With a CSRF cookie, which the sign-in page gives to everybody, the CSRF check would read the whole form.
"""

from __future__ import annotations

import socket
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client

from apps.accounts.models import Membership, Organisation, User

MIB = 1024 * 1024


def answered(address: str, path: str, *, cookie: str = "", size: int = 400 * MIB) -> bytes:
    """The answer to the head of a request whose body is announced and never sent."""
    where = urlsplit(address)
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {where.netloc}\r\nCookie: {cookie}\r\n"
        f"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: {size}\r\n\r\n"
    )
    with socket.create_connection((where.hostname, where.port or 80), timeout=10) as line:
        line.sendall(
            head.encode() + b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
        )
        return line.recv(4096)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/data/upload/", b"413"),
        ("/accounts/login/", b"413"),
        ("/nowhere/", b"413"),
        ("/api/v1/ingest/prices", b"401"),
    ],
)
@pytest.mark.parametrize("cookie", ["", f"sessionid={'a' * 32}; csrftoken={'a' * 32}"])
def test_nothing_is_read(path: str, status: bytes, cookie: str, live_server: Any) -> None:
    first = answered(live_server.url, path, cookie=cookie).split(b"\r\n", 1)[0]
    assert first.split()[1] == status


@pytest.mark.django_db
def test_an_ordinary_sign_in_passes() -> None:
    user = User.objects.create_user("ada@example.test", "correct horse battery")
    Membership.objects.create(user=user, organisation=Organisation.default(), role="admin")
    client = Client()
    client.post("/accounts/login/", {"login": user.email, "password": "correct horse battery"})
    assert "_auth_user_id" in client.session
    large = "x" * 100_000
    assert client.post("/settings/profile/", {"name": large}).status_code == 422
    refused = Client().post("/accounts/login/", {"login": large, "password": "x"})
    assert refused.status_code == 413
    assert "Nothing of it was read" in refused.content.decode()
