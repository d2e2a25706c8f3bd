"""Storage lines of the bill, per bucket. A bill that names no buckets has all of a region's under ""."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from apps.accounts.models import Organisation
from apps.billing.selectors.deliveries import deliveries_current
from apps.billing.selectors.spend_reading import connect, report_ids
from finops.engine.spend import Window, next_month
from finops.engine.storage.billed import BillLine
from finops.lake import BILL_LINES

# A listing is compared with the week before it; the month before that is looked at where bills are late.
LOOK_BACK = timedelta(days=45)
_ARN = "arn:aws:s3:::"
# Usage types of storage and what belongs to it; which ones count is said by `finops.frames.storage_usage`.
_KINDS = "(^|-)(TimedStorage|Requests|Retrieval|EarlyDelete|Monitoring-Automation|[A-Za-z]+-Retrieval)-"
_LINES = f"""
    SELECT x_provider, coalesce(sub_account_id, ''), coalesce(region_id, ''),
        regexp_replace(coalesce(resource_id, ''), '^{_ARN}', ''), x_report, x_usage_type,
        coalesce(x_operation, ''), charge_period_start, charge_period_end, coalesce(x_unit, ''),
        coalesce(pricing_unit, ''), sum(x_quantity), sum(pricing_quantity),
        sum(coalesce(list_cost, billed_cost)), sum(billed_cost), coalesce(billing_currency, '')
    FROM {BILL_LINES}
    WHERE charge_period_start >= $start AND charge_period_start < $end
        AND regexp_matches(x_usage_type, $kinds)
        AND (x_product_code = 'AmazonS3' OR service_name ILIKE '%S3%'
            OR service_name ILIKE '%simple storage%')
        AND ($bucket = '' OR resource_id IN ($bucket, '{_ARN}' || $bucket) OR resource_id IS NULL
            OR resource_id = '')
    GROUP BY ALL ORDER BY ALL
"""  # noqa: S608 - only constants of this module stand in it
_COLUMNS = (
    "x_report", "x_month", "x_provider", "sub_account_id", "region_id", "resource_id", "x_product_code",
    "service_name", "x_usage_type", "x_operation", "charge_period_start", "charge_period_end", "x_unit",
    "pricing_unit", "x_quantity", "pricing_quantity", "list_cost", "billed_cost", "billing_currency",
)  # fmt: skip


class Place(NamedTuple):
    """Whose lines: `bucket` is "" where the bill names none."""

    provider: str
    account: str
    region: str
    bucket: str


def newest_billed_day(*, organisation: Organisation | None) -> date | None:
    """The last day that any current delivery tells of."""
    days = deliveries_current(organisation=organisation).values_list("last_day", flat=True)
    return max((day for day in days if day is not None), default=None)


def storage_lines(
    until: date,
    *,
    organisation: Organisation | None,
    snapshots: Mapping[str, int],
    bucket: str = "",
) -> dict[Place, list[BillLine]]:
    """Lines of the weeks up to a day, that day included, of one bucket (and of no bucket) or of all.

    Two reports of one payer tell of the same bytes: of a place the report with the newest lines counts.
    """
    reports = report_ids(organisation)
    if not reports or BILL_LINES not in snapshots:
        return {}
    start = datetime.combine(until - LOOK_BACK, datetime.min.time(), UTC).replace(day=1)
    end = datetime.combine(until + timedelta(days=1), datetime.min.time(), UTC)
    window = Window(start.date(), next_month(until.replace(day=1)))
    given = {"start": start, "end": end, "kinds": _KINDS, "bucket": bucket}
    with connect(window, snapshots, reports, BILL_LINES, _COLUMNS) as con:
        rows: Sequence[tuple[Any, ...]] = con.execute(_LINES, given).fetchall()
    found: dict[Place, dict[str, list[BillLine]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        found[Place(*row[:4])][row[4]].append(_line(row))
    return {place: max(by_report.values(), key=_newest) for place, by_report in found.items()}


def _line(row: tuple[Any, ...]) -> BillLine:
    return BillLine(
        usage_type=row[5],
        operation=row[6],
        start=row[7].astimezone(UTC),
        end=(row[8] or row[7]).astimezone(UTC),
        quantity=row[11] if row[11] is not None else Decimal(0),
        unit=row[9],
        pricing_quantity=row[12],
        pricing_unit=row[10],
        cost=row[13] or Decimal(0),
        billed=row[14] or Decimal(0),
        currency=row[15],
    )


def _newest(lines: Sequence[BillLine]) -> datetime:
    return max(line.start for line in lines)
