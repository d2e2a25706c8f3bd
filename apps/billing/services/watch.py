"""Judging new bills: days written down, anomalies found, budgets held against actual and forecast cost.

Everything here may run twice and at the same time: one organisation's bills are judged by one task at a time,
the same state of the bills is judged once, and unique constraints hold alerts and anomalies to one each.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog
from django.db import transaction
from django.db.models import Max

from apps.accounts.models import Organisation
from apps.billing.announced import AnnouncedRise, announced_rises
from apps.billing.models import BillWatch, Budget, BudgetAlert, DeliveryDay
from apps.billing.selectors.allocation import allocation_of
from apps.billing.selectors.anomalies import judged_from
from apps.billing.selectors.bill_days import (
    BillDays,
    bill_days,
    deliveries_without_days,
    delivery_day_sums,
)
from apps.billing.selectors.budget_standing import BudgetAnswer, budget_answers
from apps.billing.selectors.forecast import money_text
from apps.billing.services.announced import anomalies_announce
from apps.billing.services.anomalies import anomalies_refresh
from finops.engine.budget import Crossing, Measure
from finops.lake import BILL_DAILY, BILL_LINES, facts

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Judged:
    """What a turn did. `state`: judged, seen (nothing new), busy (another task is at it), no bills."""

    state: str
    new_anomalies: int = 0
    changed_anomalies: int = 0
    new_alerts: int = 0


def bills_judge(*, organisation: Organisation, now: datetime, again: bool = False) -> Judged:
    """Judge the organisation's bills as the newest finished import left them; `again`: also when seen."""
    BillWatch.objects.get_or_create(organisation=organisation)
    with transaction.atomic():
        watch = (
            BillWatch.objects.select_for_update(skip_locked=True).filter(organisation=organisation).first()
        )
        if watch is None:
            return Judged("busy")
        snapshots = dict(facts.current_snapshots())
        delivery_days_record(organisation=organisation, snapshots=snapshots)
        days = bill_days(organisation, at=now)
        if days is None:
            return Judged("no bills")
        since = days.first if watch.judged_from is None else None
        judged = since or judged_from(days)
        rises = announced_rises(organisation, judged, days.end)
        seen = _fingerprint(organisation, days, snapshots, rises)
        if seen == watch.seen and not again:
            return Judged("seen")
        made, changed = anomalies_refresh(
            organisation=organisation, days=days, now=now, snapshots=snapshots, since=since
        )
        changed += anomalies_announce(
            organisation=organisation, rises=rises, since=judged, now=now, snapshots=snapshots
        )
        alerts = budgets_alert(organisation=organisation, now=now, snapshots=snapshots)
        watch.seen, watch.judged_at = seen, now
        watch.judged_from, watch.judged_to = watch.judged_from or days.first, days.end
        watch.save()
    log.info("bills_judged", organisation=organisation.pk, anomalies=made, changed=changed, alerts=alerts)
    return Judged("judged", made, changed, alerts)


def delivery_days_record(*, organisation: Organisation, snapshots: Mapping[str, int]) -> int:
    """Write down what each current delivery says its days cost; a repeat writes nothing."""
    written = 0
    for delivery in deliveries_without_days(organisation):
        rows = [
            DeliveryDay(delivery=delivery, day=day, currency=currency, billed=cost)
            for day, currency, cost in delivery_day_sums(delivery, snapshots)
        ]
        DeliveryDay.objects.bulk_create(rows, ignore_conflicts=True)
        written += len(rows)
    return written


def budgets_alert(*, organisation: Organisation, now: datetime, snapshots: Mapping[str, int]) -> int:
    """Raise an alert for each threshold that is reached and has none in its period; how many are new."""
    raised = 0
    for found in budget_answers(organisation, at=now, snapshots=snapshots):
        complete = found.found is not None and found.found.result.verdict == "complete"
        for crossing in found.standing.crossings if found.standing is not None else ():
            # Of a period that is over there is nothing left to forecast: its cost says it.
            if not (complete and crossing.threshold.measure is Measure.FORECAST):
                raised += _raise(found, crossing, now)
    return raised


def _raise(found: BudgetAnswer, crossing: Crossing, now: datetime) -> int:
    """1 when this alert is new; the unique constraint decides between two tasks."""
    threshold = crossing.threshold
    _alert, made = BudgetAlert.objects.get_or_create(
        budget=found.budget,
        period_start=found.answer.start,
        measure=threshold.measure.value,
        percent=threshold.percent,
        defaults={
            "limit": crossing.limit,
            "cost": crossing.cost,
            "currency": found.budget.currency,
            "evidence": _evidence(found, now),
        },
    )
    return int(made)


def _evidence(found: BudgetAnswer, now: datetime) -> dict[str, Any]:
    result = found.found.result if found.found is not None else None
    return {
        "at": now.isoformat(),
        "amount": money_text(found.budget.amount),
        "snapshots": {table: str(number) for table, number in sorted(found.answer.snapshots.items())},
        "low": money_text(result.low) if result else None,
        "high": money_text(result.high) if result else None,
        "settled_until": found.answer.days.settled_until.isoformat() if found.answer.days else None,
    }


def _fingerprint(
    organisation: Organisation,
    days: BillDays,
    snapshots: Mapping[str, int],
    rises: Sequence[AnnouncedRise],
) -> str:
    """Changes with the bills, the settled days, the allocation rules, the budgets and what was announced."""
    budgets = Budget.objects.filter(organisation=organisation)
    newest = budgets.aggregate(at=Max("updated_at"))["at"]
    parts = [
        snapshots.get(BILL_LINES), snapshots.get(BILL_DAILY), days.end, days.settled_until,
        allocation_of(organisation).version, newest, budgets.count(),
        [(one.key, one.amount, one.currency, sorted(one.days), one.lines) for one in rises],
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()


def organisations_judged() -> list[int]:
    """Ids of every organisation: bills of the whole installation are everybody's."""
    return list(Organisation.objects.order_by("pk").values_list("pk", flat=True))
