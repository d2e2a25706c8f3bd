"""People in an organisation: invited, given a role, removed; and their own preferences."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any

from allauth.account.forms import default_token_generator
from allauth.account.utils import user_pk_to_url_str
from django.core.exceptions import ValidationError
from django.db import transaction
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
    """The path of a page where this person sets a password: once, within PASSWORD_RESET_TIMEOUT seconds."""
    token = default_token_generator.make_token(user)
    return reverse(
        "account_reset_password_from_key", kwargs={"uidb36": user_pk_to_url_str(user), "key": token}
    )


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

    Raises ValidationError for an address that is none, an unknown role, and somebody who is a member already.
    """
    given = _checked_role(role)
    user = User.objects.filter(email=email).first()
    if user is None:
        user = User.objects.create_user(email, name=name)
    if not user.is_active:
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
