"""People in an organisation: invited, given a role, removed; and their own preferences."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any

from allauth.account.forms import default_token_generator
from allauth.account.utils import user_pk_to_url_str
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F
from django.urls import reverse
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Membership, Organisation, User
from apps.accounts.roles import Role
from apps.accounts.services.audit import audit_record

DEMO_EMAIL = "demo@offpeak.example"
DEMO_ORGANISATION = "Demo organisation"
PREFERENCES = ("name", "language", "time_zone", "theme")


@dataclass(frozen=True)
class Invitation:
    """`path` is the set-password link's path, shown once; None when the person can sign in already."""

    membership: Membership
    path: str | None


def password_link(user: User) -> str:
    """The path of a page where this person sets a password: once, within PASSWORD_RESET_TIMEOUT seconds.

    Links made before, also mailed ones, stop working.
    """
    User.objects.filter(pk=user.pk).update(link_serial=F("link_serial") + 1)
    user.refresh_from_db(fields=["link_serial"])
    token = default_token_generator.make_token(user)
    return reverse(
        "account_reset_password_from_key", kwargs={"uidb36": user_pk_to_url_str(user), "key": token}
    )


@transaction.atomic
def member_link(*, membership: Membership, actor: Actor) -> str:
    """A new set-password link for a member, where an invitation was lost or a password forgotten.

    Raises ValidationError for a disabled account, and for somebody of another organisation too: this one's
    admin must not get hold of that account.
    """
    user = membership.user
    if not user.is_active:
        raise ValidationError(_("This account is disabled."))
    if user.memberships.exclude(pk=membership.pk).exists():
        raise ValidationError(
            _("%(who)s belongs to another organisation too; only the operator may make this link.")
            % {"who": user.email}
        )
    return _recorded_link(user, membership.organisation, actor)


@transaction.atomic
def operator_link(*, email: str, actor: Actor) -> str:
    """A new set-password link for whoever has this address. Raises ValidationError."""
    user = User.objects.filter(email=email.strip()).first()
    if user is None:
        raise ValidationError({"email": _("Nobody has this address.")})
    if not user.is_active:
        raise ValidationError({"email": _("This account is disabled.")})
    membership = user.memberships.first()
    return _recorded_link(user, membership.organisation if membership else None, actor)


def _recorded_link(user: User, organisation: Organisation | None, actor: Actor) -> str:
    audit_record(
        organisation=organisation,
        actor=actor,
        action="user.password_link",
        target=user,
        after={"email": user.email},
    )
    return password_link(user)


def _locked_admins(organisation: Organisation) -> list[int]:
    """Ids of the memberships of active admins, under a lock on the organisation.

    Whoever takes a role away holds this lock first, so two admins who remove each other come one after the
    other.
    """
    Organisation.objects.select_for_update().get(pk=organisation.pk)
    admins = Membership.objects.filter(organisation=organisation, role=Role.ADMIN, user__is_active=True)
    return list(admins.values_list("pk", flat=True))


def _keep_an_admin(membership: Membership) -> None:
    """Raise ValidationError when this is the organisation's only active admin."""
    if _locked_admins(membership.organisation) == [membership.pk]:
        raise ValidationError(_("This is the last admin. Make somebody else admin first."))


def _checked_role(role: str) -> Role:
    """The role, or ValidationError that names the known ones."""
    if role not in Role.values:
        raise ValidationError({"role": _("One of: %(roles)s.") % {"roles": ", ".join(Role.values)}})
    return Role(role)


@transaction.atomic
def member_invite(
    *, organisation: Organisation, actor: Actor, email: str, role: str, name: str = ""
) -> Invitation:
    """Add a person by address; a new account gets a set-password link for the admin to hand over.

    Somebody who was removed from their last organisation comes back with a new password: the old one and the
    sessions of then open nothing. Raises ValidationError for an address that is none, an unknown role, a
    disabled account, and somebody who is a member already.
    """
    given = _checked_role(role)
    user = User.objects.select_for_update().filter(email=email).first()
    if user is None:
        user = User.objects.create_user(email, name=name)
    elif not user.is_active and not user.memberships.exists():
        user.is_active = True
        user.set_unusable_password()
        user.save(update_fields=["is_active", "password"])
    elif not user.is_active:
        raise ValidationError({"email": _("This account is disabled.")})
    membership, made = Membership.objects.get_or_create(
        user=user, organisation=organisation, defaults={"role": given}
    )
    if not made:
        raise ValidationError({"email": _("This person is a member already.")})
    audit_record(
        organisation=organisation,
        actor=actor,
        action="member.invite",
        target=membership,
        after={"email": user.email, "role": given},
    )
    return Invitation(membership, None if user.has_usable_password() else password_link(user))


@transaction.atomic
def member_role_change(*, membership: Membership, role: str, actor: Actor) -> Membership:
    """Give a member another role. Raises ValidationError for an unknown role and for the last admin."""
    given = _checked_role(role)
    if given != Role.ADMIN:
        _keep_an_admin(membership)
    membership = Membership.objects.select_for_update().get(pk=membership.pk)
    before = membership.role
    if before == given:
        return membership
    membership.role = given
    membership.save(update_fields=["role"])
    audit_record(
        organisation=membership.organisation,
        actor=actor,
        action="member.role_change",
        target=membership,
        before={"role": before},
        after={"role": given},
    )
    return membership


@transaction.atomic
def member_remove(*, membership: Membership, actor: Actor) -> None:
    """End a membership; the account is disabled when it was its last. API keys stay: they are the
    organisation's.

    Raises ValidationError for the last admin.
    """
    _keep_an_admin(membership)
    user, organisation = membership.user, membership.organisation
    audit_record(
        organisation=organisation,
        actor=actor,
        action="member.remove",
        target=membership,
        before={"email": user.email, "role": membership.role},
    )
    membership.delete()
    if not user.memberships.exists():
        User.objects.filter(pk=user.pk).update(is_active=False)


def organisation_choose(*, session: MutableMapping[str, Any], user: User, organisation_id: int) -> None:
    """Make one of the person's organisations the current one. Raises ValidationError for another one."""
    if not Membership.objects.filter(user=user, organisation_id=organisation_id).exists():
        raise ValidationError(_("You are no member of this organisation."))
    session["organisation"] = organisation_id


def user_preferences_update(*, user: User, **values: str) -> User:
    """Store the person's own name, language, time_zone or theme. Raises ValidationError by field."""
    if unknown := sorted(set(values) - set(PREFERENCES)):
        raise ValidationError(_("Not a preference: %(names)s.") % {"names": ", ".join(unknown)})
    for name, value in values.items():
        setattr(user, name, value)
    user.clean_fields(exclude=[f.name for f in User._meta.fields if f.name not in values])
    user.save(update_fields=list(values))
    return user


@transaction.atomic
def demo_user_ensure(*, password: str) -> User:
    """The demo login as admin of the default organisation, with this password; a repeat changes nothing.

    Where it is the first member the organisation is named after the demo.
    """
    user = User.objects.filter(email=DEMO_EMAIL).first()
    if user is None:
        user = User.objects.create_user(DEMO_EMAIL, password, name="Demo")
    elif not user.check_password(password):
        user.set_password(password)
        user.save(update_fields=["password"])
    organisation = Organisation.default()
    _, joined = Membership.objects.get_or_create(
        user=user, organisation=organisation, defaults={"role": Role.ADMIN}
    )
    if joined and not organisation.memberships.exclude(user=user).exists():
        organisation.name = DEMO_ORGANISATION
        organisation.save(update_fields=["name"])
    return user
