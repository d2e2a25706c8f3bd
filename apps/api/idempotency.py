"""`Idempotency-Key`: a write that is sent twice is done once and answered alike for a day.

The key belongs to its caller (an API key or a person). It is claimed by a row before the work begins, so of
two equal requests at once one is done and the other told to wait; a refused or failed one gives the key back.
An answer with a secret in it is not kept: the repeat is refused, nothing is done twice.
"""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.api.errors import Refused
from apps.api.models import IdempotentCall
from finops.redact import is_secret_name

HEADER, MAX_LENGTH = "Idempotency-Key", 200
KEPT = timedelta(hours=24)
# A claim whose process died is free again after that: longer than any request may take.
ABANDONED = timedelta(minutes=15)
METHODS = frozenset({"POST", "PUT", "PATCH"})
# Status of a call whose answer may not be kept.
SHOWN_ONCE = 0


def claim(request: Request, *, organisation: Organisation, actor: Actor) -> IdempotentCall | None:
    """The row of this call, with `status` when it was answered before, else claimed; None without the header.

    Raises Refused: a key that is no key, of another request, or of one that is being worked on.
    """
    key = request.headers.get(HEADER)
    if key is None or request.method not in METHODS:
        return None
    if not 1 <= len(key) <= MAX_LENGTH or not key.isascii() or not key.isprintable():
        told = _("%(header)s: 1 to %(n)d printable ASCII characters.")
        raise Refused(told % {"header": HEADER, "n": MAX_LENGTH}, code="invalid_key")
    now, caller = timezone.now(), f"{actor.kind}:{actor.id}"
    mine = IdempotentCall.objects.filter(organisation=organisation, caller=caller)
    mine.filter(Q(created_at__lt=now - KEPT) | Q(status=None, created_at__lt=now - ABANDONED)).delete()
    digest = _digest(request)
    try:
        with transaction.atomic():
            return IdempotentCall.objects.create(
                organisation=organisation, caller=caller, key=key, digest=digest
            )
    except IntegrityError:
        found = mine.filter(key=key).first()
    if found is None or found.status is None:
        raise Refused(
            _("The first request with this key is being worked on."), code="in_progress", status=409
        )
    if found.digest != digest:
        raise Refused(_("This key belongs to another request."), code="key_reused", status=409)
    if found.status == SHOWN_ONCE:
        told = _("It was done; its answer held a secret that is shown once.")
        raise Refused(told, code="shown_once", status=409)
    return found


def _digest(request: Request) -> str:
    body = json.dumps(request.data, sort_keys=True, default=_told)
    return hashlib.sha256(f"{request.method} {request.get_full_path()}\n{body}".encode()).hexdigest()


def _told(value: Any) -> str:
    """An uploaded file by name, size and content."""
    if hasattr(value, "chunks"):
        found = hashlib.sha256()
        for chunk in value.chunks():
            found.update(chunk)
        value.seek(0)
        return f"{value.name} {value.size} {found.hexdigest()}"
    return str(value)


def settle(call: IdempotentCall, response: Response, *, secret: bool) -> None:
    """Keep the answer of a call that was done (never a `secret` one); else give the key back."""
    if not 200 <= response.status_code < 300:
        call.delete()
        return
    if secret or _holds_secret(response.data):
        call.status = SHOWN_ONCE
    else:
        call.status, call.document = response.status_code, json.loads(json.dumps(response.data, default=str))
    call.save(update_fields=["status", "document"])


def _holds_secret(data: Any) -> bool:
    """Whether a field that is named like a secret has a value, however deep."""
    if isinstance(data, dict):
        return any(
            (value and isinstance(value, str) and (is_secret_name(str(name)) or str(name).endswith("secret")))
            or _holds_secret(value)
            for name, value in data.items()
        )
    return isinstance(data, list) and any(_holds_secret(one) for one in data)
