"""A second factor by an app: set up, asked for at sign-in, used once, lost, asked of everybody."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pyotp
import pytest
import time_machine
from allauth.account.internal.flows.login import (
    _AUTHENTICATION_METHODS_USER_SESSION_KEY as SIGNED_IN_USER,
)
from allauth.account.internal.flows.login import (
    AUTHENTICATION_METHODS_SESSION_KEY as SIGNED_IN_BY,
)
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.test import Client

from apps.accounts.models import AuditEntry, Membership, Organisation, RecoveryCode, SecondFactor, User
from apps.accounts.sealing import SealBrokenError, seal, unseal
from apps.accounts.services import (
    member_second_factor_reset,
    second_factor_enrol,
    second_factor_passes,
    second_factor_require,
)

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"
LOGIN, CODE = "/accounts/login/", "/accounts/second-factor/"
PAGE = "/settings/second-factor/"
SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
NOW = datetime(2026, 11, 30, 12, 0, 10, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _noon() -> Iterator[None]:
    cache.clear()
    with time_machine.travel(NOW, tick=False):
        yield


def code_at(moment: datetime, secret: str = SECRET) -> str:
    return pyotp.TOTP(secret).at(moment)


def enrolled(user: User) -> list[str]:
    """Recovery codes; the code of ten minutes ago is used up."""
    before = NOW - timedelta(minutes=10)
    return second_factor_enrol(user=user, secret=SECRET, code=code_at(before), now=before)


def by_password(client: Client) -> Any:
    return client.post(LOGIN, {"login": "ada@example.test", "password": PASSWORD, "next": PAGE})


def test_the_secret_is_encrypted_and_codes_are_hashed(admin: Membership, settings: Any) -> None:
    codes = enrolled(admin.user)
    assert len(set(codes)) == 10
    kept = SecondFactor.objects.get()
    assert SECRET not in kept.secret
    assert unseal(kept.secret, purpose="second factor") == SECRET
    with pytest.raises(SealBrokenError):
        unseal(kept.secret, purpose="another purpose")
    hashes = set(RecoveryCode.objects.values_list("code_hash", flat=True))
    assert len(hashes) == 10
    assert not hashes & {code.replace("-", "") for code in codes}
    assert SECRET not in str(list(AuditEntry.objects.values()))
    # A rotated key still opens; a foreign one lets a recovery code in and no code of the app.
    old, settings.SECRET_KEY = settings.SECRET_KEY, "another key of another installation"
    assert not second_factor_passes(user=admin.user, code=code_at(NOW), now=NOW)
    assert second_factor_passes(user=admin.user, code=codes[0], now=NOW)
    settings.SECRET_KEY_FALLBACKS = [old]
    assert second_factor_passes(user=admin.user, code=code_at(NOW), now=NOW)
    assert unseal(seal("x", purpose="p"), purpose="p") == "x"


def test_sign_in_asks_for_the_code_and_takes_each_once(admin: Membership) -> None:
    enrolled(admin.user)
    client = Client()
    first = by_password(client)
    assert (first.status_code, first["Location"]) == (302, CODE)
    assert client.get("/settings/").status_code == 302  # not signed in yet
    assert client.get("/api/v1/me").status_code == 401
    assert client.post(CODE, {"code": "000000"}).status_code == 200
    assert AuditEntry.objects.filter(action="user.sign_in").count() == 0
    right = client.post(CODE, {"code": f"{code_at(NOW)[:3]} {code_at(NOW)[3:]}"})
    assert (right.status_code, right["Location"]) == (302, PAGE)
    assert client.get("/api/v1/me").status_code == 200
    assert AuditEntry.objects.filter(action="user.sign_in").count() == 1
    # The same code again, and one of a step before it, pass for nobody.
    other = Client()
    by_password(other)
    for used in (code_at(NOW), code_at(NOW - timedelta(seconds=30))):
        refused = other.post(CODE, {"code": used})
        assert "used already" in refused.content.decode()
    assert other.post(CODE, {"code": code_at(NOW + timedelta(seconds=30))}).status_code == 302


def test_without_a_password_there_is_no_code_to_enter(admin: Membership) -> None:
    enrolled(admin.user)
    client = Client()
    for answer in (client.get(CODE), client.post(CODE, {"code": code_at(NOW)})):
        assert (answer.status_code, answer["Location"]) == (302, LOGIN)
    client.post(LOGIN, {"login": "ada@example.test", "password": "wrong"})
    assert client.post(CODE, {"code": code_at(NOW)})["Location"] == LOGIN
    by_password(client)
    with time_machine.travel(NOW + timedelta(minutes=20), tick=False):
        assert client.post(CODE, {"code": code_at(NOW + timedelta(minutes=20))})["Location"] == LOGIN


def test_wrong_codes_lock_out_and_a_right_password_gives_no_new_tries(admin: Membership) -> None:
    enrolled(admin.user)
    client = Client()
    by_password(client)
    for _n in range(5):
        assert "wrong or was used" in client.post(CODE, {"code": "000000"}).content.decode()
    assert "Too many wrong codes" in client.post(CODE, {"code": code_at(NOW)}).content.decode()
    again = Client()
    by_password(again)
    assert "Too many wrong codes" in again.post(CODE, {"code": code_at(NOW)}).content.decode()
    later = NOW + timedelta(minutes=6)
    with time_machine.travel(later, tick=False):
        by_password(again)
        assert again.post(CODE, {"code": code_at(later)}).status_code == 302


def test_a_recovery_code_passes_once(admin: Membership) -> None:
    code = enrolled(admin.user)[3]
    client = Client()
    by_password(client)
    assert client.post(CODE, {"code": code.upper()}).status_code == 302
    assert not second_factor_passes(user=admin.user, code=code, now=NOW)
    entry = AuditEntry.objects.get(action="second_factor.recovery_code")
    assert entry.after == {"email": "ada@example.test", "left": 9}


def test_the_page_sets_it_up_renews_codes_and_switches_it_off(admin: Membership) -> None:
    client = Client()
    client.force_login(admin.user)
    shown = client.get(PAGE).content.decode()
    assert "<svg" in shown
    assert client.get(PAGE).context["secret"] == client.get(PAGE).context["secret"]
    secret = client.get(PAGE).context["secret"].replace(" ", "")
    assert secret not in str(dict(client.session))
    assert client.post(f"{PAGE}set/", {"code": "123"}).status_code == 422
    assert not SecondFactor.objects.exists()
    made = client.post(f"{PAGE}set/", {"code": code_at(NOW, secret)})
    codes = made.context["codes"]
    assert len(codes) == 10
    assert all(code in made.content.decode() for code in codes)
    assert not any(code in client.get(PAGE).content.decode() for code in codes)
    assert client.post(f"{PAGE}set/", {"code": code_at(NOW, secret)}).status_code == 422  # not twice
    fresh = client.post(f"{PAGE}codes/", {"code": codes[0]}).context["codes"]
    assert not set(fresh) & set(codes)
    assert client.post(f"{PAGE}off/", {"code": codes[1]}).status_code == 422  # void by now
    assert client.post(f"{PAGE}off/", {"code": fresh[0]}).status_code == 302
    assert not SecondFactor.objects.exists()
    assert not RecoveryCode.objects.exists()
    actions = list(
        AuditEntry.objects.filter(action__startswith="second_factor").values_list("action", flat=True)
    )
    assert sorted(actions) == [
        *("second_factor.enrol", "second_factor.new_codes"),
        *("second_factor.recovery_code", "second_factor.recovery_code", "second_factor.remove"),
    ]


def test_an_organisation_asks_everybody_who_has_a_password(
    admin: Membership, organisation: Organisation
) -> None:
    client = Client()
    client.force_login(admin.user)
    assert client.put("/api/v1/second-factor", {"required": True}, "application/json").json() == {
        "required": True, "members": 1, "enrolled": 0,
    }  # fmt: skip
    assert client.get("/settings/")["Location"] == PAGE
    assert client.get("/", headers={"HX-Request": "true"})["HX-Redirect"] == PAGE
    refused = client.get("/api/v1/me")
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "second_factor_needed")
    assert client.get(PAGE).status_code == 200
    assert client.get("/accounts/password/change/").status_code == 200
    secret = client.get(PAGE).context["secret"].replace(" ", "")
    codes = client.post(f"{PAGE}set/", {"code": code_at(NOW, secret)}).context["codes"]
    assert client.get("/settings/").status_code == 200
    assert client.get("/api/v1/me").status_code == 200
    kept = client.post(f"{PAGE}off/", {"code": codes[0]})
    assert (kept.status_code, SecondFactor.objects.count()) == (422, 1)


def test_who_comes_by_the_companys_sign_in_service_is_not_asked(
    admin: Membership, organisation: Organisation
) -> None:
    from apps.accounts.actors import Actor

    second_factor_require(organisation=organisation, required=True, actor=Actor.system("test"))
    client = Client()
    client.force_login(admin.user)
    session = client.session
    session[SIGNED_IN_BY] = [{"method": "socialaccount", "at": 1, "provider": "sso", "uid": "1"}]
    session[SIGNED_IN_USER] = str(admin.user.pk)
    session.save()
    assert client.get("/settings/").status_code == 200
    session[SIGNED_IN_USER] = str(admin.user.pk + 1)  # another person's record says nothing of this one
    session.save()
    assert client.get("/settings/").status_code == 302


def test_a_lost_device_is_taken_away_by_an_admin_and_the_trail_says_so(
    admin: Membership, organisation: Organisation
) -> None:
    other = User.objects.create_user("bob@example.test", PASSWORD)
    member = Membership.objects.create(user=other, organisation=organisation, role="viewer")
    enrolled(other)
    client = Client()
    client.force_login(admin.user)
    shown = client.get("/api/v1/members").json()["results"]
    assert [(one["email"], one["second_factor"]) for one in shown] == [
        ("ada@example.test", False),
        ("bob@example.test", True),
    ]
    done = client.post(f"/api/v1/members/{member.pk}/second-factor/reset", {}, "application/json")
    assert (done.status_code, done.json()["second_factor"]) == (200, False)
    entry = AuditEntry.objects.get(action="second_factor.reset")
    assert (entry.actor_label, entry.after) == ("ada@example.test", {"email": "bob@example.test"})
    assert not RecoveryCode.objects.exists()
    # Not of somebody who is in another organisation too: the operator does that.
    enrolled(other)
    elsewhere = Organisation.objects.create(name="Other", slug="other")
    Membership.objects.create(user=other, organisation=elsewhere, role="viewer")
    from apps.accounts.actors import Actor

    with pytest.raises(ValidationError):
        member_second_factor_reset(membership=member, actor=Actor.of_user(admin.user))
    assert SecondFactor.objects.count() == 1
    call_command("second_factor", "--reset", "bob@example.test", "--require", "on", "--json")
    assert SecondFactor.objects.count() == 0
    organisation.refresh_from_db()
    assert organisation.second_factor_required
    assert AuditEntry.objects.filter(action="second_factor.reset").count() == 3  # one in each organisation's
