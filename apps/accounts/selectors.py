"""Reads of the accounts app."""

from __future__ import annotations

import hashlib
import hmac
import re
from datetime import datetime

from django.db.models import Model, QuerySet

from apps.accounts.models import ApiKey, AuditEntry, Membership, Organisation, SecondFactor, Team, User
from apps.accounts.roles import Role

TOKEN = re.compile(r"opk_([a-z2-7]{10})_([0-9a-f]{64})")
_NO_HASH = "0" * 64


def membership_of(user: User, *, organisation_id: int | None = None) -> Membership | None:
    """The user's membership in that organisation, else their oldest one; None for somebody in no
    organisation.
    """
    mine = Membership.objects.filter(user=user).select_related("organisation", "user")
    if organisation_id is not None and (chosen := mine.filter(organisation_id=organisation_id).first()):
        return chosen
    return mine.first()


def memberships_of(user: User) -> QuerySet[Membership]:
    """Every organisation of this person, for the switch in the top bar."""
    return Membership.objects.filter(user=user).select_related("organisation")


def member_list(organisation: Organisation) -> QuerySet[Membership]:
    """The organisation's members, by address."""
    return (
        Membership.objects.filter(organisation=organisation)
        .select_related("user", "user__second_factor")
        .prefetch_related("teams")
        .order_by("user__email")
    )


def has_second_factor(user: User) -> bool:
    """Whether sign-in asks this person for a code too."""
    return SecondFactor.objects.filter(user=user).exists()


def admin_emails(organisation: Organisation, limit: int = 3) -> list[str]:
    """Whom to ask: addresses of up to `limit` active admins."""
    admins = Membership.objects.filter(organisation=organisation, role=Role.ADMIN, user__is_active=True)
    return list(admins.order_by("pk").values_list("user__email", flat=True)[:limit])


def organisation_of(slug: str) -> Organisation | None:
    """The organisation of this slug; the default one for an empty text."""
    return Organisation.objects.filter(slug=slug).first() if slug else Organisation.default()


def team_list(organisation: Organisation) -> QuerySet[Team]:
    """The organisation's teams, by name."""
    return Team.objects.filter(organisation=organisation)


def api_key_list(organisation: Organisation) -> QuerySet[ApiKey]:
    """Every key of the organisation, newest first, revoked and expired ones too."""
    return ApiKey.objects.filter(organisation=organisation).select_related("team", "created_by")


def secret_hash(secret: str) -> str:
    """SHA-256 in hex: enough for 256 random bits, and quick on every request."""
    return hashlib.sha256(secret.encode()).hexdigest()


def api_key_of_token(token: str, *, now: datetime) -> tuple[ApiKey | None, str]:
    """The key that this token belongs to and its state at `now`: only `active` opens anything.

    (None, "unknown") for a token that is malformed, unknown or wrong: these look alike, and the comparison
    takes the same time whether the prefix is known or not. `expired` and `revoked` are told to holders of
    the secret.
    """
    match = TOKEN.fullmatch(token)
    if match is None:
        return None, "unknown"
    key = ApiKey.objects.select_related("organisation", "team").filter(prefix=match[1]).first()
    same = hmac.compare_digest(secret_hash(match[2]), key.secret_hash if key else _NO_HASH)
    return (key, key.state(now)) if key is not None and same else (None, "unknown")


def audited_ids(model: type[Model]) -> set[int]:
    """Ids of the rows of a model that an entry of the audit trail, of any organisation, is about."""
    named = AuditEntry.objects.filter(object_type=model._meta.label_lower).order_by()
    return {int(pk) for pk in named.values_list("object_id", flat=True).distinct() if pk.isdecimal()}


def audit_list(
    organisation: Organisation, *, action: str = "", object_type: str = "", object_id: str = ""
) -> QuerySet[AuditEntry]:
    """The organisation's audit trail, newest first."""
    entries = AuditEntry.objects.filter(organisation=organisation)
    if action:
        entries = entries.filter(action=action)
    if object_type:
        entries = entries.filter(object_type=object_type)
    if object_id:
        entries = entries.filter(object_id=object_id)
    return entries
