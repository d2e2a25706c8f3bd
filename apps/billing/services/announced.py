"""Holding announced rises against the anomalies: what a decision explains waits for nobody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from apps.accounts.models import Organisation
from apps.billing.announced import AnnouncedRise
from apps.billing.models import Anomaly, AnomalyCourse, AnomalyDirection
from apps.billing.selectors.anomalies import OTHER, slice_values
from apps.billing.selectors.forecast import money_text
from apps.billing.selectors.spend import SpendQuestion, spend

ZERO = Decimal(0)


@dataclass
class _Left:
    """What of an announcement no anomaly has used up."""

    rise: AnnouncedRise
    amount: Decimal


def anomalies_announce(
    *,
    organisation: Organisation,
    rises: Sequence[AnnouncedRise],
    since: date,
    now: datetime,
    snapshots: Mapping[str, int],
) -> int:
    """Write down which rises of cost were announced; returns how many anomalies changed by it.

    Older anomalies first. One is announced when what the announcements explain reaches the lower end of its
    interval: what is left is no longer out of the ordinary. Less than that is told and alarms all the same.
    """
    left = [_Left(rise, rise.amount) for rise in rises]
    rows = Anomaly.objects.filter(organisation=organisation, last_day__gte=since).order_by("first_day", "pk")
    changed = 0
    for row in rows.select_for_update():
        told = _explained(row, left, organisation, now, snapshots)
        whole = bool(told) and sum((Decimal(one["amount"]) for one in told), ZERO) >= row.low
        if (told, whole) != (row.announcements, row.announced):
            row.announcements, row.announced = told, whole
            row.save(update_fields=["announcements", "announced"])
            changed += 1
    return changed


def _explained(
    row: Anomaly,
    left: Sequence[_Left],
    organisation: Organisation,
    now: datetime,
    snapshots: Mapping[str, int],
) -> list[dict[str, Any]]:
    """What the announcements explain of an anomaly; takes it from them."""
    if row.direction != AnomalyDirection.RISE or row.course == AnomalyCourse.RESTATED:
        return []
    open_amount, told = row.amount, []
    days = {date.fromisoformat(one["day"]) for one in row.days}
    for one in left:
        rise = one.rise
        where = _both(slice_values(row), rise.lines)
        if rise.currency != row.currency or not one.amount or where is None:
            continue
        on_bill = _on_bill(row, where, days & rise.days, organisation, now, snapshots)
        part = min(on_bill, one.amount, open_amount)
        if part > 0:
            one.amount -= part
            open_amount -= part
            told.append({"key": rise.key, "amount": money_text(part), "facts": dict(rise.facts)})
    return told


def _both(
    found: Sequence[tuple[str, str]], lines: Sequence[tuple[str, str]]
) -> tuple[tuple[str, str], ...] | None:
    """The lines of an announcement within the slice of an anomaly; None: the two share none."""
    own = dict(found)
    if OTHER in own.values():
        return None
    wanted: dict[str, set[str]] = {}
    for name, value in lines:
        wanted.setdefault(name, set()).add(value)
    if any(name in wanted and value not in wanted[name] for name, value in own.items()):
        return None
    return (*found, *(pair for pair in lines if pair[0] not in own))


def _on_bill(
    row: Anomaly,
    where: tuple[tuple[str, str], ...],
    days: set[date] | frozenset[date],
    organisation: Organisation,
    now: datetime,
    snapshots: Mapping[str, int],
) -> Decimal:
    """What lines like these cost on the days, on the anomaly's basis."""
    if not days:
        return ZERO
    question = SpendQuestion(
        start=min(days), end=max(days) + timedelta(days=1), granularity="day", basis=row.basis, where=where
    )
    answer = spend(question, organisation=organisation, now=now, snapshots=snapshots, with_unallocated=False)
    costs = [
        one.cost for one in answer.rows if one.currency == row.currency and one.cost and one.start in days
    ]
    return max(sum(costs, ZERO), ZERO)
