"""Months of the bill for realised savings: are they there, are they closed, what did some lines cost.

All of it reads stored lines of the organisation's current deliveries at one snapshot.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from apps.accounts.models import Organisation
from apps.billing.selectors.spend_period import coverage
from apps.billing.selectors.spend_reading import connect, report_ids
from finops.engine.spend import Window, next_month
from finops.engine.tag_keys import exact_keys
from finops.lake import BILL_LINES

# What a line costs without effective cost is not known; a sum over some of the lines would be too low.
_TAGGED = f"""
    SELECT charge_period_start, charge_period_end, billing_currency,
        sum(x_quantity), sum(effective_cost), count(*) - count(effective_cost)
    FROM {BILL_LINES}
    WHERE charge_period_start >= $start AND charge_period_start < $end
        AND x_instance_type IS NOT NULL AND x_quantity > 0
        AND list_contains(list_value($value), coalesce(tags[$k0], tags[$k1], tags[$k2]))
    GROUP BY ALL ORDER BY ALL
"""
_COMMITTED = f"""
    SELECT strftime(timezone('UTC', charge_period_start), '%Y-%m'), commitment_discount_id,
        coalesce(x_instance_type, ''), billing_currency,
        sum(CASE WHEN x_line_item_type IN ('DiscountedUsage', 'SavingsPlanCoveredUsage')
            OR commitment_discount_status = 'Used' THEN x_quantity END),
        sum(effective_cost), count(*) - count(effective_cost)
    FROM {BILL_LINES}
    WHERE charge_period_start >= $start AND charge_period_start < $end
        AND commitment_discount_id IS NOT NULL
        AND x_line_item_type IS DISTINCT FROM 'SavingsPlanNegation'
    GROUP BY ALL ORDER BY ALL
"""
_COLUMNS = (
    "x_report", "x_month", "charge_period_start", "charge_period_end", "billing_currency", "x_quantity",
    "effective_cost", "x_instance_type", "x_line_item_type", "commitment_discount_id",
    "commitment_discount_status", "tags",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MonthState:
    """Whether a month's bill is there up to its end (`reach`: the day after the last), and is closed."""

    delivered: bool
    closed: bool
    reach: date


@dataclass(frozen=True, slots=True)
class TaggedUse:
    """Instance-hours and amortised cost of lines with one tag value in one charge period."""

    start: datetime
    end: datetime
    currency: str
    hours: Decimal
    cost: Decimal
    without_cost: int


@dataclass(frozen=True, slots=True)
class CommittedUse:
    """A month of one commitment and instance type ("" for fees): hours it paid for, amortised cost, unused
    parts of its fee included.
    """

    month: date
    id: str
    instance_type: str
    currency: str
    hours: Decimal
    cost: Decimal
    without_cost: int


def month_state(month: date, *, organisation: Organisation, now: datetime) -> MonthState:
    """What is known of a month's bill, over all reports that the organisation sees."""
    window = Window(month, next_month(month))
    found = coverage(window, organisation=organisation, now=now)
    reach = found.known_to or window.end
    return MonthState(bool(found.sources) and reach > month, found.complete, reach)


def tagged_use(
    key: str,
    value: str,
    *,
    start: datetime,
    end: datetime,
    organisation: Organisation,
    snapshots: Mapping[str, int],
) -> list[TaggedUse]:
    """Lines of instances whose tag `key` (as a user's tag too) has this value, by charge period."""
    keys = (*exact_keys(key), "", "")[:3]
    given = {"start": start, "end": end, "value": value, "k0": keys[0], "k1": keys[1], "k2": keys[2]}
    rows = _read(_TAGGED, given, start, end, organisation, snapshots)
    return [
        TaggedUse(
            row[0].astimezone(UTC), row[1].astimezone(UTC), row[2] or "", row[3] or Decimal(0),
            row[4] or Decimal(0), row[5],
        )
        for row in rows
    ]  # fmt: skip


def committed_use(
    *,
    start: datetime,
    end: datetime,
    organisation: Organisation,
    snapshots: Mapping[str, int],
) -> list[CommittedUse]:
    """Every commitment's months in [start, end)."""
    rows = _read(_COMMITTED, {"start": start, "end": end}, start, end, organisation, snapshots)
    return [
        CommittedUse(
            date.fromisoformat(f"{row[0]}-01"), row[1], row[2], row[3] or "", row[4] or Decimal(0),
            row[5] or Decimal(0), row[6],
        )
        for row in rows
    ]  # fmt: skip


def commitments_before(
    moment: datetime, *, organisation: Organisation, snapshots: Mapping[str, int], months: int = 2
) -> Collection[str]:
    """Ids of the commitments that bills of the last months before `moment` name."""
    start = moment - timedelta(days=31 * months)
    found = committed_use(start=start, end=moment, organisation=organisation, snapshots=snapshots)
    return {use.id for use in found}


def _read(
    sql: str,
    given: Mapping[str, Any],
    start: datetime,
    end: datetime,
    organisation: Organisation,
    snapshots: Mapping[str, int],
) -> Sequence[tuple[Any, ...]]:
    reports = report_ids(organisation)
    if not reports or BILL_LINES not in snapshots:
        return []
    first = start.astimezone(UTC).date().replace(day=1)
    window = Window(first, next_month(end.astimezone(UTC).date().replace(day=1)))
    with connect(window, snapshots, reports, BILL_LINES, _COLUMNS) as con:
        rows: Sequence[tuple[Any, ...]] = con.execute(sql, dict(given)).fetchall()
    return rows
