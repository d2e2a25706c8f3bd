"""What bill lines say about commitments: fees, and what each one paid for, by billing month and by hour.

AWS: a fee line of a reservation (RIFee) has the hours of the month and the part of its cost that nothing
used; fee lines of savings plans have the commitment and its used part; DiscountedUsage and
SavingsPlanCoveredUsage name what paid for them. FOCUS and other exports have no fee lines: their lines say
Used or Unused, and money alone tells how far a commitment is used. An hour after the newest line of its
report is unknown, not idle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from apps.accounts.models import Organisation
from apps.billing.selectors.deliveries import deliveries_current
from apps.billing.selectors.spend_reading import connect, report_ids
from finops.engine.spend import Window, next_month
from finops.lake import BILL_LINES

USED = ("DiscountedUsage", "SavingsPlanCoveredUsage")
PLAN_FEES = ("SavingsPlanRecurringFee",)
_FACTS = (
    "x_commitment_start", "x_commitment_end", "x_commitment_count", "x_commitment_class",
    "x_commitment_payment", "x_commitment_term", "x_commitment_family", "x_commitment_region",
    "x_commitment_upfront", "x_commitment_amortized_upfront", "x_commitment_total", "x_commitment_used",
    "x_commitment_units", "x_commitment_unused_units",
)  # fmt: skip
COLUMNS = (
    "x_report", "x_month", "x_provider", "x_product_code", "x_line_item_type", "x_usage_type",
    "x_operation", "x_instance_type", "x_quantity", "x_normalized_quantity", "pricing_quantity",
    "billed_cost", "effective_cost", "list_cost", "availability_zone", "region_id", "sub_account_id",
    "charge_period_start", "charge_period_end", "charge_description", "commitment_discount_id",
    "commitment_discount_type", "commitment_discount_category", "commitment_discount_status",
    "billing_currency", *_FACTS,
)  # fmt: skip
# A name is asked for in text: only constants of this project stand in it.
IS_USE = (
    f"(x_line_item_type IN {USED} OR (commitment_discount_status = 'Used' "
    f"AND x_line_item_type IS DISTINCT FROM 'SavingsPlanNegation'))"
)
_REACH = f"""
    SELECT x_report, x_month, max(charge_period_start) FROM {BILL_LINES}
    WHERE x_quantity > 0 AND charge_period_start < $cut GROUP BY ALL
"""  # noqa: S608
# A CUR has the hours of the month twice; an export of it to FOCUS may keep those of the reservation only.
_FEE_HOURS = "coalesce(pricing_quantity, x_commitment_units)"
_RESERVED_FEES = f"""
    SELECT commitment_discount_id, x_report, x_month, any_value(x_provider), any_value(sub_account_id),
        any_value(region_id), any_value(availability_zone), any_value(x_usage_type),
        any_value(x_operation), any_value(charge_description), any_value(billing_currency),
        min(charge_period_start), max(charge_period_end), sum({_FEE_HOURS}), sum(x_normalized_quantity),
        sum(effective_cost), sum(billed_cost), any_value(x_product_code),
        sum({_FEE_HOURS} * 3600
            / nullif(date_diff('second', charge_period_start, charge_period_end) + 1, 0)) / count(*),
        {", ".join(f"any_value({name})" for name in _FACTS[:8])},
        sum(x_commitment_upfront) / count(*), sum(x_commitment_amortized_upfront),
        sum(x_commitment_units), sum(x_commitment_unused_units)
    FROM {BILL_LINES} WHERE x_line_item_type = 'RIFee' AND charge_period_start < $cut
    GROUP BY ALL ORDER BY ALL
