"""Hourly use of instances and what paid for it, from the lines of bills.

Only instance-hours of EC2 count (`BoxUsage`), never Spot. A line of type Usage is on demand,
DiscountedUsage was paid by the reservation it names, SavingsPlanCoveredUsage by the plan. Use that cost
nothing while its list price is above zero is the free tier: no commitment can save on it, so it is left
out and counted. An hour without any line of any service, before the first or after the last hour that
the bills reach, is unknown. A line longer than an hour (daily and monthly exports) is spread evenly over its
hours; `BillUse.grain` says so.

Of commitments that changed within the range the demand is as it would be with those of the decision time:
what an ended one paid for is on demand again, one that began later takes its part of the hours before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from apps.accounts.models import Organisation
from apps.billing.selectors.deliveries import reports_visible
from apps.billing.selectors.spend_reading import connect
from finops.engine.commitments.coverage import Coverage, cover
from finops.engine.spend import Window
from finops.frames.commitments import Reserved
from finops.frames.demand import HOUR, Demand, Use
from finops.frames.offers import OfferKey
from finops.frames.sizes import size_table
from finops.lake import BILL_LINES

TENANCIES = {"Shared": "default", "Dedicated": "dedicated", "Host": "host"}
_COLUMNS = (
    "x_report", "x_month", "x_product_code", "x_line_item_type", "x_usage_type", "x_operation",
    "x_operating_system", "x_tenancy", "x_instance_type", "x_quantity", "billed_cost", "list_cost",
    "availability_zone", "region_id", "sub_account_id", "charge_period_start", "charge_period_end",
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
        CAST(sum(x_quantity) AS DOUBLE), CAST(sum(list_cost) AS DOUBLE), billing_currency,
        greatest(1, CAST(ceil(max(date_diff('second', charge_period_start, charge_period_end)) / 3600)
            AS BIGINT)) AS steps
    FROM {BILL_LINES}
    WHERE x_product_code = 'AmazonEC2'
        AND (contains(x_usage_type, 'BoxUsage') OR contains(x_usage_type, 'DedicatedUsage'))
        AND charge_period_end > $start AND charge_period_start < $end
    GROUP BY ALL ORDER BY ALL
"""  # noqa: S608


PAID = {"Usage": "on_demand", "DiscountedUsage": "reserved", "SavingsPlanCoveredUsage": "plans"}
Place = tuple[OfferKey, str]


@dataclass(frozen=True)
class Changes:
    """Commitments that are not the same at the decision as over the range. `ended`: names (of the bill) of
    those that are over; `begun`: reservations that take part in hours before their start too.
    """

    ended: frozenset[str] = frozenset()
    begun: tuple[Reserved, ...] = ()


@dataclass(frozen=True)
class BillUse:
    """`coverage.left` is what stays on demand. `free_hours`: instance-hours of the free tier that were
    left out; `unread`: instance-hours whose platform or tenancy is not known, by what the lines say.
    `list_cost`: what all of it costs on demand, an hour each, by (currency, how it was paid); `missing`:
    instance-hours without such a price. `grain_hours`: the longest line.
    """

    coverage: Coverage
    free_hours: float
    unread: Mapping[str, float] = field(default_factory=dict)
    list_cost: Mapping[tuple[str, str], np.ndarray] = field(default_factory=dict)
    missing: float = 0.0
    grain_hours: int = 1


