"""API keys: made, used, revoked."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.key_cache import keys_changed
from apps.accounts.models import ActorKind, ApiKey, Organisation, Team
from apps.accounts.roles import Scope
from apps.accounts.selectors import secret_hash
from apps.accounts.services.audit import audit_record

DEFAULT_LIFE_DAYS = 90
MAX_LIFE_DAYS = 365
# One write a minute and key: a pipeline that polls must not turn each read into a write.
USED_EVERY = timedelta(minutes=1)


def _checked_scopes(scopes: Iterable[str]) -> list[str]:
    """Sorted known scopes without repeats. Raises ValidationError that names the unknown ones."""
    given = sorted(set(scopes))
    known = {scope.value for scope in Scope}
    if unknown := [scope for scope in given if scope not in known]:
        raise ValidationError(
            {
                "scopes": _("Unknown: %(unknown)s. Known: %(known)s.")
                % {"unknown": ", ".join(unknown), "known": ", ".join(sorted(known))}
            }
        )
    if not given:
        raise ValidationError({"scopes": _("Give the key at least one scope.")})
    return given


def _facts(key: ApiKey) -> dict[str, object]:
    """What the audit trail keeps of a key: never its secret."""
    return {
        "name": key.name,
        "prefix": key.prefix,
        "scopes": key.scopes,
        "team": key.team.slug if key.team else None,
        "expires_at": key.expires_at,
        "revoked_at": key.revoked_at,
    }


@transaction.atomic
def api_key_create(
    *,
    organisation: Organisation,
    actor: Actor,
    name: str,
    scopes: Iterable[str],
    now: datetime,
    expires_days: int = DEFAULT_LIFE_DAYS,
    team: Team | None = None,
) -> tuple[ApiKey, str]:
    """A new key and its token `opk_<prefix>_<secret>`, which exists nowhere else afterwards.

    The secret has 256 random bits. Raises ValidationError by field: an empty name, unknown or no scopes, a
    life outside 1-365 days, a team of another organisation.
    """
    name = name.strip()
    if not name:
        raise ValidationError({"name": _("Give the key a name that says what uses it.")})
    if not 1 <= expires_days <= MAX_LIFE_DAYS:
        raise ValidationError(
            {"expires_days": _("A key lives 1 to %(days)d days.") % {"days": MAX_LIFE_DAYS}}
        )
    if team is not None and team.organisation_id != organisation.pk:
        raise ValidationError({"team": _("There is no such team in this organisation.")})
    prefix = base64.b32encode(secrets.token_bytes(8)).decode().lower()[:10]
    secret = secrets.token_hex(32)
    key = ApiKey(
        organisation=organisation,
        team=team,
        name=name,
        prefix=prefix,
        secret_hash=secret_hash(secret),
        scopes=_checked_scopes(scopes),
        created_by_id=actor.id if actor.kind == ActorKind.USER else None,
        created_at=now,
        expires_at=now + timedelta(days=expires_days),
    )
    key.clean_fields()
    key.save()
    audit_record(
        organisation=organisation, actor=actor, action="api_key.create", target=key, after=_facts(key)
    )
    return key, f"opk_{prefix}_{secret}"


@transaction.atomic
def api_key_revoke(*, key: ApiKey, actor: Actor, now: datetime) -> ApiKey:
    """Stop the key at once and for good; a second call changes nothing."""
    if ApiKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=now) == 1:
        keys_changed()
        before = _facts(key)
        key.refresh_from_db()
        audit_record(
            organisation=key.organisation,
            actor=actor,
            action="api_key.revoke",
            target=key,
            before=before,
            after=_facts(key),
        )
    else:
        key.refresh_from_db()
    return key


def api_key_used(*, key: ApiKey, now: datetime) -> None:
    """Note the use, at most once a minute."""
    if key.last_used_at is None or key.last_used_at <= now - USED_EVERY:
        stale = Q(last_used_at=None) | Q(last_used_at__lte=now - USED_EVERY)
        ApiKey.objects.filter(stale, pk=key.pk).update(last_used_at=now)
        key.last_used_at = now
