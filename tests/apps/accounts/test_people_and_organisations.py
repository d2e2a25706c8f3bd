"""Accounts, memberships and teams: what the services refuse and what the database itself refuses."""

from __future__ import annotations

import threading

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.db.models import ProtectedError

from apps.accounts.actors import Actor
from apps.accounts.models import AuditEntry, Membership, Organisation, Team, TeamMember, User
from apps.accounts.roles import ROLE_ACTIONS, Action, Role, allowed, who_may
from apps.accounts.services import (
    demo_user_ensure,
    member_invite,
    member_remove,
    member_role_change,
    organisation_choose,
    team_create,
    team_member_add,
    user_preferences_update,
)

pytestmark = pytest.mark.django_db


def test_one_address_is_one_account_whatever_its_case() -> None:
    user = User.objects.create_user("Ada@Example.Test", "correct horse battery")
    assert user.pk == User.objects.get(email="ADA@example.TEST").pk
    assert User.objects.get_by_natural_key("aDa@example.test").email == "ada@example.test"
    with pytest.raises(ValidationError):
        User.objects.create_user("ADA@EXAMPLE.TEST")
    with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("UPDATE accounts_user SET email = 'Ada@example.test' WHERE id = %s", [user.pk])


def test_a_superuser_is_admin_of_the_default_organisation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", "correct horse battery")
    call_command("createsuperuser", email="Root@example.test", interactive=False, verbosity=0)
    user = User.objects.get(email="root@example.test")
    assert user.is_superuser
    assert user.check_password("correct horse battery")
    membership = user.memberships.get()
    assert (membership.organisation.slug, membership.role) == ("default", "admin")


def test_roles_hold_these_actions() -> None:
    table = {role.value: {action.value for action in actions} for role, actions in ROLE_ACTIONS.items()}
    assert table == {
        "viewer": {"view", "run_advice"},
        "engineer": {
            "view",
            "run_advice",
            "manage_workloads",
            "load_data",
            "manage_feeds",
            "connect_bills",
            "manage_anomalies",
            "manage_reports",
            "decide",
            "decide_work",
            "launch",
        },
        "finance": {
            "view",
            "run_advice",
            "connect_bills",
            "manage_budgets",
            "manage_anomalies",
            "manage_reports",
            "decide",
            "decide_commitments",
            "approve_spend",
            "view_audit",
        },
        "admin": {action.value for action in Action},
    }
    assert who_may(Action.APPROVE_SPEND) == [Role.FINANCE, Role.ADMIN]


def test_nobody_and_a_disabled_account_may_do_nothing(admin: Membership) -> None:
    assert allowed(admin, Action.MANAGE_KEYS) is True
    assert allowed(None, Action.VIEW) is False
    admin.user.is_active = False
    assert [action for action in Action if allowed(admin, action)] == []


def test_an_unknown_role_never_reaches_the_database(admin: Membership) -> None:
    with pytest.raises(ValidationError):
        member_role_change(membership=admin, role="owner", actor=Actor.system("test"))
    with pytest.raises(IntegrityError), transaction.atomic():
        Membership.objects.update(role="owner")
    admin.refresh_from_db()
    assert admin.role == "admin"


def test_an_invitation_makes_an_account_with_a_link_and_a_repeat_is_refused(
    organisation: Organisation, actor: Actor
) -> None:
    invitation = member_invite(
        organisation=organisation, actor=actor, email="Bo@example.test", role="engineer"
    )
    user = invitation.membership.user
    assert (user.email, user.has_usable_password()) == ("bo@example.test", False)
    assert invitation.path is not None
    assert invitation.path.startswith("/accounts/password/reset/key/")
    with pytest.raises(ValidationError):
        member_invite(organisation=organisation, actor=actor, email="bo@example.test", role="admin")
    assert Membership.objects.get(user=user).role == "engineer"
    entries = AuditEntry.objects.values_list("action", "actor_label", "after")
    assert list(entries) == [
        ("member.invite", "ada@example.test", {"email": "bo@example.test", "role": "engineer"})
    ]


def test_the_last_admin_stays(admin: Membership, actor: Actor) -> None:
    for refused in (
        lambda: member_remove(membership=admin, actor=actor),
        lambda: member_role_change(membership=admin, role="viewer", actor=actor),
    ):
        with pytest.raises(ValidationError, match="last admin"):
            refused()
    admin.refresh_from_db()
    assert admin.role == "admin"
    with pytest.raises(ProtectedError):
        admin.user.delete()


