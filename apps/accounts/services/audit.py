"""Writing the audit trail."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import structlog
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Model

from apps.accounts.actors import Actor
from apps.accounts.models import AuditEntry, Organisation
from finops.redact import redact_value


def _plain(values: Mapping[str, Any] | None) -> Any:
    """JSON values without credentials; times become ISO text, decimals their digits."""
    if values is None:
        return None
    return json.loads(json.dumps(redact_value(dict(values)), cls=DjangoJSONEncoder))


def audit_record(
    *,
    organisation: Organisation | None,
    actor: Actor,
    action: str,
    target: Model | None = None,
    object_type: str = "",
    object_id: str = "",
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
) -> AuditEntry:
    """Append one entry. Call it in the transaction of the change, so that neither exists without the other.

    `action` is "<object>.<verb>" ("api_key.create"). `target` gives type ("accounts.apikey") and id, or
    name both. `before` and `after` hold what changed; values under secret names are masked. The time is
    the database's.
    """
    if target is not None:
        object_type, object_id = target._meta.label_lower, str(target.pk)
    request_id = structlog.contextvars.get_contextvars().get("request_id", "")
    return AuditEntry.objects.create(
        organisation=organisation,
        actor_kind=actor.kind,
        actor_id=actor.id,
        actor_label=actor.label,
        action=action,
        object_type=object_type,
        object_id=object_id,
        before=_plain(before),
        after=_plain(after),
        request_id=str(request_id)[:64],
    )
