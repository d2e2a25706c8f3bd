"""Hourly use of instances and the reservations that paid for it, from the lines of bills.

Only instance-hours of EC2 count (`BoxUsage`), never Spot. A line of type Usage is on demand,
DiscountedUsage was paid by the reservation it names, SavingsPlanCoveredUsage by the plan. Use that cost
nothing while its list price is above zero is the free tier: no commitment can save on it, so it is left
out and counted. An hour without any line of any service, before the first or after the last hour that
the bills reach, is unknown.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

from apps.accounts.models import Organisation
from apps.billing.selectors.deliveries import reports_visible
from apps.billing.selectors.spend_reading import connect
from finops.engine.commitments.coverage import Coverage
from finops.engine.spend import Window
from finops.frames.demand import HOUR, Demand, Use
from finops.frames.offers import OfferKey, platform_of
from finops.lake import BILL_LINES

TENANCIES = {"Shared": "default", "Dedicated": "dedicated", "Host": "host"}
_PLATFORM = re.compile(r"per (.+?), \S+ (?:instance|reserved instance)")
_COLUMNS = (
    "x_report", "x_month", "x_product_code", "x_line_item_type", "x_usage_type", "x_operation",
    "x_operating_system", "x_tenancy", "x_instance_type", "x_quantity", "x_normalized_quantity",
    "pricing_quantity", "billed_cost", "effective_cost", "list_cost", "availability_zone", "region_id",
    "sub_account_id", "charge_period_start", "charge_period_end", "charge_description",
    "commitment_discount_id", "billing_currency",
)  # fmt: skip
# The only names in these texts are constants of this project.
_SPAN = f"SELECT min(charge_period_start), max(charge_period_start) FROM {BILL_LINES} WHERE x_quantity > 0"  # noqa: S608
_USE = f"""
    SELECT region_id, coalesce(availability_zone, ''), x_operating_system, x_operation, x_tenancy,
        x_instance_type, sub_account_id,
        CASE WHEN billed_cost = 0 AND list_cost > 0 AND x_line_item_type = 'Usage' THEN 'free'
            ELSE x_line_item_type END AS kind,
        coalesce(commitment_discount_id, '') AS paid_by,
        CAST(floor(date_diff('second', $start, charge_period_start) / 3600) AS BIGINT) AS hour,
        CAST(sum(x_quantity) AS DOUBLE)
    FROM {BILL_LINES}
    WHERE x_product_code = 'AmazonEC2' AND contains(x_usage_type, 'BoxUsage')
        AND charge_period_start >= $start AND charge_period_start < $end
    GROUP BY ALL ORDER BY ALL
"""  # noqa: S608
_FEES = f"""
    SELECT commitment_discount_id, region_id, x_usage_type, charge_description, billing_currency,
        min(charge_period_start), sum(pricing_quantity),
        sum(pricing_quantity * 3600
            / nullif(date_diff('second', charge_period_start, charge_period_end) + 1, 0)),
        count(*), sum(effective_cost), any_value(sub_account_id), sum(x_normalized_quantity)
    FROM {BILL_LINES}
    WHERE x_line_item_type = 'RIFee' AND x_product_code = 'AmazonEC2'
    GROUP BY ALL ORDER BY 1
"""  # noqa: S608
_USED = f"""
    SELECT commitment_discount_id, sum(x_normalized_quantity), sum(effective_cost)
    FROM {BILL_LINES}
    WHERE x_line_item_type = 'DiscountedUsage' AND x_product_code = 'AmazonEC2'
    GROUP BY 1