"""  # noqa: S608
_PLAN_FEES = f"""
    SELECT commitment_discount_id, x_report, x_month, any_value(x_provider), any_value(sub_account_id),
        any_value(billing_currency), min(charge_period_start), max(charge_period_end),
        sum(effective_cost), sum(billed_cost), sum(x_commitment_total), sum(x_commitment_used),
        {", ".join(f"any_value({name})" for name in _FACTS[:8])}
    FROM {BILL_LINES} WHERE x_line_item_type = 'SavingsPlanRecurringFee' AND charge_period_start < $cut
    GROUP BY ALL ORDER BY ALL
"""  # noqa: S608
_USES = f"""
    SELECT commitment_discount_id, x_month, x_instance_type, any_value(x_report), any_value(x_provider),
        any_value(sub_account_id), any_value(region_id), any_value(billing_currency),
        any_value(x_product_code), any_value(commitment_discount_type),
        any_value(commitment_discount_category), any_value(x_line_item_type),
        sum(x_quantity), sum(x_normalized_quantity), count(*) - count(x_normalized_quantity),
        sum(effective_cost), sum(list_cost), count(*) - count(list_cost),
        max(date_diff('second', charge_period_start, charge_period_end))
    FROM {BILL_LINES}
    WHERE commitment_discount_id IS NOT NULL AND {IS_USE} AND charge_period_start < $cut
    GROUP BY commitment_discount_id, x_month, x_instance_type ORDER BY ALL
"""  # noqa: S608
_UNUSED = f"""
    SELECT commitment_discount_id, x_month, sum(effective_cost) FROM {BILL_LINES}
    WHERE commitment_discount_status = 'Unused' AND charge_period_start < $cut GROUP BY ALL ORDER BY ALL
