"""Sessions and keys: who gets in, who is told what is missing, and that nothing is open by accident."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import get_resolver
from django.utils import timezone

from apps.accounts.actors import Actor
from apps.accounts.models import ApiKey, Organisation
from apps.accounts.roles import Action, Scope
from apps.accounts.services import api_key_create, api_key_revoke
from apps.api import urls
from apps.api.endpoint import ApiView, Endpoint
from apps.api.strict import StrictQuery, StrictSerializer

pytestmark = pytest.mark.django_db
Make = Callable[..., Client]
METHODS = {"get", "post", "put", "patch", "delete"}


def api_views() -> list[type[ApiView]]:
    return [p.callback.cls for p in urls.urlpatterns if hasattr(p.callback, "cls")]


def test_every_method_of_every_endpoint_is_declared() -> None:
    found = 0
    for view in api_views():
        assert issubclass(view, ApiView), view
        methods = {method.upper() for method in METHODS if hasattr(view, method)}
        assert set(view.endpoints) == methods, view
        assert view.tag, view
        for endpoint in view.endpoints.values():
            assert isinstance(endpoint, Endpoint)
            assert isinstance(endpoint.action, Action)
            assert endpoint.scope in {None, "any", *Scope}
            assert issubclass(endpoint.query, StrictQuery)
            assert endpoint.body is None or issubclass(endpoint.body, StrictSerializer)
            found += 1
    assert found >= 6


def test_nothing_but_these_addresses_is_open_without_sign_in() -> None:
    open_pages = set()

    def walk(patterns: list[object], prefix: str) -> None:
        for entry in patterns:
            route = prefix + str(entry.pattern)  # type: ignore[attr-defined]
            if hasattr(entry, "url_patterns"):
                walk(entry.url_patterns, route)
            elif not getattr(entry.callback, "login_required", True) and not hasattr(entry.callback, "cls"):  # type: ignore[attr-defined]
                open_pages.add(route)

    walk(get_resolver().url_patterns, "")
    assert {page for page in open_pages if not page.startswith("accounts/")} == {
        "healthz",
        "readyz",
        "metrics",  # by a token of its own; without one there is no such page
        "i18n/setlang/",
        "unsubscribe/<str:token>/",
        r"api/v1/^[\s\S]*$",
    }


def test_an_undeclared_method_is_refused(sign_in: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    from apps.api.views.accounts import Me

    monkeypatch.setattr(Me, "endpoints", {})
    assert sign_in("admin").get("/api/v1/me").status_code == 403


def test_without_credentials_the_answer_is_401_with_a_challenge() -> None:
    response = Client().get("/api/v1/me")
    assert response.status_code == 401
    assert response["WWW-Authenticate"] == 'Bearer realm="offpeak"'
    assert response.json()["error"]["code"] == "not_signed_in"


def test_a_person_sees_their_role_and_a_key_its_scopes(sign_in: Make, with_key: Make) -> None:
    me = sign_in("viewer").get("/api/v1/me").json()
    assert me == {
        "kind": "user",
        "label": "viewer@example.test",
        "organisation": "default",
        "role": "viewer",
        "actions": ["run_advice", "view"],
        "scopes": [],
        "expires_at": None,
    }
    me = with_key("read:prices").get("/api/v1/me").json()
    assert (me["kind"], me["role"], me["actions"], me["scopes"]) == ("key", None, [], ["read:prices"])
    assert me["expires_at"].endswith("Z")


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("Basic YTpi", "Send the key as"),
        ("Bearer", "no key of this installation"),
        ("Bearer opk_aaaaaaaaaa_" + "0" * 64, "no key of this installation"),
        ("Bearer \u00fc", "no key of this installation"),
    ],
)
def test_a_wrong_header_says_what_is_wrong(header: str, message: str) -> None:
    response = Client().get("/api/v1/me", headers={"Authorization": header.encode().decode("latin-1")})
    assert response.status_code == 401
    assert response.json()["error"]["code"] == "key_refused"
    assert message in response.json()["error"]["message"]


def test_expired_and_revoked_keys_say_so(organisation: Organisation) -> None:
    now = timezone.now()
    actor = Actor.system("test")
    tokens = []
    for age in (10, 0):
        key, token = api_key_create(
            organisation=organisation,
            actor=actor,
            name="old",
            scopes=["read:prices"],
            now=now - timedelta(days=age),
            expires_days=5,
        )
        tokens.append(token)
    api_key_revoke(key=key, actor=actor, now=now)
    for token, word in zip(tokens, ("expired", "revoked"), strict=True):
        response = Client().get("/api/v1/me", headers={"Authorization": f"Bearer {token}"})
        assert response.status_code == 401
        assert word in response.json()["error"]["message"]


def test_a_key_in_the_address_is_refused_before_it_is_looked_at(organisation: Organisation) -> None:
    _key, token = api_key_create(
        organisation=organisation,
        actor=Actor.system("test"),
        name="x",
        scopes=["read:prices"],
        now=timezone.now(),
    )
    for query in (f"key={token}", f"token={token}", f"x={token}", "api_key=abc"):
        response = Client().get(f"/api/v1/me?{query}")
        assert response.status_code == 400
        assert response.json()["error"]["code"] == "key_in_address"
        assert "Authorization: Bearer" in response.json()["error"]["message"]
        assert token not in response.content.decode()
    assert ApiKey.objects.get().last_used_at is None


def test_a_key_without_the_scope_and_a_role_without_the_action_are_told(
    sign_in: Make, with_key: Make
) -> None:
    response = with_key("read:prices").get("/api/v1/audit")
    assert response.status_code == 403
    assert response.json()["error"] == {
        "code": "not_allowed",
        "message": "The key lacks the scope read:audit.",
        "fields": [],
        "request_id": response.json()["error"]["request_id"],
    }
    sign_in("admin")
    response = sign_in("viewer").get("/api/v1/audit")
    assert response.status_code == 403
    assert response.json()["error"]["message"] == (
        "This needs the role finance or admin. Ask admin@example.test."
    )
    assert with_key("read:audit").get("/api/v1/audit").status_code == 200


def test_keys_cannot_make_keys(with_key: Make) -> None:
    client = with_key(*Scope)
    response = client.post("/api/v1/keys", {"name": "x", "scopes": ["read:prices"]}, "application/json")
    assert response.status_code == 403
    assert ApiKey.objects.count() == 1


def test_a_session_needs_its_csrf_token_and_a_key_does_not(sign_in: Make) -> None:
    client = sign_in("admin", enforce_csrf_checks=True)
    body = {"name": "CI", "scopes": ["read:prices"]}
    response = client.post("/api/v1/keys", body, "application/json")
    assert response.status_code == 403
    assert response.json()["error"]["code"] == "csrf_failed"
    assert ApiKey.objects.count() == 0
    client.get("/accounts/password/change/")
    token = client.cookies["csrftoken"].value
    response = client.post("/api/v1/keys", body, "application/json", headers={"X-CSRFToken": token})
    assert response.status_code == 201


def test_too_many_requests_wait_for_the_next_minute(
    with_key: Make, settings: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.API_THROTTLE_PER_MINUTE = 3  # type: ignore[attr-defined]
    monkeypatch.setattr("apps.api.throttles.time.time", lambda: 1_000_000_030.0)
    one, other = with_key("read:prices"), with_key("read:prices")
    assert [one.get("/api/v1/me").status_code for _ in range(4)] == [200, 200, 200, 429]
    response = one.get("/api/v1/me")
    assert response.json()["error"]["code"] == "too_many_requests"
    assert 1 <= int(response["Retry-After"]) <= 61
    assert other.get("/api/v1/me").status_code == 200


def test_without_the_cache_requests_pass(with_key: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    from redis.exceptions import ConnectionError as CacheGone

    def gone(*_arguments: object, **_options: object) -> None:
        raise CacheGone("away")

    client = with_key("read:prices")
    monkeypatch.setattr("apps.api.throttles.cache.count", gone)
    assert client.get("/api/v1/me").status_code == 200
