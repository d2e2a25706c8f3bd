"""Reading anomalies: those that were found, and the cube of daily costs in which they are looked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
from django.db.models import Q, QuerySet

from apps.accounts.models import Organisation
from apps.billing.announced import worded
from apps.billing.models import AllocationRule, Anomaly, AnomalyCourse, AnomalyState, BillWatch
from apps.billing.selectors.allocation import allocation_of
from apps.billing.selectors.bill_days import BillDays
from apps.billing.selectors.spend import SpendQuestion, spend
from apps.billing.selectors.spend_document import evidence
from finops.engine.anomaly import Cube, Driver, Slice, drivers
from finops.engine.baseline import BASELINE_DAYS
from finops.engine.spend import month_start
from finops.lake import facts

BASIS = "amortised"
# Two billing months may still be restated; what is looked back at lies before them.
JUDGED_MONTHS = 2
HISTORY = timedelta(days=BASELINE_DAYS + 35)
DRIVER_DAYS = timedelta(days=14)
# Parts below this share of the largest day's cost together cannot alert by themselves: they are one part.
SMALL_SHARE = 0.001
OTHER = "other"
# A state that nobody sets: a decision explains all of the rise.
ANNOUNCED = "announced"
STATES = (*AnomalyState.values, ANNOUNCED)


def anomaly_list(organisation: Organisation | None) -> QuerySet[Anomaly]:
    """The organisation's anomalies, newest first."""
    return Anomaly.objects.filter(organisation=organisation)


def anomalies_waiting(organisation: Organisation | None, today: date) -> QuerySet[Anomaly]:
    """Those that wait for a person: open, or snoozed until a day that is over; still on the bill and not
    announced by a decision.
    """
    due = Q(state=AnomalyState.OPEN) | Q(state=AnomalyState.SNOOZED, until__lte=today)
    return anomaly_list(organisation).filter(due, announced=False).exclude(course=AnomalyCourse.RESTATED)


def anomalies_asked(
    organisation: Organisation | None,
    *,
    at: datetime,
    start: date | None = None,
    end: date | None = None,
    state: str | None = None,
) -> list[Anomaly]:
    """Those with a day in [start, end) that had begun at `at`, in a state as it counts then, newest first."""
    rows = anomaly_list(organisation).filter(first_day__lt=at.astimezone(UTC).date())
    if start is not None:
        rows = rows.filter(last_day__gte=start)
    if end is not None:
        rows = rows.filter(first_day__lt=end)
    return [row for row in rows if state is None or state_on(row, at.date()) == state]


def state_on(anomaly: Anomaly, today: date) -> str:
    """Its state as it counts today, one of STATES: a snooze ends by itself, the announced is not open."""
    over = anomaly.state == AnomalyState.SNOOZED and anomaly.until is not None and anomaly.until <= today
    if over or anomaly.state == AnomalyState.OPEN:
        return ANNOUNCED if anomaly.announced else AnomalyState.OPEN.value
    return anomaly.state


@dataclass(frozen=True)
class CostCube:
    """Daily cost of the finest parts in one currency, and the column from which days are judged."""

    currency: str
    cube: Cube
    judge_from: int


def judged_from(days: BillDays) -> date:
    """The first day that is judged: the start of the month before the newest."""
    start = days.period[0]
    for _ in range(JUDGED_MONTHS - 1):
        start = month_start(start - timedelta(days=1))
    return max(start, days.first)


def cost_cubes(
    organisation: Organisation | None,
    days: BillDays,
    *,
    now: datetime,
    since: date | None = None,
    snapshots: Mapping[str, int] | None = None,
) -> list[CostCube]:
    """One cube a currency. `since`: judge from this day instead of the last two months."""
    judge = max(since, days.first) if since is not None else judged_from(days)
    start = max(days.first, judge - HISTORY)
    by = ["service", "account", "region"]
    if AllocationRule.objects.filter(organisation=organisation).exists():
        by.append("team")
    question = SpendQuestion(start=start, end=days.end, by=tuple(by), granularity="day", basis=BASIS)
    answer = spend(question, organisation=organisation, now=now, snapshots=snapshots, with_unallocated=False)
    count = (days.end - start).days
    parts: dict[str, dict[tuple[str, ...], np.ndarray[Any, np.dtype[np.float64]]]] = {}
    for row in answer.rows:
        key = tuple(value or "" for value in row.values)
        values = parts.setdefault(row.currency, {}).setdefault(key, np.zeros(count))
        at = (row.start - start).days
        if row.cost is not None and 0 <= at < count:
            values[at] += float(row.cost)
    settled = (min(days.settled_until, days.end) - start).days
    found = []
    for currency, each in sorted(parts.items()):
        keys, values = _without_small(each, len(by))
        found.append(CostCube(currency, Cube(tuple(by), keys, start, values, settled), (judge - start).days))
    return found


