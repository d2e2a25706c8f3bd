"""Commitments hour by hour: what the bill says that each one paid for in every hour of a range.

Reservations in hours of their own size, savings plans in money. A line longer than an hour is spread evenly
over its hours. An hour that the bill does not reach is NaN.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

from apps.accounts.models import Organisation
from apps.billing.selectors.commitment_lines import (
    COLUMNS,
    IS_USE,
    CommitmentLines,
    ReservedFee,
    commitment_lines,
)
from apps.billing.selectors.commitment_months import count_of, own_hours, units_each
from apps.billing.selectors.spend_reading import connect, report_ids
from finops.engine.commitments.utilisation import Settled, settle, share_of_hours
from finops.engine.spend import Window, months_of
from finops.lake import BILL_LINES

# Three years of hours: no longer range is asked for at once.
MOST_HOURS = 3 * 8784
_SECONDS = "max(date_diff('second', charge_period_start, charge_period_end))"
_STEPS = f"greatest(1, CAST(ceil({_SECONDS} / 3600) AS BIGINT))"
_HOUR = "CAST(floor(date_diff('second', $start, charge_period_start) / 3600) AS BIGINT)"
_USED = f"""
    SELECT commitment_discount_id, x_report, x_instance_type, {_HOUR} AS hour, {_STEPS} AS steps,
        any_value(x_provider), CAST(sum(x_quantity) AS DOUBLE), CAST(sum(x_normalized_quantity) AS DOUBLE),
        count(*) - count(x_normalized_quantity), CAST(sum(effective_cost) AS DOUBLE),
        CAST(sum(list_cost) AS DOUBLE)
    FROM {BILL_LINES}
    WHERE commitment_discount_id IS NOT NULL AND {IS_USE}
        AND charge_period_end > $start AND charge_period_start < $end
    GROUP BY commitment_discount_id, x_report, x_instance_type, hour ORDER BY ALL
"""  # noqa: S608
_PLANS = f"""
    SELECT commitment_discount_id, x_report, {_HOUR} AS hour, {_STEPS} AS steps,
        CAST(sum(effective_cost) AS DOUBLE)
    FROM {BILL_LINES}
    WHERE (x_line_item_type = 'SavingsPlanRecurringFee' OR commitment_discount_status = 'Unused')
        AND charge_period_end > $start AND charge_period_start < $end
    GROUP BY commitment_discount_id, x_report, hour ORDER BY ALL
"""  # noqa: S608
_REACH = f"""
    SELECT x_report, min(charge_period_start), max(charge_period_start) FROM {BILL_LINES}
    WHERE x_quantity > 0 AND charge_period_start < $end GROUP BY ALL
