"""An admin makes a new link for a member whose invitation was lost; it is shown once."""

from __future__ import annotations

from collections.abc import Callable

from django.test import Client

from apps.accounts.models import AuditEntry, Membership, Organisation, User

SignIn = Callable[..., Client]


def test_the_new_link_is_shown_once_and_works(sign_in: SignIn) -> None:
    browser = sign_in("admin")
    browser.post("/settings/members/", {"email": "bo@example.test", "role": "viewer"})
    member = Membership.objects.get(user__email="bo@example.test")
    assert "has not signed in yet" in browser.get("/settings/").content.decode()
    shown = browser.post(f"/settings/members/{member.pk}/link/")
    text = shown.content.decode()
    assert "A new link for bo@example.test" in text
    assert "no-store" in shown["Cache-Control"]
    path = "/accounts/password/reset/key/" + text.split("/accounts/password/reset/key/", 1)[1].split("<")[0]
    assert "Set your password" in Client().get(path, follow=True).content.decode()
    assert "/password/reset/key/" not in browser.get("/settings/").content.decode()


def test_an_engineer_makes_none_and_nobody_of_elsewhere_is_reached(sign_in: SignIn) -> None:
    other = Organisation.objects.create(name="Other", slug="other")
    stranger = Membership.objects.create(
        user=User.objects.create_user("s@example.test"), organisation=other, role="viewer"
    )
    entries = AuditEntry.objects.count()
    assert sign_in("engineer").post(f"/settings/members/{stranger.pk}/link/").status_code == 403
    assert sign_in("admin").post(f"/settings/members/{stranger.pk}/link/").status_code == 404
    stranger.user.refresh_from_db()
    assert (stranger.user.link_serial, AuditEntry.objects.count()) == (0, entries)
