"""Members who left come back, lost links are renewed, forgotten passwords have a way out without mail."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core import mail
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.test import Client

from apps.accounts.actors import Actor
from apps.accounts.models import AuditEntry, Membership, Organisation, User
from apps.accounts.services import member_invite, member_link, member_remove, operator_link

PASSWORD = "correct horse battery"
NEW = "another long password"


def works(path: str) -> bool:
    return Client().get(path, follow=True).context.get("token_fail") is not True


def set_password(path: str, password: str) -> int:
    client = Client()
    target = client.get(path, follow=True).redirect_chain[-1][0]
    return client.post(target, {"password1": password, "password2": password}).status_code


def signs_in(email: str, password: str) -> bool:
    client = Client()
    client.post("/accounts/login/", {"login": email, "password": password})
    return "_auth_user_id" in client.session


def test_a_removed_member_comes_back_with_a_new_password(organisation: Organisation, actor: Actor) -> None:
    first = member_invite(organisation=organisation, actor=actor, email="bo@example.test", role="engineer")
    assert first.path is not None
    set_password(first.path, PASSWORD)
    member_remove(membership=first.membership, actor=actor)
    assert not signs_in("bo@example.test", PASSWORD)
    again = member_invite(organisation=organisation, actor=actor, email="BO@example.test", role="viewer")
    assert again.path is not None
    assert (again.membership.role, again.membership.user.is_active) == ("viewer", True)
    assert not signs_in("bo@example.test", PASSWORD)
    assert set_password(again.path, NEW) == 302
    assert signs_in("bo@example.test", NEW)
    assert User.objects.filter(email="bo@example.test").count() == 1


def test_an_account_that_was_disabled_as_a_member_stays_so(
    organisation: Organisation, actor: Actor, admin: Membership
) -> None:
    other = Organisation.objects.create(name="Other", slug="other")
    user = User.objects.create_user("bo@example.test", PASSWORD)
    Membership.objects.create(user=user, organisation=other, role="viewer")
    User.objects.filter(pk=user.pk).update(is_active=False)
    with pytest.raises(ValidationError, match="disabled"):
        member_invite(organisation=organisation, actor=actor, email="bo@example.test", role="viewer")
    user.refresh_from_db()
    assert (user.is_active, user.memberships.count()) == (False, 1)


def test_a_renewed_invitation_kills_the_old_link(organisation: Organisation, actor: Actor) -> None:
    first = member_invite(organisation=organisation, actor=actor, email="bo@example.test", role="viewer")
    assert first.path is not None
    assert works(first.path)
    second = member_link(membership=first.membership, actor=actor)
    assert second != first.path
    assert (works(first.path), works(second)) == (False, True)
    entry = AuditEntry.objects.filter(action="user.password_link").get()
    assert entry.after == {"email": "bo@example.test"}


def test_an_expired_link_can_be_renewed(
    organisation: Organisation, actor: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    from datetime import datetime, timedelta

    from apps.accounts.tokens import LinkTokens

    first = member_invite(organisation=organisation, actor=actor, email="bo@example.test", role="viewer")
    assert first.path is not None
    with monkeypatch.context() as later:
        # Django's generator asks for naive local time.
        ahead = datetime.now() + timedelta(days=4)  # noqa: DTZ005
        later.setattr(LinkTokens, "_now", lambda self: ahead)
        assert not works(first.path)
        assert works(member_link(membership=first.membership, actor=actor))


def test_an_admin_gets_no_link_to_an_account_of_another_organisation(
    organisation: Organisation, actor: Actor
) -> None:
    member = member_invite(organisation=organisation, actor=actor, email="bo@example.test", role="viewer")
    other = Organisation.objects.create(name="Other", slug="other")
    Membership.objects.create(user=member.membership.user, organisation=other, role="admin")
    with pytest.raises(ValidationError, match="another organisation too"):
        member_link(membership=member.membership, actor=actor)
    assert member.path is not None
    assert works(member.path)
    path = operator_link(email="bo@example.test", actor=Actor.system("test"))
    assert (works(path), works(member.path)) == (True, False)


def test_the_operator_s_command_makes_a_link(admin: Membership, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("password_link", "ada@example.test", "--json")
    found = json.loads(capsys.readouterr().out)
    assert (found["email"], found["valid_hours"]) == ("ada@example.test", 72)
    assert set_password(found["path"], NEW) == 302
    assert signs_in("ada@example.test", NEW)
    with pytest.raises(CommandError) as refused:
        call_command("password_link", "nobody@example.test", "--json")
    assert refused.value.returncode == 2
    assert json.loads(capsys.readouterr().out)["error"]["message"] == "Nobody has this address."


def test_forgot_password_says_when_no_mail_is_sent(admin: Membership, settings: Any) -> None:
    with_mail = Client().get("/accounts/password/reset/").content.decode()
    assert "Mail me the link" in with_mail
    settings.MAIL_IS_SET = False
    for response in (
        Client().get("/accounts/password/reset/"),
        Client().post("/accounts/password/reset/", {"email": "ada@example.test"}),
    ):
        text = response.content.decode()
        assert response.status_code == 200
        assert "This installation sends no mail: no mail server is set (EMAIL_URL)." in text
        assert "./manage.py password_link" in text
        assert "<input" not in text.split("<main", 1)[1].split("account-foot")[0]
    assert mail.outbox == []


def test_mails_are_in_our_words(admin: Membership) -> None:
    Client().post("/accounts/password/reset/", {"email": "ada@example.test"})
    (sent,) = mail.outbox
    assert sent.subject == "Set a new password for Offpeak"
    assert "asked for a link to set a new password" in sent.body
    assert "/accounts/password/reset/key/" in sent.body
    path = sent.body.split("http://testserver", 1)[1].split()[0]
    set_password(path, NEW)
    assert mail.outbox[1].subject == "Your password for Offpeak was set by a link"
    assert "tell an admin of your organisation at once" in mail.outbox[1].body


CLOSED = [
    "signup/", "email/", "confirm-email/", "confirm-email/abc/", "password/set/", "reauthenticate/",
    "login/code/confirm/", "3rdparty/", "3rdparty/signup/", "social/connections/", "social/signup/",
    "3rdparty/login/error/",
]  # fmt: skip
OPEN = [
    "login/", "logout/", "inactive/", "password/change/", "password/reset/", "password/reset/done/",
    "password/reset/key/1-set-password/", "password/reset/key/done/", "3rdparty/login/cancelled/",
]  # fmt: skip


@pytest.mark.parametrize("address", CLOSED)
def test_pages_without_a_use_are_not_there(address: str, admin: Membership) -> None:
    client = Client()
    client.force_login(admin.user)
    assert client.get(f"/accounts/{address}").status_code == 404
    assert client.post(f"/accounts/{address}").status_code == 404


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("address", OPEN)
def test_the_others_speak_as_we_do(address: str, language: str, admin: Membership) -> None:
    theirs = ("Third-Party", "Bad Token", "Password Reset", "Sign Out", "Account Inactive", "Remember Me",
              "Current Password", "New Password", "contact us", "已登录", "您确定")  # fmt: skip
    client = Client(headers={"Accept-Language": language})
    if address in ("logout/", "password/change/"):
        client.force_login(admin.user)
    response = client.get(f"/accounts/{address}")
    text = response.content.decode()
    assert response.status_code in {200, 401}
    assert "<h1>" in text
    assert [word for word in theirs if word in text] == []
    if language == "zh-hans":
        heading = text.split("<h1>", 1)[1].split("</h1>", 1)[0]
        assert any("\u4e00" <= letter <= "\u9fff" for letter in heading), heading


@pytest.mark.parametrize(
    ("language", "heading"), [("en", "You are in no organisation yet"), ("zh-hans", "您还不属于任何组织")]
)
def test_somebody_without_an_organisation_reads_what_to_do(language: str, heading: str, db: None) -> None:
    client = Client()
    client.force_login(User.objects.create_user("lone@example.test", PASSWORD, language=language))
    response = client.get("/market/")
    text = response.content.decode()
    assert response.status_code == 403
    assert f"<h1>{heading}</h1>" in text
    assert 'action="/accounts/logout/"' in text
    assert "Your role does not allow this" not in text