@dataclass
class _Sums:
    """What the lines add up to, by place and how it was paid."""

    hours: int
    paid: dict[str, dict[Place, np.ndarray]] = field(
        default_factory=lambda: {name: {} for name in ("gross", *PAID.values())}
    )
    covering: dict[Place, set[str]] = field(default_factory=lambda: defaultdict(set))
    unread: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    money: dict[tuple[str, str], np.ndarray] = field(default_factory=dict)
    free: float = 0.0
    missing: float = 0.0
    grain: int = 1
    # Rows are ten thousands, places dozens.
    places: dict[tuple[Any, ...], Place | None] = field(default_factory=dict)

    def _read(
        self, row: tuple[Any, ...]
    ) -> tuple[Place | None, str, str, int, float, float | None, str, int]:
        words = row[:7]
        if words not in self.places:
            self.places[words] = _place_of(words)
        kind, by, hour, quantity, money, currency, steps = row[7:]
        return (
            self.places[words], kind, by, int(hour), float(quantity or 0), money, currency or "",
            int(steps or 1),
        )  # fmt: skip

    def add(self, row: tuple[Any, ...], ended: frozenset[str]) -> None:
        """One row of the lines."""
        place, kind, by, hour, quantity, money, currency, steps = self._read(row)
        self.grain = max(self.grain, steps)
        inside = slice(max(0, hour), max(0, min(self.hours, hour + steps)))
        within = inside.stop - inside.start
        if within <= 0:
            return
        part = quantity / steps
        if kind == "free":
            self.free += part * within
            return
        if place is None:
            self.unread[f"{row[2]} {row[3]} {row[4]}"] += part * within
            return
        how = PAID.get(kind, "on_demand") if by not in ended else "on_demand"
        for name in ("gross", how):
            self.paid[name].setdefault(place, np.zeros(self.hours))[inside] += part
        if how != "on_demand" and by:
            self.covering[place].add(by)
        if money is None:
            self.missing += part * within
        else:
            self.money.setdefault((currency, how), np.zeros(self.hours))[inside] += money / steps


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
    *,
    organisation: Organisation | None,
    start: datetime,
    hours: int,
    snapshots: Mapping[str, int],
    changes: Changes | None = None,
) -> BillUse:
    """Use in [start, start + hours), whole hours of UTC; with `changes` as with the commitments of today."""
    end = start + hours * HOUR
    reports = _reports(organisation)
    changes = changes or Changes()
    sums, known = _Sums(hours), np.zeros(hours, dtype=bool)
    if reports and BILL_LINES in snapshots:
        window = Window(start.date(), (end + timedelta(days=1)).date())
        with connect(window, snapshots, reports, BILL_LINES, _COLUMNS) as con:
            first, last = con.execute(_SPAN).fetchall()[0]
            rows = con.execute(_USE, {"start": start, "end": end}).fetchall()
        for row in rows:
            sums.add(row, changes.ended)
        if first is not None:
            known = _between(start, hours, first, last, sums.grain)
    coverage = _applied(_coverage(start, hours, sums, known), changes.begun)
    return BillUse(coverage, sums.free, dict(sums.unread), sums.money, sums.missing, sums.grain)


def _place_of(words: tuple[Any, ...]) -> Place | None:
    """Where a line's use counts; None where platform, tenancy, region or type is not known."""
    region, zone, system, operation, tenancy, kind_of, account = words
    platform = platform_by_operation(system or "", operation or "")
    tenure = TENANCIES.get(tenancy or "Shared", "")
    if not (platform and tenure and region and kind_of):
        return None
    return OfferKey("aws", region, zone, platform, tenure, kind_of), account or ""


def _between(start: datetime, hours: int, first: datetime, last: datetime, grain: int) -> np.ndarray:
    begin = int((first.astimezone(UTC) - start).total_seconds() // 3600)
    stop = int((last.astimezone(UTC) - start).total_seconds() // 3600) + grain
    hour = np.arange(hours)
    inside: np.ndarray = (hour >= begin) & (hour < stop)
    return inside


def _coverage(start: datetime, hours: int, sums: _Sums, known: np.ndarray) -> Coverage:
    none = np.zeros(hours)
    places = list(sums.paid["gross"])

    def of(how: str) -> list[np.ndarray]:
        return [np.where(known, sums.paid[how].get(place, none), np.nan) for place in places]

    uses = tuple(Use(key, account, whole) for (key, account), whole in zip(places, of("gross"), strict=True))
    return Coverage(
        Demand(start, hours, uses),
        tuple(of("on_demand")),
        tuple(of("reserved")),
        tuple(of("plans")),
        {}, {}, {}, {},
        {i: tuple(sorted(sums.covering[place])) for i, place in enumerate(places) if place in sums.covering},
    )  # fmt: skip


def _applied(coverage: Coverage, begun: Sequence[Reserved]) -> Coverage:
    """With reservations that began within the range or after it also taking their part of what was on
    demand before they began: use to come meets them.
    """
    start = coverage.demand.start
    earlier = [replace(one, start=start, end=one.start) for one in begun if one.start > start]
    if not earlier:
        return coverage
    taken = cover(coverage.remaining(), earlier, sizes=size_table("aws"))
    covering = dict(coverage.covering)
    for index, ids in taken.covering.items():
        covering[index] = tuple(dict.fromkeys((*covering.get(index, ()), *ids)))
    return replace(
        coverage,
        left=taken.left,
        by_reserved=tuple(
            before + more for before, more in zip(coverage.by_reserved, taken.by_reserved, strict=True)
        ),
        covering=covering,
    )


def _reports(organisation: Organisation | None) -> list[str]:
    return sorted(str(pk) for pk in reports_visible(organisation=organisation).values_list("pk", flat=True))