def _without_small(
    parts: Mapping[tuple[str, ...], np.ndarray[Any, np.dtype[np.float64]]], dimensions: int
) -> tuple[tuple[tuple[str, ...], ...], np.ndarray[Any, np.dtype[np.float64]]]:
    """The parts, the many that are next to nothing added up in one; in a fixed order."""
    whole = sum(parts.values(), np.zeros(1))
    least = SMALL_SHARE * float(np.abs(whole).max(initial=0.0))
    keys = sorted(key for key, values in parts.items() if np.abs(values).max() > least)
    small = [values for key, values in parts.items() if np.abs(values).max() <= least]
    rows = [parts[key] for key in keys]
    if small:
        keys.append((OTHER,) * dimensions)
        rows.append(np.sum(small, axis=0))
    return tuple(keys), np.array(rows)


def cause_of(found: Slice) -> str:
    """The slice as text; "" is the whole bill."""
    return " ".join(f"{name}={value}" for name, value in found)[:600]


def anomaly_drivers(
    organisation: Organisation | None,
    found: Slice,
    *,
    day: date,
    first: date,
    direction: str,
    currency: str,
    now: datetime,
    snapshots: Mapping[str, int] | None = None,
) -> list[tuple[str, Driver]]:
    """(usage_type | resource, driver) of the slice on its first day, against the 14 days before it."""
    if any(value == OTHER for _, value in found):
        return []
    start = max(first, day - DRIVER_DAYS)
    told: list[tuple[str, Driver]] = []
    for dimension in ("usage_type", "resource"):
        question = SpendQuestion(
            start=start, end=day + timedelta(days=1), by=(dimension,), granularity="day", basis=BASIS,
            where=tuple(found),
        )  # fmt: skip
        answer = spend(
            question, organisation=organisation, now=now, snapshots=snapshots, with_unallocated=False
        )
        count = (day - start).days + 1
        costs: dict[str, list[float]] = {}
        for row in answer.rows:
            if row.currency == currency and row.cost is not None:
                costs.setdefault(row.values[0] or "", [0.0] * count)[(row.start - start).days] += float(
                    row.cost
                )
        keys = sorted(costs)
        values = np.array([costs[key] for key in keys]).reshape(len(keys), count)
        told += [
            (dimension, driver)
            for driver in drivers(keys, values[:, :-1], values[:, -1], direction=direction)
            if driver.key
        ]
    return told


def anomaly_document(anomaly: Anomaly, today: date) -> dict[str, Any]:
    """One anomaly as JSON values."""
    return {
        "id": anomaly.pk,
        "slice": dict(slice_values(anomaly)),
        "direction": anomaly.direction,
        "course": anomaly.course,
        "first_day": anomaly.first_day.isoformat(),
        "last_day": anomaly.last_day.isoformat(),
        "basis": anomaly.basis,
        "currency": anomaly.currency,
        **{name: _text(getattr(anomaly, name)) for name in ("actual", "expected", "amount", "low", "high")},
        "days": anomaly.days,
        "drivers": anomaly.drivers,
        "announced_by": [
            {
                "decision": one["key"],
                "amount": one["amount"],
                "currency": anomaly.currency,
                "sentence": worded(one["key"], one["facts"]),
            }
            for one in anomaly.announcements
        ],
        "state": state_on(anomaly, today),
        "until": anomaly.until.isoformat() if anomaly.until else None,
        "reason": anomaly.reason or None,
        "author": anomaly.author or None,
        "stated_at": _instant(anomaly.stated_at),
        "found_at": _instant(anomaly.found_at),
        "updated_at": _instant(anomaly.updated_at),
    }


def _text(value: Any) -> str:
    return format(value.normalize() + 0, "f")


def _instant(at: datetime | None) -> str | None:
    return None if at is None else at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def slice_values(anomaly: Anomaly) -> Sequence[tuple[str, str]]:
    """The slice as pairs."""
    return [(str(name), str(value)) for name, value in anomaly.slice]


def anomalies_document(
    rows: Iterable[Anomaly], organisation: Organisation | None, *, at: datetime
) -> dict[str, Any]:
    """The document of `anomalies`: what was found, and which days were judged when."""
    watch = BillWatch.objects.filter(organisation=organisation).first()
    return {
        "anomalies": [anomaly_document(row, at.date()) for row in rows],
        "judged": None
        if watch is None or watch.judged_at is None
        else {
            "from": watch.judged_from.isoformat() if watch.judged_from else None,
            "to": watch.judged_to.isoformat() if watch.judged_to else None,
            "at": _instant(watch.judged_at),
        },
        "evidence": evidence(facts.current_snapshots(), at, allocation_of(organisation).version),
    }
