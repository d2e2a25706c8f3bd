"""Which days of the bills are known, and from which day on they may still grow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

from apps.accounts.models import Organisation
from apps.billing.models import BillReport, Delivery, DeliveryDay, DeliveryState
from apps.billing.selectors.deliveries import reports_visible
from apps.billing.selectors.spend_reading import connect
from finops.engine.lateness import Lateness, Snapshot, lateness, settled_until
from finops.engine.spend import Window, month_start, next_month
from finops.lake import BILL_DAILY
from finops.providers.settling import settling

# Deliveries of so many billing periods back tell how late days arrive.
PERIODS_MEASURED = 3
# A report without a day in the last so many days before the newest one has ended: its days to come are none.
ENDED = timedelta(days=35)


@dataclass(frozen=True, slots=True)
class ReportDays:
    """One report that still delivers: its newest delivery, last day, and how late its days arrive."""

    report: str
    delivery: int
    delivered_at: datetime
    last_day: date
    late: Lateness
    settled_until: date
    stated: str


@dataclass(frozen=True, slots=True)
class BillDays:
    """`first`: first day of any report; `end`: the day after the last delivered one; `settled_until`: the
    first day that may still grow in any report.
    """

    first: date
    end: date
    settled_until: date
    reports: tuple[ReportDays, ...]

    @property
    def period(self) -> tuple[date, date]:
        """[first of the newest month, first of the next)."""
        start = month_start(self.end - timedelta(days=1))
        return start, next_month(start)

    @property
    def delivered_at(self) -> datetime:
        """When the newest delivery was made."""
        return max(report.delivered_at for report in self.reports)


def bill_days(organisation: Organisation | None, *, at: datetime) -> BillDays | None:
    """What is known at `at`: later days are left out; None without any day."""
    cut = at.astimezone(UTC).date()
    rows = Delivery.objects.filter(
        report__in=reports_visible(organisation=organisation), state=DeliveryState.CURRENT, first_day__lt=cut
    )
    newest: dict[int, Delivery] = {}
    firsts: list[date] = []
    for row in rows.select_related("report").defer("files", "columns").order_by("billing_period"):
        if row.first_day is None or row.last_day is None:
            continue
        firsts.append(max(row.first_day, row.billing_period))
        newest[row.report_id] = row
    if not newest:
        return None
    lasts = {pk: min(_last_day(row), cut - timedelta(days=1)) for pk, row in newest.items()}
    last = max(lasts.values())
    live = [row for pk, row in newest.items() if last - lasts[pk] < ENDED]
    reports = tuple(_report_days(row, cut) for row in live)
    return BillDays(
        first=min(firsts),
        end=last + timedelta(days=1),
        settled_until=min(report.settled_until for report in reports),
        reports=reports,
    )


def _last_day(row: Delivery) -> date:
    """The last day of a delivery inside its billing period: a line dated after it counts on the last day."""
    end = next_month(row.billing_period) - timedelta(days=1)
    return end if row.last_day is None else min(row.last_day, end)


def _report_days(row: Delivery, cut: date) -> ReportDays:
    stated = settling(row.report.provider)
    late = report_lateness(row.report, default_days=stated.days)
    last = min(_last_day(row), cut - timedelta(days=1))
    end = next_month(row.billing_period)
    if row.final or (last == end - timedelta(days=1) and row.delivered_at >= _ripe(end, late)):
        settled = last + timedelta(days=1)
    else:
        settled = settled_until(row.delivered_at, last, late)
    return ReportDays(str(row.report), row.pk, row.delivered_at, last, late, settled, stated.source)


def _ripe(end: date, late: Lateness) -> datetime:
    return datetime.combine(end, time(), UTC) + timedelta(days=late.days)


def report_lateness(report: BillReport, *, default_days: int) -> Lateness:
    """Measured on the deliveries of the report's last three billing periods, else the default."""
    periods = (
        report.deliveries.order_by("-billing_period")
        .values_list("billing_period", flat=True)
        .distinct()[:PERIODS_MEASURED]
    )
    days = DeliveryDay.objects.filter(
        delivery__report=report, delivery__billing_period__in=list(periods)
    ).select_related("delivery")
    groups: dict[tuple[date, str], dict[int, tuple[datetime, dict[date, float]]]] = {}
    for one in days:
        group = groups.setdefault((one.delivery.billing_period, one.currency), {})
        group.setdefault(one.delivery_id, (one.delivery.delivered_at, {}))[1][one.day] = float(one.billed)
    snapshots = [[Snapshot(at, found) for at, found in group.values()] for group in groups.values()]
    return lateness(snapshots, default_days=default_days)


def deliveries_without_days(organisation: Organisation | None) -> list[Delivery]:
    """Current deliveries whose days were not written down yet."""
    rows = Delivery.objects.filter(
        report__in=reports_visible(organisation=organisation),
        state=DeliveryState.CURRENT,
        stored__gt=0,
        days__isnull=True,
    )
    return list(rows.select_related("report").defer("files", "columns"))


def delivery_day_sums(delivery: Delivery, snapshots: Mapping[str, int]) -> list[tuple[date, str, Decimal]]:
    """(day, currency, billed cost) of a delivery whose lines are in these snapshots."""
    if BILL_DAILY not in snapshots:
        return []
    window = Window(delivery.billing_period, next_month(delivery.billing_period))
    columns = ["x_report", "x_month", "x_delivery", "x_day", "billing_currency", "billed_cost"]
    with connect(window, snapshots, [str(delivery.report_id)], BILL_DAILY, columns) as con:
        rows = con.execute(
            f"SELECT x_day, billing_currency, sum(billed_cost) FROM {BILL_DAILY} "  # noqa: S608 - our table
            "WHERE x_delivery = $delivery AND x_day IS NOT NULL AND billed_cost IS NOT NULL "
            "GROUP BY ALL ORDER BY ALL",
            {"delivery": delivery.pk},
        ).fetchall()
    return [(day, currency, cost) for day, currency, cost in rows]
