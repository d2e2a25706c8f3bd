"""Sign-in as a browser does it: every page behind it, limits on guesses, invitations, preferences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core import mail
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.utils import timezone, translation

from apps.accounts.access import NotAllowed, access
from apps.accounts.actors import Actor
from apps.accounts.models import AuditEntry, Membership, Organisation, User
from apps.accounts.roles import Action
from apps.accounts.services import member_invite, user_preferences_update

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"
LOGIN = "/accounts/login/"


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    cache.clear()
    yield
    translation.deactivate()


def sign_in(client: Client, email: str, password: str = PASSWORD, **more: str) -> HttpResponse:
    return client.post(LOGIN, {"login": email, "password": password, **more})  # type: ignore[return-value]


def test_a_page_asks_for_sign_in_and_comes_back_to_itself(admin: Membership) -> None:
    client = Client()
    response = client.get("/accounts/password/change/?x=1")
    assert (response.status_code, response["Location"]) == (
        302,
        "/accounts/login/?next=/accounts/password/change/%3Fx%3D1",
    )
    assert client.get(LOGIN).status_code == 200
    response = sign_in(client, "ADA@Example.test", next="/api/v1/docs")
    assert (response.status_code, response["Location"]) == (302, "/api/v1/docs")
    assert AuditEntry.objects.filter(action="user.sign_in").count() == 1


def test_a_next_address_elsewhere_is_not_followed(admin: Membership) -> None:
    response = sign_in(Client(), "ada@example.test", next="https://evil.example/")
    assert (response.status_code, response["Location"]) == (302, "/")


def test_a_region_asked_for_by_htmx_moves_the_whole_page() -> None:
    response = Client().get("/api/v1/docs", headers={"HX-Request": "true"})
    assert (response.status_code, response["HX-Redirect"]) == (401, "/accounts/login/")


def test_guessing_is_stopped_for_the_address_and_the_right_password_too(admin: Membership) -> None:
    client = Client()
    for _ in range(5):
        assert sign_in(client, "ada@example.test", "wrong").status_code == 200
    response = sign_in(client, "ada@example.test")
    assert response.status_code == 200
    assert b"Too many" in response.content
    assert "_auth_user_id" not in client.session


def test_a_wrong_password_and_an_unknown_address_look_alike(admin: Membership) -> None:
    texts = []
    for email in ("ada@example.test", "nobody@example.test"):
        response = sign_in(Client(), email, "wrong")
        texts.append(response.context["form"].errors)  # type: ignore[attr-defined]
    assert texts[0] == texts[1]


def test_nobody_signs_up_and_nobody_changes_an_address(admin: Membership) -> None:
    client = Client()
    data = {"email": "new@example.test", "password1": PASSWORD, "password2": PASSWORD}
    client.post("/accounts/signup/", data)
    assert User.objects.count() == 1
    client.force_login(admin.user)
    for path in ("/accounts/email/", "/accounts/3rdparty/"):
        assert client.post(path, {"email": "x@example.test", "action_add": ""}).status_code == 404


def test_an_invitation_sets_a_password_once(organisation: Organisation, actor: Actor) -> None:
    path = member_invite(organisation=organisation, actor=actor, email="bo@example.test", role="viewer").path
    assert path is not None
    client = Client()
    form = client.get(path, follow=True)
    target = form.redirect_chain[-1][0]
    for weak in ("short", "123456789012345", "bo@example.test"):
        assert client.post(target, {"password1": weak, "password2": weak}).status_code == 200
    done = client.post(target, {"password1": PASSWORD, "password2": PASSWORD})
    assert done.status_code == 302
    assert sign_in(Client(), "bo@example.test").status_code == 302
    other = Client()
    again = other.get(path, follow=True)
    assert again.context["token_fail"] is True


def test_a_mail_server_that_does_not_answer_stops_nobody(
    organisation: Organisation, actor: Actor, admin: Membership, settings: Any
) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 9
    path = member_invite(organisation=organisation, actor=actor, email="bo@example.test", role="viewer").path
    client = Client()
    target = client.get(path, follow=True).redirect_chain[-1][0]
    assert client.post(target, {"password1": PASSWORD, "password2": PASSWORD}).status_code == 302
    for email in ("ada@example.test", "nobody@example.test"):
        assert Client().post("/accounts/password/reset/", {"email": email}).status_code == 302


def test_a_reset_for_an_unknown_address_answers_alike_and_mails_nobody(admin: Membership) -> None:
    locations = set()
    for email in ("ada@example.test", "nobody@example.test"):
        locations.add(Client().post("/accounts/password/reset/", {"email": email})["Location"])
    assert len(locations) == 1
    assert [message.to for message in mail.outbox] == [["ada@example.test"]]


def test_a_disabled_account_cannot_sign_in_and_is_out_at_once(admin: Membership) -> None:
    client = Client()
    sign_in(client, "ada@example.test")
    assert client.get("/api/v1/me").status_code == 200
    User.objects.update(is_active=False)
    assert client.get("/api/v1/me").status_code == 401
    fresh = Client()
    sign_in(fresh, "ada@example.test")
    assert "_auth_user_id" not in fresh.session


def test_a_new_password_ends_the_other_sessions(admin: Membership) -> None:
    here, there = Client(), Client()
    for client in (here, there):
        sign_in(client, "ada@example.test")
    new = "another long password"
    here.post("/accounts/password/change/", {"oldpassword": PASSWORD, "password1": new, "password2": new})
    assert here.get("/api/v1/me").status_code == 200
    assert there.get("/api/v1/me").status_code == 401


def test_language_and_zone_of_the_person_hold_for_their_pages_only(
    admin: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    user_preferences_update(user=admin.user, language="zh-hans", time_zone="Asia/Tokyo")
    seen = []
    from apps.accounts.middleware import MembershipMiddleware

    def view(request: HttpRequest) -> HttpResponse:
        seen.append((translation.get_language(), str(timezone.get_current_timezone())))
        return HttpResponse()

    request = RequestFactory().get("/")
    request.user, request.session = User.objects.get(pk=admin.user.pk), {}  # type: ignore[assignment]
    MembershipMiddleware(view)(request)
    assert seen == [("zh-hans", "Asia/Tokyo")]
    assert str(timezone.get_current_timezone()) == "UTC"
    assert request.membership == admin  # type: ignore[attr-defined]


def test_a_page_names_the_roles_that_may_and_whom_to_ask(
    organisation: Organisation, admin: Membership
) -> None:
    @access(Action.APPROVE_SPEND)
    def page(request: HttpRequest) -> HttpResponse:
        return HttpResponse("done")

    request = RequestFactory().get("/")
    viewer = Membership.objects.create(
        user=User.objects.create_user("v@example.test"), organisation=organisation, role="viewer"
    )
    request.membership = viewer  # type: ignore[attr-defined]
    with pytest.raises(NotAllowed, match=r"This needs the role finance or admin\. Ask ada@example\.test\."):
        page(request)
    request.membership = None  # type: ignore[attr-defined]
    with pytest.raises(NotAllowed, match="belongs to no organisation"):
        page(request)
    request.membership = admin  # type: ignore[attr-defined]
    assert page(request).content == b"done"  # type: ignore[attr-defined]
    assert page.required_action == Action.APPROVE_SPEND  # type: ignore[attr-defined]


def test_the_cookies_are_out_of_reach_of_scripts_and_other_sites(admin: Membership) -> None:
    client = Client()
    sign_in(client, "ada@example.test")
    cookie = client.cookies["sessionid"]
    assert (bool(cookie["httponly"]), cookie["samesite"]) == (True, "Lax")
