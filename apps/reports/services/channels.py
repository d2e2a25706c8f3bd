"""Channels of alerts: kept, checked, and signed with a secret that is stored nowhere."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.accounts.services import audit_record
from apps.accounts.validators import time_zone_names
from apps.billing.services.keyed_rows import row_remove
from apps.reports.causes import causes
from apps.reports.models import LANGUAGES, Channel, ChannelKind
from apps.reports.services.outbound import AddressRefusedError, check_address
from apps.reports.services.subscriptions import emails_clean

FIELDS = (
    "name", "team", "kind", "address", "emails", "causes", "language", "time_zone", "quiet_from", "quiet_to",
    "active",
)  # fmt: skip
DAY = 24 * 60


def channel_save(
    *,
    organisation: Organisation,
    actor: Actor,
    fields: Mapping[str, Any],
    now: datetime,
    channel: Channel | None = None,
) -> tuple[Channel, str | None]:
    """Make a channel, or replace `channel` whole: (channel, its signing secret when it is new and signs).

    An empty address of a channel that has one keeps it: pages and answers never show it. Raises
    ValidationError by field.
    """
    checked = _clean(organisation, fields, channel)
    try:
        with transaction.atomic():
            row = Channel(organisation=organisation, salt=secrets.token_hex(16))
            before = None
            if channel is not None:
                row = Channel.objects.select_for_update().get(pk=channel.pk)
                before = channel_facts(row)
            for name, value in checked.items():
                setattr(row, name, value)
            row.updated_at = now
            row.save()
            audit_record(
                organisation=organisation,
                actor=actor,
                action="alert_channel.change" if channel else "alert_channel.create",
                target=row,
                before=before,
                after=channel_facts(row),
            )
    except IntegrityError as error:
        if "channel_name_once" not in str(error):
            raise
        raise ValidationError({"name": _("This name is in use. Choose another.")}) from error
    shown = signing_secret(row) if channel is None and row.kind == ChannelKind.WEBHOOK else None
    return row, shown


def channel_remove(*, channel: Channel, actor: Actor) -> bool:
    """Forget a channel with what waits in it; False when somebody else has done it already."""
    return row_remove("alert_channel", channel_facts, channel, actor)


def channel_facts(row: Channel) -> dict[str, Any]:
    """What the audit trail keeps: of the address only where it leads."""
    values = {name: getattr(row, name) for name in FIELDS if name not in ("team", "address")}
    return {**values, "team": row.team.slug if row.team else None, "host": host_of(row)}


def host_of(row: Channel) -> str:
    """The host of the address: the rest of it is a secret."""
    if not row.address:
        return ""
    try:
        return str(check_address(row.address).hostname)
    except AddressRefusedError:
        return ""


def signing_secret(row: Channel) -> str:
    """The secret of a webhook: made of the channel's salt and SECRET_KEY, the same each time."""
    raw = hmac.new(settings.SECRET_KEY.encode(), f"offpeak-webhook:{row.salt}".encode(), hashlib.sha256)
    return "whsec_" + base64.urlsafe_b64encode(raw.digest()).decode().rstrip("=")


def signature(secret: str, body: bytes, at: int) -> str:
    """`t=<unix time>,v1=<hex>`: HMAC-SHA-256 over time, a point and the body, so that old ones cannot be sent
    again.
    """
    mac = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={at},v1={mac}"


def _clean(organisation: Organisation, given: Mapping[str, Any], channel: Channel | None) -> dict[str, Any]:
    if unknown := sorted(set(given) - set(FIELDS)):
        raise TypeError(f"no fields of a channel: {', '.join(unknown)}")
    errors: dict[str, str] = {}
    found: dict[str, Any] = {
        "name": " ".join(str(given.get("name") or "").split()),
        "team": given.get("team"),
        "kind": str(given.get("kind") or ""),
        "address": str(given.get("address") or "").strip(),
        "emails": list(given.get("emails") or []),
        "causes": list(dict.fromkeys(given.get("causes") or [])),
        "language": str(given.get("language") or "en"),
        "time_zone": str(given.get("time_zone") or "UTC"),
        "quiet_from": given.get("quiet_from"),
        "quiet_to": given.get("quiet_to"),
        "active": bool(given.get("active", True)),
    }
    if not found["name"] or len(found["name"]) > 100 or "\x00" in found["name"]:
        errors["name"] = _("Give it a name of at most 100 characters.")
    known = [one.name for one in causes()]
    if wrong := [one for one in found["causes"] if one not in known]:
        errors["causes"] = _("Not known: %(value)s. Known: %(known)s.") % {
            "value": str(wrong[0])[:40], "known": ", ".join(known),
        }  # fmt: skip
    if found["language"] not in [code for code, _name in LANGUAGES]:
        errors["language"] = _("Choose one of %(known)s.") % {"known": "en, zh-hans"}
    if found["time_zone"] not in time_zone_names():
        errors["time_zone"] = _("%(value)s is not a time zone. Use a name like Europe/Berlin or UTC.") % {
            "value": found["time_zone"][:40]
        }
    if found["team"] is not None and found["team"].organisation_id != organisation.pk:
        errors["team"] = _("There is no such team.")
    _check_quiet(found, errors)
    _check_target(organisation, found, channel, errors)
    if errors:
        raise ValidationError(errors)
    return found


def _check_quiet(found: dict[str, Any], errors: dict[str, str]) -> None:
    ends = (found["quiet_from"], found["quiet_to"])
    if ends == (None, None):
        return
    if None in ends:
        errors["quiet_to" if ends[1] is None else "quiet_from"] = _("Quiet hours need a begin and an end.")
    elif not all(isinstance(one, int) and 0 <= one < DAY for one in ends):
        errors["quiet_from"] = _("Write times like 22:00.")
    elif ends[0] == ends[1]:
        errors["quiet_to"] = _("Quiet hours of a whole day would keep everything back.")


def _check_target(
    organisation: Organisation, found: dict[str, Any], channel: Channel | None, errors: dict[str, str]
) -> None:
    """Keep only what belongs to the kind; it must lead somewhere that may be called."""
    if found["kind"] not in ChannelKind.values:
        errors["kind"] = _("Choose one of %(known)s.") % {"known": ", ".join(ChannelKind.values)}
        return
    if found["kind"] == ChannelKind.MAIL:
        found["address"] = ""
        try:
            found["emails"] = emails_clean(organisation, found["emails"])
        except ValidationError as error:
            errors["emails"] = error.message_dict["recipients"][0]
        return
    found["emails"] = []
    if not found["address"] and channel is not None and channel.kind == found["kind"]:
        found["address"] = channel.address
    if len(found["address"]) > 500:
        errors["address"] = _("At most %(n)d characters.") % {"n": 500}
        return
    try:
        check_address(found["address"])
    except AddressRefusedError as error:
        errors["address"] = _("This address cannot be used: %(why)s.") % {"why": str(error)}
