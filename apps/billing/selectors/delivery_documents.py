"""Deliveries and their changes as the JSON of command line and REST: keys are added, never renamed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.conf import settings

from apps.billing.models import Delivery
from apps.billing.selectors.deliveries import PartChange, delivery_before, delivery_changes
from finops.frames.money import EXACT
from finops.lake import BILL_DAILY, BILL_LINES, facts
from finops.text.numbers import decimal_text

ABSENT = "absent"


def delivery_document(delivery: Delivery) -> dict[str, Any]:
    """One delivery: what was read, what it sums to, whether it reconciles."""
    return {
        "id": delivery.pk,
        "kind": delivery.kind,
        "provider": delivery.report.provider,
        "payer": delivery.report.payer,
        "report": delivery.report.name,
        "billing_period": f"{delivery.billing_period:%Y-%m}",
        "state": delivery.state,
        "current": delivery.state == "current",
        "delivered_at": _iso(delivery.delivered_at),
        "loaded_at": _iso(delivery.loaded_at),
        "assembly": delivery.assembly or None,
        "final": delivery.final,
        "daily_totals_only": delivery.stopgap,
        "files": delivery.files,
        "rows_read": delivery.rows_read,
        "stored": delivery.stored,
        "rejected": delivery.rejected,
        "first_day": _day(delivery.first_day),
        "last_day": _day(delivery.last_day),
        "totals": delivery.totals,
        "by_line_item_type": delivery.by_line_item_type,
        "expected": delivery.expected,
        "reconciled": delivery.reconciled,
        "difference": delivery.difference,
        "notes": delivery.notes,
        "columns": delivery.columns,
        "tag_keys": delivery.tag_keys,
    }


def changes_document(
    after: Iterable[Delivery],
    *,
    before: Delivery | None = None,
    by: Sequence[str],
    basis: str,
    now: datetime,
) -> dict[str, Any]:
    """What changed from each delivery's predecessor (or from `before`); keys as in the commands' contract."""
    deliveries: list[dict[str, Any]] = []
    changes: list[dict[str, Any]] = []
    for delivery in after:
        earlier = before or delivery_before(delivery)
        deliveries += [delivery_document(d) for d in (earlier, delivery) if d is not None]
        if earlier is not None:
            found = delivery_changes(earlier, delivery, by=by, basis=basis)
            changes += [_change(change, by, earlier, delivery) for change in found]
    return {
        "deliveries": deliveries,
        "changes": changes,
        "basis": basis,
        "difference": _by_currency(changes),
        "evidence": evidence(now),
    }


def evidence(now: datetime) -> dict[str, Any]:
    """What an answer rests on. Ids are text: JavaScript and jq shorten integers of 19 digits."""
    snapshots = facts.current_snapshots()
    return {
        "snapshots": {t: str(snapshots[t]) for t in (BILL_LINES, BILL_DAILY) if t in snapshots},
        "engine": settings.OFFPEAK_VERSION,
        "at": _iso(now),
        "later_prices": None,
    }


def _change(change: PartChange, by: Sequence[str], before: Delivery, after: Delivery) -> dict[str, Any]:
    return {
        **dict(zip(by, change.key, strict=True)),
        "before": ABSENT if change.before is None else decimal_text(change.before),
        "after": ABSENT if change.after is None else decimal_text(change.after),
        "difference": decimal_text(change.difference),
        "currency": change.currency,
        "report": after.report.name,
        "payer": after.report.payer,
        "from_delivery": before.pk,
        "to_delivery": after.pk,
    }


def _by_currency(changes: Sequence[dict[str, Any]]) -> dict[str, str | None]:
    sums: dict[str, Decimal] = {}
    for change in changes:
        before = sums.get(change["currency"], Decimal(0))
        sums[change["currency"]] = EXACT.add(before, Decimal(change["difference"]))
    return {currency: decimal_text(amount) for currency, amount in sorted(sums.items())}


def _iso(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def _day(day: Any) -> str | None:
    return None if day is None else str(day.isoformat())
