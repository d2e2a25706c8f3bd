"""Rules, alerts and the history of deals."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from statistics import median
from typing import Any

from django.db.models import QuerySet

from apps.accounts.models import Organisation
from apps.billing.models import SeenOffer
from apps.recommendations.models import DealAlert, DealRule

HOURS_A_DAY = 24


def deal_rules(organisation: Organisation | None) -> QuerySet[DealRule]:
    """An organisation's rules."""
    return DealRule.objects.filter(organisation=organisation).select_related("team")


def deal_alerts(organisation: Organisation | None, *, unseen: bool = False) -> QuerySet[DealAlert]:
    """Alerts of its rules, newest first; `unseen`: of offers that still stand and nobody took note of."""
    found = DealAlert.objects.filter(rule__organisation=organisation).select_related(
        "rule", "offer", "seen_by"
    )
    return found.filter(seen_at__isnull=True, offer__gone_at__isnull=True) if unseen else found


def rule_document(rule: DealRule) -> dict[str, Any]:
    """A rule as JSON values."""
    return {
        "id": rule.pk,
        "name": rule.name,
        "team": rule.team.slug if rule.team else None,
        "min_saving_pct": _text(rule.min_saving_pct),
        "break_even_before": rule.break_even_before.isoformat() if rule.break_even_before else None,
        "max_list_pct": _text(rule.max_list_pct),
        "regions": rule.regions,
        "instance_types": rule.instance_types,
        "platforms": rule.platforms,
        "active": rule.active,
        "looked_at": _iso(rule.looked_at),
    }


def alert_document(alert: DealAlert) -> dict[str, Any]:
    """An alert as JSON values."""
    return {
        "id": alert.pk,
        "rule": alert.rule.name,
        "rule_id": alert.rule_id,
        "offer_id": alert.offer_id,
        "raised_at": _iso(alert.raised_at),
        "seen_at": _iso(alert.seen_at),
        "gone_at": _iso(alert.offer.gone_at),
        **{"offer": alert.document},
    }


def offer_history(
    *, provider: str = "aws", region: str = "", instance_type: str = "", at: datetime, days: int = 365
) -> dict[str, Any]:
    """How long second-hand deals lasted and what they cost, by type, region and platform.

    A deal lasts from its first sight to the look that missed it: `lasted_hours` is of those that are gone,
    an upper bound (between two looks nobody knows). The price path is that of each day's cheapest offer, an
    hour of what was left with all charges.
    """
    start = at - min(timedelta(days=days), at - datetime.min.replace(tzinfo=UTC))
    rows = SeenOffer.objects.filter(
        provider=provider, kind="second-hand", first_seen_at__lte=at, seen_at__gte=start
    )
    if region:
        rows = rows.filter(region=region)
    if instance_type:
        rows = rows.filter(instance_type=instance_type)
    groups: dict[tuple[str, str, str, str], list[SeenOffer]] = {}
    for row in rows.order_by("first_seen_at", "pk"):
        groups.setdefault((row.instance_type, row.region, row.platform, row.currency), []).append(row)
    return {
        "deals": [_group(key, found, at) for key, found in sorted(groups.items())],
        "from": _iso(start),
        "to": _iso(at),
    }


def _group(key: tuple[str, str, str, str], rows: Sequence[SeenOffer], at: datetime) -> dict[str, Any]:
    kind, region, platform, currency = key
    gone = [row for row in rows if row.gone_at is not None and row.gone_at <= at]
    lasted = sorted((row.gone_at - row.first_seen_at).total_seconds() / 3600 for row in gone if row.gone_at)
    return {
        "type": kind,
        "region": region,
        "platform": platform,
        "currency": currency,
        "seen": len(rows),
        "gone": len(gone),
        "standing": len(rows) - len(gone),
        "lasted_hours": {
            "shortest": round(lasted[0], 3),
            "median": round(median(lasted), 3),
            "longest": round(lasted[-1], 3),
        }
        if lasted
        else None,
        "path": _path(rows, at),
    }


def _path(rows: Sequence[SeenOffer], at: datetime) -> list[dict[str, Any]]:
    """The cheapest price of an hour on each day on which an offer stood."""
    best: dict[Any, Decimal] = {}
    for row in rows:
        end = min(row.gone_at or row.seen_at, at)
        day = row.first_seen_at.date()
        price = row.fixed / row.duration_hours + row.hourly
        while day <= end.date():
            best[day] = min(best.get(day, price), price)
            day += timedelta(days=1)
    return [
        {"day": day.isoformat(), "effective_hourly": f"{price:.8f}"} for day, price in sorted(best.items())
    ]


def _text(value: Decimal | None) -> str | None:
    return None if value is None else f"{value.normalize():f}"


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")
