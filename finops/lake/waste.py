"""What resources used, read from bill lines: three questions of a connection on which `billing.lines` is
there.

    kinds_in      usage types of the days, and what nothing here can read
    uses_of       one pass over the lines of metered usage types: a row a resource and kind
    newest_lines  tags, owner and place of each resource's newest line
    day_costs     what found resources cost a day

Quirks: negations of savings plans are left out, their covered lines have the quantity; two reports of one
account tell of the same resources, so of each account the report with the newest lines counts; an hour is
told apart from a day by the length of the line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import duckdb

from finops.frames.waste import ZERO, Key, Told, Use, meter_of
from finops.lake.bill_tables import BILL_LINES

HOUR_US = 3_600_000_000
COLUMNS = (
    "x_report", "x_month", "x_provider", "sub_account_id", "region_id", "resource_id", "x_product_code",
    "x_usage_type", "x_operation", "x_instance_type", "x_line_item_type", "commitment_discount_status",
    "commitment_discount_id", "charge_period_start", "charge_period_end", "x_day", "x_quantity",
    "effective_cost", "billing_currency", "billed_cost", "charge_description", "x_delivery", "x_file",
    "x_row", "tags",
)  # fmt: skip
_ASKED = "charge_period_start >= $start AND charge_period_start < $end"
# What is no use: fees, taxes, credits and what takes a covered line back.
IS_USE = (
    "(x_line_item_type IS NULL OR x_line_item_type NOT IN ('SavingsPlanNegation', 'RIFee', 'Fee', 'Tax', "
    "'Credit', 'Refund', 'SavingsPlanRecurringFee', 'SavingsPlanUpfrontFee'))"
)
COVERED = (
    "(coalesce(x_line_item_type, '') IN ('DiscountedUsage', 'SavingsPlanCoveredUsage') "
    "OR coalesce(commitment_discount_status, '') = 'Used')"
)
_KINDS = f"""
    SELECT x_provider, x_product_code, x_usage_type, billing_currency, count(*), sum(effective_cost)
    FROM {BILL_LINES} WHERE {_ASKED} GROUP BY ALL ORDER BY ALL
"""
# A row a resource, kind and day: the whole span and the cost of single days are both read from it.
_BY_DAY = f"""
CREATE OR REPLACE TEMP TABLE waste_days AS
SELECT x_report, provider, account, region, resource, kind, currency, day,
    sum(quantity) AS quantity, sum(cost) AS cost, count(*) - count(cost) AS missing,
    sum(quantity) FILTER (WHERE covered) AS covered, sum(cost) FILTER (WHERE covered) AS covered_cost,
    sum(quantity) FILTER (WHERE planned) AS planned, max(commitment) FILTER (WHERE covered) AS commitment,
    bit_or(1::INTEGER << (hour % 24)::INTEGER) AS hours,
    bit_or(1::INTEGER << (hour % 24)::INTEGER) FILTER (WHERE night) AS night_hours,
    sum(cost) FILTER (WHERE night AND NOT covered) AS night_cost,
    bool_and(hourly) AS hourly, min(begun) AS begun, max(ended) AS ended,
    max(usage_type) AS usage_type, max(operation) AS operation, max(instance_type) AS instance_type
