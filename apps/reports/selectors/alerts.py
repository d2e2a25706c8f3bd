"""Reading alerts and channels, and their JSON."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet

from apps.accounts.models import Organisation
from apps.reports.causes import causes, told
from apps.reports.models import Alert, AlertDelivery, Channel, Snooze
from apps.reports.selectors.reports import iso, sending_document

Document = dict[str, Any]


def alert_list(organisation: Organisation, *, cause: str = "") -> QuerySet[Alert]:
    """The organisation's alerts, newest first, with what was sent."""
    rows = Alert.objects.filter(organisation=organisation).select_related("team")
    rows = rows.prefetch_related("deliveries__channel")
    return rows.filter(cause=cause) if cause else rows


def channel_list(organisation: Organisation) -> QuerySet[Channel]:
    """The organisation's channels by name."""
    return Channel.objects.filter(organisation=organisation).select_related("team")


def channels_for(alert: Alert) -> list[Channel]:
    """Where an alert goes: channels of everything and those of its team, that ask for its cause."""
    mine = Q(team__isnull=True) if alert.team_id is None else Q(team__isnull=True) | Q(team=alert.team_id)
    rows = Channel.objects.filter(mine, organisation=alert.organisation_id, active=True)
    return [row for row in rows.order_by("pk") if not row.causes or alert.cause in row.causes]


def snoozes_of(organisation: Organisation, now: datetime) -> dict[tuple[str, str], Snooze]:
    """Snoozes in force, by cause and key."""
    rows = Snooze.objects.filter(organisation=organisation, until__gt=now)
    return {(row.cause, row.key): row for row in rows}


def cause_title(name: str) -> str:
    """A cause in words."""
    return next((str(one.title) for one in causes() if one.name == name), name)


def alert_document(row: Alert, snooze: Snooze | None = None, *, sent: bool = False) -> Document:
    """An alert as JSON values, in the language in force."""
    words = told(row.cause, row.facts)
    found = {
        "id": row.pk,
        "cause": row.cause,
        "key": row.key,
        "period": row.period,
        "team": row.team.slug if row.team else None,
        "title": words.title,
        "text": words.text,
        "link": words.link,
        "facts": row.facts,
        "raised_at": iso(row.raised_at),
        "over_at": iso(row.over_at),
        "snoozed_until": iso(snooze.until) if snooze else None,
        "snooze_reason": snooze.reason if snooze else None,
    }
    if sent:
        found["deliveries"] = [alert_delivery_document(one) for one in row.deliveries.all()]
    return found


def alert_delivery_document(row: AlertDelivery) -> Document:
    """What became of an alert in a channel."""
    return {"channel": row.channel.name, "email": row.email or None, **sending_document(row)}


def clock_text(minutes: int | None) -> str | None:
    """`22:00`."""
    return None if minutes is None else f"{minutes // 60:02d}:{minutes % 60:02d}"


def channel_document(row: Channel, host: str) -> Document:
    """A channel as JSON values; of its address only the host: the rest opens the door."""
    return {
        "id": row.pk,
        "name": row.name,
        "kind": row.kind,
        "team": row.team.slug if row.team else None,
        "host": host or None,
        "emails": row.emails,
        "causes": row.causes,
        "language": row.language,
        "time_zone": row.time_zone,
        "quiet_from": clock_text(row.quiet_from),
        "quiet_to": clock_text(row.quiet_to),
        "active": row.active,
    }