"""  # noqa: S608


@dataclass(frozen=True, slots=True)
class OwnReserved:
    """A reservation over the billing months read. Hours are instance-hours of its own size; money as the
    bill amortises it. `start`: where the bill shows that it began inside a month, else None; the end is
    not in bill lines.
    """

    id: str
    account: str
    key: OfferKey
    count: int
    start: datetime | None
    reserved_hours: Decimal
    used_hours: Decimal
    cost: Decimal
    idle_cost: Decimal
    currency: str

    @property
    def idle_hours(self) -> Decimal:
        """Reserved and not used."""
        return self.reserved_hours - self.used_hours


@dataclass(frozen=True)
class BillUse:
    """`coverage.left` is what stays on demand. `free_hours`: instance-hours of the free tier that were
    left out; `unread`: instance-hours whose platform or tenancy is not known, by what the lines say.
    """

    coverage: Coverage
    free_hours: float
    unread: Mapping[str, float] = field(default_factory=dict)


def platform_by_operation(system: str, operation: str) -> str:
    """The product text of an instance line; an empty text where it is not known.

    Source: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/billing-info-fields.html
    """
    known = {
        "RunInstances": "Linux/UNIX",
        "RunInstances:0002": "Windows",
        "RunInstances:0010": "Red Hat Enterprise Linux",
        "RunInstances:000g": "SUSE Linux",
        "RunInstances:0004": "Linux with SQL Server Standard",
        "RunInstances:0200": "Linux with SQL Server Web",
        "RunInstances:0100": "Linux with SQL Server Enterprise",
        "RunInstances:0006": "Windows with SQL Server Standard",
        "RunInstances:0202": "Windows with SQL Server Web",
        "RunInstances:0102": "Windows with SQL Server Enterprise",
    }
    found = known.get(operation, "")
    if operation == "RunInstances" and system not in {"Linux", ""}:
        return ""
    return found


def bill_use(
    *, organisation: Organisation | None, start: datetime, hours: int, snapshots: Mapping[str, int]
) -> BillUse:
    """Use in [start, start + hours), whole hours of UTC."""
    end = start + hours * HOUR
    reports = _reports(organisation)
    gross: dict[tuple[OfferKey, str], np.ndarray] = {}
    left: dict[tuple[OfferKey, str], np.ndarray] = {}
    covering: dict[tuple[OfferKey, str], set[str]] = defaultdict(set)
    unread: dict[str, float] = defaultdict(float)
    free = 0.0
    known = np.zeros(hours, dtype=bool)
    if reports and BILL_LINES in snapshots:
        window = Window(start.date(), (end + timedelta(days=1)).date())
        with connect(window, snapshots, reports, BILL_LINES, _COLUMNS) as con:
            first, last = con.execute(_SPAN).fetchall()[0]
            if first is not None:
                known = _between(start, hours, first, last)
            rows = con.execute(_USE, {"start": start, "end": end}).fetchall()
        for row in rows:
            key, account, kind, by, hour, quantity = _use_of(row)
            if kind == "free":
                free += quantity
            elif key is None:
                unread[f"{row[2]} {row[3]} {row[4]}"] += quantity
            else:
                place = (key, account)
                gross.setdefault(place, np.zeros(hours))[hour] += quantity
                if kind == "Usage":
                    left.setdefault(place, np.zeros(hours))[hour] += quantity
                elif by:
                    covering[place].add(by)
    return BillUse(_coverage(start, hours, gross, left, covering, known), free, dict(unread))


def _use_of(row: tuple[Any, ...]) -> tuple[OfferKey | None, str, str, str, int, float]:
    region, zone, system, operation, tenancy, kind_of, account, kind, by, hour, quantity = row
    platform = platform_by_operation(system or "", operation or "")
    place = TENANCIES.get(tenancy or "Shared", "")
    complete = platform and place and region and kind_of
    key = OfferKey("aws", region, zone, platform, place, kind_of) if complete else None
    return key, account or "", kind, by, int(hour), float(quantity or 0)


def _between(start: datetime, hours: int, first: datetime, last: datetime) -> np.ndarray:
    begin = int((first.astimezone(UTC) - start).total_seconds() // 3600)
    stop = int((last.astimezone(UTC) - start).total_seconds() // 3600) + 1
    hour = np.arange(hours)
    inside: np.ndarray = (hour >= begin) & (hour < stop)
    return inside


def _coverage(
    start: datetime,
    hours: int,
    gross: dict[tuple[OfferKey, str], np.ndarray],
    left: dict[tuple[OfferKey, str], np.ndarray],
    covering: dict[tuple[OfferKey, str], set[str]],
    known: np.ndarray,
) -> Coverage:
    uses, rests, taken = [], [], []
    for (key, account), whole in gross.items():
        rest = left.get((key, account), np.zeros(hours))
        uses.append(Use(key, account, np.where(known, whole, np.nan)))
        rests.append(np.where(known, rest, np.nan))
        taken.append(np.where(known, whole - rest, np.nan))
    places = list(gross)
    return Coverage(
        Demand(start, hours, tuple(uses)),
        tuple(rests),
        tuple(taken),
        tuple(np.zeros(hours) for _ in uses),
        {}, {}, {}, {},
        {i: tuple(sorted(covering[place])) for i, place in enumerate(places) if place in covering},
    )  # fmt: skip


def own_reserved(
    *, organisation: Organisation | None, window: Window, snapshots: Mapping[str, int]
) -> list[OwnReserved]:
    """Reservations with a fee in the billing months of the window."""
    reports = _reports(organisation)
    if not reports or BILL_LINES not in snapshots:
        return []
    with connect(window, snapshots, reports, BILL_LINES, _COLUMNS) as con:
        used = {row[0]: row[1:] for row in con.execute(_USED).fetchall()}
        fees = con.execute(_FEES).fetchall()
    return [_own(row, used.get(row[0], (None, None))) for row in fees]


def _own(row: tuple[Any, ...], used: tuple[Decimal | None, Decimal | None]) -> OwnReserved:
    arn, region, usage_type, description, currency, first, reserved, each, months = row[:9]
    unused_cost, account, normalised = row[9:]
    told = _PLATFORM.search(description or "")
    kind = (usage_type or "").rpartition(":")[2]
    share = Decimal(used[0] or 0) / normalised if normalised else Decimal(0)
    begun = first.astimezone(UTC)
    return OwnReserved(
        id=arn,
        account=account or "",
        key=OfferKey("aws", region or "", "", platform_of(told[1]) if told else "", "default", kind),
        count=round(each / months) if each is not None else 0,
        start=None if (begun.day, begun.hour, begun.minute, begun.second) == (1, 0, 0, 0) else begun,
        reserved_hours=reserved,
        used_hours=reserved * share,
        cost=Decimal(used[1] or 0) + Decimal(unused_cost or 0),
        idle_cost=Decimal(unused_cost or 0),
        currency=currency,
    )


def _reports(organisation: Organisation | None) -> list[str]:
    return sorted(str(pk) for pk in reports_visible(organisation=organisation).values_list("pk", flat=True))