FROM (
    SELECT l.x_report, coalesce(l.x_provider, '') AS provider, coalesce(l.sub_account_id, '') AS account,
        coalesce(l.region_id, '') AS region, coalesce(l.resource_id, '') AS resource, k.kind AS kind,
        coalesce(l.billing_currency, '') AS currency, l.x_day AS day,
        epoch_us(l.charge_period_start) // {HOUR_US} AS hour, l.charge_period_start AS begun,
        l.charge_period_end AS ended,
        epoch_us(l.charge_period_end) - epoch_us(l.charge_period_start) <= {HOUR_US} AS hourly,
        l.x_quantity AS quantity, l.effective_cost AS cost, {COVERED} AS covered,
        coalesce(l.x_line_item_type, '') = 'SavingsPlanCoveredUsage' AS planned,
        l.commitment_discount_id AS commitment, n.hour IS NOT NULL AS night,
        l.x_usage_type AS usage_type, l.x_operation AS operation, l.x_instance_type AS instance_type
    FROM {BILL_LINES} l
    JOIN waste_kinds k ON l.x_usage_type = k.usage_type AND coalesce(l.x_product_code, '') = k.product
    LEFT JOIN waste_nights n ON n.hour = epoch_us(l.charge_period_start) // {HOUR_US}
    WHERE {_ASKED} AND {IS_USE}
) GROUP BY ALL
"""
_USES = """
WITH whole AS (
    SELECT x_report, provider, account, region, resource, kind, currency,
        max(usage_type) AS usage_type, max(operation) AS operation, max(instance_type) AS instance_type,
        sum(quantity) AS quantity, arg_max(quantity, day) AS last_quantity, sum(cost) AS cost,
        sum(missing) AS missing, sum(covered) AS covered, sum(covered_cost) AS covered_cost,
        sum(planned) AS planned, max(commitment) AS commitment, sum(bit_count(hours)) AS hours,
        sum(bit_count(night_hours)) AS night_hours, sum(night_cost) AS night_cost,
        bool_and(hourly) AS hourly, min(begun) AS begun, max(ended) AS ended, count(*) AS days,
        list(quantity ORDER BY day) FILTER (WHERE kind = 'log-storage') AS series
    FROM waste_days GROUP BY ALL
), newest AS (
    SELECT provider, account, arg_max(x_report, (reach, x_report)) AS x_report FROM (
        SELECT provider, account, x_report, max(ended) AS reach FROM whole GROUP BY ALL
    ) GROUP BY ALL
)
SELECT whole.* EXCLUDE (x_report) FROM whole JOIN newest USING (provider, account, x_report)
ORDER BY provider, account, region, resource, kind, currency
"""
_NEWEST = """
    SELECT coalesce(x_provider, ''), coalesce(sub_account_id, ''), coalesce(region_id, ''),
        coalesce(resource_id, ''),
        max_by({{'tags': tags, 'team': {team}, 'delivery': x_delivery, 'file': x_file, 'row': x_row}},
            (charge_period_start, coalesce(effective_cost, 0), x_row))
    FROM {lines} l
    JOIN waste_kinds k ON l.x_usage_type = k.usage_type AND coalesce(l.x_product_code, '') = k.product
    WHERE {asked} AND x_day >= $since{only} GROUP BY 1, 2, 3, 4
"""
_DAYS = """
    SELECT provider, account, region, resource, kind, x_report, list(cost ORDER BY day)
    FROM (
        SELECT provider, account, region, resource, kind, x_report, day, sum(cost) AS cost
        FROM waste_days WHERE resource IN (SELECT resource FROM waste_found) GROUP BY ALL
    ) GROUP BY ALL ORDER BY ALL
"""
_FIRST_SEEN = f"""
    SELECT coalesce(x_provider, ''), coalesce(sub_account_id, ''), coalesce(region_id, ''), resource_id,
        min(charge_period_start)
    FROM {BILL_LINES} l
    JOIN waste_kinds k ON l.x_usage_type = k.usage_type AND coalesce(l.x_product_code, '') = k.product
    WHERE k.kind = $kind AND charge_period_start < $end AND resource_id IS NOT NULL GROUP BY ALL
"""
_FREE = f"""
    SELECT coalesce(sub_account_id, ''), x_usage_type, max(charge_period_start), min(charge_period_start)
    FROM {BILL_LINES} l
    WHERE charge_period_start >= $start AND charge_period_start < $end AND billed_cost = 0
        AND x_quantity > 0 AND charge_description ILIKE '%free tier%'
        AND NOT charge_description ILIKE '%global free tier%'
    GROUP BY ALL ORDER BY ALL
