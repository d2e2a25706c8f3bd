"""OpenID Connect against a provider of the test's own: who gets in, with which role, and who does not."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core.cache import cache
from django.http import HttpResponse
from django.test import Client

from apps.accounts.models import AuditEntry, Membership, User

pytestmark = pytest.mark.django_db


class Provider(BaseHTTPRequestHandler):
    """Configuration, token and userinfo; `person` is who signs in."""

    person: dict[str, Any] = {}
    forms: list[dict[str, list[str]]] = []

    def _send(self, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        if self.path == "/userinfo":
            self._send(self.person)
            return
        base = f"http://{self.headers['Host']}"
        self._send(
            {
                "issuer": base,
                "authorization_endpoint": f"{base}/authorize",
                "token_endpoint": f"{base}/token",
                "userinfo_endpoint": f"{base}/userinfo",
                "jwks_uri": f"{base}/keys",
                "token_endpoint_auth_methods_supported": ["client_secret_post"],
            }
        )

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        self.forms.append(parse_qs(self.rfile.read(length).decode()))
        self._send({"access_token": "t", "token_type": "Bearer", "expires_in": 60})

    def log_message(self, *_arguments: object) -> None:
        """Quiet."""


@pytest.fixture
def provider(settings: Any) -> Iterator[type[Provider]]:
    cache.clear()
    Provider.forms = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    settings.OIDC_ALLOWED_DOMAINS = ["example.test"]
    settings.OIDC_DEFAULT_ROLE = "engineer"
    settings.SOCIALACCOUNT_PROVIDERS = {
        "openid_connect": {
            "OAUTH_PKCE_ENABLED": True,
            "APPS": [
                {
                    "provider_id": "sso",
                    "name": "Company",
                    "client_id": "offpeak",
                    "secret": "s",
                    "settings": {"server_url": f"http://127.0.0.1:{server.server_port}"},
                }
            ],
        }
    }
    yield Provider
    server.shutdown()
    server.server_close()


def come_in(provider: type[Provider], **person: Any) -> tuple[Client, HttpResponse]:
    provider.person = {"sub": "42", "name": "Bo Ek", "email_verified": True, **person}
    client = Client()
    begun = client.post("/accounts/oidc/sso/login/")
    asked = parse_qs(urlsplit(begun["Location"]).query)
    assert (asked["client_id"], asked["code_challenge_method"]) == (["offpeak"], ["S256"])
    answer = client.get("/accounts/oidc/sso/login/callback/", {"code": "c", "state": asked["state"][0]})
    return client, answer  # type: ignore[return-value]


def test_a_colleague_gets_an_account_with_the_default_role(provider: type[Provider]) -> None:
    client, answer = come_in(provider, email="Bo@Example.test")
    assert answer.status_code == 302
    user = User.objects.get()
    assert (user.email, user.name, user.has_usable_password()) == ("bo@example.test", "Bo Ek", False)
    assert Membership.objects.get(user=user).role == "engineer"
    assert client.get("/api/v1/me").json()["label"] == "bo@example.test"
    assert "code_verifier" in provider.forms[0]
    actions = list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))
    assert actions == ["member.join_by_sso", "user.sign_in"]


@pytest.mark.parametrize(
    "person",
    [
        {"email": "bo@elsewhere.test"},
        {"email": "bo@example.test.evil.test"},
        {"email": "bo@example.test", "email_verified": False},
        {"email": "bo@example.test", "email_verified": None},
        {},
    ],
)
def test_an_address_that_is_not_vouched_for_or_not_ours_is_refused(
    provider: type[Provider], person: dict[str, Any]
) -> None:
    client, answer = come_in(provider, **person)
    assert answer.status_code == 403
    assert User.objects.count() == 0
    assert "_auth_user_id" not in client.session


def test_an_invited_person_keeps_account_and_role(provider: type[Provider], admin: Membership) -> None:
    client, _answer = come_in(provider, email="ada@example.test")
    assert client.get("/api/v1/me").json()["role"] == "admin"
    assert User.objects.count() == 1
    User.objects.update(is_active=False)
    client, _answer = come_in(provider, email="ada@example.test")
    assert "_auth_user_id" not in client.session


def test_a_state_that_was_not_given_out_is_refused(provider: type[Provider]) -> None:
    provider.person = {"sub": "42", "email": "bo@example.test", "email_verified": True}
    client = Client()
    answer = client.get("/accounts/oidc/sso/login/callback/", {"code": "c", "state": "forged"})
    assert User.objects.count() == 0
    assert "_auth_user_id" not in client.session
    assert answer.status_code == 401
