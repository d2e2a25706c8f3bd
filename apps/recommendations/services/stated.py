"""Rows that wait for people: changed from the state that was seen or not at all, with an audit line."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor

MAX_REASON = 500


def reason_of(text: str, *, needed: bool = False) -> str:
    """A reason on one line. Raises ValidationError by field."""
    words = " ".join(text.split())
    if needed and not words:
        raise ValidationError({"reason": _("Say why: others will read it.")})
    if len(words) > MAX_REASON or "\x00" in words:
        raise ValidationError({"reason": _("At most %(n)d characters.") % {"n": MAX_REASON}})
    return words


def only_from(row: Any, *states: str) -> None:
    """Raises ValidationError where the row is in none of the states."""
    if row.state not in states:
        state = str(row.get_state_display()).lower()
        raise ValidationError({"state": _("It is %(state)s; that cannot be changed so.") % {"state": state}})


def state_move(
    row: Any,
    state: str,
    now: datetime,
    actor: Actor,
    verb: str,
    *,
    audit: Callable[..., None],
    message: str = "",
    fields: Mapping[str, Any] | None = None,
    also_from: Collection[str] = (),
    **facts: Any,
) -> bool:
    """Change a row from the state that it shows, with its `fields` and the audit trail, at once.

    False, and nothing changed, where somebody else changed it meanwhile (to a state outside of `also_from`);
    `row` then shows what it is now.
    """
    with transaction.atomic():
        rows = type(row).objects.select_for_update()
        current = rows.values_list("state", flat=True).get(pk=row.pk)
        if current != row.state and current not in also_from:
            row.refresh_from_db()
            return False
        row.state, row.stated_at, row.message = state, now, message[:1000]
        for name, value in (fields or {}).items():
            setattr(row, name, value)
        row.save(update_fields=["state", "stated_at", "message", *(fields or {})])
        audit(row, actor, verb, before=current, **facts)
    return True