"""


@dataclass(frozen=True)
class Kinds:
    """`metered`: (product, usage type, kind) of the days; `unread`: cost by (provider, currency) of providers
    that no rule reads; `lines` of all.
    """

    metered: tuple[tuple[str, str, str], ...]
    unread: Mapping[tuple[str, str], Decimal]
    lines: int


def kinds_in(con: duckdb.DuckDBPyConnection, start: datetime, end: datetime) -> Kinds:
    """What the lines of [start, end) meter; makes the tables that the other questions join."""
    rows = con.execute(_KINDS, {"start": start, "end": end}).fetchall()
    metered: set[tuple[str, str, str]] = set()
    unread: dict[tuple[str, str], Decimal] = {}
    for provider, product, usage_type, currency, _lines, cost in rows:
        if provider not in ("aws", "", None):
            key = (provider, currency or "")
            unread[key] = unread.get(key, ZERO) + (cost or ZERO)
            continue
        meter = meter_of(product or "", usage_type or "")
        if meter is not None:
            metered.add((product or "", usage_type, meter.kind))
    found = tuple(sorted(metered))
    con.execute(
        "CREATE OR REPLACE TEMP TABLE waste_kinds (product VARCHAR, usage_type VARCHAR, kind VARCHAR)"
    )
    if found:
        con.executemany("INSERT INTO waste_kinds VALUES (?, ?, ?)", [list(one) for one in found])
    return Kinds(found, unread, sum(row[4] for row in rows))


def uses_of(
    con: duckdb.DuckDBPyConnection, start: datetime, end: datetime, night_hours: Sequence[int]
) -> list[Use]:
    """Every resource's use of every kind in [start, end). `night_hours`: whole hours since 1970 that are
    nights and weekends. Asks for `kinds_in` first.
    """
    con.execute("CREATE OR REPLACE TEMP TABLE waste_nights (hour BIGINT)")
    con.execute("INSERT INTO waste_nights SELECT unnest($hours)", {"hours": list(night_hours) or [-1]})
    con.execute(_BY_DAY, {"start": start, "end": end})
    rows = con.execute(_USES).fetchall()
    return [_use(row) for row in rows]


def _use(row: Sequence[Any]) -> Use:
    (provider, account, region, resource, kind, currency, usage_type, operation, instance_type, quantity,
     last_quantity, cost, missing, covered, covered_cost, planned, commitment, hours, night_hours,
     night_cost, hourly, begun, ended, days, series) = row  # fmt: skip
    return Use(
        key=Key(provider, account, region, resource),
        kind=kind,
        usage_type=usage_type or "",
        operation=operation or "",
        instance_type=instance_type or (usage_type or "").rpartition(":")[2],
        currency=currency,
        quantity=quantity or ZERO,
        last_quantity=last_quantity or ZERO,
        cost=None if missing or cost is None else cost,
        covered=covered or ZERO,
        covered_cost=covered_cost or ZERO,
        plan_covered=planned or ZERO,
        commitment=(commitment or "").rpartition("/")[2],
        hours=int(hours or 0) if hourly else None,
        night_hours=int(night_hours or 0) if hourly else 0,
        night_cost=night_cost or ZERO,
        first=begun.astimezone(UTC),
        last=(ended or begun).astimezone(UTC),
        days=int(days),
        series=tuple(one or ZERO for one in series or ()),
    )


def newest_lines(
    con: duckdb.DuckDBPyConnection,
    start: datetime,
    end: datetime,
    *,
    since: date,
    team: str = "NULL",
    given: Mapping[str, Any] | None = None,
    resources: Sequence[str] = (),
) -> dict[Key, tuple[Told, Any]]:
    """Of each resource with lines on `since` or later its newest one, and what `team` (SQL of ours) makes of
    it.
    """
    only = " AND l.resource_id IN (SELECT unnest($resources))" if resources else ""
    sql = _NEWEST.format(team=team, lines=BILL_LINES, asked=_ASKED, only=only)
    asked: dict[str, Any] = {"start": start, "end": end, "since": since, **(given or {})}
    if resources:
        asked["resources"] = list(resources)
    rows = con.execute(sql, asked).fetchall()
    return {
        Key(*row[:4]): (
            Told(
                dict(row[4]["tags"] or {}), "", row[4]["delivery"] or 0, row[4]["file"] or "",
                row[4]["row"] or 0,
            ),
            row[4]["team"],
        )
        for row in rows
    }  # fmt: skip


def day_costs(
    con: duckdb.DuckDBPyConnection, resources: Sequence[str]
) -> dict[tuple[Key, str], list[Decimal]]:
    """Amortised cost of each day with lines, by resource and kind, in order; of the report with most of
    it. Asks for `uses_of` first, whose days these are.
    """
    con.execute("CREATE OR REPLACE TEMP TABLE waste_found (resource VARCHAR)")
    names = sorted(set(resources))
    if not names:
        return {}
    con.execute("INSERT INTO waste_found SELECT unnest($names)", {"names": names})
    best: dict[tuple[Key, str], list[Decimal]] = {}
    for *place, kind, _report, costs in con.execute(_DAYS).fetchall():
        key = (Key(*place), kind)
        if len(costs) > len(best.get(key, ())):
            best[key] = [cost or ZERO for cost in costs]
    return best


def first_seen(con: duckdb.DuckDBPyConnection, end: datetime, kind: str) -> dict[Key, datetime]:
    """The first line of each resource of a kind in all that the connection can read."""
    rows = con.execute(_FIRST_SEEN, {"end": end, "kind": kind}).fetchall()
    return {Key(*row[:4]): row[4].astimezone(UTC) for row in rows}


def free_before(
    con: duckdb.DuckDBPyConnection, start: datetime, end: datetime, days: int = 60
) -> dict[tuple[str, str], tuple[datetime, datetime]]:
    """(last, first) line under the free tier by account and usage type in [start - `days`, end)."""
    given = {"start": start - timedelta(days=days), "end": end}
    rows = con.execute(_FREE, given).fetchall()
    return {(row[0], row[1]): (row[2].astimezone(UTC), row[3].astimezone(UTC)) for row in rows}
