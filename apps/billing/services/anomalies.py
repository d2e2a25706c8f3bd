"""Finding anomalies in new bills and keeping them once; what people say about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from apps.accounts.actors import Actor
from apps.accounts.models import Organisation
from apps.accounts.services import audit_record
from apps.billing.models import Anomaly, AnomalyCourse, AnomalyState
from apps.billing.selectors.anomalies import (
    BASIS,
    CostCube,
    anomaly_drivers,
    cause_of,
    cost_cubes,
    slice_values,
)
from apps.billing.selectors.bill_days import BillDays
from apps.billing.selectors.forecast import money_text
from apps.billing.selectors.spend_document import evidence
from finops.engine import anomaly as engine

MAX_SNOOZE = timedelta(days=366)
MAX_REASON = 500


def anomalies_refresh(
    *,
    organisation: Organisation,
    days: BillDays,
    now: datetime,
    snapshots: Mapping[str, int],
    since: date | None = None,
) -> tuple[int, int]:
    """Look for anomalies and keep them: (new ones, those that changed or went).

    A cause that is known already, with overlapping days, is brought up to date and not told again; one of the
    judged days that is no longer there is marked, never removed. What people said about it stays.
    """
    made = changed = 0
    for part in cost_cubes(organisation, days, now=now, since=since, snapshots=snapshots):
        found = engine.find(part.cube, judge_from=part.judge_from)
        judge = part.cube.day(part.judge_from)
        known = list(
            Anomaly.objects.select_for_update().filter(
                organisation=organisation, basis=BASIS, currency=part.currency, last_day__gte=judge
            )
        )
        for one in found:
            row = _same_cause(known, one)
            if row is not None:
                known.remove(row)
            fresh, moved = _keep(organisation, part, one, row, days, now, snapshots)
            made, changed = made + fresh, changed + moved
        for row in known:
            if row.course != AnomalyCourse.RESTATED and row.first_day >= judge:
                row.course, row.updated_at = AnomalyCourse.RESTATED, now
                row.save(update_fields=["course", "updated_at"])
                changed += 1
    return made, changed


def _same_cause(known: Sequence[Anomaly], found: engine.Anomaly) -> Anomaly | None:
    """The stored anomaly of the same cause: same direction, days that meet, a slice that holds the other."""
    pairs = set(found.slice)
    gap = timedelta(days=engine.GAP_DAYS)
    for row in sorted(known, key=lambda r: (set(slice_values(r)) != pairs, -r.first_day.toordinal())):
        stored = set(slice_values(row))
        nested = stored <= pairs or pairs <= stored
        meets = row.first_day <= found.last_day + gap and found.first_day <= row.last_day + gap
        if row.direction == found.direction and nested and meets:
            return row
    return None


def _keep(
    organisation: Organisation,
    part: CostCube,
    found: engine.Anomaly,
    row: Anomaly | None,
    days: BillDays,
    now: datetime,
    snapshots: Mapping[str, int],
) -> tuple[int, int]:
    """Write one anomaly: (1, 0) for a new one, (0, 1) for one that changed, (0, 0) for one as it was."""
    values = _values(found)
    if row is not None and all(getattr(row, name) == value for name, value in values.items()):
        return 0, 0
    if row is None or row.first_day != found.first_day or row.cause != values["cause"]:
        told = anomaly_drivers(
            organisation, found.slice, day=found.first_day, first=days.first, direction=found.direction,
            currency=part.currency, now=now, snapshots=snapshots,
        )  # fmt: skip
        values["drivers"] = [_driver(dimension, driver) for dimension, driver in told]
    values["evidence"] = evidence(snapshots, now, None)
    if row is None:
        Anomaly.objects.create(organisation=organisation, basis=BASIS, currency=part.currency, **values)
        return 1, 0
    for name, value in values.items():
        setattr(row, name, value)
    row.updated_at = now
    row.save()
    return 0, 1


def _values(found: engine.Anomaly) -> dict[str, Any]:
    """What is stored of the engine's answer; money to six decimals: more would be noise."""
    return {
        "cause": cause_of(found.slice),
        "slice": [list(pair) for pair in found.slice],
        "direction": found.direction,
        "first_day": found.first_day,
        "last_day": found.last_day,
        "course": found.state,
        **{
            name: Decimal(money_text(getattr(found, name)) or "0")
            for name in ("actual", "expected", "amount", "low", "high")
        },
        "days": [
            {
                "day": day.day.isoformat(),
                **{name: money_text(getattr(day, name)) for name in ("actual", "expected", "low", "high")},
            }
            for day in found.days
        ],
    }


def _driver(dimension: str, driver: engine.Driver) -> dict[str, Any]:
    return {
        "dimension": dimension,
        "key": driver.key,
        "usual": money_text(driver.usual),
        "actual": money_text(driver.actual),
        "change": money_text(driver.change),
        "share": None if driver.share is None else round(driver.share, 6),
    }


def anomaly_snooze(*, anomaly: Anomaly, actor: Actor, until: date, reason: str, now: datetime) -> Anomaly:
    """Set it aside until a day. Raises ValidationError by field."""
    errors: dict[str, str] = {}
    today = now.date()
    if not today < until <= today + MAX_SNOOZE:
        errors["until"] = _("Choose a day after today and within a year.")
    return _state(anomaly, actor, AnomalyState.SNOOZED, until, reason, now, errors)


def anomaly_close(*, anomaly: Anomaly, actor: Actor, reason: str, now: datetime) -> Anomaly:
    """Nothing more is to be done about it. Raises ValidationError by field."""
    return _state(anomaly, actor, AnomalyState.CLOSED, None, reason, now, {})


def anomaly_reopen(*, anomaly: Anomaly, actor: Actor, now: datetime) -> Anomaly:
    """Take back a snooze or a closing."""
    return _state(anomaly, actor, AnomalyState.OPEN, None, None, now, {})


def _state(
    anomaly: Anomaly,
    actor: Actor,
    state: AnomalyState,
    until: date | None,
    reason: str | None,
    now: datetime,
    errors: dict[str, str],
) -> Anomaly:
    text = " ".join((reason or "").split())
    if reason is not None and not text:
        errors["reason"] = _("Say why: others will read it.")
    elif len(text) > MAX_REASON or "\x00" in text:
        errors["reason"] = _("At most %(n)d characters.") % {"n": MAX_REASON}
    if errors:
        raise ValidationError(errors)
    with transaction.atomic():
        row = Anomaly.objects.select_for_update().get(pk=anomaly.pk)
        before = _said(row)
        row.state, row.until, row.reason = state, until, text
        row.author = actor.label if state != AnomalyState.OPEN else ""
        row.stated_at = now
        row.save(update_fields=["state", "until", "reason", "author", "stated_at"])
        audit_record(
            organisation=row.organisation,
            actor=actor,
            action=f"anomaly.{_VERBS[state]}",
            target=row,
            before=before,
            after=_said(row),
        )
    return row


_VERBS = {AnomalyState.SNOOZED: "snooze", AnomalyState.CLOSED: "close", AnomalyState.OPEN: "reopen"}


def _said(row: Anomaly) -> dict[str, Any]:
    return {"state": row.state, "until": row.until, "reason": row.reason, "author": row.author}