def test_a_disabled_admin_does_not_count(organisation: Organisation, admin: Membership, actor: Actor) -> None:
    other = member_invite(organisation=organisation, actor=actor, email="bo@example.test", role="admin")
    User.objects.filter(pk=other.membership.user_id).update(is_active=False)
    with pytest.raises(ValidationError, match="last admin"):
        member_remove(membership=admin, actor=actor)


def test_a_removed_member_can_no_longer_sign_in(
    organisation: Organisation, admin: Membership, actor: Actor
) -> None:
    other = member_invite(organisation=organisation, actor=actor, email="bo@example.test", role="admin")
    member_remove(membership=other.membership, actor=actor)
    assert User.objects.get(email="bo@example.test").is_active is False
    assert list(Membership.objects.values_list("user__email", flat=True)) == ["ada@example.test"]


@pytest.mark.django_db(transaction=True)
def test_two_admins_who_remove_each_other_leave_one() -> None:
    organisation = Organisation.default()
    members = [
        Membership.objects.create(
            user=User.objects.create_user(f"{name}@example.test"), organisation=organisation, role=Role.ADMIN
        )
        for name in ("ada", "bo")
    ]
    ready, results = threading.Barrier(2), []

    def remove(mine: Membership, other: Membership) -> None:
        try:
            ready.wait(5)
            member_remove(membership=other, actor=Actor.of_user(mine.user))
            results.append("removed")
        except ValidationError:
            results.append("refused")
        finally:
            connection.close()

    threads = [threading.Thread(target=remove, args=pair) for pair in (members, members[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert sorted(results) == ["refused", "removed"]
    assert Membership.objects.filter(organisation=organisation, role=Role.ADMIN).count() == 1


def test_a_team_holds_members_of_its_own_organisation_only(admin: Membership, actor: Actor) -> None:
    team = team_create(organisation=admin.organisation, actor=actor, name="Data Science")
    assert team.slug == "data-science"
    with pytest.raises(ValidationError):
        team_create(organisation=admin.organisation, actor=actor, name="Data science")
    team_member_add(team=team, membership=admin, actor=actor)
    team_member_add(team=team, membership=admin, actor=actor)
    assert list(team.members.values_list("user__email", flat=True)) == ["ada@example.test"]

    elsewhere = Organisation.objects.create(name="Elsewhere", slug="elsewhere")
    foreign = Team.objects.create(organisation=elsewhere, name="Foreign", slug="foreign")
    with pytest.raises(ValidationError):
        team_member_add(team=foreign, membership=admin, actor=actor)
    with pytest.raises(IntegrityError, match="own organisation"), transaction.atomic():
        TeamMember.objects.create(team=foreign, membership=admin)
    assert TeamMember.objects.count() == 1


def test_preferences_are_checked_by_field(admin: Membership) -> None:
    user = user_preferences_update(
        user=admin.user, language="zh-hans", time_zone="Europe/Berlin", theme="dark"
    )
    user.refresh_from_db()
    assert (user.language, user.time_zone, user.theme) == ("zh-hans", "Europe/Berlin", "dark")
    for wrong in (
        {"time_zone": "Mars/Olympus"},
        {"theme": "pink"},
        {"language": "xx"},
        {"is_superuser": "1"},
    ):
        with pytest.raises(ValidationError):
            user_preferences_update(user=User.objects.get(pk=user.pk), **wrong)
    user.refresh_from_db()
    assert (user.time_zone, user.theme, user.is_superuser) == ("Europe/Berlin", "dark", False)


def test_the_session_names_only_an_organisation_of_ones_own(admin: Membership) -> None:
    session: dict[str, object] = {}
    elsewhere = Organisation.objects.create(name="Elsewhere", slug="elsewhere")
    with pytest.raises(ValidationError):
        organisation_choose(session=session, user=admin.user, organisation_id=elsewhere.pk)
    organisation_choose(session=session, user=admin.user, organisation_id=admin.organisation_id)
    assert session == {"organisation": admin.organisation_id}


def test_the_demo_login_is_made_once_and_takes_a_new_password() -> None:
    first = demo_user_ensure(password="one-demo-password")
    again = demo_user_ensure(password="one-demo-password")
    assert first.pk == again.pk
    assert first.password == again.password
    changed = demo_user_ensure(password="two-demo-password")
    assert changed.check_password("two-demo-password")
    assert list(Membership.objects.values_list("user__email", "organisation__slug", "role")) == [
        ("demo@offpeak.example", "default", "admin")
    ]