"""  # noqa: S608


@dataclass(frozen=True, slots=True)
class ReservedFee:
    """The fee of a reservation for one billing month. Hours are instance-hours of its own size, of all
    reservations under the id; `unused_cost` is what nothing used of the amortised cost.
    """

    id: str
    report: str
    month: date
    provider: str
    account: str
    region: str
    zone: str
    instance_type: str
    operation: str
    description: str
    currency: str
    begin: datetime
    end: datetime
    hours: Decimal
    normalised: Decimal | None
    unused_cost: Decimal
    billed: Decimal
    product: str
    count_by_time: Decimal | None
    facts: Mapping[str, Any]
    upfront: Decimal | None
    amortised_upfront: Decimal | None
    units: Decimal | None
    unused_units: Decimal | None


@dataclass(frozen=True, slots=True)
class PlanFee:
    """Fee lines of a savings plan in one billing month. `unused_cost` + what it paid for = the commitment."""

    id: str
    report: str
    month: date
    provider: str
    account: str
    currency: str
    begin: datetime
    end: datetime
    unused_cost: Decimal
    billed: Decimal
    total: Decimal | None
    used: Decimal | None
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PaidUse:
    """What a commitment paid for in one billing month, of one instance type. `list_missing` lines have no
    on-demand price, `normalised_missing` no normalised units; `step_seconds`: the longest line.
    """

    id: str
    month: date
    instance_type: str
    report: str
    provider: str
    account: str
    region: str
    currency: str
    product: str
    type_words: str
    category: str
    line_type: str
    quantity: Decimal
    normalised: Decimal | None
    normalised_missing: int
    cost: Decimal
    list_cost: Decimal | None
    list_missing: int
    step_seconds: int


@dataclass(frozen=True)
class CommitmentLines:
    """All of it up to `cut`. `reach`: the first instant that no line of a report and month reaches."""

    cut: datetime
    reserved: tuple[ReservedFee, ...] = ()
    plans: tuple[PlanFee, ...] = ()
    uses: tuple[PaidUse, ...] = ()
    unused: Mapping[tuple[str, date], Decimal] = field(default_factory=dict)
    reach: Mapping[tuple[str, date], datetime] = field(default_factory=dict)


def bill_months(*, organisation: Organisation | None, before: datetime) -> list[date]:
    """Billing months with a bill that begin before `before`, oldest first."""
    rows = deliveries_current(organisation=organisation).filter(billing_period__lt=before.date())
    same_day = deliveries_current(organisation=organisation).filter(billing_period=before.date())
    found = {d.billing_period for d in rows} | {
        d.billing_period for d in same_day if before > _midnight(d.billing_period)
    }
    return sorted(found)


def commitment_lines(
    *,
    organisation: Organisation | None,
    months: Sequence[date],
    cut: datetime,
    snapshots: Mapping[str, int],
) -> CommitmentLines:
    """Lines of these billing months that begin before `cut`."""
    reports = report_ids(organisation)
    if not reports or BILL_LINES not in snapshots or not months:
        return CommitmentLines(cut)
    window = Window(min(months), next_month(max(months)))
    wanted = {f"{month:%Y-%m}" for month in months}
    given = {"cut": cut}
    with connect(window, snapshots, reports, BILL_LINES, COLUMNS) as con:
        fees = con.execute(_RESERVED_FEES, given).fetchall()
        plans = con.execute(_PLAN_FEES, given).fetchall()
        uses = con.execute(_USES, given).fetchall()
        unused = con.execute(_UNUSED, given).fetchall()
        reach = con.execute(_REACH, given).fetchall()
    return CommitmentLines(
        cut,
        tuple(_reserved_fee(row) for row in fees if row[2] in wanted),
        tuple(_plan_fee(row) for row in plans if row[2] in wanted),
        tuple(_paid_use(row) for row in uses if row[1] in wanted),
        {(row[0], _month(row[1])): row[2] or Decimal(0) for row in unused if row[1] in wanted},
        {(row[0], _month(row[1])): row[2].astimezone(UTC) for row in reach},
    )


def _month(text: str) -> date:
    return date.fromisoformat(f"{text}-01")


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _facts(values: Sequence[Any]) -> dict[str, Any]:
    found = {
        name.removeprefix("x_commitment_"): value for name, value in zip(_FACTS[:8], values, strict=True)
    }
    for name in ("start", "end"):
        found[name] = None if found[name] is None else found[name].astimezone(UTC)
    return found


def _reserved_fee(row: Sequence[Any]) -> ReservedFee:
    return ReservedFee(
        id=row[0] or "",
        report=row[1],
        month=_month(row[2]),
        provider=row[3] or "aws",
        account=row[4] or "",
        region=row[5] or "",
        zone=row[6] or "",
        instance_type=(row[7] or "").rpartition(":")[2],
        operation=row[8] or "",
        description=row[9] or "",
        currency=row[10] or "",
        begin=row[11].astimezone(UTC),
        end=row[12].astimezone(UTC),
        hours=row[13] or Decimal(0),
        normalised=row[14],
        unused_cost=row[15] or Decimal(0),
        billed=row[16] or Decimal(0),
        product=row[17] or "",
        count_by_time=None if row[18] is None else Decimal(str(row[18])),
        facts=_facts(row[19:27]),
        upfront=None if row[27] is None else Decimal(str(row[27])),
        amortised_upfront=row[28],
        units=row[29],
        unused_units=row[30],
    )


def _plan_fee(row: Sequence[Any]) -> PlanFee:
    return PlanFee(
        row[0] or "", row[1], _month(row[2]), row[3] or "aws", row[4] or "", row[5] or "",
        row[6].astimezone(UTC), row[7].astimezone(UTC), row[8] or Decimal(0), row[9] or Decimal(0),
        row[10], row[11], _facts(row[12:20]),
    )  # fmt: skip


def _paid_use(row: Sequence[Any]) -> PaidUse:
    return PaidUse(
        row[0], _month(row[1]), row[2] or "", row[3], row[4] or "", row[5] or "", row[6] or "",
        row[7] or "", row[8] or "", row[9] or "", row[10] or "", row[11] or "", row[12] or Decimal(0),
        row[13], int(row[14]), row[15] or Decimal(0), row[16], int(row[17]), int(row[18] or 0),
    )  # fmt: skip
