"""A large body is refused before a byte of it is read: of strangers, of the wrong role, on the wrong page.

With a CSRF cookie, which the sign-in page gives to everybody, the CSRF check would read the whole form.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client

from apps.accounts.models import Membership, Organisation, User
from apps.ingest.models import IngestRun
from apps.ingest.selectors import database_url

MIB = 1024 * 1024
HEAD = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
CHECKOUT = Path(__file__).resolve().parents[3]


def head_of(path: str, cookie: str, size: int) -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nCookie: {cookie}\r\n"
        f"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: {size}\r\n\r\n"
    ).encode() + HEAD


def answered(address: str, path: str, *, cookie: str = "", size: int = 400 * MIB) -> bytes:
    """The answer to the head of a request whose body is announced and never sent."""
    where = urlsplit(address)
    with socket.create_connection((where.hostname, where.port or 80), timeout=10) as line:
        line.sendall(head_of(path, cookie, size))
        return line.recv(65536)


def cookie_of(role: str) -> str:
    """The cookies of a person who is signed in."""
    user = User.objects.create_user(f"{role}@example.test", "correct horse battery")
    Membership.objects.create(user=user, organisation=Organisation.default(), role=role)
    client = Client()
    client.force_login(user)
    return f"sessionid={client.cookies['sessionid'].value}; csrftoken={'a' * 32}"


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
def test_nothing_of_strangers_is_read(path: str, status: bytes, cookie: str, live_server: Any) -> None:
    first = answered(live_server.url, path, cookie=cookie).split(b"\r\n", 1)[0]
    assert first.split()[1] == status


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("role", "path", "size", "status"),
    [
        ("viewer", "/data/upload/", 200 * MIB, b"403"),
        ("finance", "/data/upload/", 200 * MIB, b"403"),
        ("viewer", "/api/v1/ingest/prices", 200 * MIB, b"403"),
        ("viewer", "/api/v1/bills", 200 * MIB, b"403"),
        ("admin", "/data/upload/", 600 * MIB, b"413"),
        ("admin", "/settings/profile/", 200 * MIB, b"413"),
        ("admin", "/nowhere/", 200 * MIB, b"413"),
        ("admin", "/api/v1/ingest/prices", 600 * MIB, b"413"),
        ("admin", "/api/v1/keys", 2 * MIB, b"413"),
    ],
)
def test_nothing_of_a_person_who_may_not_is_read(
    role: str, path: str, size: int, status: bytes, live_server: Any
) -> None:
    answer = answered(live_server.url, path, cookie=cookie_of(role), size=size)
    assert answer.split(b"\r\n", 1)[0].split()[1] == status
    assert not IngestRun.objects.exists()


@pytest.mark.django_db
def test_the_refusals_say_what_would_be_allowed(settings: Any) -> None:
    settings.UPLOAD_MAX_BYTES = 3 * MIB
    people = {role: Client() for role in ("viewer", "admin")}
    for role, client in people.items():
        user = User.objects.create_user(f"{role}@example.test", language="zh-hans" if role == "admin" else "")
        Membership.objects.create(user=user, organisation=Organisation.default(), role=role)
        client.force_login(user)
    large = {"region": "x" * 4 * MIB}
    refused = people["viewer"].post("/data/upload/", large)
    assert refused.status_code == 403
    assert "This needs the role engineer or admin. Ask admin@example.test." in refused.content.decode()
    refused = people["admin"].post("/data/upload/", large)
    assert refused.status_code == 413
    assert "3 MiB" in refused.content.decode()
    assert 'lang="zh-Hans"' in refused.content.decode()
    disabled = User.objects.get(email="admin@example.test")
    disabled.is_active = False
    disabled.save()
    assert "Sign in before" in people["admin"].post("/data/upload/", large).content.decode()


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


@pytest.fixture
def gunicorn(transactional_db: None, tmp_path: Path) -> Iterator[tuple[int, int]]:
    """(port, process id of the one worker) of the server of an installation, on the test's database."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    env = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "finops.settings.test",
        "DATABASE_URL": database_url().replace("postgresql://", "postgres://", 1),
        "CACHE_URL": "",
        "TMPDIR": str(tmp_path),
    }
    words = ["--bind", f"127.0.0.1:{port}", "--workers", "1", "--threads", "4", "--no-control-socket"]
    command = [sys.executable, "-m", "gunicorn", "finops.wsgi", *words, "--worker-tmp-dir", str(tmp_path)]
    with subprocess.Popen(command, cwd=CHECKOUT, env=env, stderr=subprocess.DEVNULL) as server:
        try:
            for _ in range(300):
                try:
                    answered(f"http://127.0.0.1:{port}", "/nowhere/", size=1)
                    break
                except OSError:
                    time.sleep(0.1)
            children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
            yield port, int(children[0])
        finally:
            server.terminate()
            server.wait(timeout=20)


def highest_mib(process: int) -> float:
    """The most memory that a process has held."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


@pytest.mark.parametrize("path", ["/data/upload/", "/api/v1/ingest/prices"])
def test_a_body_of_200_mib_on_the_real_server(path: str, gunicorn: tuple[int, int], tmp_path: Path) -> None:
    port, worker = gunicorn
    cookie = cookie_of("viewer")
    before, block, sent = highest_mib(worker), b"x" * MIB, 0
    with socket.create_connection(("127.0.0.1", port), timeout=20) as line:
        line.sendall(head_of(path, cookie, 200 * MIB))
        assert line.recv(65536).split(b"\r\n", 1)[0].split()[1] == b"403"  # before anything more is sent
        try:
            while sent < 200:
                line.sendall(block)
                sent += 1
        except OSError:
            pass  # the server has closed the line
    assert highest_mib(worker) - before < 60
    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) < MIB