"""  # noqa: S608


@dataclass(frozen=True)
class HourlyUse:
    """One commitment over the hours of the range. `unit`: "hour" or "money"; `cost_of_idle`: money an hour
    that nothing used; `list_cost`: what its use would cost on demand.
    """

    name: str
    unit: str
    settled: Settled
    cost_of_idle: np.ndarray
    list_cost: np.ndarray


@dataclass(frozen=True)
class Hours:
    """All of them over [start, start + length hours); `grain_hours`: the longest line."""

    start: datetime
    length: int
    commitments: Mapping[str, HourlyUse] = field(default_factory=dict)
    grain_hours: int = 1


def commitment_hours(
    *,
    organisation: Organisation | None,
    start: datetime,
    end: datetime,
    snapshots: Mapping[str, int],
    rates: Mapping[str, Decimal | None],
) -> Hours:
    """Whole hours of UTC. `rates`: amortised cost of an hour bought, by the bill's name; it prices idle
    hours of reservations. ValueError for a range that is empty or longer than three years.
    """
    length = int((end - start).total_seconds() // 3600)
    if not 0 < length <= MOST_HOURS:
        raise ValueError(f"a range of {length} hours")
    reports = report_ids(organisation)
    if not reports or BILL_LINES not in snapshots:
        return Hours(start, length)
    window = Window(start.date(), (end + timedelta(days=1)).date())
    lines = commitment_lines(
        organisation=organisation, months=months_of(window), cut=end, snapshots=snapshots
    )
    given = {"start": start, "end": end}
    with connect(window, snapshots, reports, BILL_LINES, COLUMNS) as con:
        used = con.execute(_USED, given).fetchall()
        plans = con.execute(_PLANS, given).fetchall()
        reach = {row[0]: row[1:] for row in con.execute(_REACH, {"end": end}).fetchall()}
    sums = _Sums(length, lines)
    for row in used:
        sums.add_use(row)
    for row in plans:
        sums.add_unused(row)
    return _hours(start, length, sums, reach, rates)


class _Sums:
    """What the lines add up to, an hour each, by the bill's name of a commitment."""

    def __init__(self, length: int, lines: CommitmentLines) -> None:
        self.length = length
        self.fees: dict[str, list[ReservedFee]] = defaultdict(list)
        for fee in lines.reserved:
            self.fees[fee.id].append(fee)
        self.each = {name: units_each(fees) for name, fees in self.fees.items()}
        self.report = {name: fees[0].report for name, fees in self.fees.items()}
        self.taken = self._empty()
        self.money = self._empty()
        self.listed = self._empty()
        self.unused = self._empty()
        self.grain = 1

    def _empty(self) -> dict[str, np.ndarray]:
        return defaultdict(lambda: np.zeros(self.length))

    def add_use(self, row: tuple[Any, ...]) -> None:
        """A row of what was paid for."""
        name, of, kind, hour, steps, provider, quantity, normalised, missing, cost, list_cost = row
        self.grain, inside = max(self.grain, steps), _inside(hour, steps, self.length)
        self.report.setdefault(name, of)
        if name in self.fees:
            own = own_hours(
                self.fees[name][0].instance_type,
                kind or "",
                provider,
                quantity,
                None if missing else normalised,
                self.each[name],
            )
            self.taken[name][inside] += own / steps
        self.money[name][inside] += (cost or 0.0) / steps
        self.listed[name][inside] += (list_cost or 0.0) / steps

    def add_unused(self, row: tuple[Any, ...]) -> None:
        """A row of commitment that nothing used."""
        name, of, hour, steps, cost = row
        self.report.setdefault(name, of)
        self.unused[name][_inside(hour, steps, self.length)] += (cost or 0.0) / steps

    def reserved(self, name: str, start: datetime, known: np.ndarray, rate: Decimal | None) -> HourlyUse:
        """A reservation with its fee."""
        bought = np.zeros(self.length)
        for fee in self.fees[name]:
            end = fee.end + timedelta(seconds=1)
            bought += count_of(fee) * share_of_hours(fee.begin, end, start, self.length)
        both = settle(np.where(known, bought, np.nan), np.where(known, self.taken[name], np.nan))
        idle = both.idle * float(rate) if rate is not None else np.full(self.length, np.nan)
        return HourlyUse(name, "hour", both, idle, np.where(known, self.listed[name], np.nan))

    def money_of(self, name: str, known: np.ndarray) -> HourlyUse:
        """A savings plan, or a commitment of an export without fees."""
        whole = np.where(known, self.money[name] + self.unused[name], np.nan)
        both = settle(whole, np.where(known, self.money[name], np.nan))
        return HourlyUse(name, "money", both, both.idle, np.where(known, self.listed[name], np.nan))


def _hours(
    start: datetime,
    length: int,
    sums: _Sums,
    reach: Mapping[str, tuple[datetime, datetime]],
    rates: Mapping[str, Decimal | None],
) -> Hours:
    found = {}
    for name in sorted(sums.report):
        known = _known(start, length, reach.get(sums.report[name]), sums.grain)
        found[name] = (
            sums.reserved(name, start, known, rates.get(name))
            if name in sums.fees
            else sums.money_of(name, known)
        )
    return Hours(start, length, found, sums.grain)


def _inside(hour: int, steps: int, length: int) -> slice:
    return slice(max(0, hour), max(0, min(length, hour + steps)))


def _known(start: datetime, length: int, reach: tuple[datetime, datetime] | None, grain: int) -> np.ndarray:
    hour = np.arange(length)
    if reach is None:
        return np.zeros(length, dtype=bool)
    first = int((reach[0].astimezone(UTC) - start).total_seconds() // 3600)
    last = int((reach[1].astimezone(UTC) - start).total_seconds() // 3600) + grain
    known: np.ndarray = (hour >= first) & (hour < last)
    return known
