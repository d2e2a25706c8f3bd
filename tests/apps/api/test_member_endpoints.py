"""Members, invitations, roles and one-time links: the rules of the page, by REST and by verb."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.test import Client

from apps.accounts.models import AuditEntry, Membership, Organisation, User
from apps.accounts.roles import Scope

pytestmark = pytest.mark.django_db
Make = Callable[..., Client]
MEMBERS = "/api/v1/members"
JSON = "application/json"


def invite(client: Client, email: str = "bo@example.test", role: str = "engineer", **more: str) -> Any:
    return client.post(MEMBERS, {"email": email, "role": role, **more}, JSON)


def trail() -> list[tuple[str, str]]:
    return list(AuditEntry.objects.order_by("pk").values_list("action", "actor_label"))


def test_an_invitation_its_link_a_role_and_the_end(sign_in: Make) -> None:
    admin = sign_in("admin")
    made = invite(admin, "BO@Example.test", name="Bo")
    assert made.status_code == 201
    assert made["Cache-Control"] == "no-store"
    found = made.json()
    member = found["member"]
    assert {k: member[k] for k in ("email", "name", "role", "active", "password_set", "teams")} == {
        "email": "bo@example.test",
        "name": "Bo",
        "role": "engineer",
        "active": True,
        "password_set": False,
        "teams": [],
    }
    assert member["created_at"].endswith("Z")
    assert found["valid_hours"] == 72
    assert found["link"].startswith("http://testserver/accounts/password/reset/key/")
    path = urlsplit(found["link"]).path
    assert Client().get(path, follow=True).context.get("token_fail") is not True

    where = f"{MEMBERS}/{member['id']}"
    again = admin.post(f"{where}/link", {}, JSON)
    assert again.status_code == 201
    assert again.json()["link"] != found["link"]
    assert Client().get(path, follow=True).context["token_fail"] is True

    assert admin.patch(where, {"role": "finance"}, JSON).json()["role"] == "finance"
    assert admin.patch(where, {"role": "finance"}, JSON).status_code == 200
    assert [row["email"] for row in admin.get(MEMBERS).json()["results"]] == [
        "admin@example.test",
        "bo@example.test",
    ]
    assert admin.get(where).json()["role"] == "finance"
    assert admin.delete(where).status_code == 204
    assert admin.get(where).status_code == 404
    assert User.objects.get(email="bo@example.test").is_active is False
    assert trail() == [
        (action, "admin@example.test")
        for action in ("member.invite", "user.password_link", "member.role_change", "member.remove")
    ]
    written = json.dumps(list(AuditEntry.objects.values_list("before", "after")))
    assert path not in written
    assert path.rsplit("-", 1)[1].strip("/") not in written


@pytest.mark.parametrize("role", ["viewer", "engineer", "finance"])
def test_only_admins_may(role: str, sign_in: Make) -> None:
    admin, other = sign_in("admin"), sign_in(role)
    member = Membership.objects.get(user__email="admin@example.test")
    where = f"{MEMBERS}/{member.pk}"
    answers = [
        other.get(MEMBERS),
        invite(other),
        other.get(where),
        other.patch(where, {"role": "viewer"}, JSON),
        other.delete(where),
        other.post(f"{where}/link", {}, JSON),
    ]
    assert {answer.status_code for answer in answers} == {403}
    assert "This needs the role admin." in answers[0].json()["error"]["message"]
    assert (Membership.objects.count(), AuditEntry.objects.count()) == (2, 0)
    member.refresh_from_db()
    assert (member.role, admin.get(MEMBERS).status_code) == ("admin", 200)


def test_no_key_and_no_stranger_may(with_key: Make, sign_in: Make) -> None:
    sign_in("admin")
    where = f"{MEMBERS}/{Membership.objects.get().pk}"
    for client, status in ((with_key(*Scope), 403), (Client(), 401)):
        before = AuditEntry.objects.count()
        assert client.get(MEMBERS).status_code == status
        assert invite(client).status_code == status
        assert client.delete(where).status_code == status
        assert client.post(f"{where}/link", {}, JSON).status_code == status
        assert (Membership.objects.count(), AuditEntry.objects.count()) == (1, before)


def test_refusals_change_nothing_and_name_the_field(sign_in: Make) -> None:
    admin = sign_in("admin")
    where = f"{MEMBERS}/{Membership.objects.get().pk}"
    assert invite(admin, "nobody").json()["error"]["fields"][0]["field"] == "email"
    assert invite(admin, role="owner").json()["error"]["fields"][0]["field"] == "role"
    taken = invite(admin, "admin@example.test").json()["error"]
    assert (taken["code"], taken["message"]) == ("invalid", "email: This person is a member already.")
    assert [fault["field"] for fault in taken["fields"]] == ["email"]
    last = "This is the last admin. Make somebody else admin first."
    assert admin.patch(where, {"role": "viewer"}, JSON).json()["error"]["message"] == last
    assert admin.delete(where).json()["error"]["message"] == last
    assert admin.post(f"{where}/link", {"for": "ever"}, JSON).status_code == 400
    assert admin.get(f"{MEMBERS}/999999").status_code == 404
    assert (Membership.objects.get().role, AuditEntry.objects.count()) == ("admin", 0)


def test_people_of_another_organisation_are_not_there(sign_in: Make) -> None:
    admin = sign_in("admin")
    other = Organisation.objects.create(name="Other", slug="other")
    theirs = Membership.objects.create(
        user=User.objects.create_user("cy@example.test", "correct horse battery"),
        organisation=other,
        role="viewer",
    )
    where = f"{MEMBERS}/{theirs.pk}"
    assert admin.get(MEMBERS).json()["count"] == 1
    answers = [
        admin.get(where),
        admin.patch(where, {"role": "admin"}, JSON),
        admin.delete(where),
        admin.post(f"{where}/link", {}, JSON),
    ]
    assert {answer.status_code for answer in answers} == {404}
    theirs.refresh_from_db()
    assert theirs.role == "viewer"
    # Somebody who has a password joins without a link, and no admin here gets hold of that account.
    joined = invite(admin, "cy@example.test", "viewer").json()
    assert (joined["link"], joined["valid_hours"], joined["member"]["password_set"]) == (None, None, True)
    refused = admin.post(f"{MEMBERS}/{joined['member']['id']}/link", {}, JSON)
    assert refused.status_code == 400
    assert "belongs to another organisation too" in refused.json()["error"]["message"]


def run(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    call_command(*words, "--json")
    return json.loads(capsys.readouterr().out)


def test_the_verbs_say_the_same(capsys: pytest.CaptureFixture[str], organisation: Organisation) -> None:
    made = run(capsys, "invite_member", "ada@example.test", "--role", "admin", "--name", "Ada")
    assert made["path"].startswith("/accounts/password/reset/key/")
    assert (made["member"]["role"], made["valid_hours"]) == ("admin", 72)
    run(capsys, "invite_member", "bo@example.test", "--role", "viewer")
    changed = run(capsys, "change_member", "bo@example.test", "--role", "engineer")
    assert changed["member"]["role"] == "engineer"
    listed = run(capsys, "members")
    assert listed["organisation"] == "default"
    assert [(m["email"], m["role"]) for m in listed["members"]] == [
        ("ada@example.test", "admin"),
        ("bo@example.test", "engineer"),
    ]
    assert run(capsys, "change_member", "bo@example.test", "--remove") == {"member": None}
    assert [action for action, _who in trail()] == [
        "member.invite",
        "member.invite",
        "member.role_change",
        "member.remove",
    ]
    for words in (
        ("change_member", "ada@example.test", "--remove"),
        ("change_member", "nobody@example.test", "--remove"),
        ("invite_member", "ada@example.test", "--role", "viewer"),
        ("members", "--organisation", "nowhere"),
    ):
        with pytest.raises(CommandError) as refused:
            call_command(*words)
        assert refused.value.returncode == 2
    assert Membership.objects.get().role == "admin"


def test_two_admins_who_remove_each_other_leave_one(organisation: Organisation) -> None:
    call_command("invite_member", "ada@example.test", "--role", "admin", "--json")
    call_command("invite_member", "bo@example.test", "--role", "admin", "--json")
    call_command("change_member", "ada@example.test", "--remove", "--json")
    with pytest.raises((CommandError, ValidationError)):
        call_command("change_member", "bo@example.test", "--role", "viewer", "--json")
    assert Membership.objects.get().role == "admin"
